"""Reasoning blocks, ``<think>...</think>``, that a model writes before its response and that are no part of it."""

import re

from .mending import Span, json_spans

# Kimi writes its tags with triangles.
_TAG = re.compile(r"[<◁]\s{0,4}(/?)\s{0,4}think(?:ing)?\s{0,4}[>▷]", re.IGNORECASE)
_QUOTES = frozenset("\"'`“”‘’")
# How many pieces of JSON are looked at for quoted tags; each costs a pass over the text.
_MAX_SPANS = 32


def drop_reasoning(text: str) -> str | None:
    """``text`` without its reasoning blocks; None where a block never closes, which leaves nothing to read.

    The first closing tag ends a block, however often it was opened: chat templates open it once more than the model,
    and models mention the tag while they think. What stands before a closing tag outside a block is reasoning too
    (the opening tag was part of the prompt), and is dropped. A tag that a response quotes is none: one in quotes or
    backticks, and one inside the response's JSON.

    >>> drop_reasoning("<think>Is it B?</think> It is C.")
    ' It is C.'
    >>> drop_reasoning("Is it B?</think> It is C.")
    ' It is C.'
    >>> drop_reasoning("<think>Is it") is None
    True
    >>> drop_reasoning('{"answer": "the <think> tag",}')
    '{"answer": "the <think> tag",}'
    """
    kept: list[str] = []
    position = 0
    inside = False
    quotations = _Quotations(text)
    for tag in _TAG.finditer(text):
        closes = tag[1] == "/"
        if _in_quotes(text, tag) or (not inside and quotations.hold(tag, position)):
            continue
        if closes and not inside:
            kept.clear()
        elif not closes and not inside:
            kept.append(text[position : tag.start()])
        inside = not closes
        position = tag.end()
    return None if inside else "".join((*kept, text[position:]))


def _in_quotes(text: str, tag: re.Match[str]) -> bool:
    return text[tag.start() - 1 : tag.start()] in _QUOTES and text[tag.end() : tag.end() + 1] in _QUOTES


class _Quotations:
    """Tells which tags outside reasoning blocks stand inside JSON, going through the text once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._span: Span | None = None
        self._looked_at = 0
        self._has_opening = False

    def hold(self, tag: re.Match[str], position: int) -> bool:
        """Whether ``tag`` stands inside JSON that begins at ``position`` or later.

        Reasoning may break off inside JSON too: there a closing tag is the reasoning's, unless its JSON quotes the
        opening one as well.
        """
        while self._span is None or self._span.start < position or self._span.end <= tag.start():
            if self._looked_at == _MAX_SPANS:
                return False
            self._looked_at += 1
            self._has_opening = False
            begin = position if self._span is None else max(position, self._span.end)
            nothing = Span(len(self._text), len(self._text) + 1, None)
            self._span = next(json_spans(self._text, begin), nothing)
        if tag.start() < self._span.start:
            return False
        is_opening = tag[1] != "/"
        self._has_opening |= is_opening
        return is_opening or self._has_opening or not self._span.broken_off
