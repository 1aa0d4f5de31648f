"""How Match F1 is spread over the items of each model."""

import numpy as np
from matplotlib.figure import Figure

from .exhibit import Exhibit, over_items
from .layout import rows, unit_axis
from .theme import INK, MUTED, SIZE, SMALL

#: Width of a bar; items without any match have a bar of their own, left of the others.
BIN = 0.05
NONE = -1.25 * BIN
#: Inches of a row, so that its bars can be read.
ROW = 0.36
#: Share of a row that the highest bar of the figure takes.
HIGHEST = 0.86


def caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    return (
        f"{over_items(exhibit, exhibit.sampled)}. A histogram a model, in steps of {BIN:g}, all on one scale; the bar "
        "left of 0 is the share of items without any match, responses that could not be read among them. The stroke "
        "is the median, and half of the items lie on the line under the bars."
    )


def draw(exhibit: Exhibit) -> Figure | None:
    """A row of bars for each model, with the share of items that match nothing, the median and the quartiles."""
    shown = exhibit.sampled
    if not shown:
        return None
    values = [run.items["match_f1"].to_numpy(float) for run, _ in shown if run.items is not None]
    made = rows([style for _, style in shown], (1, 0.46), row=ROW)
    axes, numbers = made.panels
    unit_axis(axes, "Match F1 of single items")
    axes.set_xlim(-2 * BIN, 1.01)
    axes.set_xticks([NONE, 0, 0.25, 0.5, 0.75, 1], ["none", "0", "0.25", "0.5", "0.75", "1"])
    numbers.set_axis_off()
    numbers.set_xlim(0, 1)
    for x, words in ((0.36, "no match"), (0.69, "median"), (1.0, "mean")):
        numbers.text(x, 1.0, words, transform=numbers.transAxes, fontsize=SMALL, color=MUTED, ha="right", va="bottom")
    heights = [_heights(value) for value in values]
    scale = HIGHEST / max(float(height.max()) for height in heights)
    for place, ((_, style), value, height) in enumerate(zip(shown, values, heights, strict=True)):
        floor = place + 0.42
        outline = _outline(height * scale)
        axes.fill(outline[0], floor - outline[1], color=style.colour, alpha=0.55, linewidth=0.8, zorder=2)
        low, median, high = (float(quantile) for quantile in np.quantile(value, [0.25, 0.5, 0.75]))
        axes.plot([_at(low), _at(high)], [floor, floor], color=style.colour, linewidth=2.2, zorder=3)
        axes.plot([_at(median)] * 2, [floor - 0.4, floor + 0.06], color=INK, linewidth=1.3, zorder=4)
        for at, words in (
            (0.36, f"{100 * np.mean(value == 0):.0f} %"),
            (0.69, f"{median:.2f}"),
            (1.0, f"{value.mean():.2f}"),
        ):
            numbers.text(at, place, words, fontsize=SMALL, color=INK, ha="right", va="center")
    axes.spines["bottom"].set_visible(False)
    axes.set_title("Match F1 of single items", fontsize=SIZE, color=INK)
    return made.figure


def _heights(values: np.ndarray) -> np.ndarray:
    """Share of items without a match, then in each step of (0, 1]."""
    counts, _ = np.histogram(values[values > 0], np.linspace(0, 1, round(1 / BIN) + 1))
    return np.array([(values == 0).sum(), *counts]) / len(values)


def _at(value: float) -> float:
    """Where a value lies; none at all is left of 0."""
    return value if value > 0 else NONE


def _outline(heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The corners of the bars, the first of which stands apart."""
    edges = np.linspace(0, 1, len(heights))
    x, y = [-1.75 * BIN, -1.75 * BIN, -0.75 * BIN, -0.75 * BIN], [0.0, heights[0], heights[0], 0.0]
    for left, right, height in zip(edges[:-1], edges[1:], heights[1:], strict=True):
        x += [left, left, right, right]
        y += [0.0, height, height, 0.0]
    return np.array(x), np.array(y)
