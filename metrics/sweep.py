"""One matching for many thresholds: greedy pairs above a higher threshold are the first of those above a lower one."""

from collections.abc import Sequence

import numpy as np

from .matching import match_steps
from .order import ALPHA
from .steps import StepScores

#: The thresholds of the paper's ablation.
PAPER_TAUS = (0.30, 0.35, 0.40, 0.45, 0.50)


def score_thresholds(
    similarity: np.ndarray | Sequence[Sequence[float]], taus: Sequence[float], alpha: float = ALPHA
) -> list[StepScores]:
    """Scores of one item at each threshold, in their order, from its similarities, shape ``(P, R)``; either may be 0.

    Greedy matching takes pairs from the most similar down, so that a threshold only says where it stops: the pairs
    at the lowest threshold hold those of all others. Equal to ``match_steps`` at each threshold.

    >>> [scores.match_f1 for scores in score_thresholds([[0.9, 0.8], [0.7, 0.4]], [0.5, 0.3])]
    [0.5, 1.0]
    """
    matrix = np.asarray(similarity)
    predicted, reference = matrix.shape
    pairs = match_steps(matrix, min(taus))
    # Compared in the matrix's own dtype, as the matching itself does.
    values = np.array([value for _, _, value in pairs], dtype=matrix.dtype)
    kept = [pairs[: int((values > tau).sum())] for tau in taus]
    return [StepScores.of_pairs(some, predicted, reference, alpha) for some in kept]
