"""Algebra by ``math-verify``: whether two formulas are equal, and the value of one without variables.

``math-verify`` limits its own time by a signal, which only works in a main thread, and the harness judges
in threads. So it runs in one worker process, started at the first formula that needs it and shared by all
threads. The worker limits itself by processor time, so that no verdict hangs on how busy the machine is;
``math_gate`` keeps formulas away that are too large for it.
"""

import atexit
import json
import logging
import os
import subprocess
import sys
import threading
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from .math_gate import to_latex

_LOG = logging.getLogger(__name__)
_WORKER_SCRIPT = Path(__file__).with_name("algebra_worker.py")
# Seconds of processor time that one verdict may spend on algebra; with the rest of a verdict it stays below 2 s.
BUDGET_S = 1.0
# Seconds on the clock after which a worker is given up, although it limits itself: many times what a formula
# takes, and the import of SymPy too, on a busy machine or a cold disk.
_PATIENCE_S = 60.0
_START_TRIES = 3
_CACHED = 4_096
# Powers of ten beyond which a value is none that an answer could be compared with; as a fraction it would not fit.
_MAX_POWER = 400
# Loads the grammar and the simplifier, so that the first formula is as quick as the others.
_WARM_UP = ("equal", "\\frac{x+1}{2}", "\\frac{1+x}{2}")


class Algebra:
    """The algebra of one verdict: every question to it draws on one budget of time.

    >>> Algebra().equal("2*sqrt(2)", "sqrt(8)"), Algebra().equal("x + 1", "x - 1")
    (True, False)
    """

    def __init__(self, budget_s: float = BUDGET_S) -> None:
        self._left = budget_s

    def equal(self, prediction: str, reference: str) -> bool | None:
        """Whether two formulas are equal; None where they are no small formulas, or it takes too long."""
        formulas = to_latex(prediction), to_latex(reference)
        if formulas[0] is None or formulas[1] is None:
            return None
        answer = self._ask("equal", formulas[0], formulas[1])
        return answer if isinstance(answer, bool) else None

    def value(self, formula: str) -> Fraction | None:
        """The value of a formula without variables, to some 30 figures; None where it has none, or an endless one.

        >>> round(float(Algebra().value("sqrt(2)")), 4)
        1.4142
        """
        latex = to_latex(formula)
        answer = None if latex is None else self._ask("value", latex)
        try:
            number = Decimal(answer) if isinstance(answer, str) else None
        except InvalidOperation:
            return None
        return None if number is None or abs(number.adjusted()) > _MAX_POWER else Fraction(number)

    def _ask(self, *request: str) -> object:
        if self._left <= 0:
            return None
        answer, spent_s = _WORKER.ask(request, self._left)
        self._left -= spent_s
        return answer


class _Worker:
    """The worker process: one for all threads, a fresh one where it was lost or the process forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        self._failures = 0
        self._answers: dict[tuple[str, ...], object] = {}

    def ask(self, request: tuple[str, ...], limit_s: float) -> tuple[object, float]:
        """The answer to a request and the processor time spent on it; None where there is none in ``limit_s``."""
        with self._lock:
            if request in self._answers:
                return self._answers[request], 0.0
            reply = self._exchange([limit_s, *request])
            if reply is None:
                return None, limit_s
            answer, spent_s = reply
            if spent_s < limit_s:
                if len(self._answers) >= _CACHED:
                    self._answers.clear()
                self._answers[request] = answer
            return answer, spent_s

    def _exchange(self, request: list[object]) -> tuple[object, float] | None:
        """One request and its reply; None where no worker can be had, or where this request ends it."""
        process = self._running()
        if process is None:
            return None
        line = _exchange(process, request)
        if line is None:
            self.stop()
            return None
        answer, spent_s = json.loads(line)
        return answer, float(spent_s)

    def stop(self) -> None:
        """End the worker, if this process started one."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()

    def forget(self) -> None:
        """Let go of what a forked child inherits: a lock that may be held, and a worker that is its parent's."""
        self._lock, self._process = threading.Lock(), None

    def _running(self) -> subprocess.Popen[str] | None:
        """The worker, started and warm; None where it will not start."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        while self._failures < _START_TRIES:
            # The script's own path, not the package: importing the package would load what it does not need.
            self._process = subprocess.Popen(
                [sys.executable, str(_WORKER_SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
            self._owner = os.getpid()
            if _exchange(self._process, [_PATIENCE_S, *_WARM_UP]) is not None:
                self._failures = 0
                return self._process
            self._failures += 1
            self.stop()
            if self._failures == _START_TRIES:
                _LOG.warning("math-verify does not start in a process of its own; formulas are compared as texts.")
        return None


def _exchange(process: subprocess.Popen[str], request: list[object]) -> str | None:
    """The line that answers a request; None where the worker is gone, or had to be given up."""
    assert process.stdin is not None
    assert process.stdout is not None
    alarm = threading.Timer(_PATIENCE_S, process.kill)
    alarm.daemon = True
    alarm.start()
    try:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        return process.stdout.readline() or None
    except OSError:
        return None
    finally:
        alarm.cancel()


_WORKER = _Worker()
atexit.register(_WORKER.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_WORKER.forget)
