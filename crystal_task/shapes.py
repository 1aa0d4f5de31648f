"""Steps and answer out of JSON that has been read, in all the shapes that models give them."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .cleaning import clean_answer, clean_steps
from .keys import ANSWER_KEYS, ONE_STEP_KEYS, STEPS_KEYS, WEAK_ANSWER_KEYS, is_known_key, plain_key, step_number
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
# The members of a step object that only number it.
_LABELS = frozenset({"id", "index", "number", "no", "order", *ONE_STEP_KEYS})
# What a model writes where it repeats the format instead of filling it in: dots, "<your answer>", "first step".
_ECHO = re.compile(
    r"[\s.…]+|[<\[({][^<>\[\](){}\n]{0,80}(?:answer|step|insert|your|reasoning|description|\.\.\.|…)[^<>\[\](){}\n]{0,80}[>\])}]"
    r"|(?:the\s|your\s|my\s)?(?:(?:final|correct)\s)?answer(?:\s(?:here|letter))?\W*"
    r"|(?:(?:the|your)\s)?(?:first|second|third|fourth|fifth|next|last|final|another|reasoning)\s(?:reasoning\s)?step\W*"
    r"|(?:reasoning\s)?step\s(?:\d|[a-z]|one|two|three|four|five)(?:\s(?:here|description))?\W*",
    re.IGNORECASE,
)
_TYPE_ECHO = frozenset({"string", "str", "text"})
# No response has more steps than this has digits; longer digits would be slow or refused to be read as a number.
_MOST_DIGITS = 4


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


def is_string(value: Any) -> bool:
    """Whether a JSON value is a string, which a number is not here.

    >>> is_string("3"), is_string(Number("3"))
    (True, False)
    """
    return isinstance(value, str) and not isinstance(value, Number)


def decoded(text: str, strict: bool = False) -> Any:
    """The JSON value that is all of ``text``, see ``decoder``; None where it is no JSON.

    >>> decoded(' ["a"] '), decoded("a")
    (['a'], None)
    """
    try:
        return decoder(strict).decode(text.strip())
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True)
class Fields:
    """The steps and the answer of one JSON value that has a key for either, cleaned; no blank ones."""

    steps: list[str]
    answer: str | None

    @property
    def holds_something(self) -> bool:
        """Whether there is a step or an answer, and not only the format that was asked for, repeated."""
        return (bool(self.steps) or self.answer is not None) and not self.is_echo

    @property
    def is_echo(self) -> bool:
        """Whether all that is said are the fillers of a format, as in ``{"steps": ["...", "..."], "answer": "..."}``.

        "string" fills an answer only beside such steps: alone it may be what hangs on a violin.
        """
        fills = all(_ECHO.fullmatch(step) or step in _TYPE_ECHO for step in self.steps)
        if self.answer is None:
            return fills and bool(self.steps)
        return fills and bool(_ECHO.fullmatch(self.answer) or (self.steps and self.answer in _TYPE_ECHO))


def read_series(values: Sequence[Any], depth: int = 0, broken_off: bool = False) -> Fields | None:
    """One response out of values that follow each other: drafts, JSON Lines, steps and answer apart.

    The last value that holds something wins; what it lacks comes from the ones before, the nearest first. Steps come
    from any of them, an answer from one that is no more than an answer: the answer of a whole draft goes with its
    steps. Objects of one step each are taken together. ``broken_off``: the text ends inside the last value, so that
    what it lacks may be what was cut, and no whole draft may stand in for that. None where no value has a known key.

    >>> read_series([Members([("step", "Look")]), Members([("step", "Read")]), Members([("answer", "B")])])
    Fields(steps=['Look', 'Read'], answer='B')
    """
    parts: list[Fields] = []
    for group in _step_groups(values):
        fields = read_fields(group[0], depth + 1) if len(group) == 1 else None
        if fields is None and _one_step(group[0]) is not None:
            fields = _read_step_objects(group)
        if fields is not None:
            parts.append(fields)
    holding = [fields for fields in parts if fields.holds_something]
    if not holding:
        return next((fields for fields in reversed(parts) if not fields.is_echo), None)
    last, before = holding[-1], holding[-2::-1]
    is_cut = broken_off and last is parts[-1]
    steps, answer = last.steps, last.answer
    if not steps:
        steps = next((each.steps for each in before if each.steps and not (is_cut and each.answer is not None)), [])
    if answer is None:
        answer = next((each.answer for each in before if not each.steps), None)
    return Fields(steps, answer)


def read_fields(value: Any, depth: int = 0) -> Fields | None:
    """The steps and answer of a JSON value, wherever they stand in it; None where no key of it is a known one.

    A list is read as a series. A list of strings is no response here, see ``read_bare_list``.

    >>> read_fields(Members([("Steps", ["Look"]), ("Final answer", Number("3"))]))
    Fields(steps=['Look'], answer='3')
    """
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, Members):
        return _read_object(value, depth)
    if isinstance(value, list):
        fields = read_series(value, depth)
        if fields is not None and fields.answer is not None and not fields.steps:
            return Fields(clean_steps(filter(is_string, value)), fields.answer)
        return fields
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return read_fields(decoded(value), depth + 1)
    return None


def read_bare_list(value: Any) -> Fields | None:
    """The strings of a JSON list of nothing but strings, as steps; None for all else.

    >>> read_bare_list(["Look at the axis", "Read the bar"])
    Fields(steps=['Look at the axis', 'Read the bar'], answer=None)
    """
    if not isinstance(value, list) or isinstance(value, Members) or not value:
        return None
    if not all(map(is_string, value)):
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
    if steps and any(answers):
        return Fields(clean_steps(steps), _first(answers))
    # What is lacking may stand one level below, as in {"answer": ..., "details": {"steps": ...}}.
    below = read_series([value for key, value in members if not is_known_key(key)], depth)
    if steps is None and not answers:
        return below
    said = Fields(clean_steps(steps or []), _first(answers))
    if below is None:
        return said
    return Fields(said.steps or below.steps, below.answer if said.answer is None else said.answer)


def _nested(value: Any, depth: int) -> Fields | None:
    return read_fields(value, depth + 1) if isinstance(value, Members) else None


def _step_groups(values: Sequence[Any]) -> Iterator[list[Any]]:
    """The values one by one, but objects of one step each together, up to where their numbers start over."""
    group: list[Members] = []
    last = -1
    for value in values:
        number = _one_step(value)
        if group and (number is None or 0 <= number <= last):
            yield group
            group, last = [], -1
        if number is None:
            yield [value]
        else:
            group.append(value)
            last = max(last, number)
    if group:
        yield group


def _one_step(value: Any) -> int | None:
    """The number of an object that is one step of several, -1 if it has none; None for anything else."""
    if not isinstance(value, Members):
        return None
    numbers: dict[str, int] = {}
    for key, item in value:
        plain = plain_key(key)
        if plain in numbers or (plain in STEPS_KEYS and isinstance(item, list)):
            return None
        if (number := step_number(key)) is not None:
            if any(map(step_number, numbers)):
                return None
            numbers[plain] = number
        elif plain in ONE_STEP_KEYS and isinstance(item, str):
            numbers[plain] = int(item) if item.isdecimal() and len(item) <= _MOST_DIGITS else -1
    return max(numbers.values(), default=None)


def _read_step_objects(objects: list[Members]) -> Fields:
    """Objects of one step each, ``{"step": 1, "text": ...}``, as one response."""
    steps = [step for item in objects for step in _text_of_object(_without_answer(item), _STEP_TEXT, depth=1)]
    answers = [_answer(value, depth=1) for item in objects for key, value in item if plain_key(key) in ANSWER_KEYS]
    return Fields(clean_steps(steps), _first(answers[::-1]))


def _without_answer(members: Members) -> Members:
    return Members(member for member in members if plain_key(member[0]) not in ANSWER_KEYS)


def _steps(value: Any, depth: int) -> list[str]:
    """The steps in the value of a steps key: a list, an object of numbered steps, or one long string."""
    if depth > _MAX_DEPTH or value is None:
        return []
    if isinstance(value, Members):
        return _steps_of_object(value, depth)
    if isinstance(value, list):
        return [step for item in value for step in _steps_of_item(item, depth)]
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        inner = decoded(value)
        if isinstance(inner, list):
            return _steps(inner, depth + 1)
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
    said = [value for key, value in members if not (plain_key(key) in _LABELS and _is_number(value))]
    words = [text for value in said for text in _words(value, depth + 1)]
    return [" ".join(words)] if any(not _NUMBER.fullmatch(word) for word in words) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and _NUMBER.fullmatch(value) is not None


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
