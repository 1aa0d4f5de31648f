"""The answer rule inside the released CPR, verdict for verdict."""

import random

import pytest
from crystal_metrics.rewards import check_answer_match
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.training.released_rule import released_verdict

PIECES = (
    *(
        "a",
        "b",
        "D",
        "e",
        "A)",
        "(C)",
        "B.",
        "c:",
        "yes",
        "No",
        "true",
        "incorrect",
        "correct",
        "False",
        "Yes.",
        "1",
        "0",
    ),
    *("cat", "the", "red bus", "new york", "elephant", "answer is", "option", " ", "\n", "\t", ".", ",", "-", "+", "_"),
    *(
        "é",
        "İ",
        "K",
        "²",
        "½",
        "٣",
        "10",
        "100",
        "101",
        "0.01",
        ".5",
        "-3",
        "1e3",
        "1,000",
        "50%",
        "$",
        "1/2",
        "°",
        "x=",
    ),
)
#: Distances around the two tolerances.
NUDGES = (0.0, 0.005, 0.01, 0.02, 1.0)
FACTORS = (0.99, 0.9901, 1.0099, 1.01, 1.02)


def generated_text(rng: random.Random) -> str:
    return rng.choice(("", " ")).join(rng.choices(PIECES, k=rng.choice((1, 1, 2, 3, 5))))


def generated_pair(rng: random.Random) -> tuple[str, str]:
    reference = generated_text(rng)
    half = reference[: rng.randint(0, len(reference))]
    other = generated_text(rng)
    return rng.choice(
        (reference, reference.upper(), half, other, f"{reference} {other}", f"{other}{reference}")
    ), reference


def test_texts_get_the_released_verdict():
    rng = random.Random(1)
    pairs = [pair for pair in (generated_pair(rng) for _ in range(10_000)) if pair[0].strip()]
    released = [check_answer_match(*pair) for pair in pairs]
    assert 2_000 < sum(released) < 8_000
    parted = [pair for pair, verdict in zip(pairs, released, strict=True) if released_verdict(*pair) != verdict]
    assert parted == []


def test_numbers_get_the_released_verdict():
    rng = random.Random(2)
    for _ in range(10_000):
        reference = round(rng.uniform(-3, 3) * 10 ** rng.randint(-3, 4), rng.randint(0, 4))
        near = (reference + rng.choice(NUDGES) * rng.choice((1, -1)), reference * rng.choice(FACTORS))
        prediction = round(rng.choice(near), rng.randint(0, 6))
        assert released_verdict(str(prediction), str(reference)) == check_answer_match(str(prediction), str(reference))


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_texts_get_the_released_verdict(prediction, reference):
    if prediction.strip():
        assert released_verdict(prediction, reference) == check_answer_match(prediction, reference)


@pytest.mark.parametrize(
    ("prediction", "reference", "right"),
    [
        ("2019", "2020", True),
        ("99", "100", False),
        ("0.005", "0", True),
        ("a red bus", "A blue car", True),
        ("(B)", "B", False),
        ("b. dog", "B", True),
        ("E)", "E", False),
        ("yes, it is", "yes", False),
        ("1", "true", True),
        ("the cat", "cat", False),
        ("t", "the black cat", True),
        ("1,000", "1000", False),
    ],
)
def test_its_corners(prediction, reference, right):
    assert released_verdict(prediction, reference) is right
    assert check_answer_match(prediction, reference) is right


def test_a_blank_answer_is_never_right_other_than_there():
    assert check_answer_match(" ", "the black cat")
    assert not released_verdict(" ", "the black cat")


@pytest.mark.parametrize("digits", ["9" * 400, "1" * 100_000], ids=["beyond a float", "very many"])
def test_numbers_of_any_length_are_judged(digits):
    assert not released_verdict(digits, "5")
    assert not released_verdict("5", digits)
    assert not released_verdict(digits, digits + "1")
