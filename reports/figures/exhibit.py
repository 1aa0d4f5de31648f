"""What figures are drawn from, and a figure with its title and the words that say how it is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure

from ..study import Board, Run
from .theme import Style, styles


@dataclass(frozen=True)
class Exhibit:
    """A board, and what other modules found out about its runs, by label.

    ``diagnoses`` has the class of each item (index ``doc_id``), ``benchmarks`` the mean score on other benchmarks in
    ``[0, 1]``; both may lack runs, and be empty. ``thresholds`` are
    those of the diagnoses, in words.
    """

    board: Board
    diagnoses: Mapping[str, pd.Series] = field(default_factory=dict)
    benchmarks: Mapping[str, float] = field(default_factory=dict)
    thresholds: str = ""

    @property
    def styles(self) -> list[Style]:
        """How each run looks, in the order of the board."""
        return styles(self.board)

    @property
    def rows(self) -> list[tuple[Run, Style]]:
        """Runs with their looks."""
        return list(zip(self.board.runs, self.styles, strict=True))

    @property
    def sampled(self) -> list[tuple[Run, Style]]:
        """The same of the runs whose samples are there."""
        return [(run, style) for run, style in self.rows if run.items is not None]


@dataclass(frozen=True)
class Drawn:
    """A finished figure: ``name`` is that of its files, ``caption`` says how it is made and what it leaves out."""

    name: str
    title: str
    caption: str
    figure: Figure = field(repr=False)


def over_items(exhibit: Exhibit, runs: list[tuple[Run, Style]] | None = None) -> str:
    """The items and models behind a figure, as the first words of its caption."""
    board = exhibit.board
    part = "" if board.items == board.of else f" of {board.of:,}"
    models = len(exhibit.rows if runs is None else runs)
    words = f"{board.items:,}{part} items, {models} model{'' if models == 1 else 's'}"
    return words if runs is None else words + _gaps(exhibit, [run for run, _ in runs])


def _gaps(exhibit: Exhibit, shown: list[Run]) -> str:
    """Says how many runs are left out for want of samples, and how many have some of their items only."""
    missing = len(exhibit.rows) - len(shown)
    partial = sum(run.items is not None and len(run.items) < run.result.items for run in shown)
    said = [f"{missing} without samples left out"] if missing else []
    said += [f"{partial} with fewer items, since lines of its samples cannot be used"] if partial == 1 else []
    said += [f"{partial} with fewer items, since lines of their samples cannot be used"] if partial > 1 else []
    return f" ({'; '.join(said)})" if said else ""
