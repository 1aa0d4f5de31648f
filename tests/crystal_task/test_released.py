"""What ``crystal_paper`` makes of a response: what the authors' released script makes of it."""

import pytest
from lmms_eval_crystal.crystal_task.released import NO_ANSWER, parse_released

SOUND = '{"reasoning_steps": ["Look"], "answer": "B"}'


def test_each_case_comes_out_as_the_released_script_had_it(response_case):
    response = parse_released(response_case["text"])
    assert (response.steps, response.answer) == (response_case["released_steps"], response_case["released_answer"])
    assert response.is_usable or (response.steps, response.answer) == ([], NO_ANSWER)
    assert not response.is_placeholder


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (SOUND, "valid"),
        (f"```json\n{SOUND}\n```", "recovered"),
        (f"[{SOUND}]", "malformed"),
        ('{"reasoning_steps": ["Loo', "malformed"),
        ("", "empty"),
        (None, "empty"),
        ("[LMMS_EVAL_BUDGET_EXCEEDED]", "failed"),
    ],
)
def test_the_status_says_which_way_the_text_was_read(text, status):
    assert parse_released(text).status == status


def test_a_text_that_breaks_off_is_truncated_here_too():
    assert parse_released('{"reasoning_steps": ["Loo').truncated
    assert not parse_released(SOUND).truncated


@pytest.mark.parametrize(
    ("text", "steps", "answer"),
    [
        ("{}", [], NO_ANSWER),
        ('{"reasoning_steps": null}', ["None"], NO_ANSWER),
        ('{"reasoning_steps": [1.50, true], "answer": 3.10}', ["1.5", "True"], "3.1"),
        ('x {"reasoning_steps": ["a\x07b",], "answer": "B",} y', ["a b"], "B"),
        ('x {"reasoning_steps": ["a\nb"], "answer": "B"}', [], NO_ANSWER),
        ('{"reasoning_steps": ["\\ud800"], "answer": "B"}', ["�"], "B"),
        ('{"reasoning_steps": [], "answer": ' + "9" * 10_000 + "}", [], NO_ANSWER),
        ("[" * 100_000, [], NO_ANSWER),
    ],
)
def test_corners_of_the_released_script(text, steps, answer):
    response = parse_released(text)
    assert (response.steps, response.answer) == (steps, answer)
