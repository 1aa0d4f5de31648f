"""From one value per item to one value per run: macro means over items, with bootstrap intervals."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..errors import CrystalError

#: Resamples of a bootstrap interval, its seed and its level; intervals move in the third decimal with fewer.
RESAMPLES, SEED, LEVEL = 2000, 42, 0.95
BLOCKS = 10


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


def aggregate(values: Sequence[float], metric: str = "the metric") -> MacroMean:
    """Macro mean with a percentile bootstrap interval over items; permuting the items changes nothing.

    >>> print(aggregate([1.0, 1.0, 1.0], "accuracy"))
    1.0000 [1.0000, 1.0000] over 3 items
    """
    mean = macro_mean(values, metric)
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    # A block at a time: as float64 all draws of the benchmark would take 100 MB.
    means = np.concatenate([block @ ordered for block in np.array_split(_draws(len(values)), BLOCKS)]) / len(values)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return MacroMean.of(mean, float(low), float(high), len(values))


@lru_cache(maxsize=2)
def _draws(items: int) -> np.ndarray:
    """How often each resample draws each item, shape ``(RESAMPLES, items)``; one set serves all metrics of a run.

    Counts are small, and a byte each keeps those of 100,000 items at 200 MB.
    """
    generator = np.random.default_rng(SEED)
    shares = np.full(items, 1 / items)
    return np.stack([generator.multinomial(items, shares).astype(np.uint8) for _ in range(RESAMPLES)])
