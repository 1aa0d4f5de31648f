"""Null, prefixes and optimal assignment: whether Match F1 is more than a step count."""

import random

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from lmms_eval_crystal.crystal_task import parse_response
from lmms_eval_crystal.crystal_task.data import MINI_FILE
from lmms_eval_crystal.crystal_task.item import Item
from lmms_eval_crystal.metrics import EmbeddingTable, match_steps, null_partners, score_similarity, similarity_of
from lmms_eval_crystal.metrics.validity import (
    FIRST_STEPS,
    Validity,
    first_f1,
    match_f1_of,
    optimal_f1,
    summarise,
    validity_of,
)
from lmms_eval_crystal.model_adapters.personas import write

similarities = st.tuples(st.integers(1, 14), st.integers(1, 9)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=st.floats(-1, 1, width=16))
)


def item(source: str, count: int, name: str) -> tuple[str, str, list[str]]:
    return source, f"Question {name}?", [f"{name} {step}" for step in range(count)]


items = st.lists(
    st.builds(item, st.sampled_from(["mmvp", "plotqa", ""]), st.integers(1, 6), st.sampled_from("abcdefghij")),
    min_size=1,
    max_size=12,
)


@pytest.fixture(scope="module")
def mini() -> list[Item]:
    """Every third item: of each source some, and few enough to be embedded at once."""
    rows = Dataset.from_parquet(str(MINI_FILE)).remove_columns("image")
    return [Item.from_row(row, index) for index, row in enumerate(rows)][::3]


@pytest.fixture(scope="module")
def table(minilm) -> EmbeddingTable:
    return EmbeddingTable(minilm)


@given(items, st.randoms())
def test_the_null_does_not_depend_on_the_order_of_the_items(listed, rng):
    order = list(range(len(listed)))
    rng.shuffle(order)
    shuffled = [listed[place] for place in order]
    given_steps = [None if place is None else listed[place][2] for place in null_partners(listed)]
    other_steps = [None if place is None else shuffled[place][2] for place in null_partners(shuffled)]
    assert [given_steps[place] for place in order] == other_steps


@given(items)
def test_the_null_is_another_item_of_the_source_with_the_nearest_length(listed):
    for (source, _, steps), place in zip(listed, null_partners(listed), strict=True):
        others = [other for other in listed if other[2] != steps]
        if place is None:
            assert not others
            continue
        partner = listed[place]
        pool = [other for other in others if other[0] == source] or others
        nearest = min(abs(len(other[2]) - len(steps)) for other in pool)
        assert partner in pool
        assert abs(len(partner[2]) - len(steps)) == nearest


def test_equally_near_items_all_serve_as_null():
    listed = [item("mmvp", 3, f"item{index}") for index in range(200)]
    assert len(set(null_partners(listed))) > 100


def test_an_item_alone_in_its_source_takes_the_nearest_of_any_and_one_alone_in_the_run_has_none():
    listed = [item("mmvp", 9, "a"), item("mmvp", 4, "b"), item("plotqa", 5, "c")]
    assert null_partners(listed) == [1, 0, 1]
    assert null_partners(listed[:1]) == null_partners([listed[0], listed[0]])[:1] == [None]


@settings(deadline=None)  # SciPy is imported by the first
@given(similarities)
def test_no_assignment_accepts_fewer_pairs_than_greedy_matching(similarity):
    greedy = len(match_steps(similarity))
    assert optimal_f1(similarity) == optimal_f1(similarity, greedy=greedy) >= match_f1_of(similarity)


def test_two_steps_that_share_a_favourite_are_both_matched_by_the_optimal_assignment():
    crossed = np.array([[0.9, 0.5], [0.8, 0.1]], dtype=np.float32)
    assert (match_f1_of(crossed), optimal_f1(crossed)) == (0.5, 1.0)


@given(similarities)
def test_the_first_steps_are_scored_as_if_they_were_all(similarity):
    firsts = first_f1(similarity)
    assert len(firsts) == min(len(similarity), FIRST_STEPS)
    assert firsts == tuple(match_f1_of(similarity[: count + 1]) for count in range(len(firsts)))


def test_no_predicted_step_has_no_first_steps_and_no_f1():
    empty = np.empty((0, 3), dtype=np.float32)
    assert validity_of(empty, empty, score_similarity(empty), [], ["a", "b", "c"]) == Validity(0.0, 0.0, (), ())


def test_the_summary_of_a_run_averages_over_items():
    records = [
        {"optimal_f1": 1.0, "first_f1": [0.5, 1.0], "pairs": [[0, 0, 0.9], [1, 1, 0.9]], "conflicts": [[1, "number"]]},
        {"optimal_f1": 0.0, "first_f1": [], "pairs": [], "conflicts": []},
        {
            "optimal_f1": 0.5,
            "first_f1": [0.5],
            "pairs": [[0, 0, 0.5]],
            "conflicts": [[0, "number"], [0, "negation"]],
        },
    ]
    summary = summarise(records)
    assert summary["optimal_f1"] == 0.5
    assert summary["first_f1"] == pytest.approx([1 / 3, *[0.5] * 9])
    assert summary["conflicts"] == {"items": 2, "any": 0.75, "number": 0.75, "negation": 0.5}
    assert summarise([records[1]])["conflicts"] == {"items": 0, "any": None, "number": None, "negation": None}


def above_null(
    responses: list[list[str]], references: list[Item], table: EmbeddingTable
) -> tuple[np.ndarray, np.ndarray]:
    """Null F1 and Match F1 above it, of one response an item."""
    table.add(step for steps in responses for step in steps)
    table.add(step for one in references for step in one.reference_steps)
    partners = null_partners((one.source, one.question, one.reference_steps) for one in references)
    nulls, differences = [], []
    for steps, one, partner in zip(responses, references, partners, strict=True):
        predicted = table.rows(steps)
        own, other = (similarity_of(predicted, table.rows(i.reference_steps)) for i in (one, references[partner]))
        nulls.append(match_f1_of(other))
        differences.append(match_f1_of(own) - nulls[-1])
    return np.array(nulls), np.array(differences)


def test_the_personas_stand_apart_from_a_talker_about_other_items(mini, table):
    """The talker gets a Match F1 that looks like reasoning, and nothing above its null."""
    pool = [step for one in mini for step in one.reference_steps]
    above = {}
    for persona in ("oracle", "verbose", "cherry_picker", "talker", "lucky"):
        responses = [parse_response(write(persona, one, 42, pool)).steps for one in mini]
        nulls, differences = above_null(responses, mini, table)
        above[persona] = differences.mean()
        if persona == "talker":
            assert nulls.mean() > 0.1
    assert abs(above["talker"]) < 0.05
    assert abs(above["lucky"]) < 0.02
    assert above["oracle"] > 0.5
    assert above["oracle"] > above["verbose"] > above["cherry_picker"] > above["talker"] + 0.2


def test_the_null_grows_with_the_number_of_steps_and_what_is_above_it_does_not(mini, table):
    """Chains of steps drawn at random from all items, 240 items made of the same steps."""
    rng = random.Random(42)
    pool = sorted({step for one in mini for step in one.reference_steps})
    made = [
        Item(
            index,
            f"Question {index}?",
            "",
            tuple(rng.sample(pool, rng.randint(3, 16))),
            (),
            mini[index % len(mini)].source,
        )
        for index in range(240)
    ]
    means = []
    for length in (2, 4, 8, 12):
        responses = [rng.sample(pool, length) for _ in made]
        nulls, differences = above_null(responses, made, table)
        means.append(nulls.mean())
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        assert abs(differences.mean()) < 3.5 * error
        assert error < 0.02
    assert means == sorted(means)
    assert means[-1] > means[0] + 0.15
