"""Fields survive the way through the harness, whatever they hold, and no text is taken for them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval.api.reasoning import strip_reasoning_tags
from lmms_eval_crystal.crystal_task.fields import MARKER, pack_fields, unpack_fields

answers = st.none() | st.text()


@given(st.lists(st.text()), answers)
def test_fields_come_back_as_they_went_in(steps: list[str], answer: str | None) -> None:
    assert unpack_fields(pack_fields(steps, answer)) == (steps, answer)


@given(st.lists(st.text()), answers)
def test_the_harness_neither_strips_nor_cuts_nor_breaks_fields(steps: list[str], answer: str | None) -> None:
    packed = pack_fields([*steps, "<think>quoted</think>"], answer)
    stored = json.loads(json.dumps(f"\n{packed.strip()} "))
    stripped = strip_reasoning_tags(stored, [["<think>", "</think>"]])
    assert unpack_fields(stripped) == ([*steps, "<think>quoted</think>"], answer)


@given(st.text())
def test_no_other_text_is_taken_for_fields(text: str) -> None:
    assert unpack_fields(text) is None


@pytest.mark.parametrize("rest", ["", "{", "[]", "{}", '{"reasoning_steps": "a", "answer": "b"}', "[" * 100_000])
def test_a_marker_without_fields_behind_it_is_just_text(rest: str) -> None:
    assert unpack_fields(MARKER + rest) is None
