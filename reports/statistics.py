"""Intervals and tests over the items of runs: what a mean is worth, and whether two models differ.

Questions about one image stand or fall together, and the mix of sources is fixed, so everything here
draws whole images (clusters), each source for itself (strata; ``resampling.py`` has the details):

- The **bootstrap** draws ``n - 1`` of the ``n`` images of each source with replacement and weighs them up
  to ``n`` (Rao and Wu, 1988: unbiased however few images a source has), takes the mean over the drawn
  items, and reads the interval off the percentiles of such means, taken further out as far as Student's
  t lies outside of the normal distribution (Hesterberg, 2015), for few images.
- The **sign flips** ask what the difference of two runs would be had each image, by the toss of a coin,
  swapped the two models. Where the models are equal their level is right for any number of images; that
  of a bootstrap is not where two models part on a few items only. The interval is all differences that
  the flips do not reject, found in closed form.

A difference has the outer ends of both intervals and the larger p of both tests: its interval leaves out
0 exactly where its p is at most ``1 - level``. Where no draw reaches 0, draws cannot say how small p is, and
Holm's correction over many pairs asks just that: closed forms go on from there (``bootstrap_tail``,
``flips_tail``), so that no number of draws limits p, only the number of images does (``smallest_p``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from ..metrics.aggregate import LEVEL
from .resampling import (
    Clusters,
    Strings,
    Tolerated,
    bootstrap,
    bootstrap_ends,
    bootstrap_p,
    bootstrap_tail,
    flips_tail,
    sign_flips,
)

Floats = Sequence[float] | np.ndarray | pd.Series

#: Draws of a comparison, however many pairs there are: each tail outside of a 95 % interval holds 250 of them.
RESAMPLES = 10_000
#: Metrics on which models are compared, and their titles.
COMPARED = {
    "match_f1": "Match F1",
    "f1_above_null": "Match F1 above null",
    "accuracy": "Accuracy",
    "accuracy_strict": "Strict accuracy",
}
#: p, after Holm's correction where there are several, up to which a difference counts as established.
ESTABLISHED = 0.05
#: Rank correlations over fewer models say nothing: five stand in one given order in 1 of 60 cases, up or down.
MIN_MODELS = 6
#: In the place of an interval without ends.
TOO_FEW = "too few images"
#: A standard error below this is the rounding of equal differences.
ROUNDING = 1e-12
#: Digits to which means are compared: what lies below is the order of a summation, and they count as equal.
DIGITS = 9
#: Probability with which the smallest difference is found.
POWER = 0.8


@dataclass(frozen=True)
class Difference:
    """Mean of first minus second over shared items, with its interval and two-sided p.

    The ends are infinite where fewer than six images are shared: so few can show nothing at 0.05.
    """

    mean: float
    low: float
    high: float
    p: float
    items: int
    images: int

    @property
    def established(self) -> bool:
        """Whether the interval leaves out 0 (of one comparison; of several look at Holm's p)."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class RankCorrelation:
    """Rank correlations over ``models`` in ``[-1, 1]``, with intervals; ``p`` is that of Kendall's tau."""

    kendall: float
    kendall_low: float
    kendall_high: float
    spearman: float
    spearman_low: float
    spearman_high: float
    p: float
    models: int


def paired_difference(
    first: Floats,
    second: Floats,
    images: Strings,
    sources: Strings,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Difference | None:
    """How two runs differ on the same items, row by row; None where they share none.

    An item on which either has NaN is left out. The method is told at the top of this file.

    >>> images = [f"image {index}" for index in range(40)]
    >>> paired_difference([0.9, 0.8] * 20, [0.5, 0.5] * 20, images, ["plotqa"] * 40).established
    True
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    clusters = Clusters.of(differences[:, None], images, sources)
    if clusters is None:
        return None
    totals, sizes = sign_flips(clusters, resamples)
    tolerated = Tolerated.by(float(clusters.totals.sum()), clusters.items, totals[:, 0], sizes)
    return _difference(clusters, clusters.totals[:, 0], bootstrap(clusters, resamples)[:, 0], tolerated, level)


def smallest_difference(
    first: Floats, second: Floats, images: Strings, sources: Strings, power: float = POWER, level: float = ESTABLISHED
) -> float:
    """The smallest true difference that a test at ``level`` on as many items finds with probability ``power``.

    ``(t(1 - level/2) + t(power)) * se``, where ``se`` is the standard error of the mean difference (images
    as clusters, sources as strata) and t has as many degrees of freedom as images less sources. NaN where
    the differences do not scatter, as between equal runs: then these items cannot say it.
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    clusters = Clusters.of(differences[:, None], images, sources)
    return math.nan if clusters is None else _smallest(clusters, clusters.totals[:, 0], power, level)


def holm(p_values: Sequence[float]) -> list[float]:
    """p values adjusted for their number (Holm, 1979), in the given order; NaN stays and does not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=float)
    counted = np.flatnonzero(~np.isnan(values))
    order = counted[np.argsort(values[counted], kind="stable")]
    adjusted = values.copy()
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1)), 1.0)
    return adjusted.tolist()


def smallest_p(images: int) -> float:
    """The smallest two-sided p that so many images can show: all of them on one side of 0, ``2 ** (1 - images)``.

    >>> smallest_p(6)
    0.03125
    """
    return min(1.0, 2.0 ** (1 - images))


def too_few(comparisons: pd.DataFrame, metric: str) -> bool:
    """Whether no pair of the metric could be established, whatever the models did: for want of images alone."""
    images = comparisons.loc[(comparisons["metric"] == metric) & (comparisons["items"] > 0), "images"]
    return bool(len(images)) and smallest_p(int(images.max())) * len(images) > ESTABLISHED


def compared_metrics(runs: Mapping[str, pd.DataFrame]) -> list[str]:
    """Those of ``COMPARED`` that any run has: results of one item, and older ones, have no null."""
    return [
        metric for metric in COMPARED if any(metric in items and items[metric].notna().any() for items in runs.values())
    ]


def compare_models(
    runs: Mapping[str, pd.DataFrame],
    metrics: Collection[str] = COMPARED,
    level: float = LEVEL,
    advance: Callable[[], None] = lambda: None,
) -> pd.DataFrame:
    """Every pair of models on the items that both have, a row a pair and metric.

    ``runs`` holds the items of each model (index ``doc_id``). Items are the same where ``doc_id`` is and
    the images do not differ. Columns: ``metric``, ``first``, ``second`` (in the order of ``runs``),
    ``difference`` (first minus second), ``low``, ``high``, ``p``, ``p_holm`` (adjusted over all pairs of
    the metric), ``items``, ``images`` (shared), ``smallest`` (``smallest_difference`` of this pair alone).
    A pair that shares nothing has 0 items and NaN. ``advance`` is called after each metric of each pair.
    """
    pairs = list(itertools.combinations(runs, 2))
    columns = "metric first second difference low high p p_holm items images smallest".split()
    if not pairs:
        return pd.DataFrame(columns=columns)
    board = _Board(runs, metrics, RESAMPLES)
    rows: list[dict[str, object]] = []
    for metric in metrics:
        found = []
        for first, second in pairs:
            found.append(board.compare(metric, first, second, level))
            advance()
        adjusted = holm([row["p"] for row in found])
        rows += [
            {"metric": metric, "first": first, "second": second, **row, "p_holm": p}
            for (first, second), row, p in zip(pairs, found, adjusted, strict=True)
        ]
    return pd.DataFrame(rows, columns=columns)


def comparison_of(comparisons: pd.DataFrame, metric: str, one: str, other: str) -> pd.Series | None:
    """The row of two models, whichever is first in it; None where they were not compared."""
    pair = {one, other}
    found = comparisons[
        (comparisons["metric"] == metric) & comparisons["first"].isin(pair) & comparisons["second"].isin(pair)
    ]
    return None if found.empty else found.iloc[0]


def rank_correlation(x: Floats, y: Floats, level: float = LEVEL) -> RankCorrelation | None:
    """How far two scores put models in the same order; None below six models, or where one ties them all.

    Pairs with NaN are left out. Intervals are those of Fisher's transform with the standard errors of
    Fieller (1957) for Kendall's tau-b, ``sqrt(0.437 / (n - 4))``, and of Bonett and Wright (2000) for
    Spearman's rho, ``sqrt((1 + rho**2 / 2) / (n - 3))``; a perfect order counts there as one that two
    neighbours leave half. (A bootstrap over so few models draws ties, and shows no doubt at all in a
    perfect order.) p is scipy's, exact by permutation where nothing ties.
    """
    both = np.array([x, y], dtype=float)
    both = both[:, ~np.isnan(both).any(axis=0)]
    models = both.shape[1]
    if models < MIN_MODELS or any(len(np.unique(scores)) == 1 for scores in both):
        return None
    tau, rho = stats.kendalltau(*both), stats.spearmanr(*both)
    pairs = models * (models - 1) / 2
    kendall, spearman = float(tau.statistic), float(rho.statistic)
    return RankCorrelation(
        kendall,
        *_fisher(kendall, 1 - 1 / pairs, math.sqrt(0.437 / (models - 4)), level),
        spearman,
        # Two neighbours that swap take 12 / (n^3 - n) off rho.
        *_fisher(spearman, 1 - 6 / (models**3 - models), math.sqrt((1 + spearman**2 / 2) / (models - 3)), level),
        p=float(tau.pvalue),
        models=models,
    )


def _difference(
    clusters: Clusters, totals: np.ndarray, means: np.ndarray, tolerated: Tolerated, level: float
) -> Difference:
    """One difference: its sums by image (C,), its drawn means (resamples,), and what the flips tolerate."""
    by_bootstrap = bootstrap_ends(means, clusters.freedom, level)
    by_flips = tolerated.ends(level)
    return Difference(
        mean=float(totals.sum()) / clusters.items,
        low=min(by_bootstrap[0], by_flips[0]),
        high=max(by_bootstrap[1], by_flips[1]),
        p=_p(clusters, totals, means, tolerated, level),
        items=clusters.items,
        images=clusters.images,
    )


def _p(clusters: Clusters, totals: np.ndarray, means: np.ndarray, tolerated: Tolerated, level: float) -> float:
    """The larger p of both tests; their tails are looked at only where the interval leaves out 0 already."""
    by_bootstrap, by_flips = bootstrap_p(means, clusters.freedom), tolerated.p
    if max(by_bootstrap, by_flips) > 1 - level:
        return max(by_bootstrap, by_flips)
    return max(min(by_bootstrap, bootstrap_tail(clusters, totals, means)), min(by_flips, flips_tail(totals)))


def _smallest(clusters: Clusters, totals: np.ndarray, power: float, level: float) -> float:
    error = clusters.standard_error(totals)
    if not clusters.freedom or error < ROUNDING:
        return math.nan
    return float(stats.t.ppf(1 - level / 2, clusters.freedom) + stats.t.ppf(power, clusters.freedom)) * error


def _fisher(correlation: float, cap: float, error: float, level: float) -> tuple[float, float]:
    centre = math.atanh(max(-cap, min(cap, correlation)))
    reach = float(stats.norm.ppf((1 + level) / 2)) * error
    return min(math.tanh(centre - reach), correlation), max(math.tanh(centre + reach), correlation)


@dataclass(frozen=True)
class _Draws:
    """Draws over one set of items; ``columns`` are the (metric, model) that have a value on each of them."""

    clusters: Clusters
    columns: pd.Index
    means: np.ndarray
    totals: np.ndarray
    sizes: np.ndarray


class _Board:
    """The values of all models; draws over equal sets of items are made once for all pairs and metrics.

    They can be: the drawn mean and the flipped sum of a difference are the differences of those of its models.
    """

    def __init__(self, runs: Mapping[str, pd.DataFrame], metrics: Collection[str], resamples: int) -> None:
        self.resamples = resamples
        self.draws: dict[bytes, _Draws] = {}
        known = {name: _first_known(runs, name) for name in ("image_sha256", "source")}
        columns = {}
        for model, items in runs.items():
            images = items["image_sha256"].replace("", np.nan).fillna(known["image_sha256"]).fillna("")
            index = pd.MultiIndex.from_arrays([items.index, images])
            for metric in metrics:
                values = items[metric].to_numpy(float) if metric in items else np.full(len(items), math.nan)
                columns[metric, model] = pd.Series(values, index)
        self.values = pd.DataFrame(columns).sort_index()
        doc_ids, images = (self.values.index.get_level_values(level).to_series() for level in (0, 1))
        self.images = images.where(images != "", "item " + doc_ids.astype(str).to_numpy()).to_numpy()
        self.sources = doc_ids.map(known["source"]).fillna("").to_numpy()

    def compare(self, metric: str, first: str, second: str, level: float) -> dict[str, float]:
        pair = [(metric, first), (metric, second)]
        shared = self.values[pair].notna().all(axis=1).to_numpy()
        if not shared.any():
            return dict.fromkeys(("difference", "low", "high", "p", "smallest"), math.nan) | {"items": 0, "images": 0}
        draws = self._over(shared)
        clusters = draws.clusters
        one, other = (draws.columns.get_loc(column) for column in pair)
        totals, flips, means = (sums[:, one] - sums[:, other] for sums in (clusters.totals, draws.totals, draws.means))
        tolerated = Tolerated.by(float(totals.sum()), clusters.items, flips, draws.sizes)
        found = _difference(clusters, totals, means, tolerated, level)
        ends = {"difference": found.mean, "low": found.low, "high": found.high, "p": found.p}
        counts = {"items": found.items, "images": found.images}
        return {**ends, **counts, "smallest": _smallest(clusters, totals, POWER, ESTABLISHED)}

    def _over(self, shared: np.ndarray) -> _Draws:
        key = shared.tobytes()
        if key not in self.draws:
            values = self.values[shared].dropna(axis=1)
            clusters = Clusters.of(values.to_numpy(), self.images[shared], self.sources[shared])
            assert clusters is not None, "there are shared items"
            means = bootstrap(clusters, self.resamples)
            self.draws[key] = _Draws(clusters, values.columns, means, *sign_flips(clusters, self.resamples))
        return self.draws[key]


def _first_known(runs: Mapping[str, pd.DataFrame], column: str) -> pd.Series:
    """What the first run that knows it says of each ``doc_id``."""
    said = pd.concat([items[column].replace("", np.nan).dropna() for items in runs.values()])
    return said[~said.index.duplicated()]
