"""How one training went, step by step: held-out scores, reward, KL, gradient norm, cosine, and length of the chains."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..figures.layout import POINTS as POINTS_AN_INCH
from ..figures.layout import sheet
from ..figures.theme import BLUE, GREEN, INK, MUTED, ORANGE, PURPLE, SIZE, TINY, WIDTH
from .read import Phase, Training

TITLE = "How the training went"
#: Inches: a panel, the space above each for its title, at the edges, between two, and at the foot.
HEIGHT, ABOVE, LEFT, RIGHT, ACROSS, TOP, BOTTOM = 1.25, 0.42, 0.46, 0.08, 0.5, 0.2, 0.62
#: Inches above the first line of panels for the names of the phases, if there are several.
NAMED = 0.14
#: A line of more points is drawn by means of neighbouring ones: more are not seen, and make the page heavy.
POINTS = 400
#: Share of the logged steps over which the thick line is a mean: the noise of single batches hides a trend.
WINDOW = 0.05
#: Fewer points are drawn as they are.
FEW = 20
FAINT = 0.35

Panel = Callable[[Axes, Training], None]


@dataclass(frozen=True)
class View:
    """One panel: its title, the columns without which there is nothing to draw, and what draws it."""

    title: str
    logged: tuple[str, ...]
    validated: tuple[str, ...]
    draw: Panel

    def applies(self, training: Training) -> bool:
        """Whether the training has any of its numbers."""
        return any(_has(training.log, name) for name in self.logged) or any(
            _has(training.validations, name) for name in self.validated
        )


def caption(training: Training) -> str:
    """How the figure is made."""
    words = [f"{training.method} on {training.model}"]
    words += [f"seed {training.seed}"] if training.seed is not None else []
    said = (
        f"{', '.join(words)}. Over optimiser steps since the beginning. Faint: single logged steps; lines: their "
        f"running mean over {WINDOW:.0%} of the steps. Held-out scores are greedy responses to the same items each "
        "time; a ring marks the checkpoint that was chosen."
    )
    if len(training.phases) > 1:
        said += (
            " An upright line parts the phases, which have rewards of their own: levels of reward are not comparable "
            "across it, and the second phase goes on from the checkpoint that was chosen in the first."
        )
    if _has(training.log, "surgery/cosine"):
        said += " Below a cosine of 0 the gradients of answers and steps conflict, and each was projected."
    return said + (" The orange stroke is where it broke off." if training.stopped else "")


def draw(training: Training) -> Figure | None:
    """Two columns of panels over the steps; those without numbers are left out, None where none has any."""
    views = [view for view in VIEWS if view.applies(training)]
    if not views:
        return None
    columns = min(2, len(views))
    lines = math.ceil(len(views) / columns)
    named = NAMED if len(_begun(training)) > 1 else 0.0
    height = TOP + named + BOTTOM + lines * (HEIGHT + ABOVE)
    figure = sheet(WIDTH, height)
    wide = (WIDTH - LEFT - RIGHT - ACROSS * (columns - 1)) / columns
    end = max(1, *(phase.start + phase.done for phase in training.phases)) if training.phases else 1
    for place, view in enumerate(views):
        line, column = divmod(place, columns)
        top = TOP + named + line * (HEIGHT + ABOVE) + ABOVE
        left = LEFT + column * (wide + ACROSS)
        axes = figure.add_axes((left / WIDTH, 1 - (top + HEIGHT) / height, wide / WIDTH, HEIGHT / height))
        axes.grid(axis="y")
        axes.set_xlim(-0.015 * end, 1.015 * end)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=[1, 2, 5, 10]))
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        view.draw(axes, training)
        axes.set_title(view.title, fontsize=SIZE, color=INK, pad=6 if line or not named else 6 + POINTS_AN_INCH * NAMED)
        last = place + columns >= len(views)
        axes.tick_params(labelbottom=last)
        if last:
            axes.set_xlabel("optimiser steps")
        _phases(axes, training, named=line == 0)
        _stop(axes, training, end)
    return figure


def _phases(axes: Axes, training: Training, named: bool) -> None:
    begun = _begun(training)
    for phase in begun[1:]:
        axes.axvline(phase.start, color=MUTED, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    if len(begun) < 2 or not named:
        return
    for phase in begun:
        axes.annotate(
            f"phase {phase.number}",
            (phase.start + phase.done / 2, 1),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=TINY,
            color=MUTED,
            ha="center",
            va="bottom",
        )


def _begun(training: Training) -> list[Phase]:
    return [phase for phase in training.phases if phase.done]


def _stop(axes: Axes, training: Training, end: float) -> None:
    if training.stopped:
        axes.axvline(end, color=ORANGE, linewidth=1.6, zorder=1)


def _scores(axes: Axes, training: Training) -> None:
    shown = (("accuracy_strict", BLUE, "o", "strict accuracy"), ("match_f1", ORANGE, "s", "Match F1"))
    table = training.validations
    for name, colour, marker, _ in shown:
        if _has(table, name):
            _by_phase(axes, table, name, color=colour, marker=marker, markersize=3.2, linewidth=1.3, zorder=3)
            kept = table[table["chosen"]]
            axes.plot(
                kept["at"], kept[name], "o", markersize=7.5, markerfacecolor="none", markeredgecolor=colour, zorder=4
            )
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=3.2, linewidth=1.3, label=words)
        for name, colour, marker, words in shown
        if _has(table, name)
    ]
    low, high = axes.get_ylim()
    axes.set_ylim(max(-0.03, low), min(1.03, high) + 0.22 * (min(1.03, high) - max(-0.03, low)))
    axes.legend(handles=handles, loc="upper left", ncols=2, handlelength=1.6, columnspacing=1.0, borderaxespad=0.1)


def _by_phase(axes: Axes, table: pd.DataFrame, name: str, **look: Any) -> None:
    """A line a phase, since the next one goes on from the chosen checkpoint and not from the last."""
    phases = table["phase"].where(table["phase"] > 0, 1)
    for _, part in table.groupby(phases):
        known = part[part[name].notna()]
        axes.plot(known["at"], known[name], **look)


def _logged(name: str, colour: str, floor: float | None = None) -> Panel:
    def panel(axes: Axes, training: Training) -> None:
        _line(axes, training.log, name, colour)
        if floor is not None:
            axes.set_ylim(bottom=min(floor, axes.get_ylim()[0]) if training.log[name].min() < floor else floor)

    return panel


def _line(axes: Axes, log: pd.DataFrame, name: str, colour: str) -> None:
    """Single steps faintly, and their running mean, each phase for itself."""
    for _, part in log.groupby("phase"):
        values = part.set_index("at")[name].dropna()
        few = len(values) <= FEW
        faint = thinned(values)
        axes.plot(faint.index, faint, color=colour, linewidth=1.3 if few else 0.7, alpha=1 if few else FAINT, zorder=2)
        if not few:
            smooth = thinned(running_mean(values))
            axes.plot(smooth.index, smooth, color=colour, linewidth=1.5, zorder=3)


def running_mean(values: pd.Series) -> pd.Series:
    """The mean over a window of ``WINDOW`` of the values around each, shorter at both ends.

    >>> running_mean(pd.Series([0.0, 3.0, 6.0])).tolist()
    [1.5, 3.0, 4.5]
    """
    window = max(3, round(WINDOW * len(values)))
    return values.rolling(window + 1 - window % 2, center=True, min_periods=1).mean()


def thinned(values: pd.Series) -> pd.Series:
    """At most ``POINTS`` points: means of as many neighbours as that takes.

    >>> len(thinned(pd.Series(range(4200))))
    382
    """
    size = math.ceil(len(values) / POINTS)
    if size < 2:
        return values
    bins = np.arange(len(values)) // size
    return pd.Series(
        values.groupby(bins).mean().to_numpy(),
        pd.Series(values.index).groupby(bins).mean().to_numpy(),
        name=values.name,
    )


def _cosine(axes: Axes, training: Training) -> None:
    values = training.log.set_index("at")["surgery/cosine"].dropna()
    # Some of the steps, since means of neighbours would hide those that conflict.
    values = values.iloc[:: math.ceil(len(values) / POINTS)]
    axes.axhline(0, color=MUTED, linewidth=0.8, zorder=1)
    for part, colour in ((values[values >= 0], GREEN), (values[values < 0], ORANGE)):
        axes.plot(part.index, part, "o", markersize=2.4, color=colour, alpha=0.8, zorder=2, clip_on=False)
    reach = max(0.1, 1.1 * float(values.abs().max()))
    axes.set_ylim(-min(1.05, reach), min(1.05, reach))


def _chains(axes: Axes, training: Training) -> None:
    handles = []
    if _has(training.validations, "steps"):
        look: dict[str, Any] = {"color": PURPLE, "marker": "D", "markersize": 3.0, "linewidth": 1.3}
        _by_phase(axes, training.validations, "steps", zorder=3, **look)
        handles.append(Line2D([], [], label="held out, mean", **look))
    for name, words, line in (
        ("verbosity/median", "training, median", "solid"),
        ("verbosity/limit", "limit", "dotted"),
    ):
        if _has(training.log, name):
            style: dict[str, Any] = {"color": MUTED, "linewidth": 1.0, "linestyle": line}
            for _, part in training.log.groupby("phase"):
                values = thinned(part.set_index("at")[name].dropna())
                axes.plot(values.index, values, zorder=2, **style)
            handles.append(Line2D([], [], label=words, **style))
    low, high = axes.get_ylim()
    axes.set_ylim(max(0, low), high + 0.25 * (high - max(0, low)))
    axes.legend(handles=handles, loc="upper left", ncols=3, handlelength=1.4, columnspacing=0.9, borderaxespad=0.1)


VIEWS = (
    View("Held-out items", (), ("accuracy_strict", "match_f1"), _scores),
    View("Reward of the sampled responses", ("reward",), (), _logged("reward", GREEN)),
    View("KL to the model its phase began with", ("kl",), (), _logged("kl", PURPLE, 0.0)),
    View("Norm of the gradient", ("grad_norm",), (), _logged("grad_norm", BLUE, 0.0)),
    View("Cosine of the two gradients", ("surgery/cosine",), (), _cosine),
    View("Steps in a chain", ("verbosity/median",), ("steps",), _chains),
)


def _has(table: pd.DataFrame, name: str) -> bool:
    return name in table and bool(table[name].notna().any())
