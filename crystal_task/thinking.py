"""Reasoning blocks, ``<think>...</think>``, that a model writes before its response and that are no part of it."""

import re

# Kimi writes its tags with triangles.
_TAG = re.compile(r"[<◁]\s{0,4}(/?)\s{0,4}think(?:ing)?\s{0,4}[>▷]", re.IGNORECASE)


def drop_reasoning(text: str) -> str | None:
    """``text`` without its reasoning blocks; None where a block never closes, which leaves nothing to read.

    The first closing tag ends a block, however often it was opened: chat templates open it once more than the model,
    and models mention the tag while they think. What stands before a closing tag outside a block is reasoning too
    (the opening tag was part of the prompt), and is dropped.

    >>> drop_reasoning("<think>Is it B?</think> It is C.")
    ' It is C.'
    >>> drop_reasoning("Is it B?</think> It is C.")
    ' It is C.'
    >>> drop_reasoning("<think>Is it") is None
    True
    """
    kept: list[str] = []
    position = 0
    inside = False
    for tag in _TAG.finditer(text):
        closes = tag[1] == "/"
        if closes and not inside:
            kept.clear()
        elif not closes and not inside:
            kept.append(text[position : tag.start()])
        inside = not closes
        position = tag.end()
    return None if inside else "".join((*kept, text[position:]))
