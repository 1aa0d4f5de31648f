"""Whether matched steps come in the order of the reference: LIS, Kendall's tau, Ordered F1.

All three read the same sequence: the predicted indices of the matched pairs, sorted by reference
index. Predicted indices are distinct, so there are no ties.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence

from .matching import Pair

#: Share of Match F1 that disorder can take away (the paper's value).
ALPHA = 0.3


def predicted_order(pairs: Iterable[Pair]) -> list[int]:
    """Predicted indices of the matched pairs, in the order of their reference steps.

    >>> predicted_order([(4, 0, 0.9), (1, 2, 0.8), (2, 1, 0.7)])
    [4, 2, 1]
    """
    return [predicted for _, predicted in sorted((reference, predicted) for predicted, reference, _ in pairs)]


def lis_ratio(order: Sequence[int]) -> float:
    """``lis = longest increasing subsequence / m`` in ``(0, 1]``; 1 where ``m < 2``.

    By patience sorting, as the paper has it: ``tails[k]`` is the smallest end of an increasing
    subsequence of length ``k + 1``.

    >>> lis_ratio([0, 3, 1, 2])
    0.75
    """
    if len(order) < 2:
        return 1.0
    tails: list[int] = []
    for index in order:
        place = bisect_left(tails, index)
        tails[place : place + 1] = [index]
    return len(tails) / len(order)


def in_order(order: Sequence[int]) -> list[int]:
    """One longest increasing subsequence of ``order``: the steps that a picture shows as standing in order.

    >>> in_order([0, 3, 1, 2])
    [0, 1, 2]
    """
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for index in order:
        place = bisect_left(tails, index)
        before[index] = tails[place - 1] if place else None
        tails[place : place + 1] = [index]
    run: list[int] = []
    last = tails[-1] if tails else None
    while last is not None:
        run.append(last)
        last = before[last]
    return run[::-1]


def kendall_tau(order: Sequence[int]) -> float:
    """``(tau + 1) / 2``: the share of matched pairs of steps that are in order, in ``[0, 1]``; 1 where ``m < 2``.

    >>> kendall_tau([2, 1, 0])
    0.0
    """
    if len(order) < 2:
        return 1.0
    seen: list[int] = []
    inversions = 0
    for index in order:
        inversions += len(seen) - bisect_right(seen, index)
        insort(seen, index)
    pairs = len(order) * (len(order) - 1) / 2
    tau = (pairs - 2 * inversions) / pairs
    return (tau + 1) / 2


def ordered_f1(match_f1: float, lis: float, alpha: float = ALPHA) -> float:
    """``ordered_f1 = match_f1 * ((1 - alpha) + alpha * lis)``, in ``[0, match_f1]``.

    >>> round(ordered_f1(0.8, 0.5, alpha=0.3), 3)
    0.68
    """
    return match_f1 * ((1 - alpha) + alpha * lis)
