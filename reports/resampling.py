"""Draws of whole images, each source for itself: the bootstrap and the sign flips behind ``statistics.py``.

An image whose items come from several sources counts whole under the source of most of its items (the
first by name of several). A blank image is one of its own. Sources with a single image, which has no
scatter of its own, are drawn together. Draws are seeded and do not depend on the order of the rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from ..metrics.aggregate import SEED

Strings = Sequence[str] | pd.Series

#: Draws held in memory at once: about 12 MB for the whole benchmark.
BLOCK = 250
#: Decimals of a draw; what lies below is the order of a summation, and would break ties.
DECIMALS = 12
#: A number of draws that is whole but for the rounding of a level such as 1 - 0.95.
SLACK = 1e-9
#: A sum of fixed numbers with random signs is beyond x standard deviations at most so many times as often as a
#: normal number (Bentkus and Dzindzalieta, 2015: 1 / (4 P(Z > sqrt 2)), the best such constant).
SIGNS_BEYOND_NORMAL = float(1 / (4 * stats.norm.sf(math.sqrt(2))))

Ends = tuple[float, float]


@dataclass(frozen=True)
class Clusters:
    """Sums over the items of C images: ``totals`` (C, k), ``sizes`` (C,), ``strata`` (C,), 0 to S - 1, ascending."""

    totals: np.ndarray
    sizes: np.ndarray
    strata: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, images: Strings, sources: Strings) -> Clusters | None:
        """Values per item and column (n, k) summed by image; rows with NaN are left out, None where none is left."""
        values = np.asarray(values, dtype=float)
        names, places = (pd.Series(list(texts)).fillna("").astype(str).to_numpy(str) for texts in (images, sources))
        kept = ~np.isnan(values).any(axis=1)
        if not kept.any():
            return None
        values, names, places = values[kept], names[kept], places[kept]
        # By value last: images without a name have nothing else to be sorted by.
        order = np.lexsort((*values.T, places, names))
        values, names, places = values[order], names[order], places[order]
        image = np.cumsum(np.r_[False, (names[1:] != names[:-1]) | (names[1:] == "")])
        totals = np.column_stack([np.bincount(image, column) for column in values.T])
        sizes = np.bincount(image)
        strata = _strata(image, places)
        named = np.unique(names, return_inverse=True)[1][np.r_[True, np.diff(image) > 0]]
        order = np.lexsort((sizes, *totals.T, named, strata))
        return cls(totals[order], sizes[order].astype(float), strata[order])

    @property
    def images(self) -> int:
        """C, the number of images."""
        return len(self.sizes)

    @property
    def items(self) -> int:
        """Number of items behind them."""
        return int(self.sizes.sum())

    @property
    def freedom(self) -> int:
        """Degrees of freedom of a standard error: images less sources."""
        return self.images - int(self.strata[-1]) - 1

    def parts(self) -> Iterator[slice]:
        """The images of each stratum."""
        starts = np.searchsorted(self.strata, np.arange(self.strata[-1] + 1)).tolist()
        return itertools.starmap(slice, itertools.pairwise([*starts, self.images]))

    def standard_error(self, totals: np.ndarray) -> float:
        """Standard error of the mean over items whose sums by image are ``totals`` (C,), linearised as a ratio."""
        residuals = totals - totals.sum() / self.items * self.sizes
        variance = 0.0
        for part in self.parts():
            images = part.stop - part.start
            if images > 1:
                variance += images * float(np.var(residuals[part], ddof=1))
        return math.sqrt(variance) / self.items


def _strata(image: np.ndarray, source: np.ndarray) -> np.ndarray:
    """The stratum (C,) of each image, from the image and the source of each item."""
    names, codes = np.unique(source, return_inverse=True)
    counts = np.bincount(image * len(names) + codes, minlength=(image[-1] + 1) * len(names))
    strata = counts.reshape(-1, len(names)).argmax(axis=1)
    sizes = np.bincount(strata, minlength=len(names))
    single = np.flatnonzero(sizes == 1)
    others = np.flatnonzero(sizes > 1)
    if len(single) == 1 and len(others):
        single = np.append(single, others[sizes[others].argmin()])
    strata[np.isin(strata, single)] = len(names)
    return np.unique(strata, return_inverse=True)[1]


def bootstrap(clusters: Clusters, resamples: int) -> np.ndarray:
    """Means over the drawn items, shape ``(resamples, k)``; equal numbers of images have equal draws.

    Of the ``n`` images of a stratum ``n - 1`` are drawn and weighed up to ``n``.
    """
    generator = np.random.default_rng(SEED)
    sums = np.column_stack([clusters.totals, clusters.sizes])
    drawn = np.zeros((resamples, sums.shape[1]))
    for start in range(0, resamples, BLOCK):
        rows = min(BLOCK, resamples - start)
        for part in clusters.parts():
            images = part.stop - part.start
            draws = max(images - 1, 1)
            chosen = generator.integers(0, images, size=(rows, draws), dtype=np.int32)
            chosen += np.arange(rows, dtype=np.int32)[:, None] * images
            counts = np.bincount(chosen.ravel(), minlength=rows * images).reshape(rows, images)
            drawn[start : start + rows] += counts @ sums[part] * (images / draws)
    return drawn[:, :-1] / drawn[:, -1:]


def bootstrap_ends(means: np.ndarray, freedom: int, level: float) -> Ends:
    """Percentile interval of drawn means, shape ``(resamples,)``, widened as t is wider than the normal."""
    if not freedom:
        return -math.inf, math.inf
    share = stats.norm.cdf(stats.t.ppf((1 - level) / 2, freedom))
    place = math.floor(share * (len(means) + 1) + SLACK) - 1
    return _ends(np.round(means, DECIMALS), np.round(means, DECIMALS), place)


def bootstrap_p(means: np.ndarray, freedom: int) -> float:
    """The level at which ``bootstrap_ends`` begins to leave out 0."""
    if not freedom:
        return 1.0
    rounded = np.round(means, DECIMALS)
    beyond = min(np.count_nonzero(rounded <= 0), np.count_nonzero(rounded >= 0))
    share = min((1 + beyond) / (len(means) + 1), 0.5)
    return float(2 * stats.t.cdf(stats.norm.ppf(share), freedom))


def bootstrap_tail(clusters: Clusters, totals: np.ndarray, means: np.ndarray) -> float:
    """p where no drawn mean, shape ``(resamples,)``, reaches 0: that of the t-test; 1 where one does.

    ``totals`` (C,) are the sums by image that the means were drawn from. Means that do not scatter are no chance.
    """
    rounded = np.round(means, DECIMALS)
    if not clusters.freedom or (rounded.min() <= 0 <= rounded.max()):
        return 1.0
    error = clusters.standard_error(totals)
    size = abs(float(totals.sum())) / clusters.items
    return float(2 * stats.t.sf(size / error, clusters.freedom)) if error > 10**-DECIMALS else 0.0


def flips_tail(totals: np.ndarray) -> float:
    """A bound of the p of all sign flips of the sums by image (C,); exact where no two have opposite signs."""
    rounded = np.round(totals, DECIMALS)
    apart = np.count_nonzero(rounded)
    if not apart:
        return 1.0
    if rounded.min() >= 0 or rounded.max() <= 0:
        return float(2.0 ** (1 - apart))
    deviations = abs(float(rounded.sum())) / math.sqrt(float(np.square(rounded).sum()))
    return min(1.0, float(2 * SIGNS_BEYOND_NORMAL * stats.norm.sf(deviations)))


def sign_flips(clusters: Clusters, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums over images with random signs: of ``totals``, shape ``(resamples, k)``, and of ``sizes``."""
    # Another seed than that of the bootstrap: the draws of one must not follow those of the other.
    generator = np.random.default_rng(SEED + 1)
    sums = np.column_stack([clusters.totals, clusters.sizes])
    flipped = np.empty((resamples, sums.shape[1]))
    for start in range(0, resamples, BLOCK):
        rows = min(BLOCK, resamples - start)
        packed = generator.integers(0, 256, size=(rows, math.ceil(clusters.images / 8)), dtype=np.uint8)
        heads = np.unpackbits(packed, axis=1, count=clusters.images)
        flipped[start : start + rows] = 2 * (heads.astype(float) @ sums) - sums.sum(axis=0)
    return flipped[:, :-1], flipped[:, -1]


@dataclass(frozen=True)
class Tolerated:
    """For each draw of signs the differences, ``low`` to ``high``, that it does not speak against.

    With the flipped sums A of the differences and B of the sizes, total T over N items: a true difference d
    is less extreme than the draw where ``|A - d B| >= |T - d N|``, which is an interval of d around T / N.
    """

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def by(cls, total: float, items: int, totals: np.ndarray, sizes: np.ndarray) -> Tolerated:
        """From the total over ``items`` items and its sign flips, ``totals`` and ``sizes`` of shape (resamples,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.array([(total - totals) / (items - sizes), (total + totals) / (items + sizes)])
        # All signs alike: that draw speaks against nothing.
        low, high = ends.min(axis=0), ends.max(axis=0)
        alike = np.abs(sizes) == items
        low[alike], high[alike] = -math.inf, math.inf
        return cls(np.round(low, DECIMALS), np.round(high, DECIMALS))

    @property
    def p(self) -> float:
        """Two-sided p of no difference; the draw that was observed counts as one."""
        return float((1 + np.count_nonzero((self.low <= 0) & (self.high >= 0))) / (len(self.low) + 1))

    def ends(self, level: float) -> Ends:
        """All differences whose p is above ``1 - level``."""
        return _ends(self.low, self.high, math.floor((1 - level) * (len(self.low) + 1) + SLACK) - 1)


def _ends(low: np.ndarray, high: np.ndarray, place: int) -> Ends:
    """The value with ``place`` others below it, and that with as many above; infinite where there is none."""
    if place < 0:
        return -math.inf, math.inf
    return float(np.partition(low, place)[place]), float(-np.partition(-high, place)[place])
