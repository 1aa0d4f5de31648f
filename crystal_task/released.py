"""Responses as the authors' released script reads them, for ``crystal_paper``: comparable with the paper's table.

What it does, corners included: the whole text as JSON; else fences off, the text from the first ``{`` to the last
``}``, control characters to spaces, trailing commas out; else nothing. LaTeX and reasoning blocks are not looked at.
"""

import json
import re
from typing import Any

from .cleaning import replace_surrogates
from .response import Response, Status, as_text, parse_response, text_status

# The released script's answer where it finds none, which its prompt asks of models too.
NO_ANSWER = "insufficient information"

_LANGUAGE = re.compile(r"^\s*json\s*\n", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TRAILING_COMMA = re.compile(r",\s*(?=[}\]])")


def parse_released(text: object) -> Response:
    r"""What the released script makes of a response; never raises, and never gives the placeholder.

    Status ``valid``: what is valid for ``parse_response`` too; ``recovered``: any other JSON object, or one that the
    fallback found; otherwise ``malformed``, ``empty`` or ``failed``, all with no steps and the answer ``NO_ANSWER``.
    ``truncated`` is the text's, as ``parse_response`` sees it.

    >>> parse_released('{"reasoning_steps": "Count the dogs", "answer": 3}')
    Response(steps=['Count the dogs'], answer='3', status='recovered', truncated=False)
    >>> parse_released("It is B.")
    Response(steps=[], answer='insufficient information', status='malformed', truncated=False)
    """
    text = as_text(text)
    status: Status | None = text_status(text)
    if status is not None:
        return Response([], NO_ANSWER, status)
    whole, value = _loads(text)
    if not whole:
        found, value = _loads(_between_braces(text))
        truncated = parse_response(text).truncated
        status = "recovered" if found else "malformed"
    else:
        truncated = False
        status = "valid" if parse_response(text).status == "valid" else "recovered"
    if not isinstance(value, dict):
        return Response([], NO_ANSWER, "malformed", truncated)
    steps = value.get("reasoning_steps", [])
    steps = [_text(step) for step in steps] if isinstance(steps, list) else [_text(steps)]
    return Response(steps, _text(value.get("answer", NO_ANSWER)), status, truncated)


def _loads(text: str) -> tuple[bool, Any]:
    """Whether ``text`` is JSON, and its value; numbers too long and brackets too deep for Python are no JSON."""
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _between_braces(text: str) -> str:
    text = _LANGUAGE.sub("", text.replace("```", ""))
    first, last = text.find("{"), text.rfind("}")
    if first < last and first != -1:
        text = text[first : last + 1]
    return _TRAILING_COMMA.sub("", _CONTROL.sub(" ", text)).strip()


def _text(value: Any) -> str:
    try:
        return replace_surrogates(value if isinstance(value, str) else str(value))
    except (ValueError, RecursionError):  # nested beyond what Python can print
        return ""
