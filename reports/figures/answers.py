"""Where the two accuracies part: answers that the paper's rule takes and a careful marker does not, and the reverse."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .exhibit import Exhibit, over_items
from .layout import rows
from .theme import BLUE, INK, ORANGE, PAPER, SIZE, SMALL

BAR = 0.66
#: An axis shows at least so large a share of the items.
LEAST = 0.02


def caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    return (
        f"{over_items(exhibit, exhibit.sampled)}. Share and number of items on which the two verdicts differ. Left: "
        "right by the paper's released rule only (it lets numbers that are off by 10 % and parts of a text pass). "
        "Right: right by the strict rule only. Items on which both agree are not shown."
    )


def draw(exhibit: Exhibit) -> Figure | None:
    """A bar to either side for each model; None where the verdicts never differ, which ``boards.agreed`` says."""
    shown = exhibit.sampled
    if not shown:
        return None
    counts = []
    for run, _ in shown:
        assert run.items is not None
        paper, strict = run.items["accuracy"] == 1, run.items["accuracy_strict"] == 1
        counts.append((int((paper & ~strict).sum()), int((strict & ~paper).sum()), len(run.items)))
    if not any(lenient or severe for lenient, severe, _ in counts):
        return None
    made = rows([style for _, style in shown], (1, 1))
    reach = 1.35 * max(LEAST, *(count / items for *both, items in counts for count in both))
    left, right = made.panels
    left.set_xlim(reach, 0)
    right.set_xlim(0, reach)
    left.set_title("right by the paper's rule only", fontsize=SIZE, color=INK, loc="right")
    right.set_title("right by the strict rule only", fontsize=SIZE, color=INK, loc="left")
    for axes in made.panels:
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        # One 0 between the two panels.
        axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %" if share > 0 else "")
    for place, (lenient, severe, items) in enumerate(counts):
        _bar(left, place, lenient, items, ORANGE, "//")
        _bar(right, place, severe, items, BLUE, "")
    return made.figure


def _bar(axes: Axes, place: int, count: int, items: int, colour: str, hatch: str) -> None:
    share = count / items
    axes.barh(place, share, BAR, color=colour, hatch=hatch, edgecolor=PAPER, linewidth=0)
    leftwards = axes.xaxis_inverted()
    axes.annotate(
        f"{100 * share:.1f} % ({count:,})" if count else "0",
        (share, place),
        xytext=(-4 if leftwards else 4, 0),
        textcoords="offset points",
        ha="right" if leftwards else "left",
        va="center",
        fontsize=SMALL,
        color=INK,
    )
