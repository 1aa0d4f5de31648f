"""Sheets that figures are drawn on: rows of models beside panels, and text that does not run into other text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from .theme import INK, MUTED, PAPER, SIZE, SMALL, WIDTH, Style, mark

#: In inches: a row, its share when there are few, the space above and below the rows, and between panels.
ROW, TOP, BOTTOM, GAP = 0.24, 0.34, 0.3, 0.22
#: Inches of a line at the foot.
FOOT = 0.24
POINTS = 72.0
#: Points below which an axis has few numbers.
NARROW = 220
#: Points between a mark and its label, in steps outwards; beyond the first ones a line leads back.
REACHES = (7.0, 11.0, 18.0, 27.0, 38.0, 52.0, 70.0)
#: What it costs to cover something, and to stick out of the axes, in inches of distance from the mark.
COVERED, OUTSIDE = 10.0, 25.0
#: Directions of a label from its mark: right, left, above, below, and between.
DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))


def sheet(width: float, height: float) -> Figure:
    """An empty figure with a canvas, in inches; a point of it is a point of its SVG."""
    figure = Figure(figsize=(width, height), dpi=POINTS, facecolor=PAPER)
    FigureCanvasAgg(figure)
    return figure


def text_size(figure: Figure, text: str, size: float) -> tuple[float, float]:
    """Width and height of a text, in points."""
    drawn = figure.text(0, 0, text, fontsize=size)
    box = drawn.get_window_extent()
    drawn.remove()
    return box.width, box.height


@dataclass(frozen=True)
class Rows:
    """A sheet with a row a model, the first on top, and panels side by side that share the rows."""

    figure: Figure
    panels: list[Axes]


def rows(styles: Sequence[Style], shares: Sequence[float], row: float = ROW, top: float = TOP) -> Rows:
    """A sheet for some runs; ``shares`` are the relative widths of its panels, ``top`` inches are left free above."""
    figure = sheet(WIDTH, 1.0)
    names = max(text_size(figure, style.name, SIZE)[0] for style in styles) / POINTS
    bottom = BOTTOM + (FOOT if any(style.hollow for style in styles) else 0)
    height = top + bottom + row * len(styles)
    figure.set_size_inches(WIDTH, height)
    foot(figure, styles)
    left = names + 0.12 + 0.2
    free = WIDTH - left - 0.12 - GAP * (len(shares) - 1)
    panels = []
    for place, share in enumerate(shares):
        wide = free * share / sum(shares)
        axes = figure.add_axes((left / WIDTH, bottom / height, wide / WIDTH, row * len(styles) / height))
        left += wide + GAP
        _row_axis(axes, styles, named=place == 0)
        panels.append(axes)
    return Rows(figure, panels)


def foot(figure: Figure, styles: Sequence[Style]) -> float:
    """Explains the asterisk where a run has one, at the foot of a sheet; returns the inches that it takes."""
    if not any(style.hollow for style in styles):
        return 0.0
    words = "* a scripted stand-in with a known behaviour, not a model"
    figure.text(0.01, 5 / POINTS / figure.get_figheight(), words, fontsize=SMALL, color=MUTED)
    return FOOT


def legend(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """A legend at the top left of a sheet."""
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        handlelength=2.0,
        handleheight=1.0,
        columnspacing=1.6,
        handletextpad=0.6,
        borderaxespad=0.4,
    )


def _row_axis(axes: Axes, styles: Sequence[Style], named: bool) -> None:
    axes.set_ylim(len(styles) - 0.5, -0.5)
    axes.set_yticks(range(len(styles)))
    axes.tick_params(axis="y", length=0, pad=5 if not named else 18, labelsize=SIZE, labelcolor=INK)
    axes.set_yticklabels([style.name if named else "" for style in styles])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    if named:
        for place, style in enumerate(styles):
            _key(axes, place, style)


def _key(axes: Axes, place: int, style: Style) -> None:
    """The mark of a run between its name and its row."""
    transform = axes.get_yaxis_transform()
    width = axes.get_window_extent().width
    axes.plot(
        [-9 / width],
        [place],
        transform=transform,
        marker=style.marker,
        markersize=5,
        markerfacecolor=style.face,
        markeredgecolor=style.colour,
        markeredgewidth=1.1,
        linestyle="none",
        clip_on=False,
    )


def shares_axis(axes: Axes, title: str) -> None:
    """An x axis from 0 to 100 % of items under a title."""
    axes.set_xlim(0, 1)
    if axes.get_window_extent().width > NARROW:
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 % of items"])
    else:
        axes.set_xticks([0, 0.5, 1], ["0", "50", "100 %"])
    axes.set_title(title, fontsize=SIZE, color=INK)
    # The outer numbers stay within their panel, since another one follows.
    labels = axes.get_xticklabels()
    labels[0].set_horizontalalignment("left")
    labels[-1].set_horizontalalignment("right")


def unit_axis(axes: Axes, title: str) -> None:
    """An x axis from 0 to 1 under a title."""
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.set_title(title, fontsize=SIZE, color=INK)


def place_labels(
    axes: Axes,
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    taken: Sequence[Bbox] = (),
    size: float = SMALL,
    joint: str = "\n",
) -> None:
    """Writes a text beside each point so that texts lie on no mark and on no other text.

    Each in turn gets the nearest free place around its mark, those in a crowd first; a thin line leads back where
    that is not right beside it. Points that fall together share one text, joined by ``joint``. ``taken`` are boxes in
    points that stay free too.
    """
    figure = axes.figure
    assert isinstance(figure, Figure)
    spots, texts = _together([tuple(axes.transData.transform(point)) for point in points], texts, joint)
    crowd = [sum(abs(x - a) < 60 and abs(y - b) < 20 for a, b in spots) for x, y in spots]
    inside = axes.get_window_extent().padded(1)
    marks = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in spots]
    used = np.array([box.extents for box in (*taken, *marks)])
    for place in sorted(range(len(spots)), key=lambda place: -crowd[place]):
        wide, high = text_size(figure, texts[place], size)
        reach, box = min(
            (_candidate(spots[place], wide, high, reach, way) for reach in REACHES for way in DIRECTIONS),
            key=lambda candidate: _cost(candidate[1], used, inside) + candidate[0] / POINTS,
        )
        used = np.vstack([used, box.extents])
        if reach > REACHES[1]:
            _lead(axes, spots[place], box)
        x, y = axes.transData.inverted().transform((box.x0, (box.y0 + box.y1) / 2))
        axes.text(float(x), float(y), texts[place], fontsize=size, color=INK, va="center", linespacing=1.15, zorder=5)


def _together(
    spots: Sequence[tuple[float, ...]], texts: Sequence[str], joint: str
) -> tuple[list[tuple[float, float]], list[str]]:
    """Points that cannot be told apart as one, with their texts joined."""
    groups: dict[tuple[float, float], list[str]] = {}
    for (x, y), text in zip(spots, texts, strict=True):
        near = next((spot for spot in groups if abs(spot[0] - x) < 2 and abs(spot[1] - y) < 2), (x, y))
        groups.setdefault(near, []).append(text)
    return list(groups), [joint.join(group) for group in groups.values()]


def _candidate(
    spot: tuple[float, float], wide: float, high: float, reach: float, way: tuple[int, int]
) -> tuple[float, Bbox]:
    x, y = spot[0] + way[0] * reach, spot[1] + way[1] * reach
    left = {1: x, 0: x - wide / 2, -1: x - wide}[way[0]]
    low = {1: y - 2, 0: y - high / 2, -1: y - high + 2}[way[1]]
    return reach, Bbox.from_bounds(left, low, wide, high)


def _cost(box: Bbox, used: np.ndarray, inside: Bbox) -> float:
    """How bad a place is: what it covers of ``used``, shape ``(n, 4)`` as x0, y0, x1, y1, and whether it sticks out."""
    across = (used[:, 0] <= box.x1) & (box.x0 <= used[:, 2])
    covered = int((across & (used[:, 1] <= box.y1) & (box.y0 <= used[:, 3])).sum())
    sticks_out = box.x0 < inside.x0 or box.x1 > inside.x1 or box.y0 < inside.y0 or box.y1 > inside.y1
    return COVERED * covered + OUTSIDE * sticks_out


def _lead(axes: Axes, spot: tuple[float, float], box: Bbox) -> None:
    nearest = (min(max(spot[0], box.x0), box.x1), min(max(spot[1], box.y0 + 1), box.y1 - 1))
    ends = axes.transData.inverted().transform([spot, nearest])
    axes.plot(ends[:, 0], ends[:, 1], color=MUTED, linewidth=0.5, zorder=2, clip_on=False)


def key_column(figure: Figure, styles: Sequence[Style], left: float, line: float) -> None:
    """A list of numbers, marks and names down the right side, from ``left`` (a share of the width)."""
    height = figure.get_figheight()
    axes = figure.add_axes((left, 0, 1 - left, 1))
    axes.set_axis_off()
    axes.set_xlim(0, figure.get_figwidth() * (1 - left))
    axes.set_ylim(height, 0)
    for place, style in enumerate(styles):
        y = 0.22 + line * place
        axes.text(0.18, y, str(style.number), fontsize=SMALL, color=MUTED, ha="right", va="center")
        mark(axes, 0.3, y, style, 4.5)
        axes.text(0.41, y, style.name, fontsize=SMALL, color=INK, va="center")
