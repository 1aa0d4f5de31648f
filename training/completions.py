"""What a reward sees: a completion as text, what is read from it, and the columns of the dataset beside it.

A trainer calls several rewards on the same completions; texts and answers are kept for a while, so that each is read
and judged once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from ..crystal_task import Response, parse_response
from ..crystal_task.response import as_text
from ..errors import CrystalError
from ..metrics import judge_answer
from .config import AnswerRule
from .overlap import overlap_f1
from .released_rule import released_verdict

#: The steps of one response, or of one reference.
Chain: TypeAlias = tuple[str, ...]
#: Completions whose reading and verdicts are kept: more than one generation batch of a device holds.
KEPT = 1024

_parse = lru_cache(KEPT)(parse_response)
_judge = lru_cache(KEPT)(judge_answer)
_overlap_f1 = lru_cache(KEPT)(overlap_f1)


def completion_text(completion: object) -> str:
    """The text of a completion: itself, or the content of the last of its messages.

    >>> completion_text([{"role": "assistant", "content": [{"type": "text", "text": "It is B"}]}])
    'It is B'
    """
    if isinstance(completion, Sequence) and not isinstance(completion, str | bytes):
        completion = completion[-1] if completion else ""
    if isinstance(completion, Mapping):
        completion = completion.get("content")
    if isinstance(completion, list | tuple):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in completion]
        return "".join(as_text(part) for part in parts)
    return as_text(completion)


def read(completions: Sequence[object]) -> list[Response]:
    """What each completion says, as the evaluation reads it; never raises, on any texts."""
    return [_parse(completion_text(completion)) for completion in completions]


def chain_of(response: Response) -> Chain:
    """The steps that earn reward: a malformed completion has none."""
    return () if response.is_placeholder else tuple(response.steps)


def are_correct(responses: Sequence[Response], columns: Mapping[str, Any], rule: AnswerRule) -> list[bool]:
    """Whether each answer is right: by ``accuracy_strict``, or by the rule inside the released CPR.

    Takes the columns ``solution`` and, where they are there, ``question`` and ``options``.
    """
    count = len(responses)
    solutions = texts_of(columns, "solution", count)
    if rule == "released":
        return [
            released_verdict(each.answer or "", solution) for each, solution in zip(responses, solutions, strict=True)
        ]
    questions = texts_of(columns, "question", count, required=False)
    options = lists_of(columns, "options", count, required=False)
    answers = [response.answer for response in responses]
    return [_judge(*case).strict for case in zip(answers, solutions, questions, options, strict=True)]


def overlap_of(chain: Chain, reference: Chain, threshold: float) -> float:
    """``overlap_f1`` of two chains, kept for a while."""
    return _overlap_f1(chain, reference, threshold)


def texts_of(columns: Mapping[str, Any], name: str, count: int, required: bool = True) -> list[str]:
    """A column of texts, one for each of ``count`` completions; empty ones where it is missing and not required.

    Raises ``CrystalError`` where it is missing though required, or of another length.
    """
    return [as_text(value) for value in _column(columns, name, count, required)]


def lists_of(columns: Mapping[str, Any], name: str, count: int, required: bool = True) -> list[Chain]:
    """A column of lists of texts, as ``texts_of``; raises ``CrystalError`` too where it holds single texts."""
    values = _column(columns, name, count, required)
    if any(isinstance(value, str) for value in values):
        raise CrystalError(f"The column {name!r} of the training data holds texts; it needs a list of texts a row.")
    return [tuple(as_text(text) for text in value or ()) for value in values]


def _column(columns: Mapping[str, Any], name: str, count: int, required: bool) -> Sequence[Any]:
    values = columns.get(name)
    if values is None:
        if required:
            raise CrystalError(f"The training data has no column {name!r}, which a reward needs; add it.")
        return [None] * count
    if isinstance(values, str) or len(values) != count:
        raise CrystalError(f"A reward got {count} completions and another number of values of {name!r}; give one each.")
    return list(values)
