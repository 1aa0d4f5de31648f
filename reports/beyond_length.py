"""Is Match F1 more than a step count? What a run's results say about that, as rows of a table and in sentences.

Read from the part ``validity`` of a result, which ``metrics.validity.summarise`` made, and its null metrics.
"""

import itertools
import math
from dataclasses import dataclass

import pandas as pd

from .leaderboard import contenders, leaves_out_stand_ins, shown, some_names
from .statistics import DIGITS, ESTABLISHED, MIN_MODELS, comparison_of, rank_correlation
from .study import Board, Run

#: Of Match F1 by first steps these are shown: one step, about half of the paper's mean chain, and most of it.
FIRST = (1, 3, 6)
#: So many pairs of models are told apart in a sentence; the rest is counted.
PAIRS_SHOWN = 3


@dataclass(frozen=True)
class Head:
    """A column: the name of its values, its title, and what it means."""

    name: str
    title: str
    meaning: str
    digits: int = 3


HEADS = (
    Head("steps", "Steps", "predicted steps an item", 1),
    Head("match_f1", "Match F1", "as in the first table"),
    Head("null_f1", "Null", "Match F1 against the reference steps of another item of the same source and length"),
    Head("f1_above_null", "Above null", "the difference of the two: what length and subject alone do not buy"),
    Head("f1_above_null_low", "from", "lower end of its 95 % bootstrap interval over items"),
    Head("f1_above_null_high", "to", "upper end of it"),
    *(
        Head(
            f"first_f1_{count}", f"First {count}", f"Match F1 of the first {f'{count} steps' if count > 1 else 'step'}"
        )
        for count in FIRST
    ),
    Head("optimal_f1", "Optimal", "Match F1 were the matches assigned to be as many as possible instead of greedily"),
    Head("conflict_number", "Numbers", "share of an item's matches whose two texts give different numbers"),
    Head(
        "conflict_negation", "Negations", "share of an item's matches of which one text negates and the other does not"
    ),
)
READING = (
    "Longer chains match more by chance: over the paper's 20 models the rank correlation of mean steps with Match F1 "
    "is 0.94. Match F1 that is no higher than its null is what a chain of that length about such a subject gets on any "
    "item; compare models by what they have above it. Matches that differ in a number or a negation are similar "
    "sentences that say different things; the rules that find them are cautious, so those shares are lower bounds."
)


@dataclass(frozen=True)
class Row:
    """A model's printed values in the order of ``HEADS``, empty where its results do not have one."""

    label: str
    cells: tuple[str, ...]


def length_rows(board: Board) -> list[Row]:
    """A row a run of a board; none where no run has a null, as in results of one item."""
    if not any(run.mean("null_f1") for run in board.runs):
        return []
    return [Row(run.label, tuple(shown(_number(run, head.name), head.digits) for head in HEADS)) for run in board.runs]


def length_sentences(board: Board, comparisons: pd.DataFrame) -> list[str]:
    """The answer in words: who is above the null, whether the ranking is the same there, and what goes with length.

    Of the rows that can lead. ``comparisons`` is what ``statistics.compare_models`` made of the board's runs. Empty
    where no run has a null.
    """
    runs = [run for run in contenders(board) if run.mean("null_f1") and run.mean("f1_above_null")]
    if not runs:
        return []
    said = [_above(runs)]
    if len(runs) > 1:
        said += [_order(runs, comparisons), _with_steps(runs)]
    said += _assigned(runs)
    if leaves_out_stand_ins(board):
        said.append("Scripted stand-ins are left aside in these sentences.")
    return said


def _above(runs: list[Run]) -> str:
    """Whose Match F1 is above its null by more than its interval."""
    shown_not = [run.label for run in runs if not (_number(run, "f1_above_null_low") or 0) > 0]
    if not shown_not:
        return f"{_rows(len(runs))} above the null by more than the 95 % interval."
    above = len(runs) - len(shown_not)
    return (
        f"Of {len(runs)} rows, {above or 'none'} {'is' if above < 2 else 'are'} above the null by more than the 95 % "
        f"interval; not shown to be: {some_names(shown_not)}."
    )


def _rows(count: int) -> str:
    return "The one row is" if count == 1 else f"All {count} rows are"


def _order(runs: list[Run], comparisons: pd.DataFrame) -> str:
    """Whether the models stand in one order by Match F1 and by what is above the null."""
    means = {run.label: (_mean(run, "match_f1"), _mean(run, "f1_above_null")) for run in runs}
    apart, turned = 0, []
    for pair in itertools.combinations(means, 2):
        first, second = sorted(pair, key=lambda label: -means[label][0])
        by_f1, by_difference = (
            round(one - other, DIGITS) for one, other in zip(means[first], means[second], strict=True)
        )
        apart += by_f1 > 0
        if by_f1 > 0 > by_difference:
            turned.append((first, second, by_f1, by_difference))
    if not apart:
        return "No two rows differ in Match F1."
    said = f"Of the {apart} pairs of rows that differ in Match F1, {len(turned) or 'none'} turn round above the null"
    if not turned:
        return f"{said}."
    named = [
        f"{first} is ahead of {second} by {by_f1:.3f} and behind by {-by_difference:.3f} there"
        f"{'' if _both_established(comparisons, first, second) else ' (not both established)'}"
        for first, second, by_f1, by_difference in turned[:PAIRS_SHOWN]
    ]
    more = len(turned) - len(named)
    return f"{said}: {'; '.join(named)}{f'; and {more} more' if more else ''}."


def _both_established(comparisons: pd.DataFrame, first: str, second: str) -> bool:
    found = (comparison_of(comparisons, metric, first, second) for metric in ("match_f1", "f1_above_null"))
    return all(row is not None and row["p_holm"] <= ESTABLISHED for row in found)


def _with_steps(runs: list[Run]) -> str:
    """How far the ranking follows the number of steps, with Match F1 and with what is above the null."""
    if len(runs) < MIN_MODELS:
        return f"{len(runs)} rows are too few for a rank correlation of steps with Match F1."
    steps = [_mean(run, "steps") for run in runs]
    found = [rank_correlation(steps, [_mean(run, name) for run in runs]) for name in ("match_f1", "f1_above_null")]
    printed = [
        f"{one.spearman:.2f} [{one.spearman_low:.2f}, {one.spearman_high:.2f}]" if one else "not defined"
        for one in found
    ]
    return (
        f"Over {len(runs)} rows the rank correlation of mean steps (Spearman's, with 95 % intervals) is {printed[0]} "
        f"with Match F1 and {printed[1]} with what is above the null."
    )


def _assigned(runs: list[Run]) -> list[str]:
    """What greedy matching costs; nothing where the results do not say."""
    gains = {
        run.label: optimal - _mean(run, "match_f1")
        for run in runs
        if (optimal := _number(run, "optimal_f1")) is not None
    }
    if not gains:
        return []
    label = max(gains, key=lambda one: gains[one])
    if gains[label] < 10**-DIGITS:
        return ["The best possible assignment of matches instead of the greedy one changes no Match F1."]
    return [
        f"The best possible assignment of matches instead of the greedy one adds at most {gains[label]:.3f} to Match "
        f"F1 ({label})."
    ]


def _mean(run: Run, name: str) -> float:
    number = _number(run, name)
    return math.nan if number is None else number


def _number(run: Run, name: str) -> float | None:
    metric, _, end = name.rpartition("_")
    if end in ("low", "high"):
        mean = run.mean(metric)
        return (mean.low if end == "low" else mean.high) if mean else None
    mean = run.mean(name)
    return mean.mean if mean else run.result.validity.get(name)
