"""The scores of one item's reasoning steps, computed once and read by everything else."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import CrystalError
from .embeddings import EmbeddingTable, Encoder
from .matching import TAU, Pair, cosine_similarity, match_steps
from .order import ALPHA, kendall_tau, lis_ratio, ordered_f1, predicted_order


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
        if predicted == reference == 0:
            return cls(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, (), 0, 0)
        order = predicted_order(pairs)
        lis, tau = lis_ratio(order), kendall_tau(order)
        if not pairs:
            return cls(0.0, 0.0, 0.0, lis, tau, 0.0, (), predicted, reference)
        precision, recall = len(pairs) / predicted, len(pairs) / reference
        f1 = 2 * precision * recall / (precision + recall)
        return cls(precision, recall, f1, lis, tau, ordered_f1(f1, lis, alpha), tuple(pairs), predicted, reference)


def score_embedded(predicted: np.ndarray, reference: np.ndarray, tau: float = TAU, alpha: float = ALPHA) -> StepScores:
    """Scores of one item from its embeddings, shapes ``(P, d)`` and ``(R, d)``; either may have no rows."""
    counts = len(predicted), len(reference)
    pairs = match_steps(cosine_similarity(predicted, reference), tau) if all(counts) else []
    return StepScores.of_pairs(pairs, *counts, alpha=alpha)


def score_steps(
    predicted: Sequence[str], reference: Sequence[str], encoder: Encoder, tau: float = TAU, alpha: float = ALPHA
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
    items: Sequence[tuple[Sequence[str], Sequence[str]]], encoder: Encoder, tau: float = TAU, alpha: float = ALPHA
) -> list[StepScores]:
    """Scores of many items, given as ``(predicted, reference)``; each different text is embedded once.

    Raises ``CrystalError`` where the steps of an item are one text instead of a list of texts, or
    where the encoder returns something that cannot be compared.
    """
    for index, steps in enumerate(items):
        if any(isinstance(texts, str) for texts in steps):
            raise CrystalError(f"Item {index}: steps must be a list of texts, not one text; wrap it in a list.")
    table = EmbeddingTable(encoder)
    table.add(text for steps in items for texts in steps for text in texts)
    return [score_embedded(table.rows(predicted), table.rows(reference), tau, alpha) for predicted, reference in items]
