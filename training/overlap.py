"""Step F1 by word overlap: the similarity of two steps that the paper's rewards were computed with.

It needs no model, so a batch of completions takes a few milliseconds. Case and punctuation do not count, the number
of times that a word stands in a step does.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from ..metrics import match_steps
from ..metrics.steps import precision_recall_f1

_WORD = re.compile(r"\w+")


def word_overlap(predicted: Sequence[str], reference: Sequence[str]) -> np.ndarray:
    """Common words over the geometric mean of the two lengths in words, shape ``(P, R)``, in ``[0, 1]``.

    A word that stands twice in both steps is common twice. Two steps without any word are alike, as the released
    rewards have it.

    >>> word_overlap(["The red car"], ["the car!", "A bus"]).round(3).tolist()
    [[0.816, 0.0]]
    """
    predicted_words, reference_words = _count_words(predicted), _count_words(reference)
    # By word, since most pairs of steps share none: (column of the reference step, how often it stands there).
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for column, words in enumerate(reference_words):
        for word, count in words.items():
            places[word].append((column, count))
    common = np.zeros((len(predicted), len(reference)))
    for row, words in enumerate(predicted_words):
        shared = [0] * len(reference)
        for word, count in words.items():
            for column, reference_count in places.get(word, ()):
                shared[column] += min(count, reference_count)
        common[row] = shared
    lengths = np.outer([words.total() for words in predicted_words], [words.total() for words in reference_words])
    overlap = common / np.sqrt(np.maximum(lengths, 1))
    wordless = np.logical_and.outer([not words for words in predicted_words], [not words for words in reference_words])
    overlap[wordless] = 1.0
    return overlap


def overlap_f1(predicted: Sequence[str], reference: Sequence[str], threshold: float) -> float:
    """F1 of the greedy one-to-one matching of steps that overlap by more than ``threshold``, in ``[0, 1]``.

    0 where either side has no steps: who writes none is not rewarded for it.

    >>> round(overlap_f1(["The car is red"], ["A car is red", "It stands still"], 0.3), 3)
    0.667
    """
    if not predicted or not reference:
        return 0.0
    matches = len(match_steps(word_overlap(predicted, reference), threshold))
    return precision_recall_f1(matches, len(predicted), len(reference))[2]


def _count_words(steps: Sequence[str]) -> list[Counter[str]]:
    return [Counter(_WORD.findall(step.lower())) for step in steps]
