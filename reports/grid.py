"""A plain table of words and numbers, for the terminal and for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from .gfm import escape, table
from .plain import one_line


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
                Text(one_line(heading)),
                justify="left" if is_words else "right",
                overflow="fold",
                no_wrap=not is_words,
            )
        for row in self.rows:
            table.add_row(*(Text(one_line(cell)) for cell in row))
        return table

    def to_markdown(self) -> str:
        """For GitHub and its kin; what a name may hold stays text."""
        head, *rows = ([escape(cell) for cell in line] for line in (self.headings, *self.rows))
        return "\n".join([f"**{escape(self.title)}**", "", *table(head, rows, self.words)]) + "\n"
