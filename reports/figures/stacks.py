"""Shares of items in classes, a stacked bar a model: format statuses, and the diagnosis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..diagnosis import DIAGNOSES
from ..method import counted_as
from .exhibit import Exhibit, over_items
from .layout import POINTS, legend, rows, shares_axis, sheet, text_size
from .theme import BLUE, GREEN, GREY, OCHRE, ORANGE, PAPER, PURPLE, SKY, SMALL, TINY, WIDTH, Style, text_on

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
LOOKS = {
    "sound": (BLUE, ""),
    "cherry_picked": (SKY, "//"),
    "lucky": (OCHRE, "xx"),
    "sound_wrong": (GREEN, "\\\\"),
    "neither": (GREY, "||"),
    "malformed": (ORANGE, "--"),
}
CLASSES = tuple(Class(name, one.label, *LOOKS[name]) for name, one in DIAGNOSES.items())
#: Points that a legend takes for one entry besides its words.
ENTRY = 42


def statuses(exhibit: Exhibit) -> Figure | None:
    """How responses could be read."""
    shown = exhibit.sampled
    return _stack(
        [style for _, style in shown], [run.items["status"] for run, _ in shown if run.items is not None], STATUSES
    )


def statuses_caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    return (
        f"{over_items(exhibit, exhibit.sampled)}. Share of responses by how they could be read. Valid: exactly the "
        "JSON that was asked for. Recovered: mended, or taken out of other text. Malformed, empty and failed responses "
        f"count {counted_as([exhibit.board.scorer])}."
    )


def diagnosis(exhibit: Exhibit) -> Figure | None:
    """What right and wrong answers rest on."""
    shown = [style for style in exhibit.styles if style.label in exhibit.diagnoses]
    return _stack(shown, [exhibit.diagnoses[style.label] for style in shown], CLASSES)


def diagnosis_caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    shown = [(run, style) for run, style in exhibit.rows if run.label in exhibit.diagnoses]
    meanings = " ".join(f"{one.label[0].upper()}{one.label[1:]}: {one.meaning}" for one in DIAGNOSES.values())
    rule = f" Thresholds: {exhibit.thresholds}." if exhibit.thresholds else ""
    return f"{over_items(exhibit, shown)}. Share of items by diagnosis. {meanings}{rule}"


def _stack(styles: Sequence[Style], values: Sequence[pd.Series], classes: Sequence[Class]) -> Figure | None:
    shares = [_shares(value, classes) for value in values]
    if not shares:
        return None
    present = [one for one in classes if any(share[one.key] for share in shares)]
    columns = _columns([one.words for one in present])
    made = rows(styles, (1,), top=0.34 if columns == len(present) else 0.54)
    [axes] = made.panels
    shares_axis(axes, "")
    axes.grid(False)
    axes.set_ylim(len(styles) - 0.5, -0.5)
    for place, share in enumerate(shares):
        _bar(axes, place, share, classes)
    legend(
        made.figure,
        [
            Patch(facecolor=one.colour, hatch=one.hatch, edgecolor=PAPER, linewidth=0, label=one.words)
            for one in present
        ],
        columns,
    )
    return made.figure


def _columns(words: Sequence[str]) -> int:
    """As many as fit into one line of a legend, or half of them in each of two."""
    blank = sheet(1, 1)
    needed = sum(text_size(blank, word, SMALL)[0] + ENTRY for word in words)
    return len(words) if needed < WIDTH * POINTS else -(-len(words) // 2)


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
