"""The tables of several trainings: methods by mean over seeds with the seeds beneath, and pairs of methods."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..boards import p_printed
from .cells import Cell, Head, Row, Table, between, fixed
from .changes import ANSWERS, REASONING, TITLES, Change, change_of
from .methods import Changes, Contrast, Group, Spread, spread
from .read import Training
from .tables import DIGITS

#: Metrics that are shown with their change, and without.
COMPARED = (ANSWERS, REASONING)
BESIDE = ("f1_above_null", "precision", "recall", "ordered_f1", "steps")


def methods_table(found: Sequence[Group], changes: Changes) -> Table:
    """A row a method with means over seeds, and a row each seed beneath."""
    heads: list[Head] = []
    for metric in COMPARED:
        heads += [
            Head(TITLES[metric], "after training", "95 % interval"),
            Head("change", "after minus before", "95 % interval", f"{TITLES[metric]}, change"),
        ]
    present = {change.metric for one in changes.values() for change in one}
    beside = [metric for metric in BESIDE if metric in present]
    heads += [Head(TITLES[metric], "after training", "95 % interval") for metric in beside]
    rows = [*_before(found, changes, beside)]
    for group in found:
        rows.append(_method_row(group, changes, beside))
        rows += [_seed_row(training, changes[training.name], beside) for training in group.trainings]
    return Table("methods", "Methods", "Method", tuple(heads), tuple(rows), METHODS_CAPTION)


METHODS_CAPTION = (
    "Means over seeds with Student’s 95 % interval over them (of two or three seeds it is wide); beneath each the "
    "single trainings, whose changes are established (arrow) over their items. The interval over seeds says what "
    "another seed would bring; other items would move all rows together."
)


def _before(found: Sequence[Group], changes: Changes, beside: Sequence[str]) -> list[Row]:
    """What all began with: one value a seed; none where there are several models."""
    trainings = [training for group in found for training in group.trainings]
    if len({training.model for training in trainings}) > 1:
        return []
    by_seed = {training.seed: changes[training.name] for training in reversed(trainings) if changes[training.name]}

    def at_first(metric: str) -> Spread:
        known = [change_of(each, metric) for each in by_seed.values()]
        return spread(sorted({change.before for change in known if change}))

    cells: list[Cell] = []
    for metric in COMPARED:
        cells += [_spread(at_first(metric), DIGITS.get(metric, 3)), Cell()]
    cells += [_spread(at_first(metric), DIGITS.get(metric, 3)) for metric in beside]
    return [Row("before training", tuple(cells))] if by_seed else []


def _method_row(group: Group, changes: Changes, beside: Sequence[str]) -> Row:
    cells: list[Cell] = []
    for metric in COMPARED:
        cells += [_spread(group.after(metric, changes), 3), _spread(group.difference(metric, changes), 3, sign=True)]
    cells += [_spread(group.after(metric, changes), DIGITS.get(metric, 3)) for metric in beside]
    finished = sum(bool(changes[training.name]) for training in group.trainings)
    count = len(group.trainings)
    seeds = f"{count} seed{'s' if count > 1 else ''}" + (f", {finished} with a result" if finished < count else "")
    return Row(group.label, tuple(cells), seeds)


def _seed_row(training: Training, found: Sequence[Change], beside: Sequence[str]) -> Row:
    cells: list[Cell] = []
    for metric in COMPARED:
        change = change_of(found, metric)
        cells += (
            [Cell(fixed(change.after)), Cell(fixed(change.difference, sign=True), trend=change.trend)]
            if change
            else [Cell(), Cell()]
        )
    for metric in beside:
        change = change_of(found, metric)
        cells.append(Cell(fixed(change.after if change else None, DIGITS.get(metric, 3))))
    name = f"seed {training.seed}" if training.seed is not None else "no seed"
    broke = "broke off" if training.stopped else "" if training.finished else "not finished"
    return Row(name, tuple(cells), ", ".join(filter(None, [training.name, broke])), part=True)


def _spread(found: Spread, digits: int, sign: bool = False) -> Cell:
    return Cell(fixed(found.mean, digits, sign), between(found.low, found.high, digits, sign))


def contrasts_table(made: Sequence[Contrast]) -> Table:
    """Methods against each other, a row a pair."""
    heads: list[Head] = []
    for metric in COMPARED:
        heads += [
            Head(TITLES[metric], "first minus second, after training", "95 % interval"),
            Head("p (Holm)", name=f"{TITLES[metric]}, p (Holm)"),
        ]
    rows = []
    for pair in dict.fromkeys((contrast.first, contrast.second) for contrast in made):
        cells: list[Cell] = []
        for metric in COMPARED:
            one = next((c for c in made if (c.first, c.second) == pair and c.metric == metric), None)
            cells += _contrast(one) if one else [Cell(), Cell()]
        rows.append(Row(f"{pair[0]} minus {pair[1]}", tuple(cells)))
    caption = (
        "Differences of trainings with equal seeds, their mean with Student’s 95 % interval; p is corrected by Holm’s "
        "method over the pairs of a metric, and an arrow marks what it establishes at 0.05."
    )
    return Table("methods-pairs", "Methods against each other", "Pair", tuple(heads), tuple(rows), caption)


def _contrast(contrast: Contrast) -> list[Cell]:
    found = contrast.spread
    trend = ("up" if found.mean > 0 else "down") if contrast.established else ""
    cell = Cell(fixed(found.mean, sign=True), between(found.low, found.high, sign=True), trend)
    return [cell, Cell("" if math.isnan(contrast.p_holm) else p_printed(contrast.p_holm))]
