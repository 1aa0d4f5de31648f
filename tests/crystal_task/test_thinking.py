"""Reasoning blocks in front of a response, and tags that a response only quotes."""

import json

import pytest
from lmms_eval_crystal.crystal_task.response import parse_response

SOUND_TEXT = json.dumps({"reasoning_steps": ["Look", "Read"], "answer": "B"})


def fields(text):
    response = parse_response(text)
    assert response.is_usable, response
    return response.steps, response.answer


@pytest.mark.parametrize(
    "text",
    [
        f"<think>no</think>{SOUND_TEXT}",
        f"<THINKING>no {{}}</THINKING>\n{SOUND_TEXT}",
        f"<think>one</think><think>two</think>{SOUND_TEXT}",
        f"<think>a<think>b</think>c</think>{SOUND_TEXT}",
        f"<think>\n<think>opened twice</think>{SOUND_TEXT}",
        f'draft {{"answer": "D"}}</think>{SOUND_TEXT}',
        f"{SOUND_TEXT}<think>is that right?</think>",
        f"◁think▷no◁/think▷{SOUND_TEXT}",
    ],
)
def test_a_reasoning_block_is_no_part_of_the_response(text):
    response = parse_response(text)
    assert (response.steps, response.answer, response.status) == (["Look", "Read"], "B", "recovered")
    assert not response.truncated


@pytest.mark.parametrize("quoted", ["<think>", "</think>", "<think> and </think>", "</think> and <think>"])
@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "<think>no</think>{}", "It is {} I think."])
def test_tags_that_a_step_quotes_are_no_reasoning_block(around, quoted):
    steps = [f"The screen shows {quoted} in red", "Read"]
    text = json.dumps({"reasoning_steps": steps, "answer": "B"})
    for written in (text, text[:-1] + ",}"):
        assert fields(around.replace("{}", written)) == (steps, "B")


def test_a_tag_quoted_in_text_that_breaks_off_or_in_prose_is_none_either():
    assert fields('{"reasoning_steps": ["It shows <think> and </think>", "Rea') == (
        ["It shows <think> and </think>"],
        None,
    )
    assert fields("Step 1: It shows `<think>`.\nAnswer: B") == (["It shows `<think>`."], "B")


@pytest.mark.parametrize(
    "reasoning", ['draft {"a": "b</think>', 'I start with {"reasoning_steps": [ and go on</think>', 'Is it "B"</think>']
)
def test_reasoning_that_ends_inside_json_ends_all_the_same(reasoning):
    assert fields(reasoning + SOUND_TEXT) == (["Look", "Read"], "B")
    assert fields(f"<think>{reasoning}{SOUND_TEXT}") == (["Look", "Read"], "B")


@pytest.mark.parametrize("before", ["", SOUND_TEXT, 'It is {"a": 1}.'])
def test_a_block_that_never_closes_leaves_nothing(before):
    response = parse_response(f'{before}<think>Perhaps {{"reasoning_steps": ["draft"], "answer": "D"}} but')
    assert (response.status, response.truncated) == ("malformed", True)
