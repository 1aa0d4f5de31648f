"""The process that runs ``math-verify``: one JSON request a line on standard input, one reply a line back.

A request is ``[seconds, kind, *formulas]``, a reply ``[answer, seconds]``, both in processor time. Started by
``algebra`` as a plain script, so it imports nothing of this package.
"""

import contextlib
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence

_MEMORY_BYTES = 1_000_000_000
_FIGURES = 30
# Processor seconds after which the system ends this process: a single operation on a number of a billion figures
# returns to no handler of Python's in between.
_GRACE_S = 0.3


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


class _OutOfTimeError(BaseException):
    """No ``Exception``: SymPy and math-verify catch those, and would go on."""


@contextlib.contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Ends what runs inside after so much processor time of this process; without such a timer (Windows) never.

    What does not end then takes the process with it.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_: object) -> None:
        raise _OutOfTimeError

    signal.signal(signal.SIGVTALRM, end)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    signal.setitimer(signal.ITIMER_PROF, seconds + _GRACE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def reply(line: str) -> tuple[bool | str | None, float]:
    """The answer to a request line, None where there is none in time, and the processor time that it took."""
    begun = time.process_time()
    seconds, *request = json.loads(line)
    result = None
    try:
        with _limit(seconds):
            result = answer(request)
    except _OutOfTimeError:
        return None, seconds
    except (Exception, RecursionError, MemoryError):
        pass
    return result, time.process_time() - begun


def main() -> None:
    """Answer requests until standard input ends."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    replies, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print(json.dumps(reply(line)), file=replies, flush=True)


if __name__ == "__main__":
    # The script's own folder is first on the path, and its modules are not meant as top-level ones.
    sys.path.pop(0)
    main()
