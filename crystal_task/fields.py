"""Predictions that come as fields, carried to the scorer inside the one string that the harness lets through.

The harness hands a model's answer on as text and strips it, stores it and caches it on the way. A
prediction whose steps and answer are known already travels as a marker followed by JSON, so that the
scorer takes the fields as they are and never parses them again.
"""

import json
from collections.abc import Sequence

# No model writes this by chance: it names the package, the purpose and the edition of the format.
MARKER = "[[lmms-eval-crystal:fields:1]]"


def pack_fields(steps: Sequence[str], answer: str | None) -> str:
    """One line of ASCII that holds the steps and the answer; ``None`` is an answer that was not given.

    >>> pack_fields(["Two dogs sit"], "2")
    '[[lmms-eval-crystal:fields:1]]{"reasoning_steps": ["Two dogs sit"], "answer": "2"}'
    """
    packed = json.dumps({"reasoning_steps": list(steps), "answer": answer})
    # The harness may cut <think> blocks out of a response, also where a step merely quotes the tag.
    return MARKER + packed.replace("<", "\\u003c")


def unpack_fields(text: str) -> tuple[list[str], str | None] | None:
    """The steps and the answer that ``pack_fields`` put into ``text``, or ``None`` for any other text.

    >>> unpack_fields(pack_fields(["Two dogs sit"], None))
    (['Two dogs sit'], None)
    >>> unpack_fields("Two dogs sit") is None
    True
    """
    text = text.strip()
    if not text.startswith(MARKER):
        return None
    try:
        fields = json.loads(text[len(MARKER) :])
        steps, answer = fields["reasoning_steps"], fields["answer"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    well_formed = isinstance(steps, list) and all(isinstance(step, str) for step in steps)
    if not well_formed or not isinstance(answer, str | None):
        return None
    return steps, answer
