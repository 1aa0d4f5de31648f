"""Models as points of a plane, with their intervals and names: what the scatter plots share."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from ..load import Mean
from .exhibit import Exhibit
from .layout import foot, key_column, place_labels, sheet
from .theme import MANY, SMALL, TINY, WIDTH, Style, mark

#: Inches of the plot, and of the list of names beside it where models go by number.
HEIGHT, LIST, LINE = 4.65, 2.2, 0.19
#: A plot shows at least so much of [0, 1], or small differences look large.
LEAST_SPAN = 0.3


@dataclass(frozen=True)
class Point:
    """A run at two of its means."""

    x: Mean
    y: Mean
    style: Style

    @property
    def spot(self) -> tuple[float, float]:
        """Where it lies."""
        return self.x.mean, self.y.mean


def points(exhibit: Exhibit, x: str, y: str) -> list[Point]:
    """The runs that have both metrics."""
    found = [(run.mean(x), run.mean(y), style) for run, style in exhibit.rows]
    return [Point(first, second, style) for first, second, style in found if first and second]


def plane(shown: Sequence[Point], x: str, y: str) -> tuple[Figure, Axes]:
    """A sheet with named axes, beside a numbered list of models where they are many."""
    many = len(shown) > MANY
    height = max(HEIGHT, 0.5 + LINE * len(shown)) if many else HEIGHT
    figure = sheet(WIDTH, height)
    noted = foot(figure, [point.style for point in shown])
    wide = WIDTH - 0.6 - (LIST if many else 0.15)
    axes = figure.add_axes((0.55 / WIDTH, (0.5 + noted) / height, wide / WIDTH, (height - 0.65 - noted) / height))
    axes.grid()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if many:
        key_column(figure, [point.style for point in shown], (WIDTH - LIST + 0.15) / WIDTH, LINE)
    return figure, axes


def stretch(values: Sequence[Mean]) -> tuple[float, float]:
    """The part of [0, 1] that holds the values, with room for marks at its ends."""
    ends = [end for value in values for end in (value.mean, value.low, value.high) if end is not None]
    low, high = min(ends), max(ends)
    margin = max(0.04, (LEAST_SPAN - (high - low)) / 2)
    return max(-0.04, low - margin), min(1.04, high + margin)


def draw_points(axes: Axes, shown: Sequence[Point], taken: Sequence[Bbox] = ()) -> None:
    """Marks with their intervals, and a name or number beside each that lies on none of them, nor on ``taken``."""
    many = len(shown) > MANY
    boxes = [*taken]
    for point in shown:
        x, y = point.spot
        for value, across in ((point.x, True), (point.y, False)):
            if value.low is None or value.high is None:
                continue
            line = ([value.low, value.high], [y, y]) if across else ([x, x], [value.low, value.high])
            axes.plot(*line, color=point.style.colour, linewidth=0.9, alpha=0.75, zorder=3)
            boxes.append(line_box(axes, line))
        mark(axes, x, y, point.style, 5 if many else 6)
    place_labels(
        axes,
        [point.spot for point in shown],
        [str(point.style.number) if many else point.style.name for point in shown],
        boxes,
        TINY if many else SMALL,
        ", " if many else "\n",
    )


def line_box(axes: Axes, line: tuple[list[float], list[float]]) -> Bbox:
    """What a line from corner to corner, given as its xs and ys, takes of the figure, in points."""
    corners = axes.transData.transform(list(zip(*line, strict=True)))
    return Bbox([corners.min(axis=0) - 0.5, corners.max(axis=0) + 0.5])
