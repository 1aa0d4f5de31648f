"""Rules that hold for all inputs: matching, order and step scores."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.metrics import (
    StepScores,
    kendall_tau,
    lis_ratio,
    match_steps,
    score_embedded,
    score_items,
    score_steps,
)

sizes = st.integers(0, 12)
similarities = st.floats(-1, 1, width=32)


@st.composite
def matrices(draw: st.DrawFn, distinct: bool = False) -> np.ndarray:
    rows, columns = draw(sizes), draw(sizes)
    cells = st.lists(similarities, min_size=rows * columns, max_size=rows * columns, unique=distinct)
    return np.array(draw(cells), dtype=np.float32).reshape(rows, columns)


def scores_of(matrix: np.ndarray) -> StepScores:
    return StepScores.of_pairs(match_steps(matrix), *matrix.shape)


@given(matrices())
def test_every_score_lies_between_0_and_1(matrix):
    scores = scores_of(matrix)
    for name in ("precision", "recall", "match_f1", "lis", "kendall_tau", "ordered_f1"):
        assert 0 <= getattr(scores, name) <= 1, name
    assert scores.ordered_f1 <= scores.match_f1


@given(matrices())
def test_each_step_is_matched_at_most_once_and_only_above_the_threshold(matrix):
    pairs = match_steps(matrix)
    assert len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs}) == len(pairs)
    assert all(similarity > np.float32(0.35) for _, _, similarity in pairs)
    assert [pair[2] for pair in pairs] == sorted((pair[2] for pair in pairs), reverse=True)


@given(matrices())
def test_matching_leaves_no_pair_above_the_threshold_that_could_still_be_made(matrix):
    pairs = match_steps(matrix)
    rows, columns = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    left = [
        matrix[r, c] for r in range(len(matrix)) for c in range(matrix.shape[1]) if r not in rows and c not in columns
    ]
    assert not any(value > np.float32(0.35) for value in left)


@given(matrices(distinct=True), st.randoms())
def test_reordering_predicted_steps_does_not_change_match_f1_where_similarities_differ(matrix, random):
    order = list(range(len(matrix)))
    random.shuffle(order)
    assert scores_of(matrix[order]).match_f1 == scores_of(matrix).match_f1


@given(matrices())
def test_an_unmatched_predicted_step_never_raises_precision(matrix):
    more = np.vstack([matrix, np.full((1, matrix.shape[1]), -1, dtype=np.float32)])
    if matrix.shape[1]:
        assert scores_of(more).precision <= scores_of(matrix).precision


@given(st.integers(2, 60))
def test_a_strictly_decreasing_order_of_m_matches_gives_lis_one_over_m(m):
    assert lis_ratio(list(range(m))[::-1]) == pytest.approx(1 / m)
    assert kendall_tau(list(range(m))[::-1]) == 0
    assert lis_ratio(list(range(m))) == kendall_tau(list(range(m))) == 1


@given(st.permutations(range(9)))
def test_order_scores_agree_with_their_definitions(order):
    def increasing(mask: int) -> list[int]:
        return [value for bit, value in enumerate(order) if mask >> bit & 1]

    chosen = [increasing(mask) for mask in range(1, 2 ** len(order))]
    longest = max(len(values) for values in chosen if values == sorted(values))
    assert lis_ratio(order) == longest / len(order)
    concordant = sum(order[i] < order[j] for j in range(9) for i in range(j))
    assert math.isclose(kendall_tau(order), concordant / 36)


def test_an_empty_side_scores_nothing_and_two_empty_sides_agree_wholly():
    both = StepScores.of_pairs([], 0, 0)
    assert both.match_f1 == both.precision == both.recall == both.ordered_f1 == both.lis == 1
    for predicted, reference in ((0, 4), (4, 0)):
        scores = StepScores.of_pairs([], predicted, reference)
        assert scores.match_f1 == scores.precision == scores.recall == scores.ordered_f1 == 0
        assert scores.lis == scores.kendall_tau == 1


class CountingEncoder:
    """Letters as directions; counts what it is asked to encode."""

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.encoded += texts
        return np.array([[1 + (letter in text) * 9 for letter in "abcdefgh"] for text in texts], dtype=np.float32)


@given(st.lists(st.tuples(st.lists(st.text("abc"), max_size=4), st.lists(st.text("abc"), max_size=4)), max_size=6))
def test_the_batch_form_equals_the_single_form_and_encodes_each_text_once(items):
    encoder = CountingEncoder()
    batch = score_items(items, encoder)
    assert len(encoder.encoded) == len(set(encoder.encoded))
    assert batch == [score_steps(predicted, reference, CountingEncoder()) for predicted, reference in items]


@given(st.permutations(range(6)))
@settings(max_examples=30)
def test_permuting_items_permutes_their_scores_and_nothing_else(order):
    items = [(["a", "b"][: index % 3], ["a", "c", "d"][: 1 + index % 3]) for index in range(6)]
    scores = score_items(items, CountingEncoder())
    assert score_items([items[index] for index in order], CountingEncoder()) == [scores[index] for index in order]


def test_scores_do_not_depend_on_batches_or_company(minilm):
    steps = [
        f"The bar for year {1990 + index} is {'taller' if index % 2 else 'shorter'} than the one before."
        for index in range(40)
    ]
    alone = score_steps(steps[:3], steps[1:6], minilm)
    together = score_items([(steps, steps[::-1]), (steps[:3], steps[1:6]), (["yes"], steps)], minilm)[1]
    assert [pair[:2] for pair in alone.pairs] == [pair[:2] for pair in together.pairs]
    assert alone.match_f1 == together.match_f1


@pytest.mark.parametrize("steps", ["Look at the axis", None, [1, 2], ["a", None], 5])
def test_steps_that_are_no_list_of_texts_are_refused(steps):
    with pytest.raises(CrystalError, match="list of texts"):
        score_steps(steps, ["Look at the axis"], CountingEncoder())


def test_any_iterable_of_texts_serves():
    items = ((step for step in steps) for steps in [("a", "b")])
    [scores] = score_items(((item, np.array(["a", "b"])) for item in items), CountingEncoder())
    assert scores.match_f1 == 1


@pytest.mark.parametrize("settings", [{"tau": float("nan")}, {"tau": 2}, {"alpha": float("nan")}, {"alpha": -1}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(CrystalError, match="lies between"):
        score_steps(["a"], ["a"], CountingEncoder(), **settings)


@pytest.mark.parametrize("convert", [torch.Tensor.tolist, torch.Tensor.bfloat16, lambda rows: rows.requires_grad_()])
def test_encoders_may_return_lists_and_tensors(convert):
    class Other:
        def encode(self, texts):
            return convert(torch.eye(3)[: len(texts)])

    assert score_steps(["a", "b"], ["b", "a"], Other()).match_f1 == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.full((2, 3), np.nan), "no usable direction"),
        (np.zeros((2, 3)), "no usable direction"),
        (np.ones((1, 3)), "shape"),
        (np.ones(3), "shape"),
    ],
)
def test_an_encoder_that_returns_nonsense_is_refused(rows, message):
    class Broken:
        def encode(self, texts: list[str]) -> np.ndarray:
            return rows

    with pytest.raises(CrystalError, match=message):
        score_steps(["a"], ["b"], Broken())


def test_embedded_items_may_have_no_rows():
    assert score_embedded(np.empty((0, 4)), np.ones((2, 4))).recall == 0
