"""Parts of a board's panel as the page's templates read them: pairs of models, diagnoses, flags."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from .diagnosis import DIAGNOSES, Diagnosis, counts, examples
from .leaderboard import Flag
from .statistics import COMPARED, ESTABLISHED, POWER, too_few
from .study import Board
from .viewer import Diagnoses

#: Examples of each diagnosis and model that the table leads to.
EXAMPLES = 2


@dataclass(frozen=True)
class PairCell:
    """Row minus column, printed; ``trend`` is ``up`` or ``down`` where the difference is established, else empty.

    The ends of an interval are empty where too few images leave it without.
    """

    difference: str
    low: str
    high: str
    p: str
    p_holm: str
    items: int
    images: int
    trend: str


@dataclass(frozen=True)
class Matrix:
    """All pairs of one metric, a row and a column a model; None on the diagonal."""

    metric: str
    title: str
    labels: tuple[str, ...]
    rows: tuple[tuple[PairCell | None, ...], ...]
    power: str


def matrices(comparisons: pd.DataFrame) -> list[Matrix]:
    """A matrix for each metric of ``statistics.compare_models``; none where there is no pair."""
    made = []
    for key, pairs in comparisons.groupby("metric", sort=False):
        metric = str(key)
        labels = [str(label) for label in dict.fromkeys([*pairs["first"], *pairs["second"]])]
        cells: dict[tuple[str, str], PairCell] = {}
        for pair in pairs.itertuples():
            first, second = str(pair.first), str(pair.second)
            cells[first, second] = _pair_cell(pair, 1)
            cells[second, first] = _pair_cell(pair, -1)
        rows = tuple(tuple(cells.get((row, column)) for column in labels) for row in labels)
        made.append(Matrix(metric, COMPARED.get(metric, metric), tuple(labels), rows, _power(pairs)))
    return made


def _pair_cell(pair: Any, sign: int) -> PairCell:
    # Adding 0 takes the sign off a zero.
    difference, low, high = (round(sign * getattr(pair, name), 3) + 0.0 for name in ("difference", "low", "high"))
    low, high = min(low, high), max(low, high)
    established = pair.p_holm <= ESTABLISHED
    return PairCell(
        _signed(difference),
        _signed(low),
        _signed(high),
        p_printed(pair.p),
        p_printed(pair.p_holm),
        int(pair.items),
        int(pair.images),
        ("up" if difference > 0 else "down") if established else "",
    )


def p_printed(p: float) -> str:
    """A p with four decimals, or as a power of ten where those would be 0.

    >>> p_printed(0.03), p_printed(2e-9)
    ('0.0300', '2e-09')
    """
    return f"{p:.4f}" if p >= 0.00005 or p != p else f"{p:.0e}"


def _signed(number: float) -> str:
    if not math.isfinite(number):
        return ""
    return f"{number:+.3f}" if number else "0.000"


def _power(pairs: pd.DataFrame) -> str:
    """What so many items can show, in words."""
    if too_few(pairs, str(pairs["metric"].iloc[0])):
        return (
            f"Too few items to establish a difference: no outcome could give one of {len(pairs):,} pairs p below 0.05."
        )
    smallest = pairs["smallest"].dropna()
    if smallest.empty:
        return "These pairs do not differ from item to item, so nothing can be said of the smallest difference."
    low, high = smallest.min(), smallest.max()
    spread = f"{low:.3f}" if f"{low:.3f}" == f"{high:.3f}" else f"{low:.3f} to {high:.3f}, by pair"
    return (
        f"The smallest true difference that this many items find with probability {POWER:g} at level {ESTABLISHED:g}: "
        f"{spread} (one pair alone, before Holm)."
    )


def agreed(board: Board) -> str:
    """A sentence where the two accuracies are the same on every item, in the place of a figure; else empty."""
    runs = [run.items for run in board.sampled if run.items is not None]
    if not runs or any((items["accuracy"] != items["accuracy_strict"]).any() for items in runs):
        return ""
    return "The paper's rule and the strict one agree on every item, so there is no figure of where they part."


#: A mark for each diagnosis, so that none is told by its colour alone.
MARKS = {"sound": "✓", "cherry_picked": "◔", "lucky": "◇", "sound_wrong": "△", "neither": "✕", "malformed": "!"}


@dataclass(frozen=True)
class Part:
    """A stretch of a model's bar, from ``start`` on, in percent."""

    diagnosis: Diagnosis
    count: int
    start: float
    percent: float

    @property
    def mark(self) -> str:
        """The mark of its diagnosis."""
        return MARKS[self.diagnosis.name]


@dataclass(frozen=True)
class Example:
    """An item that shows a diagnosis, and the hash that leads the step viewer to it."""

    id: int
    link: str


@dataclass(frozen=True)
class DiagnosedRun:
    """The diagnoses of a model: its bar, counts and examples by name."""

    name: str
    parts: tuple[Part, ...]
    counts: Mapping[str, int]
    examples: Mapping[str, Sequence[Example]] = field(default_factory=dict)


def diagnosed(board: Board, place: int, diagnoses: Diagnoses) -> list[DiagnosedRun]:
    """Bars, counts and examples of the runs that have samples, in the order of the board."""
    made = []
    for run in board.sampled:
        found = diagnoses[run.label]
        assert run.items is not None
        counted = counts(found)
        ends = [0, *itertools.accumulate(counted.values())]
        parts = tuple(
            Part(DIAGNOSES[name], count, 100 * start / len(found), 100 * count / len(found))
            for (name, count), start in zip(counted.items(), ends, strict=False)
            if count
        )
        shown = {
            name: [Example(doc_id, _link(place, run.label, doc_id)) for doc_id in ids]
            for name in DIAGNOSES
            if (ids := examples(run.items, found, name, EXAMPLES))
        }
        made.append(DiagnosedRun(run.label, parts, counted, shown))
    return made


def example_ids(runs: Iterable[DiagnosedRun]) -> list[int]:
    """The items that the page leads to from its table of diagnoses."""
    return [example.id for run in runs for found in run.examples.values() for example in found]


def _link(place: int, label: str, doc_id: int) -> str:
    """The hash of an item in the page, as the step viewer writes it."""
    return urlencode({"item": doc_id, "model": label, **({"board": place} if place else {})})


@dataclass(frozen=True)
class Flags:
    """One red flag and the rows that it is raised for; of the whole board where there are none."""

    title: str
    text: str
    labels: tuple[str, ...]


def grouped(flags: Iterable[Flag]) -> list[Flags]:
    """Flags of the same words as one, in their order."""
    labels: dict[tuple[str, str], list[str]] = {}
    for flag in flags:
        labels.setdefault((flag.title, flag.text), []).extend([flag.label] if flag.label else [])
    return [Flags(title, text, tuple(names)) for (title, text), names in labels.items()]
