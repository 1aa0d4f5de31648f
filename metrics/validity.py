"""Is Match F1 more than a step count? What each item says about that, from similarities that exist already.

Long chains match more by chance: over the paper's 20 models the rank correlation of mean steps with Match F1
is 0.94. So each response is scored against another item's references too (``null_f1``), by its first steps
alone, and with the best possible matching instead of the greedy one.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .conflicts import KINDS, Conflict, find_conflicts
from .matching import TAU, match_steps, ranked_pairs, take_greedily
from .steps import StepScores, precision_recall_f1

#: The seed that the paper's evaluation states, as everywhere in this package.
SEED = 42
#: What ``summarise`` reads of a record.
SUMMARISED = ("pairs", "optimal_f1", "first_f1", "conflicts", "uncompared_steps")
#: How many first steps ``first_f1`` goes up to: more than most responses have (the paper's models write 5 to 9).
FIRST_STEPS = 10


@dataclass(frozen=True)
class Validity:
    """What one response says about the metric; all values in ``[0, 1]``.

    ``null_f1`` is Match F1 against another item's references, None where there is no other item;
    ``optimal_f1`` that with the most pairs above the threshold; ``first_f1[k - 1]`` that of the first ``k``
    steps, for ``k`` up to ``FIRST_STEPS``; ``conflicts`` are the accepted pairs whose texts disagree.
    """

    null_f1: float | None
    optimal_f1: float
    first_f1: tuple[float, ...]
    conflicts: tuple[Conflict, ...]

    @classmethod
    def of_placeholder(cls, has_other: bool) -> "Validity":
        """That of a response in which nothing could be read: one step that matches nothing anywhere."""
        return cls(0.0 if has_other else None, 0.0, (0.0,), ())


def validity_of(
    similarity: np.ndarray,
    null_similarity: np.ndarray | None,
    scores: StepScores,
    predicted: Sequence[str],
    reference: Sequence[str],
    tau: float = TAU,
) -> Validity:
    """Validity of one item from its similarities, shape ``(P, R)``, and those to another item's references.

    ``scores`` are its step scores, ``predicted`` and ``reference`` the texts of its steps.
    """
    null = None if null_similarity is None else match_f1_of(null_similarity, tau)
    return Validity(
        null_f1=null,
        optimal_f1=optimal_f1(similarity, tau, greedy=len(scores.pairs)),
        first_f1=first_f1(similarity, tau),
        conflicts=find_conflicts(scores.pairs, predicted, reference),
    )


def match_f1_of(similarity: np.ndarray, tau: float = TAU) -> float:
    """Match F1 of a similarity matrix, shape ``(P, R)``.

    >>> match_f1_of(np.array([[0.9, 0.1], [0.1, 0.1]]))
    0.5
    """
    return precision_recall_f1(len(match_steps(similarity, tau)), *similarity.shape)[2]


def optimal_f1(similarity: np.ndarray, tau: float = TAU, greedy: int = 0) -> float:
    """Match F1 with the assignment that accepts the most pairs above ``tau``, and of those the most similar.

    Never below Match F1: greedy matching may spend two steps on one pair where each had another partner.
    ``greedy`` is the number of pairs that it found, if known; where no assignment can beat it, none is sought.

    >>> crossed = np.array([[0.9, 0.8], [0.7, 0.1]])
    >>> match_f1_of(crossed), optimal_f1(crossed)
    (0.5, 1.0)
    """
    above = similarity > tau
    bound = min(int(above.any(axis=1).sum()), int(above.any(axis=0).sum())) if above.size else 0
    matches = bound
    if greedy < bound:
        from scipy.optimize import linear_sum_assignment

        # One more pair outweighs all that similarities can add.
        weights = np.where(above, 2.0 * min(similarity.shape) + similarity, 0.0)
        matches = int(above[linear_sum_assignment(weights, maximize=True)].sum())
    return precision_recall_f1(matches, *similarity.shape)[2]


def first_f1(similarity: np.ndarray, tau: float = TAU, steps: int = FIRST_STEPS) -> tuple[float, ...]:
    """Match F1 of the first ``k`` predicted steps against all reference steps, for ``k = 1 .. min(P, steps)``.

    >>> first_f1(np.array([[0.9, 0.1], [0.1, 0.1], [0.2, 0.8]]))
    (0.6666666666666666, 0.5, 0.8)
    """
    head = similarity[:steps]
    ranked = ranked_pairs(head, tau)
    return tuple(
        precision_recall_f1(
            len(take_greedily((pair for pair in ranked if pair[0] < count), count, head.shape[1])),
            count,
            head.shape[1],
        )[2]
        for count in range(1, len(head) + 1)
    )


# Different lists of reference steps: the place of the first item that has it, by number of steps and digest.
_Pool = dict[int, dict[str, int]]


def null_partners(items: Iterable[tuple[str, str, Sequence[str]]]) -> list[int | None]:
    """For each item, given as ``(source, question, reference steps)``, the place of the item that is its null.

    That is another item of the same source with the nearest number of reference steps, drawn by a seed of
    its own among those equally near; of any source where the source has no other. Items that repeat its
    reference steps do not count as others. None where there is no other. What an item is compared with
    depends on which items there are, and not on their order.

    >>> steps = [["a"], ["b"], ["c", "d", "e"], ["f", "g"]]
    >>> null_partners([("mmvp", "?", one) for one in steps[:3]] + [("plotqa", "?", steps[3])])[:2]
    [1, 0]
    """
    listed = [(source, question, len(steps), _digest(steps)) for source, question, steps in items]
    everything: _Pool = {}
    by_source: dict[str, _Pool] = {}
    for place, (source, _, count, key) in enumerate(listed):
        for pool in (everything, by_source.setdefault(source, {})):
            pool.setdefault(count, {}).setdefault(key, place)
    near: dict[tuple[str, int], list[list[tuple[str, int]]]] = {}
    partners: list[int | None] = []
    for source, question, count, key in listed:
        if (source, count) not in near:
            near[source, count] = _nearest_first(by_source[source], count) + _nearest_first(everything, count)
        groups = ([place for other, place in group if other != key] for group in near[source, count])
        others: list[int] = next(filter(None, groups), [])
        draw = int(_digest([str(SEED), question, key]), 16)
        partners.append(others[draw % len(others)] if others else None)
    return partners


def _nearest_first(pool: _Pool, count: int) -> list[list[tuple[str, int]]]:
    """Digests and places of a pool in groups of equal distance from a number of steps, the nearest first."""
    groups: dict[int, list[tuple[str, int]]] = {}
    for length in sorted(pool, key=lambda length: abs(length - count)):
        groups.setdefault(abs(length - count), []).extend(pool[length].items())
    # Sorted, so that the order of the items does not show.
    return [sorted(group) for group in groups.values()]


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()


def summarise(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over the items of a run, from their records (the part ``crystal`` of a samples line).

    ``optimal_f1`` is a mean over all items, and so is each place of ``first_f1``: an item with fewer than
    ``k`` steps counts with all that it has. ``conflicts`` are shares of an item's accepted pairs, averaged
    over the ``items`` that have a pair: ``any`` of a kind, and each kind. ``flooded`` counts the items with more
    different steps than are compared (``chains.STEP_LIMIT``).
    """
    listed = list(records)
    firsts = [record["first_f1"] or [0.0] for record in listed]
    paired = [record for record in listed if record["pairs"]]
    return {
        "optimal_f1": _mean([record["optimal_f1"] for record in listed]),
        "first_f1": [_mean([first[min(k, len(first)) - 1] for first in firsts]) for k in range(1, FIRST_STEPS + 1)],
        "flooded": sum(1 for record in listed if record.get("uncompared_steps")),
        "conflicts": {
            "items": len(paired),
            "any": _mean([_share(record, KINDS) for record in paired]),
            **{kind: _mean([_share(record, (kind,)) for record in paired]) for kind in KINDS},
        },
    }


def _share(record: Mapping[str, Any], kinds: Sequence[str]) -> float:
    """The share of a record's pairs that have a conflict of these kinds."""
    return len({pair for pair, kind in record["conflicts"] if kind in kinds}) / len(record["pairs"])


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
