"""How an error of the user ends a run: one sentence and exit code 1.

The harness retries what a task raises, prints a traceback and exits with 0. ``SystemExit`` is the one
thing that it lets through.
"""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ..errors import CrystalError

P = ParamSpec("P")
R = TypeVar("R")


def stop_the_run(function: Callable[P, R]) -> Callable[P, R]:
    """Turns a ``CrystalError`` of the function into the end of the process, with its sentence."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except CrystalError as error:
            raise SystemExit(f"CRYSTAL: {error}") from error

    return wrapper
