"""All figures of a report in the order in which they are read: what draws each, and what says how it is made."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from ..writing import write_whole
from . import answers, distribution, intervals, length, order, ranks, scatter, stacks, steps, strata
from .exhibit import Drawn, Exhibit
from .render import to_png, to_svg
from .theme import theme


@dataclass(frozen=True)
class Entry:
    """One figure of the report. ``name`` is that of its files; ``draw`` gives None where the data are not there."""

    name: str
    title: str
    draw: Callable[[Exhibit], Figure | None]
    caption: Callable[[Exhibit], str]


FIGURES = (
    Entry("match_f1", "Match F1 with its interval", intervals.draw, intervals.caption),
    Entry("ranks", "Ranks by accuracy, Match F1 and other benchmarks", ranks.draw, ranks.caption),
    Entry("diagnosis", "What the answers rest on", stacks.diagnosis, stacks.diagnosis_caption),
    Entry("precision_recall", "Precision against recall", scatter.precision_recall, scatter.precision_recall_caption),
    Entry("accuracy_match_f1", "Accuracy against Match F1", scatter.accuracy_f1, scatter.accuracy_f1_caption),
    Entry("distribution", "Distribution of Match F1", distribution.draw, distribution.caption),
    Entry("steps", "Match F1 against the number of steps", length.draw, length.caption),
    Entry("order", "Order of the matched steps", order.draw, order.caption),
    Entry("sources", "Match F1 and accuracy by source", strata.by_source, strata.by_source_caption),
    Entry("reference_steps", "Match F1 and accuracy by number of reference steps", steps.draw, steps.caption),
    Entry(
        "difficulty",
        "Match F1 and accuracy by approximate difficulty",
        strata.by_difficulty,
        strata.by_difficulty_caption,
    ),
    Entry("statuses", "Format of the responses", stacks.statuses, stacks.statuses_caption),
    Entry("verdicts", "Where the two accuracies part", answers.draw, answers.caption),
)


def draw_figures(exhibit: Exhibit, advance: Callable[[], None] = lambda: None) -> list[Drawn]:
    """The figures that the data allow; ``advance`` is called after each of ``FIGURES``.

    Models without samples are left out of figures of single items, and the caption says so.
    """
    drawn = []
    for entry in FIGURES:
        with theme():
            figure = entry.draw(exhibit)
        if figure is not None:
            drawn.append(Drawn(entry.name, entry.title, entry.caption(exhibit), figure))
        advance()
    return drawn


def write_figures(drawn: list[Drawn], folder: Path, advance: Callable[[], None] = lambda: None) -> list[Path]:
    """Writes each figure as SVG and PNG on white; ``advance`` is called after each. Returns the files."""
    written = []
    for one in drawn:
        for suffix, content in ((".svg", to_svg(one.figure, one.title)), (".png", to_png(one.figure))):
            written.append(write_whole(folder / f"{one.name}{suffix}", content))
        advance()
    return written
