"""Match F1 and accuracy by number of reference steps: a small panel a model."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..load import Mean
from ..study import Run
from .exhibit import Exhibit, over_items
from .layout import FOOT, foot, legend, sheet
from .strata import interval, quantile_ranges, reference_steps, step_range
from .theme import INK, NAME_LENGTH, PAPER, RULE, SMALL, TINY, WIDTH, Style, short_names

#: Ranges of step counts, as equal as whole numbers allow: enough to see a bend, few enough to have items in each.
RANGES = 6
#: Inches of a panel's height, and panels in a row by number of models.
HEIGHT = 1.35
COLUMNS = ((1, 1), (2, 2), (3, 3), (4, 4), (9, 3), (16, 4))
MOST_COLUMNS = 5
#: Panels with all ranges under them.
WORDED = 2
DASHES = (0, (3, 2))
#: Points of a letter, on average.
LETTER = 4.1


def caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    counts = reference_steps(exhibit)
    named = ", ".join(
        f"{step_range(low, high)}: {_between(counts, low, high).sum():,}"
        for low, high in quantile_ranges(counts, RANGES)
    )
    mean = " Grey: the mean Match F1 of all models shown." if len(exhibit.sampled) > 1 else ""
    return (
        f"{over_items(exhibit, exhibit.sampled)}. A panel a model; items in ranges of their number of reference steps "
        f"as equal as whole numbers allow (items: {named}). Solid line with filled marks: Match F1, with its 95 % "
        f"bootstrap interval over items as a band. Dashed line with open marks: accuracy by the paper's rule.{mean}"
    )


def draw(exhibit: Exhibit) -> Figure | None:
    """Two lines a model over ranges of reference steps."""
    counts = reference_steps(exhibit)
    if counts.empty:
        return None
    shown = exhibit.sampled
    ranges = quantile_ranges(counts, RANGES)
    by_range = [counts.index[_between(counts, low, high)] for low, high in ranges]
    # A range at a time: the bootstrap keeps its draws for the last numbers of items.
    columns = [[_values(run, part) for run, _ in shown] for part in by_range]
    lines = [list(line) for line in zip(*columns, strict=True)]
    means = pd.DataFrame([[f1.mean if f1 else None for f1, _ in line] for line in lines], dtype=float).mean()
    figure, panels = _panels([style for _, style in shown])
    names = [step_range(low, high) for low, high in ranges]
    # As long as the narrowest panels allow; a stand-in keeps its asterisk.
    letters = int(panels[0].get_window_extent().width / LETTER)
    titles = short_names([style.name for _, style in shown], min(NAME_LENGTH, letters))
    for axes, (_, style), line, name in zip(panels, shown, lines, titles, strict=True):
        if len(shown) > 1:
            axes.plot(range(len(ranges)), means, color=RULE, linewidth=3, zorder=1)
        _lines(axes, line, style)
        axes.set_title(name, fontsize=TINY if len(panels) > 16 else SMALL, color=INK, pad=3)
        # Only the ends have room for their words in a narrow panel.
        words = names if len(panels) <= WORDED else [names[0], *[""] * (len(names) - 2), *names[1:][-1:]]
        axes.set_xticks(range(len(ranges)), words, fontsize=TINY)
    legend(figure, _key()[: 3 if len(shown) > 1 else 2], 3)
    return figure


def _between(counts: pd.Series, low: int, high: int) -> pd.Series:
    return (counts >= low) & (counts <= high)


def _values(run: Run, part: pd.Index) -> tuple[Mean | None, Mean | None]:
    """Match F1 and accuracy of a run over the items in one range."""
    assert run.items is not None
    items = run.items.loc[run.items.index.intersection(part)]
    return interval(items["match_f1"]), interval(items["accuracy"])


def _lines(axes: Axes, line: Sequence[tuple[Mean | None, Mean | None]], style: Style) -> None:
    places = [place for place, (f1, _) in enumerate(line) if f1]
    f1s, accuracies = zip(*[pair for pair in line if pair[0]], strict=True)
    axes.fill_between(
        places, [f1.low for f1 in f1s], [f1.high for f1 in f1s], color=style.colour, alpha=0.18, linewidth=0
    )
    axes.plot(
        places,
        [f1.mean for f1 in f1s],
        color=style.colour,
        marker=style.marker,
        markersize=3.8,
        markerfacecolor=style.face,
        linewidth=1.4,
    )
    axes.plot(
        places,
        [accuracy.mean for accuracy in accuracies],
        color=style.colour,
        marker="d",
        markersize=4,
        markerfacecolor=PAPER,
        linewidth=1.0,
        linestyle=DASHES,
    )


def _panels(styles: Sequence[Style]) -> tuple[Figure, list[Axes]]:
    count = len(styles)
    columns = next((columns for most, columns in COLUMNS if count <= most), MOST_COLUMNS)
    lines = -(-count // columns)
    noted = FOOT if any(style.hollow for style in styles) else 0.0
    top, bottom, left, gap, between = 0.5, 0.5 + noted, 0.4, 0.16, 0.42
    panel = HEIGHT * (1.5 if columns <= 2 else 1)
    height = top + bottom + lines * panel + (lines - 1) * between
    figure = sheet(WIDTH, height)
    foot(figure, styles)
    wide = (WIDTH - left - 0.1 - gap * (columns - 1)) / columns
    panels = []
    for place in range(count):
        row, column = divmod(place, columns)
        low = height - top - panel - row * (panel + between)
        axes = figure.add_axes(((left + column * (wide + gap)) / WIDTH, low / height, wide / WIDTH, panel / height))
        axes.set_ylim(-0.03, 1.03)
        axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"] if column == 0 else ["", "", ""], fontsize=TINY)
        axes.grid(axis="y")
        axes.margins(x=0.08)
        panels.append(axes)
    figure.text(
        (left + (WIDTH - left) / 2) / WIDTH,
        (0.1 + noted) / height,
        "reference steps",
        fontsize=SMALL,
        color=INK,
        ha="center",
    )
    return figure, panels


def _key() -> list[Line2D]:
    """What the lines are, in ink: their colours are those of the models."""
    return [
        Line2D([], [], color=INK, marker="o", markersize=4, linewidth=1.4, label="Match F1"),
        Line2D(
            [],
            [],
            color=INK,
            marker="d",
            markersize=4,
            markerfacecolor=PAPER,
            linewidth=1,
            linestyle=DASHES,
            label="accuracy, paper's rule",
        ),
        Line2D([], [], color=RULE, linewidth=3, label="mean Match F1 of all models"),
    ]
