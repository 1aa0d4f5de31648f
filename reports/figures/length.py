"""Match F1 against the number of predicted steps: is the score more than a step count?"""

import numpy as np
from matplotlib.figure import Figure

from ..load import Mean
from ..method import counted_as
from .exhibit import Exhibit, over_items
from .plane import draw_points, line_box, plane, points, stretch
from .theme import MUTED


def caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    words = (
        f"{over_items(exhibit)}. Macro mean of Match F1 against the mean number of predicted steps, with 95 % "
        "bootstrap intervals over items. Longer chains match more by chance"
    )
    if _nulls(exhibit):
        words += (
            ": the short stroke that a dotted line joins to each mark is its null, the Match F1 of the same responses "
            "against another item's reference steps, and the line is what the model has above it, or below."
        )
    else:
        words += ", so compare models beside their number of steps; these runs carry no null to hold that against."
    return f"{words} A response that could not be read counts {counted_as([exhibit.board.scorer])}."


def draw(exhibit: Exhibit) -> Figure | None:
    """Models as points, each with its null where there is one."""
    shown = points(exhibit, "steps", "match_f1")
    if not shown:
        return None
    figure, axes = plane(shown, "mean number of predicted steps", "Match F1")
    nulls = _nulls(exhibit)
    steps = np.array([point.spot[0] for point in shown])
    margin = max(1.0, 0.12 * float(np.ptp(steps)))
    axes.set_xlim(max(0.0, steps.min() - margin), steps.max() + margin)
    axes.set_ylim(*stretch([*(point.y for point in shown), *nulls.values()]))
    strokes = []
    for point in shown:
        if null := nulls.get(point.style.label):
            (x, y), low = point.spot, null.mean
            axes.plot([x, x], [low, y], color=MUTED, linewidth=0.7, linestyle=(0, (2, 2)), zorder=2)
            strokes.append(line_box(axes, ([x, x], [low, y])))
            axes.plot([x], [low], marker="_", markersize=9, markeredgewidth=1.6, color=MUTED, zorder=3)
    draw_points(axes, shown, strokes)
    return figure


def _nulls(exhibit: Exhibit) -> dict[str, Mean]:
    found = {run.label: run.mean("null_f1") for run in exhibit.board.runs}
    return {label: value for label, value in found.items() if value}
