"""The strict rule on lettered options: a letter and its option's text are one answer, two options are none."""

import pytest
from lmms_eval_crystal.metrics.choices import read_choice
from lmms_eval_crystal.metrics.options import known_options, option_letter, question_with_options
from lmms_eval_crystal.metrics.strict_rule import strict_verdict

CONSOLES = ("left console", "right console", "middle console")
COUNTS = ("2", "3", "4")

CASES = [
    ("(a)", "A", CONSOLES, True),
    ("A.", "(a)", CONSOLES, True),
    ("**B**", "B", CONSOLES, True),
    (r"\boxed{B}", "B", CONSOLES, True),
    (r"$\text{(B)}$", "B", CONSOLES, True),
    ("Option C", "C", CONSOLES, True),
    ("C: middle console", "C", CONSOLES, True),
    ("C because it is small", "C", CONSOLES, True),
    ("A and C", "C", CONSOLES, False),
    ("A, C", "C", CONSOLES, False),
    ("C) left console", "C", CONSOLES, False),
    ("C left console", "C", CONSOLES, False),
    ("The correct option is C.", "C", CONSOLES, True),
    ("middle console (C)", "C", CONSOLES, True),
    ("middle console (A)", "C", CONSOLES, False),
    ("The smallest console is the middle console", "C", CONSOLES, True),
    ("The middle console is the smallest.", "C", CONSOLES, True),
    ("The answer is a", "A", CONSOLES, True),
    ("a console", "A", CONSOLES, False),
    ("D", "C", CONSOLES, False),
    ("The left console is larger than the middle console", "C", CONSOLES, False),
    ("C, not A", "C", CONSOLES, True),
    ("I think option C is correct", "C", CONSOLES, True),
    ("Option A or option C", "C", CONSOLES, False),
    ("console", "C", CONSOLES, False),
    ("The answer is C because the left console is big", "C", CONSOLES, True),
    ("There are 3 eggs", "B", COUNTS, True),
    ("three", "B", COUNTS, True),
    ("3.0", "3", COUNTS, True),
    ("4", "B", COUNTS, False),
    ("C", "B", COUNTS, False),
    ("B) 3", "B", COUNTS, True),
    ("B) 4", "B", COUNTS, False),
    ("B", "3", COUNTS, True),
    ("2 of the 3", "B", COUNTS, False),
    ("A", "B", ("B", "A"), False),
    ("B", "A", ("B", "A"), False),
    ("dog", "A", ("dog", "dog", "cat"), True),
    ("dog", "B", ("dog", "dog", "cat"), True),
    ("A", "B", ("dog", "dog", "cat"), False),
    ("left", "A", ("left", "left console"), True),
    ("left console", "A", ("left", "left console"), False),
    ("C", "c", CONSOLES, True),
    ("Yes", "A", ("Yes", "No"), True),
    ("Yes, it is", "A", ("Yes", "No"), True),
    ("No", "A", ("Yes", "No"), False),
    ("True", "A", ("Yes", "No"), True),
    ("B. The dog", "B", ("A. the cat", "B. the dog"), True),
    ("the dog", "B", ("A. the cat", "B. the dog"), True),
    ("insufficient information", "B", CONSOLES, False),
    ("Not enough information", "D", ("1", "2", "3", "Cannot be determined"), True),
    ("D", "D", ("1", "2", "3", "none of the above"), True),
    ("none of the above", "D", ("1", "2", "3", "none of the above"), True),
    ("A) 12 cm", "A", ("12 cm", "12 m"), True),
    ("12 cm", "A", ("12 cm", "12 m"), True),
    ("12 m", "A", ("12 cm", "12 m"), False),
    ("1/2", "B", ("0.25", "0.5"), True),
    (r"\frac{1}{2}", "B", ("1/4", "1/2"), True),
    ("A, C", "A and C", CONSOLES, True),
    ("C, A", "A and C", CONSOLES, True),
    ("A", "A and C", CONSOLES, False),
    ("B", "7", ("5", "7"), True),
    ("A", "7", ("5", "7"), False),
    ("(B)", "B", ("", ""), True),
    ("", "A", ("", ""), False),
    ("A dog", "A", ("dog", "cat"), True),
    ("A cat", "A", ("dog", "cat"), False),
    ("a cat", "B", ("dog", "cat"), True),
    ("The correct answer is (B) right console.", "B", CONSOLES, True),
    ("Answer: B", "B", CONSOLES, True),
    ("**Answer:** B", "B", CONSOLES, True),
    ("Final answer: **B) right console**", "B", CONSOLES, True),
    ("B", "B", (), True),
    ("(B)", "B", (), True),
    ("B) 12", "B", (), True),
    ("A", "B", (), False),
    ("a dog", "A", (), False),
    ("Point A", "A", (), True),
    ("The answer is B.", "B", (), True),
    ("b", "B", (), True),
    ("A or B", "B", (), False),
    ("Boy", "B", (), False),
]


@pytest.mark.parametrize(("prediction", "reference", "options", "right"), CASES)
def test_a_choice_is_right_by_letter_by_text_or_by_value(
    prediction: str, reference: str, options: tuple[str, ...], right: bool
) -> None:
    assert strict_verdict(prediction, reference, "", options).correct is right


def test_options_written_into_the_question_count_as_options() -> None:
    question = "Is the door open?\n(a) Open\n(b) Closed"
    assert strict_verdict("Open", "(a)", question).correct
    assert not strict_verdict("Open", "(b)", question).correct


def test_an_answer_that_picks_no_option_is_left_to_a_judge() -> None:
    verdict = strict_verdict("the tiny one in between", "C", "", CONSOLES)
    assert (verdict.correct, verdict.kind, verdict.settled) == (False, "option", False)


def test_a_wrong_letter_needs_no_judge() -> None:
    assert strict_verdict("A", "C", "", CONSOLES).settled


def test_own_labels_of_options_are_taken_off_only_if_all_stand_in_order() -> None:
    assert known_options("", ["A. cat", "B. dog"]) == ("cat", "dog")
    assert known_options("", ["A. Smith", "J. Doe"]) == ("A. Smith", "J. Doe")


def test_a_question_without_options_has_none() -> None:
    assert known_options("Who is A. Smith?") == ()


def test_letters_go_on_after_z() -> None:
    assert [option_letter(index) for index in (0, 25, 26, 27, 52)] == ["A", "Z", "AA", "AB", "BA"]


def test_options_are_shown_as_lettered_lines() -> None:
    assert question_with_options("Which?", ["x", "y"]) == "Which?\nA) x\nB) y"
    assert question_with_options("Which?") == "Which?"


def test_several_letters_make_one_choice_of_several_options_only_with_and() -> None:
    both = read_choice("A and C", CONSOLES, str.__eq__)
    either = read_choice("A or C", CONSOLES, str.__eq__)
    assert both is not None
    assert both.indexes == {0, 2}
    assert either is not None
    assert not either.indexes
