"""Match F1, precision and recall of each model over the threshold, a row of panels an encoder."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..figures.layout import sheet, text_size
from ..figures.theme import INK, MANY, MUTED, SIZE, SMALL, WIDTH, Style, styles, theme
from ..study import Board
from .measure import Ablation
from .tables import TITLES, short_encoders

#: Inches: a panel's height, between panels, above a row for its encoder, around all of it, and a line of the legend.
HEIGHT, ACROSS, ABOVE = 1.6, 0.2, 0.56
LEFT, RIGHT, BOTTOM, KEY = 0.42, 0.1, 0.42, 0.165
#: A panel shows at least so much of [0, 1], or small differences look large.
LEAST_SPAN = 0.3
#: Points of the first mark and of the last: what lies under another one still shows around it. Of many all are smaller.
LARGEST, SMALLEST, OF_MANY = 6.0, 3.2, 0.75


def caption(ablation: Ablation) -> str:
    """How the figure is made."""
    part = "" if ablation.items == ablation.cohort.of else f" of {ablation.cohort.of:,}"
    return (
        f"{ablation.items:,}{part} items, {len(ablation.cohort.runs)} runs. Macro means over items at each threshold, "
        "the same responses throughout; a row of panels an encoder. The dashed line is the reference setting. "
        "Values of two rows are not comparable; whether lines cross is. Equal lines lie on each other."
        + (" * a scripted stand-in." if any(run.result.scripted for run in ablation.cohort.runs) else "")
    )


def draw(ablation: Ablation) -> Figure:
    """A panel an encoder and metric; lines are models."""
    with theme():
        looks = styles(Board(ablation.cohort.task, "", ablation.cohort.runs))
        encoders = short_encoders(ablation.encoders)
        columns, lines = _legend_shape(looks)
        head = KEY * lines
        height = head + BOTTOM + len(encoders) * (HEIGHT + ABOVE)
        figure = sheet(WIDTH, height)
        wide = (WIDTH - LEFT - RIGHT - ACROSS * (len(TITLES) - 1)) / len(TITLES)
        limits = _limits(ablation.table[list(TITLES)].to_numpy())
        for row, encoder in enumerate(ablation.encoders):
            top = head + row * (HEIGHT + ABOVE) + ABOVE
            for column, metric in enumerate(TITLES):
                left = LEFT + column * (wide + ACROSS)
                axes = figure.add_axes((left / WIDTH, 1 - (top + HEIGHT) / height, wide / WIDTH, HEIGHT / height))
                _panel(axes, ablation, encoder, metric, looks)
                axes.set_ylim(*limits)
                axes.tick_params(labelleft=column == 0, labelbottom=row == len(encoders) - 1)
                axes.set_title(TITLES[metric], fontsize=SMALL, color=INK, pad=5)
            axes = figure.axes[-2]
            if row == len(encoders) - 1:
                axes.set_xlabel("threshold")
            line = 1 - (top - 0.27) / height
            figure.text(LEFT / WIDTH, line, encoders[encoder], fontsize=SIZE, color=INK, weight="bold")
        _legend(figure, looks, columns)
        return figure


def _panel(axes: Axes, ablation: Ablation, encoder: str, metric: str, looks: Sequence[Style]) -> None:
    values = ablation.by_setting(metric)[encoder]
    scale = OF_MANY if len(looks) > MANY else 1.0
    axes.grid()
    if encoder == ablation.reference.encoder:
        axes.axvline(ablation.reference.tau, color=MUTED, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    for place, style in enumerate(looks):
        share = place / max(1, len(looks) - 1)
        axes.plot(
            values.columns,
            values.loc[style.label],
            color=style.colour,
            linewidth=1.1,
            marker=style.marker,
            markersize=scale * (LARGEST - share * (LARGEST - SMALLEST)),
            markerfacecolor=style.face,
            markeredgecolor=style.colour,
            markeredgewidth=1.1,
            zorder=3 + share,
            clip_on=False,
        )
    axes.set_xticks(ablation.taus, [f"{tau:.2f}" for tau in ablation.taus])
    axes.margins(x=0.07)


def _limits(values: np.ndarray) -> tuple[float, float]:
    """The stretch of [0, 1] that all panels show: the same, so that they can be read across."""
    low, high = float(values.min()), float(values.max())
    margin = max(0.04, (LEAST_SPAN - (high - low)) / 2)
    return max(-0.04, low - margin), min(1.04, high + margin)


def _legend_shape(looks: Sequence[Style]) -> tuple[int, int]:
    """Columns and lines of the legend, for its longest name."""
    figure = sheet(WIDTH, 1)
    longest = max(text_size(figure, style.name, SMALL)[0] for style in looks) / 72 + 0.42
    columns = max(1, min(len(looks), int((WIDTH - LEFT) / longest)))
    return columns, math.ceil(len(looks) / columns)


def _legend(figure: Figure, looks: Sequence[Style], columns: int) -> None:
    handles = [
        Line2D([], [], color=style.colour, marker=style.marker, markersize=5, markerfacecolor=style.face, linewidth=1.1)
        for style in looks
    ]
    figure.legend(
        handles,
        [style.name for style in looks],
        loc="upper left",
        bbox_to_anchor=((LEFT - 0.06) / WIDTH, 1),
        ncols=columns,
        fontsize=SMALL,
        handlelength=1.6,
        columnspacing=1.2,
        labelspacing=0.35,
        borderaxespad=0.3,
        borderpad=0.2,
    )
