"""Looks for texts that break the parsers or the answer rules, for as long as it is told; fails where it finds one.

    python -m lmms_eval_crystal.benchmarks.fuzz --minutes 10

By hypothesis, which shrinks what it finds to a text that a person can read. What was found stands in the tests.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Annotated

import typer
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from rich.console import Console

from ..crystal_task.fields import pack_fields, unpack_fields
from ..crystal_task.released import parse_released
from ..crystal_task.response import PLACEHOLDER_STEP, STATUSES, parse_response
from ..metrics import judge_answer

#: Examples between two looks at the clock.
EXAMPLES = 400
#: Seconds of processor time that one text may take; hostile ones of any size have two.
LIMIT_S = 1.0
console = Console()

_MARKS = """{ } [ ] ( ) < > " ' “ ” ‘ , : ; . ... \\ \\\\ / | # * ** _ - – = + ^ $ % ` ``` ```json // /* */ <!-- -->
 \\n \\t \\" \\u \\u0000 \\ud800 \\u00e9 \\frac \\times \\boxed{ \\text{
 <think> </think> <thinking> <answer> </answer> <step>""".split()
_WORDS = """reasoning_steps answer steps step_1 "step" "text" final_answer Step 1: 1. - Answer: therefore the answer is
 not yes no true false null NaN Infinity
 A B (C) D) option none insufficient information 3 -3 0.5 1,000 1/2 2 1/2 3e8 12%
 12 cm m km² °C $5 five twenty-one half 10:30 2024 sqrt pi x y x^2 sin log""".split()
_ODD = [
    "\x00",
    "\ufeff",
    "\u200b",
    "\u202e",
    "\ud800",
    "\udc00",
    "\U0001f600",
    "\r\n",
    "\t",
    "\u2028",
    "٣",
    "Ⅷ",
    "½",
    "ß",
]
_HEAD = '{"reasoning_steps": ["The sign is red", "It has eight sides"], "answer": "B"}'

pieces = st.lists(
    st.one_of(st.sampled_from([*_MARKS, *_WORDS, *_ODD, _HEAD, " ", "\n"]), st.text(max_size=6)), max_size=40
)
joined = st.builds(lambda parts, glue: glue.join(parts), pieces, st.sampled_from(["", " ", "\n", ", "]))
texts = st.one_of(joined, st.text(st.characters(codec=None), max_size=200))
wrapped = st.builds(
    lambda steps, answer, ascii_only, indent: json.dumps(
        {"reasoning_steps": steps, "answer": answer}, ensure_ascii=ascii_only, indent=indent
    ),
    st.lists(texts, max_size=6),
    st.one_of(texts, st.integers(), st.none(), st.floats(), st.lists(texts, max_size=3)),
    st.booleans(),
    st.sampled_from([None, 2]),
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A sound response with something cut out, put in, said twice or surrounded."""
    text = draw(wrapped)
    for _ in range(draw(st.integers(0, 4))):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        middle = draw(st.sampled_from(["", text[start:end], text[start:end] * 2, text[:start]]) | joined)
        text = text[:start] + middle + text[end:]
    return draw(texts) + text if draw(st.booleans()) else text


responses = st.one_of(damaged(), wrapped, texts)
answers = st.one_of(
    joined.map(lambda text: text[:120]), st.floats().map(str), st.integers().map(str), st.text(max_size=30)
)


def check_response(text: str) -> None:
    """Both parsers return what can be scored and written, in time, and say the same when asked again."""
    for parse in (parse_response, parse_released):
        begin = time.thread_time()
        response = parse(text)
        assert time.thread_time() - begin < LIMIT_S, f"{parse.__name__} is slow"
        assert response.status in STATUSES
        json.dumps([response.steps, response.answer], ensure_ascii=False).encode("utf-8")
        assert parse(text) == response
    ours = parse_response(text)
    assert ours.is_usable or (ours.steps == [PLACEHOLDER_STEP] and ours.answer is None)
    assert all(step.strip() for step in ours.steps)
    assert ours.answer is None or ours.answer.strip()
    # What was read, written as asked for, is read as the same. A line break before letters may become LaTeX, as "\\ne".
    if ours.is_usable and not any(sign in step for step in ours.steps for sign in "\n\t\\"):
        again = parse_response(json.dumps({"reasoning_steps": ours.steps, "answer": ours.answer or "none"}))
        assert again.steps == ours.steps
    assert unpack_fields(pack_fields(ours.steps, ours.answer)) == (ours.steps, ours.answer)


def check_answer(prediction: str, reference: str, options: list[str]) -> None:
    """A verdict in time, the same again; an answer is right where it is the reference, and never where it is blank."""
    begin = time.thread_time()
    verdict = judge_answer(prediction, reference, "How many?", options)
    assert time.thread_time() - begin < LIMIT_S, "judging is slow"
    assert judge_answer(prediction, reference, "How many?", options) == verdict
    assert not judge_answer(None, reference).strict
    if not prediction.strip():
        assert not verdict.paper
        assert not verdict.strict
    if reference.strip():
        assert judge_answer(reference, reference).strict


def one_round(number: int, examples: int = EXAMPLES) -> int:
    """Runs both checks over so many examples of a seed; how many were run. A failure is raised, shrunk."""
    _prepared(given(responses)(check_response), number, examples)()
    _prepared(given(answers, answers, st.lists(answers, max_size=4))(check_answer), number, examples)()
    return 2 * examples


def _prepared(test: Callable[[], None], number: int, examples: int) -> Callable[[], None]:
    wanted = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.target, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    return seed(number)(wanted(test))


def main(
    minutes: Annotated[float, typer.Option(help="How long to look.")] = 10.0,
    start: Annotated[int, typer.Option("--seed", help="Seed of the first round; each round has the next.")] = 0,
) -> None:
    """Fuzzes the parsers and the answer rules."""
    end, count, number = time.monotonic() + 60 * minutes, 0, start
    while time.monotonic() < end:
        count += one_round(number)
        number += 1
    console.print(f"Nothing found in {count:,} examples.")


if __name__ == "__main__":
    typer.run(main)
