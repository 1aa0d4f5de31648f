"""Several trainings in one table: methods against each other, by mean over seeds with an interval."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ...metrics.aggregate import LEVEL
from ..leaderboard import listed
from ..statistics import ESTABLISHED, ROUNDING, holm
from .changes import ANSWERS, REASONING, TITLES, Change, change_of
from .read import Training

#: Methods in the order of the paper's tables; others follow by name.
ORDER = ("answer-only", "composite", "cpr", "cpr-curriculum")

#: What each training changed, by its name.
Changes = Mapping[str, Sequence[Change]]


@dataclass(frozen=True)
class Spread:
    """A mean over trainings with Student's 95 % interval; its ends are NaN for one training or equal ones."""

    values: tuple[float, ...]
    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan


def spread(values: Sequence[float]) -> Spread:
    """The mean of some values, its interval, and the p of its being 0 (Student's t, one value a training).

    >>> found = spread([0.5, 0.6, 0.7])
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (0.6, 0.352, 0.848)
    """
    known = tuple(float(value) for value in values if math.isfinite(value))
    if not known:
        return Spread(known)
    mean = float(np.mean(known))
    error = float(np.std(known, ddof=1)) / math.sqrt(len(known)) if len(known) > 1 else 0.0
    if error < ROUNDING:
        return Spread(known, mean)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(known) - 1)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, len(known) - 1))
    return Spread(known, mean, mean - reach, mean + reach, p)


@dataclass(frozen=True)
class Group:
    """The trainings of one method and model, by seed."""

    label: str
    trainings: tuple[Training, ...]

    def after(self, metric: str, changes: Changes) -> Spread:
        """A metric after training."""
        return spread([change.after for change in self._changes(metric, changes)])

    def difference(self, metric: str, changes: Changes) -> Spread:
        """What the training changed of a metric."""
        return spread([change.difference for change in self._changes(metric, changes)])

    def by_seed(self, metric: str, changes: Changes) -> dict[int, float]:
        """A metric after training by seed, of the trainings whose seed no other of the group has."""
        seeds = [training.seed for training in self.trainings]
        return {
            training.seed: change.after
            for training in self.trainings
            if training.seed is not None
            and seeds.count(training.seed) == 1
            and (change := change_of(changes[training.name], metric))
        }

    def _changes(self, metric: str, changes: Changes) -> list[Change]:
        found = [change_of(changes[training.name], metric) for training in self.trainings]
        return [change for change in found if change is not None]


def groups(trainings: Iterable[Training]) -> list[Group]:
    """Trainings by method, and by model where there are several."""
    by_key: dict[tuple[str, str], list[Training]] = {}
    for training in trainings:
        by_key.setdefault((training.method, training.model), []).append(training)
    several = len({model for _, model in by_key}) > 1
    return [
        Group(
            f"{method}, {model}" if several else method,
            tuple(sorted(by_key[method, model], key=lambda one: (one.seed is None, one.seed or 0, one.name))),
        )
        for method, model in sorted(by_key, key=_place)
    ]


def _place(key: tuple[str, str]) -> tuple[str, int, str]:
    method, model = key
    return model, ORDER.index(method) if method in ORDER else len(ORDER), method


@dataclass(frozen=True)
class Contrast:
    """How far one method is ahead of another in a metric: differences of the trainings with equal seeds."""

    first: str
    second: str
    metric: str
    spread: Spread
    p_holm: float

    @property
    def established(self) -> bool:
        """Whether p, after Holm's correction over all pairs of the metric, is at most 0.05."""
        return self.p_holm <= ESTABLISHED


def contrasts(found: Sequence[Group], changes: Changes) -> list[Contrast]:
    """Every pair of methods that share two seeds or more, in strict accuracy and in Match F1, the later one first."""
    made: list[Contrast] = []
    for metric in (ANSWERS, REASONING):
        pairs = []
        for one, other in itertools.combinations(found, 2):
            ours, theirs = other.by_seed(metric, changes), one.by_seed(metric, changes)
            seeds = sorted(ours.keys() & theirs.keys())
            if len(seeds) > 1:
                pairs.append((other.label, one.label, spread([ours[seed] - theirs[seed] for seed in seeds])))
        adjusted = holm([pair[2].p for pair in pairs])
        made += [Contrast(*pair[:2], metric, pair[2], p) for pair, p in zip(pairs, adjusted, strict=True)]
    return made


def mixed_recipes(found: Iterable[Group]) -> list[str]:
    """A sentence for each group whose trainings differ in more than their seed, and in what."""
    notes = []
    for group in found:
        first, *others = [training.recipe for training in group.trainings]
        names = sorted({name for other in others for name in {*first, *other} if first.get(name) != other.get(name)})
        if names:
            notes.append(
                f"The trainings by {group.label} differ in {', '.join(names)}, not only in their seeds: their mean and "
                "interval mix settings."
            )
    return notes


def mixed_data(found: Iterable[Group]) -> list[str]:
    """A sentence where not all trainings were on the same items, which then part them as well as their methods."""
    data = {training.data for group in found for training in group.trainings if training.data}
    if len(data) < 2:
        return []
    return [
        "The trainings were not all on the same items, so that their scores do not compare: the items part them too."
    ]


def summary(found: Sequence[Group], changes: Changes, made: Sequence[Contrast]) -> str:
    """What several trainings come to: which method is ahead, and of which others that is established."""
    trainings = sum(len(group.trainings) for group in found)
    words = [f"{trainings} trainings by {len(found)} method{'s' if len(found) > 1 else ''}"]
    for metric in (ANSWERS, REASONING):
        means = {group.label: group.after(metric, changes).mean for group in found}
        known = {label: mean for label, mean in means.items() if not math.isnan(mean)}
        if known:
            best = max(known, key=lambda label: known[label])
            if len(known) > 1 and len(set(known.values())) == 1:
                words.append(f"All have the same {_title(metric)} ({known[best]:.3f})")
                continue
            words.append(f"{best} has the highest {_title(metric)} ({known[best]:.3f}){_behind(best, metric, made)}")
    return f"{'. '.join(words)}."


def _behind(best: str, metric: str, made: Sequence[Contrast]) -> str:
    """The methods of which it is established over the seeds that they are behind the best one."""
    pairs = [contrast for contrast in made if contrast.metric == metric and best in (contrast.first, contrast.second)]
    behind = [
        contrast.second if contrast.first == best else contrast.first for contrast in pairs if contrast.established
    ]
    if not pairs:
        return ""
    if not behind:
        return ", which is established against no other method"
    return f", established against {listed(behind)}"


def _title(metric: str) -> str:
    return TITLES[metric] if metric == REASONING else TITLES[metric].lower()
