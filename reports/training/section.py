"""The training section of a report: its sentences, tables and figures, which page and Markdown print."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..figures.exhibit import Drawn
from ..figures.theme import theme
from ..gfm import escape
from . import curves, dynamics
from .cells import Table
from .changes import Change, changes, in_short, verdict
from .methods import contrasts, groups, mixed_data, mixed_recipes, summary
from .methods_tables import contrasts_table, methods_table
from .read import Training
from .tables import changes_table, diagnostics_table, phases_table, strategies_table

#: Where its figures go, in a report's folder.
FIGURES = "figures/training"
#: Share of groups without a difference above which there was hardly anything to learn from.
HARDLY_ANY = 0.9
#: What has to stand beside every comparison of before and after.
CHOSEN = (
    "The checkpoint was chosen on these held-out items, so what comes after is a little too good: for numbers to "
    "publish, evaluate it on items that no step and no choice has seen, such as CRYSTAL itself."
)


@dataclass(frozen=True)
class Part:
    """One training: its name, what came of it in few words and in a sentence, facts, tables, and its figure, if any."""

    name: str
    short: str
    headline: str
    warnings: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    changes: tuple[Change, ...]
    tables: tuple[Table, ...]
    figure: Drawn | None


@dataclass(frozen=True)
class Section:
    """All trainings: a headline, tables over all of them, the figure of several, a part for each, the paper's rows."""

    trainings: tuple[Training, ...]
    headline: str
    notes: tuple[str, ...]
    tables: tuple[Table, ...]
    figure: Drawn | None
    parts: tuple[Part, ...]
    paper: Table

    @property
    def figures(self) -> list[Drawn]:
        """Its figures, those of several trainings first."""
        return [figure for figure in (self.figure, *(part.figure for part in self.parts)) if figure is not None]


def make_section(trainings: Sequence[Training], advance: Callable[[], None] = lambda: None) -> Section | None:
    """What is said of some trainings; None of none. ``advance`` is called after each of them."""
    if not trainings:
        return None
    found: dict[str, list[Change]] = {}
    parts = []
    for place, training in enumerate(trainings):
        found[training.name] = changes(training)
        parts.append(_part(training, found[training.name], "" if len(trainings) == 1 else f"-{place + 1}"))
        advance()
    if len(trainings) == 1:
        diagnostics = (diagnostics_table(trainings),)
        return Section(
            tuple(trainings), parts[0].headline, (CHOSEN,), diagnostics, None, tuple(parts), strategies_table()
        )
    by_method = groups(trainings)
    made = contrasts(by_method, found)
    tables = (
        methods_table(by_method, found),
        *([contrasts_table(made)] if made else []),
        diagnostics_table([training for group in by_method for training in group.trainings]),
    )
    return Section(
        trainings=tuple(trainings),
        headline=summary(by_method, found, made),
        notes=(*mixed_data(by_method), *mixed_recipes(by_method), CHOSEN),
        tables=tables,
        figure=_drawn("methods", curves.TITLE, curves.caption(by_method), lambda: curves.draw(by_method)),
        parts=tuple(parts),
        paper=strategies_table(),
    )


def _part(training: Training, found: Sequence[Change], number: str) -> Part:
    tables = [*([changes_table(found)] if found else []), *([phases_table(training)] if training.phases else [])]
    return Part(
        name=training.name,
        short="broke off" if training.stopped else in_short(found),
        headline=f"{training.method} on {training.model}{_state(training)}. {verdict(found)}",
        warnings=tuple(_warnings(training)),
        facts=tuple(_facts(training)),
        changes=tuple(found),
        tables=tuple(tables),
        figure=_drawn(f"dynamics{number}", dynamics.TITLE, dynamics.caption(training), lambda: dynamics.draw(training)),
    )


def _state(training: Training) -> str:
    return " broke off" if training.stopped else "" if training.finished else " is not finished"


def _drawn(name: str, title: str, caption: str, draw: Callable[[], object]) -> Drawn | None:
    with theme():
        figure = draw()
    return None if figure is None else Drawn(name, title, caption, figure)  # type: ignore[arg-type]


def _warnings(training: Training) -> list[str]:
    said = []
    if training.stopped:
        said.append(f"It broke off: {without_folders(training.stopped)}")
    elif not training.finished:
        steps = training.phases[-1].start + training.phases[-1].done if training.phases else 0
        said.append(f"It is not finished: {steps:,} optimiser steps are in its log so far.")
    if (alike := training.alike) is not None and alike > HARDLY_ANY:
        said.append(
            f"In {alike:.0%} of its groups all candidates earned the same, and nothing is learned from those: the "
            "model gets next to none of the answers or next to all, or does not write the form that is read."
        )
    return said


def _facts(training: Training) -> list[tuple[str, str]]:
    facts = [("Method", training.method), ("Model", training.model)]
    facts += [("Seed", str(training.seed))] if training.seed is not None else []
    facts.append(("Gradient surgery", "on" if training.surgery else "off"))
    if training.alike is not None:
        facts.append(("Groups that earned all the same", f"{training.alike:.0%}"))
    counts = training.counts
    if "train" in counts and "validation" in counts:
        measured = counts.get("validated", counts["validation"])
        part = f", {measured:,} of them measured" if measured != counts["validation"] else ""
        facts.append(("Items", f"{counts['train']:,} to train on, {counts['validation']:,} held out{part}"))
    if training.seconds is not None:
        facts.append(("Time", _time(training.seconds)))
    return facts


def _time(seconds: float) -> str:
    """Seconds as a reader says them.

    >>> _time(75), _time(3 * 3600 + 120)
    ('1 min 15 s', '3 h 02 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def without_folders(text: str) -> str:
    """A sentence with the last parts only of the paths in it: a page may be given to others.

    >>> without_folders("keeps /home/me/out/phase1/checkpoint-20, see there")
    'keeps checkpoint-20, see there'
    """
    return re.sub(r"(?<![\w.])[\w.~-]*(?:/[\w.+~ -]*?)*/([\w.+-]+)", r"\1", text)


def markdown(section: Section) -> list[str]:
    """Its lines in ``report.md``."""
    lines = [
        "## Training",
        "",
        f"**{escape(section.headline)}**",
        "",
        *(f"- {escape(note)}" for note in section.notes),
        "",
    ]
    for table in section.tables:
        lines += table.markdown
    lines += _linked(section.figure)
    for part in section.parts:
        lines += [f"### {escape(part.name)}", "", escape(part.headline), ""]
        lines += [f"**{escape(warning)}**\n" for warning in part.warnings]
        lines += ["; ".join(f"{escape(title)}: {escape(text)}" for title, text in part.facts) + ".", ""]
        for table in part.tables:
            lines += table.markdown
        lines += _linked(part.figure)
    return lines + section.paper.markdown


def _linked(figure: Drawn | None) -> list[str]:
    if figure is None:
        return []
    title = escape(figure.title)
    return [f"![{title}]({FIGURES}/{figure.name}.svg)", "", escape(figure.caption), ""]
