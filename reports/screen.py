"""The first screen as the page's templates read it: rows of printed cells, and the slopes of ranks beside them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from .columns import COLUMNS, Column
from .leaderboard import best, shown
from .study import Board, Run

BY_METRIC = {column.metric: column for column in COLUMNS}
#: What stands under what in one column of the table; the others have a column of their own.
STACKED = (
    ("match_f1",),
    ("f1_above_null",),
    ("accuracy", "accuracy_strict"),
    ("precision", "recall"),
    ("ordered_f1", "lis_multi"),
    ("steps",),
    ("format_usable", "truncated"),
    ("output_tokens",),
)
#: Shares that read better as percentages.
PERCENT = ("format_usable", "truncated")
#: Means over some of the items only.
PARTIAL = ("lis_multi",)
#: A tenth that a computer puts a hair above or below itself is still that tenth.
ROUNDING = 1e-9
#: Columns that a board goes without where no row has a value.
OPTIONAL = ("f1_above_null", "output_tokens")


@dataclass(frozen=True)
class Cell:
    """Printed values of a row's column, one above the other, which of them are best, and their numbers for drawing.

    ``exported`` are the values as the page's CSV has them: shares from 0 to 1, as in ``leaderboard.csv``.
    """

    values: tuple[str, ...]
    best: tuple[bool, ...] = ()
    numbers: tuple[float | None, ...] = ()
    low: float | None = None
    high: float | None = None
    null: float | None = None
    exported: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A row of the table; ``paper`` marks published figures, ``notes`` are short words under the name."""

    name: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()
    paper: bool = False


@dataclass(frozen=True)
class Head:
    """The heading of a column: its metrics with their titles and meanings."""

    columns: tuple[Column, ...]
    kind: str = "figure"

    @property
    def names(self) -> str:
        """Names of the values for the exported table."""
        metrics = [column.metric for column in self.columns]
        return "|".join([*metrics, "match_f1_low", "match_f1_high"] if self.kind == "whisker" else metrics)


@dataclass(frozen=True)
class Table:
    """Headings and rows, the rows of the board first."""

    heads: tuple[Head, ...]
    rows: tuple[Row, ...]

    @property
    def axis(self) -> tuple[float, float]:
        """Ends of the axis on which Match F1 is drawn: tenths around all rows but the paper's."""
        drawn = [row.cells[0] for row in self.rows if not row.paper]
        ends = [end for cell in drawn for end in (*cell.numbers, cell.low, cell.high, cell.null) if end is not None]
        if not ends:
            return 0.0, 1.0
        low, high = math.floor(10 * min(ends) + ROUNDING) / 10, math.ceil(10 * max(ends) - ROUNDING) / 10
        return (low, high) if high > low else (max(0.0, low - 0.1), min(1.0, high + 0.1))


@dataclass(frozen=True)
class BenchmarkCell:
    """A model's main metric on another benchmark, on the scale that is printed; ``note`` says where it is from."""

    value: float
    note: str = ""
    best: bool = False


@dataclass(frozen=True)
class BenchmarkColumn:
    """A column of another benchmark: scores by label of the run."""

    name: str
    meaning: str
    scores: Mapping[str, BenchmarkCell] = field(default_factory=dict)
    digits: int = 1


def first_table(board: Board, benchmarks: Sequence[BenchmarkColumn] = (), paper: pd.DataFrame | None = None) -> Table:
    """The table of a board; ``paper`` is what ``paper.paper_table`` gives."""
    heads = [
        Head(tuple(BY_METRIC[metric] for metric in metrics), _kind(metrics))
        for metrics in STACKED
        if metrics[0] not in OPTIONAL or any(run.mean(metrics[0]) for run in board.runs)
    ]
    marks = {column.metric: best(board, column) for column in COLUMNS}
    rows = [
        Row(
            run.label,
            (*(_cell(run, head, marks) for head in heads), *(_score(run, benchmark) for benchmark in benchmarks)),
            _row_notes(board, run),
        )
        for run in board.runs
    ]
    others = tuple(
        Head((Column(each.name, each.name, each.meaning, digits=each.digits),), "other") for each in benchmarks
    )
    if paper is not None:
        blanks = (Cell(("",), (False,), (None,)),) * len(others)
        rows += [
            Row(str(model), (*(_paper_cell(row, head) for head in heads), *blanks), (), paper=True)
            for model, row in paper.to_dict("index").items()
        ]
    return Table((*heads, *others), tuple(rows))


def _kind(metrics: Sequence[str]) -> str:
    return {"match_f1": "whisker", "precision": "paired"}.get(metrics[0], "figure")


def _row_notes(board: Board, run: Run) -> tuple[str, ...]:
    notes = ["scripted"] if run.result.scripted else []
    if run.result.items != run.result.of:
        notes.append(f"{run.result.items:,} of {run.result.of:,} items")
    if run.items is None:
        notes.append("no samples")
    return tuple(notes)


def printed(number: float | None, column: Column) -> str:
    """A value as the table prints it."""
    if number is not None and column.metric in PERCENT:
        return shown(100 * number, 1) + " %" if number == number else ""
    return shown(number, column.digits)


def _with_items(text: str, column: Column, items: int | None) -> str:
    """A mean that not every item has, with the number of those that do."""
    return f"{text} ({items:,})" if text and items is not None and column.metric in PARTIAL else text


def _cell(run: Run, head: Head, marks: Mapping[str, set[str]]) -> Cell:
    means = [run.mean(column.metric) for column in head.columns]
    numbers = tuple(None if mean is None else mean.mean for mean in means)
    whole = means[0] if head.kind == "whisker" else None
    null = run.mean("null_f1") if whole else None
    return Cell(
        values=tuple(
            _with_items(printed(number, column), column, mean.items if mean else None)
            for number, column, mean in zip(numbers, head.columns, means, strict=True)
        ),
        best=tuple(run.label in marks[column.metric] for column in head.columns),
        numbers=numbers,
        low=whole.low if whole else None,
        high=whole.high if whole else None,
        null=null.mean if null else None,
        exported=_exported(numbers, head),
    )


def _paper_cell(row: Mapping[Any, Any], head: Head) -> Cell:
    numbers = tuple(_known(row.get(column.metric)) for column in head.columns)
    values = tuple(printed(number, column) for number, column in zip(numbers, head.columns, strict=True))
    return Cell(values, (False,) * len(values), numbers, exported=_exported(numbers, head))


def _exported(numbers: Sequence[float | None], head: Head) -> tuple[str, ...]:
    return tuple(
        shown(number, 3 if column.metric in PERCENT else column.digits)
        for number, column in zip(numbers, head.columns, strict=True)
    )


def _known(number: Any) -> float | None:
    return None if number is None or pd.isna(number) else float(number)


def _score(run: Run, benchmark: BenchmarkColumn) -> Cell:
    score = benchmark.scores.get(run.label)
    if score is None:
        return Cell(("",), (False,), (None,))
    values = (
        (shown(score.value, benchmark.digits), score.note) if score.note else (shown(score.value, benchmark.digits),)
    )
    return Cell(values, (score.best,) + (False,) * (len(values) - 1), (score.value,))


#: Pixels of the slope chart: distance of two rows, first row, width of the names left, and between two columns.
SLOPE_ROW, SLOPE_TOP, SLOPE_NAMES, SLOPE_GAP = 22, 34, 132, 74
#: Longer names are cut in the chart; the table beside it has them whole.
SLOPE_NAME = 19


@dataclass(frozen=True)
class Slope:
    """A model's line: its ranks (``2=`` where tied), heights in pixels, and how it goes from column to column.

    ``trends`` has ``rises``, ``falls`` or ``stays`` for each gap between two columns.
    """

    name: str
    ranks: tuple[str, ...]
    heights: tuple[float | None, ...]
    trends: tuple[str, ...]


@dataclass(frozen=True)
class Slopes:
    """The slope chart: titles of its columns with their places, and the lines."""

    titles: tuple[str, ...]
    places: tuple[int, ...]
    lines: tuple[Slope, ...]
    width: int
    height: int


def slopes(ranks: pd.DataFrame) -> Slopes | None:
    """The chart of a table of ``rankings.rank_table``; None for a single model.

    Columns are the ranks by accuracy, by Match F1 and, where two models have it, by the mean of other
    benchmarks. Tied models share a rank and stand in the order of the board.
    """
    if len(ranks) < 2:
        return None
    labels = [str(label) for label in ranks.index]
    columns = {"Accuracy": "accuracy_rank", "Match F1": "match_f1_rank"}
    if ranks["others_rank"].notna().sum() > 1:
        columns["Others"] = "others_rank"
    known = {
        title: [None if pd.isna(rank) else int(rank) for rank in ranks[column]] for title, column in columns.items()
    }
    names = _short(labels)
    lines = [
        Slope(
            names[label],
            tuple(_rank(found, place) for found in known.values()),
            tuple(_height(found, place) for found in known.values()),
            tuple(_trend(one[place], other[place]) for one, other in itertools.pairwise(known.values())),
        )
        for place, label in enumerate(labels)
    ]
    places = tuple(SLOPE_NAMES + SLOPE_GAP * column for column in range(len(known)))
    return Slopes(tuple(known), places, tuple(lines), places[-1] + SLOPE_NAMES, SLOPE_TOP + SLOPE_ROW * len(lines))


def _short(labels: Sequence[str]) -> dict[str, str]:
    """Labels as the chart prints them: without the owner where the rest says enough, and cut."""
    bare = [label.rpartition("/")[2] or label for label in labels]
    names = bare if len(set(bare)) == len(labels) else labels
    return {
        label: name if len(name) <= SLOPE_NAME else name[: SLOPE_NAME - 1] + "…"
        for label, name in zip(labels, names, strict=True)
    }


def _rank(ranks: Sequence[int | None], place: int) -> str:
    rank = ranks[place]
    return "" if rank is None else f"{rank}{'=' if ranks.count(rank) > 1 else ''}"


def _trend(before: int | None, after: int | None) -> str:
    if before is None or after is None or before == after:
        return "stays"
    return "rises" if after < before else "falls"


def _height(ranks: Sequence[int | None], place: int) -> float | None:
    """The middle of the row in which a model stands: behind those of a better rank and of the same one before it."""
    rank = ranks[place]
    if rank is None:
        return None
    before = sum(other is not None and (other, at) < (rank, place) for at, other in enumerate(ranks))
    return SLOPE_TOP + SLOPE_ROW * (before + 0.5)
