"""The process that runs ``math-verify``: one JSON request a line on standard input, one answer a line back.

Started by ``algebra`` as a plain script, so it imports nothing of this package.
"""

import contextlib
import json
import sys
from collections.abc import Sequence

_MEMORY_BYTES = 1_000_000_000
_FIGURES = 30


def answer(request: Sequence[str]) -> bool | str | None:
    r"""The answer to ``("equal", latex, latex)`` or ``("value", latex)``; None where there is none.

    >>> answer(["equal", r"2\sqrt{2}", r"\sqrt{8}"])
    True
    """
    from math_verify import verify

    kind, *formulas = request
    parsed = [_parse(formula) for formula in formulas]
    if not all(parsed):
        return None
    if kind == "equal":
        return bool(verify(parsed[1], parsed[0], strict=True, timeout_seconds=None))
    value = parsed[0][0]
    number = value.evalf(_FIGURES) if getattr(value, "is_number", False) else None
    return str(number) if number is not None and number.is_real and number.is_finite else None


def _parse(latex: str) -> list:
    from math_verify import LatexExtractionConfig, parse

    return parse(f"${latex}$", [LatexExtractionConfig()], fallback_mode="no_fallback", parsing_timeout=None)


def main() -> None:
    """Answer requests until standard input ends."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    replies, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            result = answer(json.loads(line))
        except (Exception, RecursionError, MemoryError):
            result = None
        print(json.dumps(result), file=replies, flush=True)


if __name__ == "__main__":
    # The script's own folder is first on the path, and its modules are not meant as top-level ones.
    sys.path.pop(0)
    main()
