"""JSON that may stand between script tags, whatever texts are in it."""

import json
from typing import Any

#: What could end a script or begin a comment in HTML, and the two line ends that JavaScript once stumbled over.
UNSAFE = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def inline_json(value: Any) -> str:
    """Compact JSON in which no text can end the script that holds it; lone surrogates become question marks.

    Raises ``ValueError`` for NaN, which JSON does not have.

    >>> inline_json({"step": "</script>"})
    '{"step":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(UNSAFE).encode("utf-8", "replace").decode("utf-8")
