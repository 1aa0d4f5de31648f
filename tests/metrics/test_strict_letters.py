"""The strict rule on what answers say of option letters: choosing, rejecting, offering several, taking back."""

import pytest
from lmms_eval_crystal.metrics.labels import chooses, named_letters, read_letters
from lmms_eval_crystal.metrics.strict_rule import strict_verdict

SIDES = ("left", "right")
NUMBERS = ("12", "15")
CLASSES = ("a mammal", "a bird")
STATES = ("West Virginia", "North Carolina")
FORCES = ("attract", "repel")
ANIMALS = ("dog", "cat")
ANSWERS = ("Yes", "No")
POINTS = ("Point A", "Point B")
LETTERS = ("p", "q", "r", "s")
SIGNS = ("-x", "x")
JOINT = ("x", "y", "Both A and B")

CHOOSE_A = [
    "A is correct",
    "A is the correct answer because it is on the left",
    "A is not wrong",
    "A is correct, B is wrong",
    "A because B is wrong",
    "A, not B",
    "A rather than B",
    "A is further than B",
    "Therefore, A is correct.",
    "I choose A",
    "I would go with option A",
    "It is A",
    "I think it's A",
    "So A",
    "Thus A is correct",
    "<A>",
    "[A]",
    "A!",
    "Answer: A",
    "The answer is not B. The answer is A.",
]
DO_NOT_CHOOSE_A = [
    "A is wrong",
    "A is incorrect",
    "A is not correct",
    "A isn't right",
    "A can't be right",
    "A is the wrong answer",
    "A would be wrong",
    "A: wrong",
    "Option A is incorrect",
    "The wrong answer is A",
    "A is not the answer",
    "It is not A",
    "It can't be A",
    "not A",
    "never A",
    "everything except A",
    "A, no wait, B",
    "A. No, B.",
    "A... Actually B",
    "A is correct and B is correct",
    "A and B",
    "A, B",
    "A & B",
    "both A and B",
    "A or B",
    "A B",
    "(A)(B)",
]
CASES = [
    ("A) North Carolina", "B", STATES, False),
    ("A. 15", "B", NUMBERS, False),
    ("Answer: A) right", "B", SIDES, False),
    ("A) bird", "B", CLASSES, False),
    ("B) bird", "B", CLASSES, True),
    ("a bird", "B", CLASSES, True),
    ("A (15)", "B", NUMBERS, False),
    ("B (15)", "B", NUMBERS, True),
    ("B [15]", "15", NUMBERS, True),
    ("B = 15", "B", NUMBERS, True),
    ("B) fifteen", "B", NUMBERS, True),
    ("A) fifteen", "A", NUMBERS, False),
    ("A is 15", "A", NUMBERS, False),
    ("A 15", "B", NUMBERS, False),
    ("A and B", "left", SIDES, False),
    ("both A and B", "left", SIDES, False),
    ("A) left\nB) right", "A", SIDES, False),
    ("A) left\nB) right", "left", SIDES, False),
    ("(A) left (B) right", "B", SIDES, False),
    ("left and right", "left", SIDES, False),
    ("Therefore, B is correct.", "A", ANSWERS, False),
    ("Therefore, B is correct.", "B", ANSWERS, True),
    ("B) No, it is not", "B", ANSWERS, True),
    ("N", "B", ANSWERS, True),
    ("They will attract each other", "A", FORCES, True),
    ("They will attract each other", "B", FORCES, False),
    ("They will not attract each other", "A", FORCES, False),
    ("They attract or repel", "A", FORCES, False),
    ("Attract, not repel", "A", FORCES, True),
    ("They will repel and not attract", "B", FORCES, True),
    ("The dog is facing left", "A", SIDES, True),
    ("To the left", "A", SIDES, True),
    ("The left one, not the right one", "A", SIDES, True),
    ("left-hand drive", "A", SIDES, False),
    ("left of the dog", "A", ANIMALS, False),
    ("a dog house", "A", ANIMALS, False),
    ("a black dog", "A", ANIMALS, True),
    ("The lamp on the table is lit", "A", ("on", "off"), False),
    ("It is on", "A", ("on", "off"), True),
    ("There are 15, 12 of them red", "A", ("12", "13"), False),
    ("Point B", "B", POINTS, True),
    ("It is at Point B", "B", POINTS, True),
    ("A.M.", "B", ("PM", "AM"), True),
    ("p", "A", LETTERS, True),
    ("A", "p", LETTERS, True),
    ("A) p", "A", LETTERS, True),
    ("A) q", "A", LETTERS, False),
    ("q", "A", LETTERS, False),
    ("F", "B", ("E", "F", "G"), True),
    ("B", "F", ("E", "F", "G"), True),
    ("-x", "A", SIGNS, True),
    ("x", "A", SIGNS, False),
    (r"-\pi", "A", (r"$-\pi$", r"$\pi$"), True),
    (r"\pi", "A", (r"$-\pi$", r"$\pi$"), False),
    ("Both A and B", "C", JOINT, True),
    ("A and B", "C", JOINT, True),
    ("red, not blue", "A", ("red, not blue", "blue"), True),
    ("E) left", "A", SIDES, False),
    ("a dog", "B", ("dog", "dog", "cat"), True),
]


@pytest.mark.parametrize("options", [SIDES, ()])
@pytest.mark.parametrize("prediction", CHOOSE_A)
def test_a_letter_that_is_stated_is_chosen(prediction: str, options: tuple[str, ...]) -> None:
    assert strict_verdict(prediction, "A", "", options).correct


@pytest.mark.parametrize("options", [SIDES, ()])
@pytest.mark.parametrize("prediction", DO_NOT_CHOOSE_A)
def test_a_letter_that_is_rejected_taken_back_or_one_of_several_is_not_chosen(
    prediction: str, options: tuple[str, ...]
) -> None:
    assert not strict_verdict(prediction, "A", "", options).correct


@pytest.mark.parametrize(("prediction", "reference", "options", "right"), CASES)
def test_a_letter_and_the_words_around_it_are_read_together(
    prediction: str, reference: str, options: tuple[str, ...], right: bool
) -> None:
    assert strict_verdict(prediction, reference, "", options).correct is right


@pytest.mark.parametrize("prediction", ["A is wrong", "A and B", "A or B", "(A) left (B) right", "A) right"])
def test_no_choice_that_was_read_is_settled(prediction: str) -> None:
    assert strict_verdict(prediction, "A", "", SIDES).settled


@pytest.mark.parametrize("prediction", ["A is not red", "A... Actually B", "B is wrong, so A", "the tiny one"])
def test_a_choice_that_was_not_read_is_left_to_a_judge(prediction: str) -> None:
    assert not strict_verdict(prediction, "A", "", SIDES).settled


def test_a_word_is_no_letter() -> None:
    assert read_letters("Boy") is None


def test_articles_pronouns_and_compared_letters_are_not_named() -> None:
    assert named_letters("A man and I are taller than B, and C is too") == {"C"}


@pytest.mark.parametrize(
    ("tail", "chosen"),
    [
        ("", True),
        ("because no lamp is on", True),
        ("is incorrect", False),
        ("is not incorrect", True),
        ("not red", None),
    ],
)
def test_what_follows_a_letter_chooses_rejects_or_leaves_it_open(tail: str, chosen: bool | None) -> None:
    assert chooses(tail) is chosen
