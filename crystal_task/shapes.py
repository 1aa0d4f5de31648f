"""Steps and answer out of JSON that has been read, in all the shapes that models give them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .cleaning import clean_answer, clean_steps
from .keys import ANSWER_KEYS, STEPS_KEYS, WEAK_ANSWER_KEYS, plain_key, step_number
from .prose import split_steps

# JSON that nests deeper holds no response; the bound keeps the reading here off Python's recursion limit.
_MAX_DEPTH = 40
# Where the words of a step object are, the likeliest key first; "step" comes late, it is mostly the number.
_STEP_TEXT = (
    *("text", "description", "content", "statement", "reasoning", "explanation", "details", "detail", "thought"),
    *("observation", "action", "sentence", "reasoningstep", "value", "output", "step", "title", "name"),
)
_ANSWER_TEXT = ("value", "answer", "finalanswer", "text", "letter", "option", "label", "choice", "content", "result")
_UNITS = ("unit", "units")
# A JSON Schema that a model repeats describes steps, it holds none.
_SCHEMA_TYPES = frozenset({"array", "string", "object"})
_NUMBER = re.compile(r"[-+]?[\d.,]+")


class Members(list[tuple[str, Any]]):
    """A JSON object as its members in the order written, since models repeat keys."""


class Number(str):
    """A JSON number as it was written: ``3.10`` stays that, and no length of it is too long."""

    __slots__ = ()


def decoder(strict: bool) -> json.JSONDecoder:
    """A JSON reader that keeps repeated keys and the spelling of numbers; raw control characters only if not strict.

    >>> decoder(strict=True).decode('{"answer": 3.10}')
    [('answer', '3.10')]
    """
    return json.JSONDecoder(
        object_pairs_hook=Members, parse_int=Number, parse_float=Number, parse_constant=Number, strict=strict
    )


@dataclass(frozen=True)
class Fields:
    """The steps and the answer of one JSON value that has a key for either, cleaned; no blank ones."""

    steps: list[str]
    answer: str | None

    @property
    def holds_something(self) -> bool:
        """Whether there is a step or an answer."""
        return bool(self.steps) or self.answer is not None


def read_fields(value: Any, depth: int = 0) -> Fields | None:
    """The steps and answer of a JSON value, wherever they stand in it; None where no key of it is a known one.

    Of several nested objects the last one that holds something wins. A list of strings is no response here, see
    ``read_bare_list``.

    >>> read_fields(Members([("Steps", ["Look"]), ("Final answer", Number("3"))]))
    Fields(steps=['Look'], answer='3')
    """
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, Members):
        return _read_object(value, depth)
    if isinstance(value, list):
        step_objects = _read_step_objects(value)
        if step_objects is not None:
            return step_objects
        return _last([found for item in value if (found := read_fields(item, depth + 1)) is not None])
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return read_fields(_decoded(value), depth + 1)
    return None


def read_bare_list(value: Any) -> Fields | None:
    """The strings of a JSON list of nothing but strings, as steps; None for all else.

    >>> read_bare_list(["Look at the axis", "Read the bar"])
    Fields(steps=['Look at the axis', 'Read the bar'], answer=None)
    """
    if not isinstance(value, list) or isinstance(value, Members) or not value:
        return None
    if not all(isinstance(item, str) and not isinstance(item, Number) for item in value):
        return None
    steps = clean_steps(value)
    return Fields(steps, None) if steps else None


def _read_object(members: Members, depth: int) -> Fields | None:
    by_key = {plain_key(key): value for key, value in members if not _is_schema(value)}
    steps = _first([_steps(by_key[key], depth + 1) for key in STEPS_KEYS if key in by_key])
    if steps is None:
        steps = _numbered_members(members, depth + 1)
    answers = [_answer(by_key[key], depth + 1) for key in ANSWER_KEYS if key in by_key]
    if steps and not any(answers):
        answers += [_answer(by_key[key], depth + 1) for key in WEAK_ANSWER_KEYS if key in by_key]
        answers += [inner.answer for key in STEPS_KEYS if (inner := _nested(by_key.get(key), depth)) is not None]
    if steps is None and not answers:
        return _last([found for _, value in members if (found := read_fields(value, depth + 1)) is not None])
    return Fields(clean_steps(steps or []), _first(answers))


def _nested(value: Any, depth: int) -> Fields | None:
    return read_fields(value, depth + 1) if isinstance(value, Members) else None


def _read_step_objects(items: list[Any]) -> Fields | None:
    """A list of step objects, ``[{"step": 1, "text": ...}, ..., {"answer": ...}]``, as one response."""
    objects = [item for item in items if isinstance(item, Members)]
    if not objects or len(objects) < len(items):
        return None
    steps, answers = [], []
    for item in objects:
        keys = {plain_key(key): value for key, value in item}
        if not keys.keys() & {"step", "stepnumber", *ANSWER_KEYS} or any(
            isinstance(keys.get(key), list) for key in STEPS_KEYS
        ):
            return None
        if "step" in keys or "stepnumber" in keys:
            steps += _steps([item], depth=1)
        answers += [answer for key in ANSWER_KEYS if (answer := _answer(keys.get(key), depth=1)) is not None]
    return Fields(clean_steps(steps), answers[-1] if answers else None) if steps else None


def _steps(value: Any, depth: int) -> list[str]:
    """The steps in the value of a steps key: a list, an object of numbered steps, or one long string."""
    if depth > _MAX_DEPTH or value is None:
        return []
    if isinstance(value, Members):
        return _steps_of_object(value, depth)
    if isinstance(value, list):
        return [step for item in value for step in _steps_of_item(item, depth)]
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        decoded = _decoded(value)
        if isinstance(decoded, list):
            return _steps(decoded, depth + 1)
    return split_steps(str(value))


def _steps_of_item(item: Any, depth: int) -> list[str]:
    if isinstance(item, Members):
        return _text_of_object(item, _STEP_TEXT, depth)
    if isinstance(item, list):
        return _steps(item, depth + 1)
    text = _scalar(item)
    return [] if text is None else [text]


def _steps_of_object(members: Members, depth: int) -> list[str]:
    inside = [_steps(value, depth + 1) for key, value in members if plain_key(key) in STEPS_KEYS]
    if any(inside):
        return next(steps for steps in inside if steps)
    numbered = _numbered_members(members, depth)
    if numbered is not None:
        return numbered
    others = [value for key, value in members if plain_key(key) not in ANSWER_KEYS]
    return [step for value in others for step in _steps_of_item(value, depth + 1)]


def _numbered_members(members: Members, depth: int) -> list[str] | None:
    """The steps under numbered keys, by their numbers, and under a repeated key ``step``; None without such keys."""
    numbered = [(number, value) for key, value in members if (number := step_number(key)) is not None]
    numbered.sort(key=lambda pair: pair[0])
    values = [value for _, value in numbered]
    if not values:
        values = [value for key, value in members if plain_key(key) == "step" and not isinstance(value, Number)]
    return [step for value in values for step in _steps_of_item(value, depth + 1)] if values else None


def _text_of_object(members: Members, keys: tuple[str, ...], depth: int) -> list[str]:
    """The words of an object that stands for one text, as a list of that text or an empty one."""
    by_key = {plain_key(key): value for key, value in members}
    for key in keys:
        value = by_key.get(key)
        if isinstance(value, str) and value.strip() and not _NUMBER.fullmatch(value):
            return [value]
    if depth > _MAX_DEPTH:
        return []
    words = [text for _, value in members for text in _words(value, depth + 1)]
    return [" ".join(words)] if any(not _NUMBER.fullmatch(word) for word in words) else []


def _words(value: Any, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _words(item[1] if isinstance(value, Members) else item, depth + 1)
    elif (text := _scalar(value)) is not None and text.strip():
        yield text


def _answer(value: Any, depth: int) -> str | None:
    """The answer as text: of a list its items, of an object its value with the unit; None where there is none."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, Members):
        text = _answer_of_object(value, depth)
    elif isinstance(value, list):
        items = [text for item in value if (text := _answer(item, depth + 1)) is not None]
        text = ", ".join(items)
    else:
        text = _scalar(value)
    return clean_answer(text)


def _answer_of_object(members: Members, depth: int) -> str | None:
    by_key = {plain_key(key): value for key, value in members}
    text = _first([_answer(by_key[key], depth + 1) for key in _ANSWER_TEXT if key in by_key])
    if text is None:
        return " ".join(_words(members, depth + 1))
    unit = _first([_answer(by_key[key], depth + 1) for key in _UNITS if key in by_key])
    return text if unit is None else f"{text} {unit}"


def _is_schema(value: Any) -> bool:
    if not isinstance(value, Members):
        return False
    kinds = [kind for key, kind in value if key == "type"]
    return any(isinstance(kind, str) and kind in _SCHEMA_TYPES for kind in kinds)


def _scalar(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def _first(values: list[Any]) -> Any:
    """The first value that says something; else an empty one rather than None, if there is one."""
    for value in values:
        if value:
            return value
    return next((value for value in values if value is not None), None)


def _last(found: list[Fields]) -> Fields | None:
    holding = [fields for fields in found if fields.holds_something]
    candidates = holding or found
    return candidates[-1] if candidates else None


def _decoded(text: str) -> Any:
    try:
        return decoder(strict=False).decode(text.strip())
    except (ValueError, RecursionError):
        return None
