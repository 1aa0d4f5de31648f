"""Which backslashes in JSON are LaTeX and which are escapes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_eval_crystal.crystal_task.latex import protect_latex
from lmms_eval_crystal.crystal_task.response import parse_response


def parse(raw):
    response = parse_response(f'{{"reasoning_steps": ["{raw}"], "answer": "{raw}"}}')
    assert response.steps == [response.answer]
    return response


@pytest.mark.parametrize(
    "raw",
    [
        r"\nu is small",
        r"\nu_0",
        r"x \ne 0",
        r"x \neq 0",
        r"\not\in",
        r"\nabla f",
        r"\theta \times \tau",
        r"5 \text{cm}",
        r"x \to 0",
        r"\tan\theta + \tan(30) + \tan x + \tan 45",
        r"\rho \right) \rightarrow",
        r"\beta \bar{x} \boxed{3} \begin{matrix}",
        r"\frac12 \forall x",
        r"\sqrt{2} \circ \alpha \upsilon \underline{x}",
        r"\(x\) \[y\] 5\% \$3 \{1\}",
    ],
)
def test_latex_commands_survive(raw):
    response = parse(raw)
    assert (response.answer, response.status) == (raw, "recovered")


@pytest.mark.parametrize(
    "raw",
    [
        r"one\nNow two",
        r"one\ntwo\tthree",
        r"one\n\nmid two",
        r"one\nless two",
        r"one\ne.g. two",
        r"one\ni see",
        r"a\tomorrow",
        r"a\tan apple",
        r"a\there",
        r"\\frac{1}{2} \\nu \\times",
        r"90\u00b0 \"x\" a\/b \\",
    ],
)
def test_json_escapes_stay_json_escapes(raw):
    response = parse(raw)
    assert (response.answer, response.status) == (json.loads(f'"{raw}"'), "valid")


def test_latex_survives_in_json_that_needs_mending():
    text = r"""{"reasoning_steps": ["Half is "\frac{1}{2}" of \theta", "a\nNow b",], "answer": '\nu'"""
    response = parse_response(text)
    assert response.steps == [r'Half is "\frac{1}{2}" of \theta', "a\nNow b"]
    assert response.answer == r"\nu"


def test_latex_survives_in_json_that_was_encoded_twice():
    inner = r'{"reasoning_steps": ["\\frac{1}{2} \\sqrt{2}"], "answer": "\\nu"}'
    response = parse_response(json.dumps(inner))
    assert (response.steps, response.answer) == ([r"\frac{1}{2} \sqrt{2}"], r"\nu")


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="\b\f\n\r\t")))
def test_sound_json_is_left_alone(text):
    assert protect_latex(json.dumps(text)) == json.dumps(text)


@settings(deadline=None)
@given(st.text(alphabet="\\nutabefrx\"' {}0"))
def test_protecting_twice_changes_nothing_more(text):
    assert protect_latex(protect_latex(text)) == protect_latex(text)


@settings(deadline=None)
@given(st.text(alphabet="\\nutabefrx/0 '"))
def test_every_escape_that_is_left_is_one_that_json_knows(text):
    json.loads(f'"{protect_latex(text)}"')
