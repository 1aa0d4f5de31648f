"""How much of a chain of predicted steps is compared: all of it, unless a model floods.

A response of thousands of different steps would cost a forward pass for each, hours for a model that does so often,
and its precision is next to nothing whatever they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from .embeddings import EmbeddingTable
from .steps import similarity_of

#: Different steps of one response that are compared; those beyond count as predicted and match nothing. The paper's
#: longest chains have about 50, and the 4,096 tokens that a model may write hold no 500 different steps of eight
#: tokens. It can move a score, so a change of it raises the tasks' ``metadata.version`` (the ``v`` of the signature).
STEP_LIMIT = 500
#: Stands for the similarity of a pair that is not compared: below every cosine and every threshold.
NOT_COMPARED = -2.0


def compared_steps(steps: Sequence[str]) -> list[str]:
    """The different steps that are compared, in the order in which they come first.

    >>> compared_steps(["a", "b", "a"])
    ['a', 'b']
    """
    return list(islice(dict.fromkeys(steps), STEP_LIMIT))


def count_uncompared(steps: Sequence[str]) -> int:
    """How many steps of a chain are none of the first ``STEP_LIMIT`` different ones.

    >>> count_uncompared([str(number) for number in range(502)])
    2
    """
    if len(steps) <= STEP_LIMIT:
        return 0
    compared = set(compared_steps(steps))
    return sum(step not in compared for step in steps)


def chain_similarity(table: EmbeddingTable, steps: Sequence[str], reference: Sequence[str]) -> np.ndarray:
    """Cosines of all predicted steps with all reference steps, ``(P, R)``; ``NOT_COMPARED`` beyond the limit."""
    if len(steps) <= STEP_LIMIT:
        return similarity_of(table.rows(steps), table.rows(reference))
    different = compared_steps(steps)
    place = {step: index for index, step in enumerate(different)}
    known = similarity_of(table.rows(different), table.rows(reference))
    similarity = np.full((len(steps), len(reference)), NOT_COMPARED, dtype=known.dtype)
    rows = [(index, place[step]) for index, step in enumerate(steps) if step in place]
    similarity[[index for index, _ in rows]] = known[[row for _, row in rows]]
    return similarity
