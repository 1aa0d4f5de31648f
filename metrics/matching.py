"""Which predicted step is which reference step: greedy one-to-one matching above a threshold."""

from collections.abc import Iterable, Sequence

import numpy as np

#: Similarity that a pair must exceed to match. The paper's value; its text says "at or above", the
#: released code compares strictly, and published numbers come from the code.
TAU = 0.35

Pair = tuple[int, int, float]


def cosine_similarity(predicted: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Cosine of every predicted step with every reference step, shape ``(P, R)``, in ``[-1, 1]``.

    Rows are normalised here although encoders return unit rows, and the product is taken per item in
    the encoder's own dtype: exact ties between pairs are decided by that rounding, and the published
    numbers were made with it.

    >>> cosine_similarity(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 5.0]])).tolist()
    [[1.0, 0.0]]
    """
    return np.dot(_unit_rows(predicted), _unit_rows(reference).T)


def _unit_rows(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def match_steps(similarity: np.ndarray | Sequence[Sequence[float]], tau: float = TAU) -> list[Pair]:
    """Pairs ``(predicted index, reference index, similarity)``, the most similar pair first.

    Takes pairs with ``similarity > tau`` greedily from the highest down, each step at most once; of
    equal similarities the later predicted step comes first, then the later reference step.
    ``similarity`` has shape ``(P, R)``. The threshold is compared in the matrix's own dtype. Raises
    ``ValueError`` where it is no matrix.

    >>> match_steps([[0.9, 0.8], [0.7, 0.1]])
    [(0, 0, 0.9)]
    >>> match_steps([[0.9, 0.8], [0.95, 0.1]], tau=0.5)
    [(1, 0, 0.95), (0, 1, 0.8)]
    """
    matrix = np.asarray(similarity)
    if matrix.size == 0:
        return []
    if matrix.ndim != 2:
        raise ValueError(f"similarity has shape {matrix.shape}, expected (predicted steps, reference steps)")
    rows = _rows_that_count(matrix)
    pairs = take_greedily(ranked_pairs(matrix[rows], tau), len(rows), matrix.shape[1])
    return [(int(rows[row]), column, value) for row, column, value in pairs]


def _rows_that_count(similarity: np.ndarray) -> np.ndarray:
    """Indices of the predicted steps that can be in a pair, which in a flood of steps are few.

    Of a reference step's candidates, the R best, ties included, are enough: the other R - 1 take no more of them away.
    """
    predicted, reference = similarity.shape
    if predicted <= reference * reference:
        return np.arange(predicted)
    # Stable, so that of equal similarities the later step counts as the better one.
    return np.unique(np.argsort(similarity, axis=0, kind="stable")[-reference:])


def ranked_pairs(similarity: np.ndarray, tau: float = TAU) -> list[Pair]:
    """All pairs above the threshold of a matrix ``(P, R)``, the most similar first, ties as in ``match_steps``."""
    rows, columns = np.nonzero(similarity > tau)
    values = similarity[rows, columns]
    order = np.lexsort((columns, rows, values))[::-1]
    return list(zip(rows[order].tolist(), columns[order].tolist(), values[order].tolist(), strict=True))


def take_greedily(ranked: Iterable[Pair], predicted: int, reference: int) -> list[Pair]:
    """Of pairs the best first those whose two steps are both still free; the numbers are those of all steps."""
    free_rows, free_columns = [True] * predicted, [True] * reference
    pairs: list[Pair] = []
    for pair in ranked:
        row, column, _ = pair
        if free_rows[row] and free_columns[column]:
            free_rows[row] = free_columns[column] = False
            pairs.append(pair)
    return pairs
