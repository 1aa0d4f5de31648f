"""The strict rule on yes or no, on refusals and on free text."""

import pytest
from lmms_eval_crystal.metrics.polarity import polarity
from lmms_eval_crystal.metrics.strict_rule import strict_verdict

RIGHT = [
    ("No.", "no"),
    ("it is not on", "no"),
    ("it isn't", "no"),
    ("there is no dog", "no"),
    ("Yes, it is on because no lamp is broken", "yes"),
    ("not true", "false"),
    ("incorrect", "no"),
    ("The answer is yes.", "Yes"),
    ("That is correct", "yes"),
    ("**Yes**", "yes"),
    ("It is a lamp", "lamp"),
    ("A lamp.", "the lamp"),
    ("T-shirt", "t shirt"),
    ("café", "cafe"),
    ("Tom & Jerry", "Tom and Jerry"),
    ("red and blue", "blue and red"),
    ("red, blue", "red and blue"),
    ("cannot be determined", "insufficient information"),
    ("Insufficient information.", "insufficient information"),
    ("U.S.A.", "USA"),
    ("Route 66", "Route 66."),
    ("iPhone 12", "iphone 12"),
    ("'Stop'", "stop"),
    ("Mount Everest", "mount everest"),
    ("中国", "中国。"),
    ("red, because it is hot", "red"),
    ("- lamp", "lamp"),
]
WRONG = [
    ("No", "yes"),
    ("it is not on", "yes"),
    ("there is no dog", "yes"),
    ("both yes and no", "yes"),
    ("yes or no", "no"),
    ("none", "no"),
    ("0", "no"),
    ("nowhere", "no"),
    ("yesterday", "yes"),
    ("It cannot be determined", "no"),
    ("not no", "no"),
    ("dog house", "dog"),
    ("red", "red and blue"),
    ("lamp", "insufficient information"),
    ("C++", "C#"),
    ("Route 67", "Route 66"),
    ("12", "iPhone 12"),
    ('The sign says "Stop"', "Stop"),
    ("New York", "New York City"),
    ("vitamin A", "vitamin"),
    ("+", "-"),
    ("-lamp", "lamp"),
    ("It ran because it was hungry", "It ran because it was scared"),
    ("Yes. No.", "Yes"),
    ("Yes... actually no", "Yes"),
    ("No! Yes!", "No"),
    ("I can't", "No"),
    ("Not visible", "No"),
    ("Not in the image", "No"),
    ("B is correct", "yes"),
    ("A is correct", "yes"),
    ("Option C is true", "true"),
]


@pytest.mark.parametrize(("prediction", "reference"), RIGHT)
def test_the_same_statement_is_right(prediction: str, reference: str) -> None:
    assert strict_verdict(prediction, reference).correct


@pytest.mark.parametrize(("prediction", "reference"), WRONG)
def test_another_statement_is_wrong(prediction: str, reference: str) -> None:
    assert not strict_verdict(prediction, reference).correct


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("The light is on", True),
        ("It is not on", False),
        ("It isn't", False),
        ("The light is off", None),
        ("No light", False),
        ("maybe", None),
        ("yes/no", None),
        ("I would say yes", True),
        ("it does not appear to be true", False),
        ("on the right", None),
        ("that's right", True),
    ],
)
def test_polarity_is_read_from_words_negation_and_the_question(answer: str, said: bool | None) -> None:
    assert polarity(answer, "Is the light on?") is said


@pytest.mark.parametrize(
    ("answer", "question"),
    [("Not visible", "Is the dog visible?"), ("Not in the image", "Is there a dog in the image?")],
)
def test_what_is_not_to_be_seen_is_a_no_only_where_just_that_is_asked(answer: str, question: str) -> None:
    assert strict_verdict(answer, "No", question).correct
    assert not strict_verdict(answer, "No", "Is the door open?").correct


def test_a_letter_of_the_question_is_no_option() -> None:
    assert strict_verdict("Point B is on the line", "yes", "Is point B on the line?").correct


def test_free_text_that_differs_is_left_to_a_judge() -> None:
    verdict = strict_verdict("sofa", "couch", "What is it?")
    assert (verdict.correct, verdict.kind, verdict.settled) == (False, "text", False)
