"""Step F1 by word overlap is the released one, for any steps, at their thresholds and at ties."""

import random

import pytest
from crystal_metrics.similarity import best_match_f1, word_overlap_similarity
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.training.overlap import overlap_f1, word_overlap

WORDS = (
    "the",
    "The",
    "car",
    "car,",
    "is",
    "red",
    "RED.",
    "İs",
    "3.5",
    "don't",
    "a_b",
    "K",
    "ﬁt",
    "?",
    "…",
    "",
    "東京",
    "é",
)
FEW = ("a", "b", "c")


def generated_steps(rng: random.Random, words: tuple[str, ...], most: int) -> list[str]:
    lengths = [rng.choice((0, 1, 2, 4, 8, 12)) for _ in range(rng.randint(0, most))]
    return [rng.choice((" ", "  ", "-")).join(rng.choices(words, k=length)) for length in lengths]


@pytest.mark.parametrize("words", [WORDS, FEW], ids=["all kinds of words", "few words, so that similarities tie"])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.45, 0.5, 0.99])
def test_f1_is_that_of_the_released_matching(words, threshold):
    rng = random.Random(f"{words} {threshold}")
    for _ in range(300):
        predicted, reference = generated_steps(rng, words, 9), generated_steps(rng, words, 9)
        expected, _, _ = best_match_f1(predicted, reference, threshold=threshold)
        assert overlap_f1(predicted, reference, threshold) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.text(max_size=30), max_size=4), st.lists(st.text(max_size=30), max_size=4))
def test_similarity_is_the_released_one_on_any_text(predicted, reference):
    overlap = word_overlap(predicted, reference)
    assert overlap.shape == (len(predicted), len(reference))
    for row, step in enumerate(predicted):
        for column, other in enumerate(reference):
            assert overlap[row, column] == word_overlap_similarity(step, other)


def test_a_pair_at_the_threshold_does_not_match():
    assert word_overlap(["a b c d"], ["a x"])[0, 0] == pytest.approx(0.3536, abs=1e-4)
    assert word_overlap(["a b c d"], ["a e f g"])[0, 0] == 0.25
    assert overlap_f1(["a b c d"], ["a e f g"], threshold=0.25) == 0
    assert overlap_f1(["a b c d"], ["a e f g"], threshold=0.24) == 1


def test_a_word_counts_as_often_as_it_stands_in_both():
    assert word_overlap(["very very big"], ["very very big"])[0, 0] == 1
    assert word_overlap(["very very big"], ["very big"])[0, 0] == pytest.approx(2 / 6**0.5)


def test_a_flood_of_steps_is_compared_all_the_same():
    flood = [f"the {number % 7} cars" for number in range(20_000)]
    assert overlap_f1(flood, ["the 3 cars"], 0.3) == pytest.approx(2 / 20_001)
