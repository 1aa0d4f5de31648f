"""Algebra by ``math-verify``: whether two formulas are equal, and the value of one without variables.

``math-verify`` limits its own time by a signal, which only works in a main thread, and the harness judges
in threads. So it runs in one worker process, started at the first formula that needs it and shared by all
threads, which a timer kills when a formula takes too long. ``math_gate`` keeps such formulas away, so that
no verdict hangs on the speed of the machine.
"""

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

from .math_gate import to_latex

_WORKER_SCRIPT = Path(__file__).with_name("algebra_worker.py")
# What one verdict may spend on algebra; with the rest of a verdict it stays below 2 s.
BUDGET_S = 1.0
# Importing SymPy takes half a second, and many times that on a busy machine or a cold disk.
_START_S = 30.0
_START_TRIES = 3
_CACHED = 4_096
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
        """The value of a formula without variables, to some 30 figures; None where it has none.

        >>> round(float(Algebra().value("sqrt(2)")), 4)
        1.4142
        """
        latex = to_latex(formula)
        answer = None if latex is None else self._ask("value", latex)
        try:
            return Fraction(answer) if isinstance(answer, str) else None
        except ValueError:
            return None

    def _ask(self, *request: str) -> object:
        if self._left <= 0:
            return None
        answer, spent_s = _WORKER.ask(request, self._left)
        self._left -= spent_s
        return answer


class _Worker:
    """The worker process: one for all threads, a fresh one after a kill or a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        self._ready = False
        self._failures = 0
        self._answers: dict[tuple[str, ...], object] = {}

    def ask(self, request: tuple[str, ...], limit_s: float) -> tuple[object, float]:
        """The answer to a request and the seconds spent on it; None where there is none in ``limit_s``."""
        if request in self._answers:
            return self._answers[request], 0.0
        with self._lock:
            process = self._running()
            if process is None:
                return None, 0.0
            begun = time.monotonic()
            _send(process, request)
            line = _receive(process, limit_s)
            if line is None:
                self.stop()
                # The next formula should not have to wait for the whole start.
                self._start()
                return None, limit_s
            if len(self._answers) >= _CACHED:
                self._answers.clear()
            self._answers[request] = answer = json.loads(line)
            return answer, time.monotonic() - begun

    def stop(self) -> None:
        """End the worker, if this process started one."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()

    def forget(self) -> None:
        """Let go of what a forked child inherits: a lock that may be held, and a worker that is its parent's."""
        self._lock, self._process = threading.Lock(), None

    def _start(self) -> None:
        # The script's own path, not the package: importing the package would load what it does not need.
        self._process = subprocess.Popen(
            [sys.executable, str(_WORKER_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self._owner, self._ready = os.getpid(), False
        _send(self._process, _WARM_UP)

    def _running(self) -> subprocess.Popen[str] | None:
        """The worker, started and warm; None where it will not start."""
        while self._failures < _START_TRIES:
            if self._process is None or self._process.poll() is not None:
                self._start()
            process = self._process
            if process is not None and (self._ready or _receive(process, _START_S) is not None):
                self._ready = True
                return process
            self._failures += 1
            self.stop()
        return None


def _send(process: subprocess.Popen[str], request: tuple[str, ...]) -> None:
    """One request as a line; a worker that is gone is noticed when its answer is read."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()


def _receive(process: subprocess.Popen[str], limit_s: float) -> str | None:
    """One line of the worker; None where it is gone, or has to be killed after ``limit_s``."""
    assert process.stdout is not None
    alarm = threading.Timer(limit_s, process.kill)
    alarm.daemon = True
    alarm.start()
    try:
        return process.stdout.readline() or None
    finally:
        alarm.cancel()


_WORKER = _Worker()
atexit.register(_WORKER.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_WORKER.forget)
