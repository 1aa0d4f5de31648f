"""Before and after a training on the same held-out items: each metric, and whether its change is established."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from ..load import Result, find_results
from ..samples import read_samples
from ..statistics import ESTABLISHED, compare_models
from .cells import between, fixed
from .places import AFTER, BEFORE, RESULTS
from .read import Training, number

#: Metrics of the comparison with their titles, what a reader asks first on top.
TITLES = {
    "accuracy_strict": "Strict accuracy",
    "accuracy": "Accuracy",
    "match_f1": "Match F1",
    "f1_above_null": "above null",
    "precision": "Precision",
    "recall": "Recall",
    "ordered_f1": "Ordered F1",
    "lis": "LIS",
    "steps": "Steps",
    "format_valid": "Valid format",
    "truncated": "Truncated",
}
#: What stands for the answers and for the reasoning where a training is summed up in a sentence.
ANSWERS, REASONING = "accuracy_strict", "match_f1"


@dataclass(frozen=True)
class Change:
    """A metric before and after, and after minus before; ``low``, ``high`` and ``p`` are NaN where it is not tested.

    ``items`` are those that both have, 0 where only means are known.
    """

    metric: str
    before: float
    after: float
    difference: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    items: int = 0

    @property
    def title(self) -> str:
        """What tables call the metric."""
        return TITLES[self.metric]

    @property
    def tested(self) -> bool:
        """Whether single items of before and after could be set against each other."""
        return self.items > 0 and not math.isnan(self.p)

    @property
    def established(self) -> bool:
        """Whether its p is at most 0.05, for itself alone."""
        return self.tested and self.p <= ESTABLISHED

    @property
    def trend(self) -> str:
        """``up`` or ``down`` where it is established that the metric moved, else empty."""
        return ("up" if self.difference > 0 else "down") if self.established else ""


def changes(training: Training) -> list[Change]:
    """What the training changed, by metric, in the order of ``TITLES``; empty where either side is missing.

    Paired over the items in the results of before and after, resampled by image as everywhere in the report; where
    these are not there, the plain means of the two validations.
    """
    return _paired(training) or _means(training)


def _paired(training: Training) -> list[Change]:
    folder = training.folder / RESULTS
    found = find_results([folder]).results if folder.is_dir() else []
    before, after = _items(found, BEFORE), _items(found, AFTER)
    if before is None or after is None:
        return []
    metrics = [
        metric for metric in TITLES if all(metric in items and items[metric].notna().any() for items in (before, after))
    ]
    shared = before.index.intersection(after.index)
    pairs = compare_models({"after": after.loc[shared], "before": before.loc[shared]}, metrics)
    return [
        Change(
            metric=str(row["metric"]),
            before=_mean(before.loc[shared, row["metric"]]),
            after=_mean(after.loc[shared, row["metric"]]),
            difference=float(row["difference"]),
            low=float(row["low"]),
            high=float(row["high"]),
            p=float(row["p"]),
            items=int(row["items"]),
        )
        for row in pairs.to_dict("records")
        if row["items"]
    ]


def _items(results: Iterable[Result], ending: str) -> pd.DataFrame | None:
    """The items of the newest of the results of a model whose name ends so; None where they are not there."""
    with_samples = [result for result in results if result.model.endswith(ending) and result.samples_file.is_file()]
    if not with_samples:
        return None
    newest = max(with_samples, key=lambda result: result.file.name)
    try:
        items = read_samples(newest.samples_file, scorer=newest.scorer).items
    except OSError:
        return None
    return None if items.empty else items


def _mean(values: pd.Series) -> float:
    return float(values.dropna().mean())


def _means(training: Training) -> list[Change]:
    before, after = training.before, training.after
    if before is None or after is None:
        return []
    pairs = [(metric, number(before.get(metric)), number(after.get(metric))) for metric in TITLES]
    return [
        Change(metric, one, other, other - one) for metric, one, other in pairs if one is not None and other is not None
    ]


def change_of(found: Iterable[Change], metric: str) -> Change | None:
    """The change of a metric; None where it is not known."""
    return next((change for change in found if change.metric == metric), None)


def verdict(found: Sequence[Change]) -> str:
    """Whether answers and reasoning got better, in a sentence with the numbers behind it."""
    both = [change_of(found, metric) for metric in (ANSWERS, REASONING)]
    known = [change for change in both if change is not None]
    if not known:
        return "There is nothing to compare yet: before and after are not both measured."
    numbers = " and ".join(_numbers(change) for change in known)
    if not all(change.tested for change in known) or len(known) < 2:
        return f"{numbers[0].upper()}{numbers[1:]}; without the items of both nothing is tested."
    items = f"over {min(change.items for change in known):,} held-out items"
    return f"{_words(*(change.trend for change in known))}: {numbers} {items}."


def in_short(found: Sequence[Change]) -> str:
    """The same in few words."""
    known = [change for metric in (ANSWERS, REASONING) if (change := change_of(found, metric))]
    if len(known) == 2 and all(change.tested for change in known):
        words = _words(*(change.trend for change in known))
        return words[0].lower() + words[1:]
    return "before and after are not tested" if known else "nothing to compare yet"


def _words(answers: str, reasoning: str) -> str:
    said = {"up": "got better", "down": "got worse", "": "cannot be told from before"}
    if answers == reasoning:
        if not answers:
            return "Neither answers nor reasoning can be told from before"
        return f"Answers and reasoning both {said[answers]}"
    joint = "but" if {answers, reasoning} == {"up", "down"} else "and"
    return f"Answers {said[answers]}, {joint} reasoning {said[reasoning]}"


def _numbers(change: Change) -> str:
    title = change.title if change.metric == REASONING else change.title.lower()
    words = [fixed(change.difference, sign=True), between(change.low, change.high, sign=True)]
    return f"{title} {change.before:.3f} to {change.after:.3f} ({' '.join(filter(None, words))})"
