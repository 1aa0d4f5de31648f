"""The console that commands print tables and sentences on."""

from rich.console import Console


def open_console(plain_width: int) -> Console:
    """A terminal as wide as it is; anything else, whose width is not known, as ``plain_width`` characters."""
    console = Console()
    return console if console.is_terminal else Console(width=plain_width)


def say(console: Console, sentence: str) -> None:
    """Prints a sentence as it is: what looks like markup in it is text, and it stays one line for other programs."""
    console.print(sentence, highlight=False, markup=False, soft_wrap=True)
