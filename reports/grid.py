"""A plain table of words and numbers, for the terminal and for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

#: Signs that Markdown would read; a backslash first, or it would be doubled later.
_MARKED = ("\\", "`", "*", "_", "|", "[", "]", "$", "~")


@dataclass(frozen=True)
class Grid:
    """A table: its title, its headings, its rows of texts, and how many columns on the left are words, not numbers."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1

    def to_rich(self) -> Table:
        """For the terminal, without its title, which a narrow table would fold."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for place, heading in enumerate(self.headings):
            is_words = place < self.words
            table.add_column(
                Text(heading),
                justify="left" if is_words else "right",
                overflow="fold",
                no_wrap=not is_words,
            )
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def to_markdown(self) -> str:
        """For GitHub and its kin; what a name may hold stays text."""
        marks = [":--" if place < self.words else "--:" for place in range(len(self.headings))]
        lines = [self.headings, marks, *self.rows]
        cells = [[plain(cell) if line is not marks else cell for cell in line] for line in lines]
        return f"**{plain(self.title)}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def plain(text: str) -> str:
    """A text that Markdown shows as it is.

    >>> plain("a|b <i>")
    'a\\\\|b &lt;i&gt;'
    """
    for sign in _MARKED:
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").split())
