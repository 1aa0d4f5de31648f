"""The console that commands print tables and sentences on, and the libraries that would write between them."""

from loguru import logger
from rich.console import Console

from ..reports.plain import printable


def open_console(plain_width: int) -> Console:
    """A terminal as wide as it is; anything else, whose width is not known, as ``plain_width`` characters."""
    console = Console()
    return console if console.is_terminal else Console(width=plain_width)


def say(console: Console, sentence: str) -> None:
    """Prints a sentence as text, on one line that nothing but the terminal breaks.

    Names in it come from files of others, and may look like markup or hold what would steer a terminal.
    """
    console.print(printable(sentence), highlight=False, markup=False, soft_wrap=True)


def quiet_libraries() -> None:
    """Without the bars and remarks of libraries about loading their own files; call it before they are imported."""
    logger.disable("lmms_eval")
    import datasets
    from transformers.utils.logging import disable_progress_bar

    datasets.disable_progress_bars()
    disable_progress_bar()
