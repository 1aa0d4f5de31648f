"""Each persona behaves as its name says, for any item."""

import json
import math
import random

import pytest
from crystal_metrics import AccuracyCalculator
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.crystal_task import parse_response
from lmms_eval_crystal.crystal_task.item import Item
from lmms_eval_crystal.metrics import judge_answer
from lmms_eval_crystal.metrics.options import question_with_options
from lmms_eval_crystal.model_adapters.personas import PERSONAS, shuffle, unrelated, write, wrong_answer
from lmms_eval_crystal.model_adapters.unrelated import SENTENCES

SEED = 42


def item(count: int, index: int = 0, answer: str = "2") -> Item:
    """An item with ``count`` different reference steps."""
    return Item(index, f"Question {index}?", answer, tuple(f"Reference step {step}" for step in range(count)))


def written(persona: str, of: Item) -> tuple[list[str], str]:
    """The steps and the answer of a persona's JSON."""
    content = json.loads(write(persona, of, SEED))
    assert list(content) == ["reasoning_steps", "answer"]
    return content["reasoning_steps"], content["answer"]


counts = st.integers(1, 60)


@given(counts)
def test_the_oracle_writes_the_references_and_the_right_answer(count: int) -> None:
    assert written("oracle", item(count)) == ([*item(count).reference_steps], "2")


@given(counts)
def test_the_cherry_picker_takes_the_first_third_at_least_one_step(count: int) -> None:
    steps, answer = written("cherry_picker", item(count))
    assert steps == [*item(count).reference_steps[: math.ceil(count / 3)]]
    assert answer == "2"


@given(counts, st.integers(0, 10_000))
def test_the_shuffled_references_are_all_there_but_never_in_their_order(count: int, index: int) -> None:
    steps, answer = written("shuffled", item(count, index))
    assert sorted(steps) == sorted(item(count).reference_steps)
    assert count < 2 or steps != [*item(count).reference_steps]
    assert answer == "2"


@given(counts)
def test_half_of_what_the_verbose_persona_writes_are_the_references(count: int) -> None:
    steps, answer = written("verbose", item(count))
    assert steps[:count] == [*item(count).reference_steps]
    assert len(steps) == 2 * count
    assert set(steps[count:]) <= set(SENTENCES)
    assert answer == "2"


@given(counts, st.integers(0, 10_000))
def test_the_talker_says_twice_as_many_steps_and_none_of_its_own_item(count: int, index: int) -> None:
    one = item(count, index)
    others = [*one.reference_steps, *(f"Step {step} of another item" for step in range(200))]
    steps = json.loads(write("talker", one, SEED, others))["reasoning_steps"]
    assert len(steps) == 2 * count
    assert set(steps) <= set(others) - set(one.reference_steps)


def test_a_talker_without_other_items_speaks_of_nothing_in_the_pictures() -> None:
    assert set(written("talker", item(2))[0]) <= set(SENTENCES)


@given(counts)
def test_the_lucky_persona_answers_right_with_steps_that_are_not_the_items(count: int) -> None:
    steps, answer = written("lucky", item(count))
    assert len(steps) == count
    assert set(steps) <= set(SENTENCES)
    assert answer == "2"


def test_the_malformed_persona_leaves_nothing_to_parse() -> None:
    assert parse_response(write("malformed", item(3), SEED)).status == "malformed"


@pytest.mark.parametrize("persona", sorted(set(PERSONAS) - {"malformed"}))
def test_what_a_persona_writes_is_valid_whatever_the_item_holds(persona: str) -> None:
    reference = Item(0, "Which?", r"$\frac{1}{2}$", (r"The slope is $\frac{1}{2}$", 'It says "STOP"', "Größe 3 °C"))
    assert parse_response(write(persona, reference, SEED)).status == "valid"


@pytest.mark.parametrize("persona", PERSONAS)
def test_a_seed_settles_every_response(persona: str) -> None:
    items = [item(9, index) for index in range(5)]
    forwards = [write(persona, one, SEED) for one in items]
    backwards = [write(persona, one, SEED) for one in reversed(items)]
    assert forwards == backwards[::-1]


def test_items_and_seeds_are_shuffled_each_in_its_own_way() -> None:
    orders = {write("shuffled", item(9, index), seed) for index in range(5) for seed in (1, 2)}
    assert len({tuple(json.loads(order)["reasoning_steps"]) for order in orders}) == 10


def test_a_single_step_cannot_be_shuffled() -> None:
    assert shuffle(["only"], random.Random(0)) == ["only"]


@given(st.integers(0, 3 * len(SENTENCES)))
def test_no_unrelated_sentence_comes_twice_before_all_have_come_once(count: int) -> None:
    drawn = unrelated(count, random.Random(count))
    assert len(drawn) == count
    assert len(set(drawn)) == min(count, len(SENTENCES))


def rejected(answer: str, reference: str, question: str, options: list[str]) -> bool:
    """Whether the released scorer and both of our rules refuse ``answer``."""
    full = question_with_options(question, options)
    released = AccuracyCalculator(use_llm_grader=False).evaluate_single(full, answer, reference)
    ours = judge_answer(answer, reference, question, options)
    return not (released.is_correct or ours.paper or ours.strict)


def test_the_wrong_answer_is_wrong_to_every_rule(answer_case: dict) -> None:
    reference, options = answer_case["reference"], answer_case.get("options") or []
    assert rejected(wrong_answer(reference, options), reference, answer_case["question"], options)


references = st.one_of(
    st.sampled_from(["yes", "No.", "true", "False", "A", "(c)", "e.", "x", "zeppelin", "a zeppelin and marzipan"]),
    st.integers(-1000, 10_000).map(str),
    st.decimals(-100, 100, places=2).map(str),
    st.tuples(st.integers(0, 500), st.sampled_from(["cm", "%", "dollars", "/ 7", "degrees"])).map(
        "{0[0]} {0[1]}".format
    ),
    st.lists(st.sampled_from(["red", "bus", "the", "left", "of", "open", "north"]), min_size=1, max_size=4).map(
        " ".join
    ),
)


@given(references)
def test_the_wrong_answer_is_wrong_for_any_kind_of_reference(reference: str) -> None:
    assert rejected(wrong_answer(reference), reference, "What is it?", [])


@given(st.integers(2, 6), st.data())
def test_the_wrong_option_is_one_of_the_options_and_another(count: int, data: st.DataObject) -> None:
    options = [f"choice number {index}" for index in range(count)]
    right = data.draw(st.sampled_from("ABCDEF"[:count]))
    wrong = wrong_answer(right, options)
    assert wrong in "ABCDEF"[:count]
    assert rejected(wrong, right, "Which one?", options)
