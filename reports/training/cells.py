"""Tables of the training section as they are printed, for the page and for Markdown."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..gfm import escape, table

#: What stands for a value that is not there.
BLANK = ""


@dataclass(frozen=True)
class Head:
    """A column: its title and what it means; ``below`` names what stands under the value, if anything does.

    ``name`` is that of an exported table, where the title alone would not do.
    """

    title: str
    meaning: str = ""
    below: str = ""
    name: str = ""

    @property
    def names(self) -> str:
        """The names of its values in an exported table."""
        name = self.name or self.title
        return f"{name}|{name}: {self.below}" if self.below else name


@dataclass(frozen=True)
class Cell:
    """A printed value, what stands under it, and ``up`` or ``down`` where it is an established difference."""

    text: str = BLANK
    below: str = ""
    trend: str = ""


@dataclass(frozen=True)
class Row:
    """A row; ``paper`` marks published figures, ``part`` one of those that the row above is the mean of.

    ``below`` stands under its name.
    """

    label: str
    cells: tuple[Cell, ...]
    below: str = ""
    paper: bool = False
    part: bool = False


@dataclass(frozen=True)
class Table:
    """A table: ``name`` is that of its exported file, ``corner`` the heading of its first column."""

    name: str
    title: str
    corner: str
    heads: tuple[Head, ...]
    rows: tuple[Row, ...]
    caption: str = ""

    @property
    def markdown(self) -> list[str]:
        """Its lines as GitHub-flavoured Markdown, its caption last."""
        rows = [[_named(row), *(_printed(cell) for cell in row.cells)] for row in self.rows]
        lines = [
            f"#### {escape(self.title)}",
            "",
            *table([self.corner, *(escape(head.title) for head in self.heads)], rows),
        ]
        return [*lines, "", *([escape(self.caption), ""] if self.caption else [])]


def _named(row: Row) -> str:
    name = f"{escape(row.label)} (published)" if row.paper else escape(row.label)
    name = f"· {name}" if row.part else name
    return f"{name}, {escape(row.below)}" if row.below else name


def _printed(cell: Cell) -> str:
    text = f"**{escape(cell.text)}**" if cell.trend and cell.text else escape(cell.text)
    return f"{text} ({escape(cell.below)})" if cell.below and cell.text else text


def fixed(value: float | None, digits: int = 3, sign: bool = False) -> str:
    """A number with so many digits behind the point, empty where there is none.

    >>> fixed(0.12345), fixed(-0.5, 2, sign=True), fixed(None)
    ('0.123', '-0.50', '')
    """
    if value is None or math.isnan(value):
        return BLANK
    rounded = round(value, digits)
    return f"{rounded:{'+' if sign else ''},.{digits}f}" if rounded else f"{0:.{digits}f}"


def between(low: float, high: float, digits: int = 3, sign: bool = False) -> str:
    """An interval in square brackets, empty where it has no ends."""
    if not math.isfinite(low + high):
        return BLANK
    return f"[{fixed(low, digits, sign)}, {fixed(high, digits, sign)}]"


def short(value: float | None) -> str:
    """A number of any size in few signs, empty where there is none.

    >>> short(5e-06), short(0.372), short(12.0), short(1500.2)
    ('5e-6', '0.372', '12', '1,500')
    """
    if value is None or math.isnan(value):
        return BLANK
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}".replace("e-0", "e-")
