"""Whether models keep their places when the settings of the score change."""

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass

import pandas as pd
from scipy import stats

from ..statistics import DIGITS, MIN_MODELS


@dataclass(frozen=True)
class Swap:
    """Two models whose order is another than at the reference in some settings; the first is ahead there."""

    first: str
    second: str
    settings: int


@dataclass(frozen=True)
class Stability:
    """Ranks of models over settings, by one metric.

    ``ranks`` has a row a model: ``reference`` (its rank there, 1 the highest; equal means share the better rank),
    ``best``, ``worst``, and ``kept``, the share of settings in which it has its reference rank. ``pairs`` counts the
    pairs of models that differ at the reference, ``swaps`` are those of them that turn round somewhere. ``concordance``
    is Kendall's W over all settings, in ``[0, 1]``; ``least`` and ``mean`` are of the Kendall rank correlations
    (tau-b) of each other setting with the reference, in ``[-1, 1]``. The three are None for fewer than six models.
    """

    ranks: pd.DataFrame
    settings: int
    pairs: int
    swaps: tuple[Swap, ...]
    concordance: float | None = None
    least: float | None = None
    mean: float | None = None

    @property
    def models(self) -> int:
        """Number of models."""
        return len(self.ranks)


def rank_stability(values: pd.DataFrame, reference: Hashable) -> Stability | None:
    """Compares the ranking of models in each setting with that in ``reference``, one of the columns.

    ``values`` has a row a model and a column a setting. None with fewer than two models or settings.

    >>> table = pd.DataFrame({"a": [0.9, 0.5, 0.1], "b": [0.8, 0.2, 0.3]}, index=["x", "y", "z"])
    >>> stability = rank_stability(table, "a")
    >>> stability.ranks["kept"].tolist(), stability.swaps
    ([1.0, 0.5, 0.5], (Swap(first='y', second='z', settings=1),))
    """
    if min(values.shape) < 2:
        return None
    values = values.round(DIGITS)
    ranks = values.rank(ascending=False, method="min").astype(int)
    at_reference = values[reference]
    table = pd.DataFrame(
        {
            "reference": ranks[reference],
            "best": ranks.min(axis=1),
            "worst": ranks.max(axis=1),
            "kept": ranks.eq(ranks[reference], axis=0).mean(axis=1),
        }
    )
    ordered = at_reference.sort_values(ascending=False, kind="stable").index
    pairs = [
        (first, second)
        for first, second in itertools.combinations(ordered, 2)
        if at_reference[first] > at_reference[second]
    ]
    turned = [(first, second, int((values.loc[first] < values.loc[second]).sum())) for first, second in pairs]
    swaps = tuple(Swap(first, second, settings) for first, second, settings in turned if settings)
    if len(values) < MIN_MODELS:
        return Stability(table, values.shape[1], len(pairs), swaps)
    others = [
        float(stats.kendalltau(at_reference, values[column]).statistic)
        for column in values.columns
        if column != reference
    ]
    known = [correlation for correlation in others if not math.isnan(correlation)]
    return Stability(
        table,
        values.shape[1],
        len(pairs),
        swaps,
        concordance=_concordance(values),
        least=min(known, default=None),
        mean=sum(known) / len(known) if known else None,
    )


def _concordance(values: pd.DataFrame) -> float | None:
    """Kendall's W, with its correction for ties: Friedman's statistic over its largest value. None where all tie."""
    settings, models = values.shape[1], values.shape[0]
    statistic = float(stats.friedmanchisquare(*values.to_numpy()).statistic)
    return None if math.isnan(statistic) else statistic / (settings * (models - 1))


def in_words(stability: Stability, what: str) -> list[str]:
    """What the ranking does over ``what`` (such as "10 settings"), in sentences."""
    still = stability.pairs - len(stability.swaps)
    said = [
        f"Over {what} {still} of the {stability.pairs} pairs of models that differ at the reference never turn round, "
        f"and {int((stability.ranks['kept'] == 1).sum())} of {stability.models} models keep their rank throughout."
    ]
    if stability.swaps:
        named = [f"{swap.first} and {swap.second} (in {swap.settings})" for swap in stability.swaps[:3]]
        more = len(stability.swaps) - len(named)
        said.append(f"Pairs that turn round: {', '.join(named)}{f' and {more} more' if more else ''}.")
    if stability.models < MIN_MODELS:
        chance = math.factorial(stability.models)
        said.append(
            f"{stability.models} models are too few for a rank correlation: by chance alone they stand in one given "
            f"order in 1 of {chance} cases."
        )
    elif stability.least is not None and stability.mean is not None:
        concordance = "" if stability.concordance is None else f", Kendall's W {stability.concordance:.3f}"
        said.append(
            f"Kendall's rank correlation with the reference: {stability.mean:.3f} on average, {stability.least:.3f} at "
            f"the least{concordance}. The settings share their responses and encoders, so there is no p value to this."
        )
    return said
