r"""Answers with several parts: tuples, sets, intervals, lists and named values ("(2, 3)", "{1, 2}", "x = 2, y = 3")."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

# More parts than any answer lists; keeps the pairing of unordered parts cheap.
_MAX_PARTS = 12
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_JOINT = re.compile(r"\s*(?:[,;]\s*(?:and\b\s*)?|\band\b|&)\s*")
_NAMED = re.compile(r"^([A-Za-z])\s*=\s*([^=]+)$")
_RANGE = re.compile(r"^(-?[\d.,]+)\s*(%?)\s*(?:-|to)\s*([\d.,]+)\s*(.*)$")


@dataclass(frozen=True)
class Parts:
    """The parts of an answer in order, and the brackets around them ("" for a plain list, "-" for a range).

    ``names`` are the variables to which the parts are given, if they are; such parts stand in their order.
    """

    items: tuple[str, ...]
    brackets: str = ""
    names: tuple[str, ...] = field(default=(), repr=False)


def read_parts(text: str) -> Parts | None:
    r"""The parts of an answer that has two or more, or stands in brackets; else None.

    >>> read_parts("(2, 3)"), read_parts(r"\{1\}"), read_parts("lamp")
    (Parts(items=('2', '3'), brackets='()'), Parts(items=('1',), brackets='{}'), None)
    >>> read_parts("red, blue and green").items, read_parts("10 to 20").brackets
    (('red', 'blue', 'green'), '-')
    >>> read_parts("y = 4, x = 3").items
    ('3', '4')
    """
    text = text.replace("\\{", "{").replace("\\}", "}").strip()
    found = _RANGE.match(text)
    if found:
        unit = found[2] or found[4]
        return Parts((f"{found[1]} {unit}".strip(), f"{found[3]} {unit}".strip()), "-")
    brackets = ""
    if text[:1] in _BRACKETS and text[-1:] in _BRACKETS.values() and _encloses(text):
        brackets, text = text[0] + text[-1], text[1:-1]
    items = _split(text)
    if items is None or not all(items) or (len(items) < 2 and brackets != "{}"):
        return None
    named = sorted((found[1], found[2]) for found in map(_NAMED.match, items) if found)
    if not brackets and len(dict(named)) == len(items):
        return Parts(tuple(value for _, value in named), "", tuple(name for name, _ in named))
    return Parts(tuple(items), brackets)


def same_parts(
    prediction: Parts, reference: Parts, same: Callable[[str, str], bool], is_number: Callable[[str], bool]
) -> bool:
    """Whether two answers have the same parts, as ``same`` compares one part with another.

    Sets and lists of words have no order; tuples, intervals and lists of numbers do. A plain list
    agrees with a bracketed one, two kinds of brackets do not agree.

    >>> equal = str.__eq__
    >>> same_parts(read_parts("{2, 1}"), read_parts("{1, 2}"), equal, str.isdigit)
    True
    >>> same_parts(read_parts("(2, 1)"), read_parts("(1, 2)"), equal, str.isdigit)
    False
    """
    kinds = {prediction.brackets, reference.brackets}
    if len(prediction.items) != len(reference.items) or (len(kinds) == 2 and ("" not in kinds or "-" in kinds)):
        return False
    if prediction.names and reference.names and prediction.names != reference.names:
        return False
    plain = kinds == {""}
    if "{}" not in kinds and not (plain and not all(map(is_number, reference.items))):
        return all(same(one, other) for one, other in zip(prediction.items, reference.items, strict=True))
    left = list(reference.items)
    for item in prediction.items:
        partner = next((index for index, other in enumerate(left) if same(item, other)), None)
        if partner is None:
            return False
        del left[partner]
    return True


def _encloses(text: str) -> bool:
    """Whether the first bracket is closed by the last character."""
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0:
            return index == len(text) - 1
    return False


def _split(text: str) -> list[str] | None:
    """``text`` cut at the commas and "and" outside brackets; None where there are too many parts."""
    items: list[str] = []
    depth = start = position = 0
    for found in _JOINT.finditer(text):
        depth += sum((char in "([{") - (char in ")]}") for char in text[position : found.start()])
        position = found.start()
        if depth == 0:
            items.append(text[start : found.start()].strip())
            start = found.end()
    items.append(text[start:].strip())
    return items if len(items) <= _MAX_PARTS else None
