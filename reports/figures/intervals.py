"""Match F1 of each model with its 95 % interval: which places of the ranking are settled."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..load import Mean
from .exhibit import Exhibit, over_items
from .layout import rows
from .theme import INK, MUTED, SIZE, SMALL, Style, mark


def caption(exhibit: Exhibit) -> str:
    """How the figure is made."""
    words = (
        f"{over_items(exhibit)}. Macro mean of Match F1 with the 95 % bootstrap interval over items that the run "
        "wrote. Overlapping intervals do not settle whether two models differ: see the paired comparison."
    )
    if any(run.mean("null_f1") for run in exhibit.board.runs):
        words += " The short grey stroke is the null: Match F1 against another item's reference steps."
    return words


def draw(exhibit: Exhibit) -> Figure | None:
    """A forest plot in the order of the board."""
    shown = [(run.mean("match_f1"), run.mean("null_f1"), style) for run, style in exhibit.rows]
    if not any(value for value, _, _ in shown):
        return None
    made = rows(exhibit.styles, (1, 0.42))
    axes, numbers = made.panels
    axes.set_title("Match F1, 95 % interval", fontsize=SIZE, color=INK)
    axes.set_xlim(*_limits([mean for value, null, _ in shown for mean in (value, null) if mean]))
    numbers.set_axis_off()
    numbers.set_xlim(0, 1)
    for place, (value, null, style) in enumerate(shown):
        if value:
            whisker(axes, place, value, style)
            numbers.text(0, place, _words(value), fontsize=SMALL, color=INK, va="center")
        if null:
            axes.plot([null.mean] * 2, [place - 0.3, place + 0.3], color=MUTED, linewidth=1.5, zorder=2)
    return made.figure


def whisker(axes: Axes, place: float, value: Mean, style: Style, size: float = 5.5) -> None:
    """A mean as the mark of its run, with its interval as a line."""
    if value.low is not None and value.high is not None:
        axes.plot([value.low, value.high], [place, place], color=style.colour, linewidth=1.6, zorder=3)
    mark(axes, value.mean, place, style, size)


def _words(value: Mean) -> str:
    if value.low is None or value.high is None:
        return f"{value.mean:.3f}"
    return f"{value.mean:.3f}  [{value.low:.3f}, {value.high:.3f}]"


def _limits(values: list[Mean]) -> tuple[float, float]:
    """The stretch of [0, 1] that holds the values, no narrower than a fifth."""
    ends = [end for value in values for end in (value.mean, value.low, value.high) if end is not None]
    low, high = min(ends), max(ends)
    margin = max(0.03, (0.2 - (high - low)) / 2)
    return max(-0.02, low - margin), min(1.02, high + margin)
