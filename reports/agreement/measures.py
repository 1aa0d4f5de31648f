"""What labels say of the matcher: agreement by band, precision and recall, Cohen's kappa, each with its interval."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd

from ...metrics.aggregate import LEVEL, RESAMPLES, SEED
from .draw import ACCEPTED, BAND, Draw
from .files import Annotator, Key

#: The bands of the paper's table; the matcher's own threshold takes the place of 0.35.
EDGES = (0.20, 0.50, 0.70)
#: Standard deviations to either side that hold ``LEVEL`` of a normal distribution.
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True)
class Share:
    """A share of labelled pairs with Wilson's interval; ``pairs`` is their number, ``mean`` None without any."""

    mean: float | None
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa with a bootstrap interval that draws items; None where one side gives one label only."""

    value: float | None
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True)
class Band:
    """Agreement of one annotator with the matcher within a stretch of similarities, low end included."""

    low: float
    high: float
    agreement: Share


@dataclass(frozen=True)
class AgainstMatcher:
    """One annotator and the matcher. All but the last are over the pairs drawn by band.

    There the matcher says same where the similarity is above its threshold, as in the paper's study. ``agreement``,
    ``precision`` (of pairs above the threshold the share labelled same), ``recall`` (of pairs labelled same the share
    above it) and ``kappa`` are of that sample, whose bands are not as frequent as in a run. ``accepted_precision`` is
    the weighted share of same among the pairs that the matcher accepted: the estimate for all that it accepted.
    """

    annotator: str
    bands: tuple[Band, ...]
    agreement: Share
    precision: Share
    recall: Share
    kappa: Kappa
    false_positives: int
    false_negatives: int
    accepted_precision: Share


@dataclass(frozen=True)
class Between:
    """Two annotators on the rows that both labelled."""

    first: str
    second: str
    agreement: Share
    kappa: Kappa


@dataclass(frozen=True)
class Agreement:
    """All of it."""

    matcher: tuple[AgainstMatcher, ...]
    between: tuple[Between, ...]


def measure(key: Key, annotators: Sequence[Annotator]) -> Agreement:
    """Each annotator against the matcher, and each pair of annotators."""
    pairs = itertools.combinations(annotators, 2)
    return Agreement(
        tuple(_against_matcher(key, annotator) for annotator in annotators),
        tuple(_between(key, first, second) for first, second in pairs),
    )


def _against_matcher(key: Key, annotator: Annotator) -> AgainstMatcher:
    banded = _labelled(key, annotator, BAND)
    accepted = _labelled(key, annotator, ACCEPTED)
    above = [draw.similarity > key.tau for draw, _ in banded]
    labels = [label for _, label in banded]
    right = [one == other for one, other in zip(above, labels, strict=True)]
    edges = sorted({*EDGES, key.tau})
    bands = [
        Band(
            low,
            high,
            share([ok for ok, (draw, _) in zip(right, banded, strict=True) if low <= draw.similarity < high]),
        )
        for low, high in itertools.pairwise([-math.inf, *edges, math.inf])
    ]
    return AgainstMatcher(
        annotator=annotator.name,
        bands=tuple(bands),
        agreement=share(right),
        precision=share([label for label, is_above in zip(labels, above, strict=True) if is_above]),
        recall=share([is_above for label, is_above in zip(labels, above, strict=True) if label]),
        kappa=kappa(above, labels, [draw.doc_id for draw, _ in banded]),
        false_positives=sum(is_above and not label for label, is_above in zip(labels, above, strict=True)),
        false_negatives=sum(label and not is_above for label, is_above in zip(labels, above, strict=True)),
        accepted_precision=share([label for _, label in accepted], [draw.weight for draw, _ in accepted]),
    )


def _labelled(key: Key, annotator: Annotator, kind: str) -> list[tuple[Draw, bool]]:
    return [
        (draw, annotator.labels[name]) for name, draw in key.draws if draw.kind == kind and name in annotator.labels
    ]


def _between(key: Key, first: Annotator, second: Annotator) -> Between:
    item_of = {name: draw.doc_id for name, draw in key.draws}
    both = [name for name in first.labels if name in second.labels]
    one, other = [first.labels[name] for name in both], [second.labels[name] for name in both]
    return Between(
        first.name,
        second.name,
        share([x == y for x, y in zip(one, other, strict=True)]),
        kappa(one, other, [item_of[name] for name in both]),
    )


def share(values: Sequence[bool], weights: Sequence[float] | None = None) -> Share:
    """A share and Wilson's interval; with weights Kish's effective number of pairs stands for their number.

    >>> found = share([True] * 8 + [False] * 2)
    >>> found.mean, round(found.low, 3), round(found.high, 3)
    (0.8, 0.49, 0.943)
    """
    if not values:
        return Share(None, None, None, 0)
    weight = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    mean = float(weight @ np.asarray(values, dtype=float) / weight.sum())
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    scale = 1 + Z**2 / effective
    centre = (mean + Z**2 / (2 * effective)) / scale
    reach = Z / scale * math.sqrt(mean * (1 - mean) / effective + Z**2 / (4 * effective**2))
    return Share(mean, max(0.0, centre - reach), min(1.0, centre + reach), len(values))


def kappa(first: Sequence[bool], second: Sequence[bool], items: Sequence[int]) -> Kappa:
    """Cohen's kappa of two lists of labels; its interval is a percentile bootstrap that draws whole items.

    >>> round(kappa([True, True, False, False], [True, False, False, False], [1, 2, 3, 4]).value, 3)
    0.5
    """
    if len(set(first)) < 2 or len(set(second)) < 2:
        return Kappa(None, None, None, len(first))
    # By item the counts of: neither, second only, first only, both.
    cells = 2 * np.asarray(first, dtype=int) + np.asarray(second, dtype=int)
    counts = pd.crosstab(np.asarray(items), cells).reindex(columns=range(4), fill_value=0).to_numpy()
    [value] = kappa_of_counts(counts.sum(axis=0)[None])
    generator = np.random.default_rng(SEED)
    drawn = generator.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=RESAMPLES) @ counts
    found = kappa_of_counts(drawn)
    low, high = np.nanquantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Kappa(float(value), float(low), float(high), len(first))


def kappa_of_counts(counts: np.ndarray) -> np.ndarray:
    """Cohen's kappa from counts ``(n, 4)`` of neither, second only, first only, both; NaN where chance explains all.

    ``(observed - expected) / (1 - expected)``, with expected the agreement by chance at the same shares.

    >>> kappa_of_counts(np.array([[47, 0, 16, 37]])).round(3).tolist()
    [0.685]
    """
    neither, second, first, both = np.asarray(counts, dtype=float).T
    total = neither + second + first + both
    observed = (neither + both) / total
    ones, others = (first + both) / total, (second + both) / total
    expected = ones * others + (1 - ones) * (1 - others)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.isclose(expected, 1), np.nan, (observed - expected) / (1 - expected))
