"""Shares of items in classes, a stacked bar a model: format statuses, and the diagnosis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from .exhibit import Exhibit, over_items
from .layout import rows, shares_axis
from .theme import BLUE, GREEN, GREY, OCHRE, ORANGE, PAPER, PURPLE, SKY, TINY, Style, text_on

#: Narrower segments carry no number, which would not fit.
LEAST_NUMBERED = 0.06
BAR = 0.74


@dataclass(frozen=True)
class Class:
    """One class of a stack: its key in the data, its words, and its looks."""

    key: str
    words: str
    colour: str
    hatch: str = ""


STATUSES = (
    Class("valid", "valid", BLUE),
    Class("recovered", "recovered", SKY, "//"),
    Class("malformed", "malformed", ORANGE, "xx"),
    Class("empty", "empty", GREY, "||"),
    Class("failed", "call failed", PURPLE, "\\\\"),
)
DIAGNOSES = (
    Class("sound", "sound", BLUE),
    Class("cherry_picked", "cherry-picked", SKY, "//"),
    Class("lucky", "lucky", OCHRE, "xx"),
    Class("sound_wrong", "sound but wrong", GREEN, "\\\\"),
    Class("neither", "neither", GREY, "||"),
    Class("malformed", "malformed", ORANGE, "--"),
)


def statuses(exhibit: Exhibit) -> Figure | None:
    """How responses could be read."""
    shown = exhibit.sampled
    return _stack(
        [style for _, style in shown], [run.items["status"] for run, _ in shown if run.items is not None], STATUSES
    )


def statuses_caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    return (
        f"{over_items(exhibit, exhibit.sampled)}. Share of responses by how they could be read. Valid: exactly the JSON "
        "that was asked for. Recovered: mended, or taken out of other text. Malformed, empty and failed responses "
        "count as one step that matches nothing and no answer."
    )


def diagnosis(exhibit: Exhibit) -> Figure | None:
    """What right and wrong answers rest on."""
    shown = [style for style in exhibit.styles if style.label in exhibit.diagnoses]
    return _stack(shown, [exhibit.diagnoses[style.label] for style in shown], DIAGNOSES)


def diagnosis_caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    shown = [(run, style) for run, style in exhibit.rows if run.label in exhibit.diagnoses]
    return (
        f"{over_items(exhibit, shown)}. Share of items by diagnosis. Sound: right, and the steps are those of the "
        "reference. Cherry-picked: right by few good steps (high precision, low recall). Lucky: right by unrelated "
        "steps. Sound but wrong: good steps, wrong answer. Neither: neither steps nor answer. Malformed: nothing could "
        "be read."
    )


def _stack(styles: Sequence[Style], values: Sequence[pd.Series], classes: Sequence[Class]) -> Figure | None:
    shares = [_shares(value, classes) for value in values]
    if not shares:
        return None
    made = rows(styles, (1,), top=0.34)
    [axes] = made.panels
    shares_axis(axes, "")
    axes.grid(False)
    axes.set_ylim(len(styles) - 0.5, -0.5)
    for place, share in enumerate(shares):
        _bar(axes, place, share, classes)
    present = [one for one in classes if any(share[one.key] for share in shares)]
    handles = [Patch(facecolor=one.colour, hatch=one.hatch, edgecolor=PAPER, linewidth=0) for one in present]
    made.figure.legend(
        handles,
        [one.words for one in present],
        loc="upper left",
        bbox_to_anchor=(0, 1),
        ncols=len(present),
        handlelength=1.5,
        handleheight=1.0,
        columnspacing=1.4,
        handletextpad=0.5,
        borderaxespad=0.4,
    )
    return made.figure


def _shares(values: pd.Series, classes: Sequence[Class]) -> Mapping[str, float]:
    """Share of each class; what is of none of them counts with the last."""
    counts = values.astype(str).value_counts()
    named = {one.key: float(counts.get(one.key, 0)) for one in classes}
    named[classes[-1].key] += float(counts.sum()) - sum(named.values())
    return {key: count / max(1.0, float(counts.sum())) for key, count in named.items()}


def _bar(axes: Axes, place: int, share: Mapping[str, float], classes: Sequence[Class]) -> None:
    start = 0.0
    for one in classes:
        wide = share[one.key]
        if wide:
            # The edge gives hatches their colour, and keeps neighbours apart.
            axes.barh(place, wide, BAR, start, color=one.colour, hatch=one.hatch, edgecolor=PAPER, linewidth=0.6)
        if wide >= LEAST_NUMBERED:
            axes.text(
                start + wide / 2,
                place,
                f"{100 * wide:.0f}",
                fontsize=TINY,
                color=text_on(one.colour),
                ha="center",
                va="center",
                bbox={"facecolor": one.colour, "edgecolor": "none", "pad": 1.2},
            )
        start += wide
