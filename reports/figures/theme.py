"""The look that all figures share: colours, markers, hatches, sizes, and the name under which a run is shown."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes

from ..plain import one_line
from ..study import Board, Run

#: Ink, secondary text, rules and paper. Each occurs for nothing else, so that the page can put its own in their place.
INK, MUTED, RULE, PAPER = "#1b1f24", "#5b6470", "#d9dde2", "#ffffff"
#: The hues of Okabe and Ito (told apart in the common forms of colour blindness), some of them darkened until each
#: has a contrast of 3:1 on white and on a dark page.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#c46a9c", "#b27a00", "#3a92c4", "#8a6d5a", "#7a7f87")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
BLUE, ORANGE, GREEN, PURPLE, OCHRE, SKY, BROWN, GREY = COLOURS
#: Fixed, unlike ink and paper: texts on coloured bars.
ON_DARK, ON_LIGHT = "#fefefe", "#0b0d10"
#: Sizes in points. Width is that of a page's text, in inches.
SIZE, SMALL, TINY = 9.0, 8.0, 7.0
WIDTH = 7.2
#: Names are cut to as many characters.
NAME_LENGTH = 26
#: More models than this go by number: that many names beside points are no longer read.
MANY = 10

SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "crystal",
    # A dollar in a model's name is a dollar.
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": ["DejaVu Sans"],
    "font.size": SIZE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.6,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": SIZE,
    "axes.titlelocation": "left",
    "axes.labelsize": SMALL,
    "axes.unicode_minus": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "lines.solid_capstyle": "round",
}


@dataclass(frozen=True)
class Style:
    """How one run looks in every figure. ``number`` is its place on the board, from 1; a stand-in has a hollow mark."""

    label: str
    name: str
    number: int
    colour: str
    marker: str
    hollow: bool

    @property
    def face(self) -> str:
        """Colour inside of its mark."""
        return PAPER if self.hollow else self.colour


@contextmanager
def theme() -> Iterator[None]:
    """Matplotlib's defaults with our settings on top, whatever the user's own are."""
    with mpl.rc_context(), warnings.catch_warnings():
        # A sign that the font lacks is a box in the PNG and still itself in the SVG.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        yield


def styles(board: Board) -> list[Style]:
    """One for each run of the board, in its order."""
    names = short_names([run.label for run in board.runs])
    return [_style(run, place, name) for place, (run, name) in enumerate(zip(board.runs, names, strict=True))]


def _style(run: Run, place: int, name: str) -> Style:
    scripted = run.result.scripted
    return Style(
        label=run.label,
        name=f"{name}*" if scripted else name,
        number=place + 1,
        colour=COLOURS[place % len(COLOURS)],
        # The second round of colours has other markers than the first.
        marker=MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],
        hollow=scripted,
    )


def short_names(labels: Sequence[str], length: int = NAME_LENGTH) -> list[str]:
    """Labels cut to a length, still different from each other; the organisation goes first, then the middle.

    >>> short_names(["Qwen/Qwen2.5-VL-7B-Instruct", "a-model-whose-name-goes-on-and-on-and-on-7B"])
    ['Qwen2.5-VL-7B-Instruct', 'a-model-whose-…-and-on-7B']
    """
    plain = [one_line(label) or "unnamed" for label in labels]
    bare = [label.rpartition("/")[2] or label for label in plain]
    kept = [short if bare.count(short) == 1 else label for short, label in zip(bare, plain, strict=True)]
    cut = [_cut(name, length) for name in kept]
    return [f"{name} #{place + 1}" if cut.count(name) > 1 else name for place, name in enumerate(cut)]


def _cut(name: str, length: int) -> str:
    if len(name) <= length:
        return name
    tail = (length - 2) * 5 // 12
    return f"{name[: length - 2 - tail].rstrip()}…{name[-tail:].lstrip()}"


def contrast(first: str, second: str) -> float:
    """The contrast of two colours after WCAG 2, from 1 to 21.

    >>> round(contrast("#000000", "#ffffff"))
    21
    """
    dark, light = sorted(map(_luminance, (first, second)))
    return (light + 0.05) / (dark + 0.05)


def text_on(colour: str) -> str:
    """The colour of a text on a coloured bar: a contrast of 4.5:1 or more, in a light and in a dark page."""
    return max((ON_DARK, ON_LIGHT), key=lambda text: contrast(text, colour))


def _luminance(colour: str) -> float:
    parts = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in mpl.colors.to_rgb(colour)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def mark(axes: Axes, x: float, y: float, style: Style, size: float = 5.5) -> None:
    """The mark of a run at a point."""
    axes.plot(
        [x],
        [y],
        marker=style.marker,
        markersize=size,
        markerfacecolor=style.face,
        markeredgecolor=style.colour,
        markeredgewidth=1.2,
        linestyle="none",
        clip_on=False,
        zorder=4,
    )
