"""The terminal as commands write to it: tables as wide as they may be, sentences whole."""

from rich.console import Console

from ..reports.plain import printable


def open_terminal(plain_width: int) -> Console:
    """The terminal; where the output is none, its width is not known, and ``plain_width`` holds the tables."""
    console = Console()
    return console if console.is_terminal else Console(width=plain_width)


def say(console: Console, sentence: str) -> None:
    """Prints a sentence without markup, on one line that nothing but the terminal breaks.

    Names in it come from files of others, and may hold what would steer a terminal.
    """
    console.print(printable(sentence), highlight=False, markup=False, soft_wrap=True)
