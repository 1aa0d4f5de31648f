"""What fuzzing found once is not found again, and a short round of it finds nothing."""

import pytest
from lmms_eval_crystal.benchmarks.fuzz import check_answer, check_response, one_round

#: Texts that fuzzing came up with; the first broke a check that asked too much, and is read as `\ne` is in LaTeX.
FOUND = ['{"reasoning_steps": ["{\\ne"], "answer": ""}', '{"reasoning_steps": ["{\ne"], "answer": ""}']


@pytest.mark.parametrize("text", FOUND)
def test_texts_that_were_found_pass(text):
    check_response(text)
    check_answer(text, text, [])


@pytest.mark.parametrize("number", [0, 1000])
def test_a_short_round_finds_nothing(number):
    assert one_round(number, examples=60) == 120
