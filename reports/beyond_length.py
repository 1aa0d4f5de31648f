"""Is Match F1 more than a step count? What a run's results say about that, as rows of a table.

Read from the part ``validity`` of a result, which ``metrics.validity.summarise`` made, and its null metrics.
"""

from dataclasses import dataclass

from .leaderboard import shown
from .study import Board, Run

#: Of Match F1 by first steps these are shown: one step, about half of the paper's mean chain, and most of it.
FIRST = (1, 3, 6)


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
    Head("f1_above_null", "Above null", "the difference of the two: what length alone does not buy"),
    *(Head(f"first_f1_{count}", f"First {count}", f"Match F1 of the first {count} steps alone") for count in FIRST),
    Head("optimal_f1", "Optimal", "Match F1 were the matches assigned to be as many as possible instead of greedily"),
    Head("conflict_number", "Numbers", "share of an item's matches whose two texts give different numbers"),
    Head(
        "conflict_negation", "Negations", "share of an item's matches of which one text negates and the other does not"
    ),
)
READING = (
    "Longer chains match more by chance: over the paper's 20 models the rank correlation of mean steps with Match F1 "
    "is 0.94. A model that is ahead in Match F1 and not above its null is ahead in length only. Matches that differ in "
    "a number or a negation are similar sentences that say different things; the rules that find them are cautious, so "
    "those shares are lower bounds."
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


def _number(run: Run, name: str) -> float | None:
    mean = run.mean(name)
    return mean.mean if mean else run.result.validity.get(name)
