"""Models as points of a plane: precision against recall, and accuracy against Match F1."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from .exhibit import Exhibit, over_items
from .plane import draw_points, plane, points, stretch
from .theme import MUTED, RULE, TINY

#: Levels of F1 whose lines are drawn.
LEVELS = tuple(level / 10 for level in range(1, 10))


def precision_recall(exhibit: Exhibit) -> Figure | None:
    """Precision (up) against recall (right) over lines of equal F1."""
    shown = points(exhibit, "recall", "precision")
    if not shown:
        return None
    figure, axes = plane(
        shown, "recall: share of the reference that is covered", "precision: share of the steps that match"
    )
    axes.set_xlim(*stretch([point.x for point in shown]))
    axes.set_ylim(*stretch([point.y for point in shown]))
    draw_points(axes, shown, _equal_f1(axes))
    return figure


def precision_recall_caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    return (
        f"{over_items(exhibit)}. Macro means of precision and recall with 95 % bootstrap intervals over items. Along a "
        "grey line the F1 of the two means is the same; Match F1 is the mean of each item's own F1, so a model lies "
        "near, not on, the line of its Match F1. Top left: few, safe steps. Bottom right: many steps, few of them in "
        "the reference."
    )


def accuracy_f1(exhibit: Exhibit) -> Figure | None:
    """Match F1 (up) against accuracy (right)."""
    shown = points(exhibit, "accuracy", "match_f1")
    if not shown:
        return None
    figure, axes = plane(shown, "accuracy (paper's rule)", "Match F1")
    axes.set_xlim(*stretch([point.x for point in shown]))
    axes.set_ylim(*stretch([point.y for point in shown]))
    draw_points(axes, shown)
    return figure


def accuracy_f1_caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    return (
        f"{over_items(exhibit)}. Macro means with 95 % bootstrap intervals over items; accuracy by the paper's "
        "released rule. Bottom right: right answers without the reference's steps. Top left: the steps are there and "
        "the conclusion is not."
    )


def _equal_f1(axes: Axes) -> list[Bbox]:
    """Draws lines of equal F1 with their values, and gives the boxes of those."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    boxes = []
    for level in LEVELS:
        # Closer together on the left, where the line is steep.
        recall = np.geomspace(level / (2 - level), 1, 80)
        precision = level * recall / (2 * recall - level)
        shown = (recall >= left) & (recall <= right) & (precision >= low) & (precision <= min(high, 1))
        if shown.sum() < 2:
            continue
        axes.plot(recall[shown], precision[shown], color=RULE, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
        # Values stand where a line ends at the right; one that ends below has it there.
        x, y = recall[shown][-1], precision[shown][-1]
        text = axes.annotate(
            f"F1 {level:.1f}",
            (x, y),
            xytext=(-2, 3),
            textcoords="offset points",
            fontsize=TINY,
            color=MUTED,
            ha="right",
            va="bottom",
            zorder=1,
        )
        boxes.append(text.get_window_extent())
    axes.grid(False)
    return boxes
