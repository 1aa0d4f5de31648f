"""Held-out scores of several methods over the steps of training, every seed and their mean."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..figures.layout import legend, sheet
from ..figures.theme import COLOURS, INK, MARKERS, SIZE, WIDTH, short_names
from .changes import TITLES
from .methods import Group

TITLE = "Held-out scores by method"
METRICS = ("accuracy_strict", "match_f1")
#: Inches: a panel, the legend's line, below the panels, left of the first, and between two.
HEIGHT, LINE, BOTTOM, LEFT, ACROSS = 2.1, 0.2, 0.5, 0.46, 0.5
#: Names in a line of the legend.
IN_A_LINE = 4


def caption(groups: Sequence[Group]) -> str:
    """How the figure is made."""
    trainings = sum(len(group.trainings) for group in groups)
    return (
        f"{trainings} trainings. Thin lines are single seeds, thick ones their mean at the steps that all seeds of a "
        "method were measured at; greedy responses to held-out items. Optimiser steps since the beginning, both phases "
        "one after the other: methods may differ in how much a step costs."
    )


def draw(groups: Sequence[Group]) -> Figure | None:
    """Two panels side by side; None where no training was measured twice."""
    measured = [group for group in groups if any(len(training.validations) > 1 for training in group.trainings)]
    if not measured:
        return None
    looks = {
        group.label: (COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)])
        for place, group in enumerate(measured)
    }
    head = 0.12 + LINE * -(-len(measured) // IN_A_LINE)
    height = head + 0.34 + HEIGHT + BOTTOM
    figure = sheet(WIDTH, height)
    wide = (WIDTH - LEFT - 0.08 - ACROSS) / 2
    for place, metric in enumerate(METRICS):
        left = LEFT + place * (wide + ACROSS)
        axes = figure.add_axes((left / WIDTH, BOTTOM / height, wide / WIDTH, HEIGHT / height))
        axes.grid(axis="y")
        for group in measured:
            _group(axes, group, metric, *looks[group.label])
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axes.set_title(TITLES[metric], fontsize=SIZE, color=INK, pad=6)
        axes.set_xlabel("optimiser steps")
    names = short_names([group.label for group in measured])
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=4, linewidth=1.6, label=name)
        for name, (colour, marker) in zip(names, looks.values(), strict=True)
    ]
    legend(figure, handles, IN_A_LINE)
    return figure


def _group(axes: Axes, group: Group, metric: str, colour: str, marker: str) -> None:
    tables = [training.validations for training in group.trainings if metric in training.validations]
    lines = [table.drop_duplicates("at", keep="last").set_index("at")[metric].dropna() for table in tables]
    lines = [line for line in lines if len(line)]
    if len(lines) > 1:
        for line in lines:
            axes.plot(line.index, line, color=colour, linewidth=0.7, alpha=0.4, zorder=2)
    if lines:
        mean = pd.concat(lines, axis=1).dropna().mean(axis=1)
        axes.plot(mean.index, mean, color=colour, linewidth=1.7, marker=marker, markersize=3.6, zorder=3)
