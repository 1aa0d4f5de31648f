"""Match F1 and accuracy in parts of the benchmark: by source, and by approximate difficulty."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...metrics import aggregate
from ..load import Mean
from ..samples import SOURCES
from ..study import Run
from .exhibit import Exhibit, over_items
from .layout import legend, rows
from .theme import INK, MUTED, PAPER, SIZE, SMALL, Style

#: Space between the two metrics of a row, in rows.
APART = 0.17
ROW = 0.3


@dataclass(frozen=True)
class Stratum:
    """One part of the items: its name, their number, and the values of a run in it, by metric."""

    name: str
    items: int
    value: Callable[[Run, str], Mean | None]


def by_source(exhibit: Exhibit) -> Figure | None:
    """A panel a source."""
    found = []
    for source, name in SOURCES.items():
        counts = [value.items or 0 for run in exhibit.board.runs if (value := run.mean(f"match_f1_{source}"))]
        if counts:
            found.append(Stratum(name, max(counts), _mean_of_source(source)))
    return _grid(exhibit.rows, found)


def by_source_caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    return (
        f"{over_items(exhibit)}. Macro means of Match F1 (filled mark) and accuracy by the paper's rule (open diamond) "
        "over the items of each source, with 95 % bootstrap intervals over items; under each name its number of items. "
        "Items of other sources are left out."
    )


def by_difficulty(exhibit: Exhibit) -> Figure | None:
    """A panel for each third of the items by number of reference steps."""
    counts = reference_steps(exhibit)
    if counts.empty:
        return None
    edges = tertiles(counts)
    parts = [_between(counts, low, high) for low, high in edges]
    names = ("easier", "middle", "harder") if len(edges) == 3 else tuple(step_range(*edge) for edge in edges)
    found = [
        Stratum(f"{name}: {step_range(*edge)} steps", len(part), _mean_over(part))
        for name, edge, part in zip(names, edges, parts, strict=True)
    ]
    return _grid(exhibit.sampled, found)


def by_difficulty_caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    return (
        f"{over_items(exhibit, exhibit.sampled)}. Approximate difficulty: the items in thirds by their number of "
        "reference steps, as equal as whole numbers allow, since the paper does not publish its rule; not comparable "
        "with its levels. Match F1 (filled mark) and accuracy (open diamond) with 95 % bootstrap intervals over items."
    )


def reference_steps(exhibit: Exhibit) -> pd.Series:
    """Number of reference steps by ``doc_id``, over all runs with samples."""
    found = [run.items["references"] for run in exhibit.board.sampled if run.items is not None]
    if not found:
        return pd.Series(dtype=float)
    joined = pd.concat(found)
    return joined[~joined.index.duplicated()].sort_index()


def tertiles(counts: pd.Series) -> list[tuple[int, int]]:
    """Ranges of step counts, both ends in, that cut the items into thirds as equal as they can be.

    >>> tertiles(pd.Series([3, 4, 5, 6, 7, 8]))
    [(3, 4), (5, 6), (7, 8)]
    """
    return quantile_ranges(counts, 3)


def quantile_ranges(counts: pd.Series, parts: int) -> list[tuple[int, int]]:
    """Up to ``parts`` ranges of whole numbers, both ends in, that hold about the same number of items each."""
    cuts = np.unique(np.quantile(counts, np.linspace(0, 1, parts + 1)[1:-1], method="inverted_cdf").astype(int))
    ends = [*[cut for cut in cuts if cut < counts.max()], int(counts.max())]
    starts = [int(counts.min()), *[int(end) + 1 for end in ends[:-1]]]
    return [(start, int(end)) for start, end in zip(starts, ends, strict=True)]


def _between(counts: pd.Series, low: int, high: int) -> pd.Index:
    return counts.index[(counts >= low) & (counts <= high)]


def step_range(low: int, high: int) -> str:
    """A range in words."""
    return f"{low}" if low == high else f"{low}–{high}"


def _mean_of_source(source: str) -> Callable[[Run, str], Mean | None]:
    return lambda run, metric: run.mean(f"{metric}_{source}")


def _mean_over(doc_ids: pd.Index) -> Callable[[Run, str], Mean | None]:
    def value(run: Run, metric: str) -> Mean | None:
        if run.items is None:
            return None
        return interval(run.items.loc[run.items.index.intersection(doc_ids), metric])

    return value


def interval(values: pd.Series) -> Mean | None:
    """Macro mean with the bootstrap interval that results carry, over the items that have a value."""
    kept = values.dropna()
    if kept.empty:
        return None
    mean = aggregate(kept.tolist())
    return Mean(float(mean), mean.low, mean.high, mean.items)


def _grid(shown: Sequence[tuple[Run, Style]], strata: Sequence[Stratum]) -> Figure | None:
    """Rows of models, a panel a stratum, Match F1 and accuracy with their intervals in each."""
    if not shown or not strata:
        return None
    made = rows([style for _, style in shown], [1] * len(strata), row=ROW, top=0.72)
    for axes, stratum in zip(made.panels, strata, strict=True):
        axes.set_xlim(-0.04, 1.04)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.set_title(stratum.name, fontsize=SIZE, color=INK, pad=18)
        axes.annotate(
            f"{stratum.items:,} items",
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, 5),
            textcoords="offset points",
            fontsize=SMALL,
            color=MUTED,
        )
        for place, (run, style) in enumerate(shown):
            _mark(axes, place - APART, stratum.value(run, "match_f1"), style, style.marker, style.face)
            _mark(axes, place + APART, stratum.value(run, "accuracy"), style, "d", PAPER)
    legend(made.figure, _key(), 2)
    return made.figure


def _mark(axes: Axes, y: float, value: Mean | None, style: Style, marker: str, face: str) -> None:
    if value is None:
        return
    if value.low is not None and value.high is not None:
        axes.plot([value.low, value.high], [y, y], color=style.colour, linewidth=1.0, zorder=3)
    axes.plot(
        [value.mean],
        [y],
        marker=marker,
        markersize=4.5,
        markerfacecolor=face,
        markeredgecolor=style.colour,
        markeredgewidth=1,
        zorder=4,
        clip_on=False,
    )


def _key() -> list[Line2D]:
    options: dict[str, Any] = {"color": INK, "linestyle": "none", "markersize": 4.5}
    return [
        Line2D([], [], marker="o", label="Match F1 (the mark of the model)", **options),
        Line2D([], [], marker="d", markerfacecolor=PAPER, label="accuracy, paper's rule", **options),
    ]
