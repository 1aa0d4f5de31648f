"""The one exception for everything that a user can cause and can mend, and how it ends a run of the harness."""

import functools
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

#: So many names make a message useful; the rest would bury it.
NAMES_SHOWN = 5
#: So many characters of what another library says; some print whole pages.
LINE_SHOWN = 200
P = ParamSpec("P")
R = TypeVar("R")


class CrystalError(Exception):
    """A sentence for the user: what is wrong, where, and what to do about it."""


def first_few(names: Iterable[object]) -> str:
    """The first of the names, for a message.

    >>> first_few(range(9)), first_few([])
    ('0, 1, 2, 3, 4, ...', 'none')
    """
    shown = [str(name) for name in names]
    return ", ".join(shown[:NAMES_SHOWN]) + (", ..." if len(shown) > NAMES_SHOWN else "") or "none"


def first_line(error: BaseException, with_type: bool = False) -> str:
    """What another library's error says first, for a message; its type where it says nothing.

    >>> first_line(OSError("no such file\\nand more")), first_line(KeyError("a"), with_type=True), first_line(OSError())
    ('no such file', "KeyError: 'a'", 'OSError')
    """
    name = type(error).__name__
    lines = str(error).strip().splitlines()
    if not lines:
        return name
    return f"{name}: {lines[0][:LINE_SHOWN]}" if with_type else lines[0][:LINE_SHOWN]


def stop_the_run(function: Callable[P, R]) -> Callable[P, R]:
    """Turns a ``CrystalError`` of a function that the harness calls into the end of the process, with its sentence.

    The harness retries what a task or a model raises, prints a traceback and exits with 0; ``SystemExit``
    is the one thing that it lets through.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except CrystalError as error:
            raise SystemExit(f"CRYSTAL: {error}") from error

    return wrapper
