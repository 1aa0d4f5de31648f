"""How the ranking changes with the question that is asked: accuracy, Match F1, the other benchmarks."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..statistics import DIGITS
from .exhibit import Exhibit, over_items
from .layout import FOOT, foot, sheet, text_size
from .theme import INK, MUTED, RULE, SIZE, WIDTH, Style, mark

#: Inches of a rank, and above and below them.
ROW, TOP, BOTTOM = 0.24, 0.5, 0.12


def caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    words = (
        f"{over_items(exhibit)}. Ranks by accuracy (the paper's rule) and by mean Match F1, 1 the best; models with "
        "the same score share the middle of their places. Ranks hide how close the scores are: see the intervals."
    )
    if len(others := _benchmarks(exhibit)) > 1:
        words += f" Right: by the mean over the other benchmarks that all of them ran ({len(others)} models have one)."
    return words


def draw(exhibit: Exhibit) -> Figure | None:
    """A line a model through its ranks; None for a single model."""
    columns = _columns(exhibit)
    if len(exhibit.rows) < 2 or len(columns) < 2:
        return None
    shown = exhibit.styles
    scores = pd.DataFrame(columns, index=[style.label for style in shown])
    ranks = scores.round(DIGITS).rank(ascending=False, method="average")
    figure = sheet(WIDTH, TOP + BOTTOM + ROW * len(shown) + (FOOT if any(style.hollow for style in shown) else 0))
    names = max(text_size(figure, style.name, SIZE)[0] for style in shown) / 72 + 0.75
    height = figure.get_figheight()
    low = height - TOP - ROW * len(shown)
    axes = figure.add_axes((names / WIDTH, low / height, 1 - 2 * names / WIDTH, ROW * len(shown) / height))
    axes.set_xlim(0, len(columns) - 1)
    axes.set_ylim(len(shown) + 0.5, 0.5)
    axes.set_axis_off()
    for place, name in enumerate(columns):
        axes.plot([place, place], [1, len(shown)], color=RULE, linewidth=0.8, zorder=0)
        axes.annotate(
            name,
            (place, 0.5),
            xytext=(0, 4),
            textcoords="offset points",
            fontsize=SIZE,
            color=INK,
            ha="center",
            va="bottom",
            annotation_clip=False,
        )
    for style in shown:
        _line(axes, ranks.to_numpy()[style.number - 1].tolist(), style)
    for place, side in ((0, -1), (len(columns) - 1, 1)):
        _names(axes, place, side, ranks.iloc[:, place], scores.iloc[:, place], shown)
    foot(figure, shown)
    return figure


def _columns(exhibit: Exhibit) -> dict[str, list[float]]:
    columns = {}
    for metric, name in (("accuracy", "accuracy"), ("match_f1", "Match F1")):
        means = [run.mean(metric) for run in exhibit.board.runs]
        if all(means):
            columns[name] = [mean.mean for mean in means if mean]
    others = _benchmarks(exhibit)
    if len(others) > 1:
        columns["other\nbenchmarks"] = [others.get(run.label, float("nan")) for run in exhibit.board.runs]
    return columns


def _benchmarks(exhibit: Exhibit) -> Mapping[str, float]:
    means = {run.label: exhibit.benchmarks.get(run.label, math.nan) for run in exhibit.board.runs}
    return {label: mean for label, mean in means.items() if not math.isnan(mean)}


def _line(axes: Axes, ranks: Sequence[float], style: Style) -> None:
    kept = [(place, rank) for place, rank in enumerate(ranks) if rank == rank]
    axes.plot(*zip(*kept, strict=True), color=style.colour, linewidth=1.5, alpha=0.85, zorder=2)
    for place, rank in kept:
        mark(axes, place, rank, style, 6)


def _names(axes: Axes, place: int, side: int, ranks: pd.Series, scores: pd.Series, shown: Sequence[Style]) -> None:
    """Names at one end; those of models that share a rank stand under each other around it, behind a bracket."""
    for rank, group in ranks.dropna().groupby(ranks):
        members = [style for style in shown if style.label in group.index]
        first = float(str(rank)) - (len(members) - 1) / 2
        for offset, style in enumerate(members):
            parts = (f"{scores[style.label]:.3f}", style.name)
            axes.annotate(
                "  ".join(parts if side > 0 else reversed(parts)),
                (place, first + offset),
                xytext=(side * 16, 0),
                textcoords="offset points",
                fontsize=SIZE,
                color=INK,
                ha="left" if side > 0 else "right",
                va="center",
                annotation_clip=False,
            )
        if len(members) > 1:
            _bracket(axes, place, side, first, first + len(members) - 1)


def _bracket(axes: Axes, place: int, side: int, first: float, last: float) -> None:
    points = axes.get_window_extent().width / max(1, axes.get_xlim()[1])
    x = place + side * 11 / points
    axes.plot([x, x], [first - 0.3, last + 0.3], color=MUTED, linewidth=0.8, clip_on=False)
