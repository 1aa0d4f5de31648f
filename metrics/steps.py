"""The scores of one item's reasoning steps, computed once and read by everything else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import CrystalError
from .embeddings import EmbeddingTable, Encoder
from .matching import TAU, Pair, cosine_similarity, match_steps
from .order import ALPHA, kendall_tau, lis_ratio, ordered_f1, predicted_order

#: Cosines of float32 vectors exceed 1 by this much, and a threshold may be one of them.
ROUNDING = 1e-5


@dataclass(frozen=True)
class StepScores:
    """Step scores of one item (Match F1, LIS and Ordered F1 of arXiv 2603.13099), all in ``[0, 1]``.

    ``pairs`` are ``(predicted index, reference index, similarity)``, the most similar first.
    ``predicted`` and ``reference`` are the numbers of steps. ``lis`` and ``kendall_tau`` are 1 where
    fewer than two steps matched, so neither says anything good of an item with an empty ``pairs``.
    """

    precision: float
    recall: float
    match_f1: float
    lis: float
    kendall_tau: float
    ordered_f1: float
    pairs: tuple[Pair, ...]
    predicted: int
    reference: int

    @classmethod
    def of_pairs(cls, pairs: Sequence[Pair], predicted: int, reference: int, alpha: float = ALPHA) -> "StepScores":
        """Scores from matched pairs: ``precision = m / P``, ``recall = m / R``, Match F1 their harmonic mean.

        >>> StepScores.of_pairs([(0, 0, 0.9)], predicted=1, reference=3).match_f1
        0.5
        >>> StepScores.of_pairs([], predicted=0, reference=0).match_f1
        1.0
        """
        order = predicted_order(pairs)
        lis = lis_ratio(order)
        precision, recall, f1 = precision_recall_f1(len(pairs), predicted, reference)
        return cls(
            precision=precision,
            recall=recall,
            match_f1=f1,
            lis=lis,
            kendall_tau=kendall_tau(order),
            ordered_f1=ordered_f1(f1, lis, alpha),
            pairs=tuple(pairs),
            predicted=predicted,
            reference=reference,
        )


def precision_recall_f1(matches: int, predicted: int, reference: int) -> tuple[float, float, float]:
    """``m / P``, ``m / R`` and their harmonic mean; all 1 where both sides are empty, all 0 where nothing matched.

    >>> precision_recall_f1(1, 1, 3)[2]
    0.5
    """
    if predicted == reference == 0:
        return 1.0, 1.0, 1.0
    if not matches:
        return 0.0, 0.0, 0.0
    precision, recall = matches / predicted, matches / reference
    return precision, recall, 2 * precision * recall / (precision + recall)


def score_embedded(predicted: np.ndarray, reference: np.ndarray, tau: float = TAU, alpha: float = ALPHA) -> StepScores:
    """Scores of one item from its embeddings, shapes ``(P, d)`` and ``(R, d)``; either may have no rows."""
    return score_similarity(similarity_of(predicted, reference), tau, alpha)


def score_similarity(similarity: np.ndarray, tau: float = TAU, alpha: float = ALPHA) -> StepScores:
    """Scores of one item from its similarities, shape ``(P, R)``; either may be 0."""
    predicted, reference = similarity.shape
    return StepScores.of_pairs(match_steps(similarity, tau), predicted, reference, alpha)


def similarity_of(predicted: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Cosines of two lists of embeddings, shape ``(P, R)``, where either list may be empty, of any width."""
    if not len(predicted) or not len(reference):
        return np.zeros((len(predicted), len(reference)), dtype=predicted.dtype)
    return cosine_similarity(predicted, reference)


def score_steps(
    predicted: Iterable[str], reference: Iterable[str], encoder: Encoder, tau: float = TAU, alpha: float = ALPHA
) -> StepScores:
    """Scores of one item's predicted steps against its reference steps.

    >>> class Letters:
    ...     def encode(self, texts):
    ...         return np.array([[letter in text for letter in "abc"] for text in texts], dtype=np.float32)
    >>> scores = score_steps(["a", "c"], ["a", "b", "c"], Letters())
    >>> scores.precision, round(scores.recall, 3), round(scores.match_f1, 3)
    (1.0, 0.667, 0.8)
    """
    return score_items([(predicted, reference)], encoder, tau, alpha)[0]


def score_items(
    items: Iterable[tuple[Iterable[str], Iterable[str]]], encoder: Encoder, tau: float = TAU, alpha: float = ALPHA
) -> list[StepScores]:
    """Scores of many items, given as ``(predicted, reference)``; each different text is embedded once.

    Raises ``CrystalError`` where the steps of an item are no list of texts, where ``tau`` lies outside of
    ``[-1, 1]`` or ``alpha`` outside of ``[0, 1]``, and where the encoder returns something that cannot be
    compared.
    """
    if not abs(tau) <= 1 + ROUNDING:
        raise CrystalError(f"tau is {tau}; a similarity threshold lies between -1 and 1.")
    if not 0 <= alpha <= 1:
        raise CrystalError(f"alpha is {alpha}; the weight of order lies between 0 and 1.")
    checked = [_pair(item, index) for index, item in enumerate(items)]
    table = EmbeddingTable(encoder)
    table.add(text for item in checked for steps in item for text in steps)
    return [
        score_embedded(table.rows(predicted), table.rows(reference), tau, alpha) for predicted, reference in checked
    ]


def _pair(item: tuple[Iterable[str], Iterable[str]], index: int) -> tuple[list[str], list[str]]:
    try:
        predicted, reference = item
    except (TypeError, ValueError) as error:
        raise CrystalError(f"Item {index}: expected (predicted steps, reference steps), not {item!r:.60}.") from error
    return _texts(predicted, index), _texts(reference, index)


def _texts(steps: Iterable[str], index: int) -> list[str]:
    texts = None if isinstance(steps, str) or not isinstance(steps, Iterable) else list(steps)
    if texts is None or not all(isinstance(text, str) for text in texts):
        raise CrystalError(f"Item {index}: steps must be a list of texts, not {steps!r:.60}.")
    return texts
