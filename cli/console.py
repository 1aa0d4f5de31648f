"""The console that commands print tables and sentences on, and the libraries that would write between them."""

from loguru import logger
from rich.console import Console


def open_console(plain_width: int) -> Console:
    """A terminal as wide as it is; anything else, whose width is not known, as ``plain_width`` characters."""
    console = Console()
    return console if console.is_terminal else Console(width=plain_width)


def say(console: Console, sentence: str) -> None:
    """Prints a sentence as it is: what looks like markup in it is text, and it stays one line for other programs."""
    console.print(sentence, highlight=False, markup=False, soft_wrap=True)


def quiet_libraries() -> None:
    """Without the bars and remarks of libraries about loading their own files; call it before they are imported."""
    logger.disable("lmms_eval")
    import datasets
    from transformers.utils.logging import disable_progress_bar

    datasets.disable_progress_bars()
    disable_progress_bar()
