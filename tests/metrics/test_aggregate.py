"""Macro means, their intervals, and signatures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.metrics import GenerationSignature, ScorerSignature, aggregate, macro_mean
from lmms_eval_crystal.metrics.signature import data_hash

values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(values, st.randoms())
def test_permuting_items_changes_neither_mean_nor_interval(items, random):
    shuffled = list(items)
    random.shuffle(shuffled)
    one, other = aggregate(items), aggregate(shuffled)
    assert (float(one), one.low, one.high, one.items) == (float(other), other.low, other.high, other.items)


@given(values)
def test_the_interval_holds_the_mean_and_stays_in_range(items):
    result = aggregate(items)
    assert -1e-9 <= result.low <= float(result) + 1e-9
    assert float(result) - 1e-9 <= result.high <= 1 + 1e-9
    assert result.items == len(items)


def test_the_interval_is_as_wide_as_theory_says():
    items = [0.0, 1.0] * 200
    result = aggregate(items)
    expected = 1.96 * np.std(items) / math.sqrt(len(items))
    assert result.high - float(result) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_no_numbers_are_refused_with_the_name_of_the_metric(bad):
    with pytest.raises(CrystalError, match=r"recall is not a number for 1 of 3 items"):
        macro_mean([0.5, bad, 1.0], "recall")


def test_a_mean_of_nothing_is_refused():
    with pytest.raises(CrystalError, match="no items"):
        macro_mean([], "recall")


def test_the_scorer_signature_names_all_that_can_change_a_score():
    signature = ScorerSignature(
        version=1, data="0f0f0f0f", items=6372, parse="ours", encoder="e@r", tau=0.35, alpha=0.3
    )
    assert str(signature) == (
        "crystal|v:1|data:0f0f0f0f|n:6372|parse:ours|enc:e@r|tau:0.35|match:greedy|order:lis|alpha:0.3|judge:none"
    )


def test_a_value_cannot_pose_as_another_field_of_a_signature():
    signature = GenerationSignature("p", "none", "evil|scripted:no", "a", "d", "1", "0", "u", True)
    assert str(signature).split("|")[2] == "model:evil/scripted:no"
    assert str(signature).endswith("|scripted:yes")


def test_the_data_hash_sees_questions_answers_and_steps():
    base = ("q", "a", ["s", "t"])
    others = [("r", "a", ["s", "t"]), ("q", "b", ["s", "t"]), ("q", "a", ["st"]), ("q", "a", ["t", "s"])]
    assert len({data_hash([item]) for item in (base, *others)}) == 5
    assert data_hash([base]) == data_hash([base])
