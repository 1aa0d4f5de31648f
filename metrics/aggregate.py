"""From one value per item to one value per run: macro means over items, with bootstrap intervals."""

import math
from collections.abc import Sequence

import numpy as np

from ..errors import CrystalError

#: Resamples of a bootstrap interval, its seed and its level; intervals move in the third decimal with fewer.
RESAMPLES, SEED, LEVEL = 2000, 42, 0.95


class MacroMean(float):
    """A macro mean that is a float to everything else, and knows its bootstrap interval and its items."""

    low: float
    high: float
    items: int

    @classmethod
    def of(cls, mean: float, low: float, high: float, items: int) -> "MacroMean":
        """The mean with the ends of its interval and the number of items behind it."""
        result = cls(mean)
        result.low, result.high, result.items = low, high, items
        return result

    def __str__(self) -> str:
        return f"{float(self):.4f} [{self.low:.4f}, {self.high:.4f}] over {self.items} items"


def macro_mean(values: Sequence[float], metric: str = "the metric") -> float:
    """Mean over items (never pooled counts), as the paper averages everywhere.

    Raises ``CrystalError`` where there is no item or where a value is NaN: such a mean would hide
    items that were not scored.

    >>> macro_mean([1.0, 0.0, 0.5])
    0.5
    """
    if not len(values):
        raise CrystalError(f"{metric} has no items to average.")
    unusable = sum(1 for value in values if not math.isfinite(value))
    if unusable:
        raise CrystalError(
            f"{metric} is not a number for {unusable} of {len(values)} items, so its mean would be over fewer items "
            "than it says; score the run again and report this if it stays."
        )
    return math.fsum(values) / len(values)


def aggregate(values: Sequence[float], metric: str = "the metric", clusters: Sequence[str] | None = None) -> MacroMean:
    """Macro mean with a percentile bootstrap interval over items.

    ``clusters`` names for each item what it shares with others (its image, say): whole clusters are
    drawn then, so that items on one picture do not count as independent. Items keep their order in no
    way: permuting them changes nothing.

    >>> print(aggregate([1.0, 1.0, 1.0], "accuracy"))
    1.0000 [1.0000, 1.0000] over 3 items
    """
    mean = macro_mean(values, metric)
    names = clusters if clusters is not None else range(len(values))
    sums: dict[object, list[float]] = {}
    for name, value in zip(names, values, strict=True):
        sums.setdefault(name, []).append(value)
    totals = np.array(sorted((math.fsum(members), len(members)) for members in sums.values()), dtype=np.float64)
    generator = np.random.default_rng(SEED)
    # Counts of a multinomial draw are a resample of the clusters, at a fraction of the memory of index lists.
    draws = generator.multinomial(len(totals), np.full(len(totals), 1 / len(totals)), size=RESAMPLES)
    means = (draws @ totals[:, 0]) / (draws @ totals[:, 1])
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return MacroMean.of(mean, float(low), float(high), len(values))
