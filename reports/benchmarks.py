"""The main metric of the other benchmarks that stand in the same results, by ``configs/benchmarks.yaml``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

BENCHMARKS_FILE = Path(__file__).parent.parent / "configs" / "benchmarks.yaml"
#: Keys of a task's results that are no metrics; some end in ``,FILTER``.
NO_METRICS = {"alias", "samples", "task", "submission", "", " "}
#: What the harness appends to a metric for its errors and for ``--repeats``.
NO_MEANS = ("_stderr", "_expected_accuracy", "_consensus_accuracy", "_internal_variance", "_consistency_rate")
#: Parts of a metric's name by which it is taken for the main one, the likeliest first.
LIKELY = ("overall", "average", "avg", "_all", "exact_match", "accuracy", "acc", "anls", "f1", "score", "eval")
#: Parts of the name of one that judges the form of a response.
UNLIKELY = ("format", "answered")
#: Our own tasks, whose numbers stand elsewhere in the report.
OWN_PREFIX = "crystal"


@dataclass(frozen=True)
class Benchmark:
    """A task of the harness and the metric that stands for it, on 0 to ``scale`` (None where it has no end)."""

    task: str
    name: str
    metric: str
    scale: float | None
    better: str = "higher"

    @property
    def higher_is_better(self) -> bool:
        """Direction of the metric."""
        return self.better == "higher"


@dataclass(frozen=True)
class Score:
    """The main score of one model on one benchmark.

    ``raw`` is the number as its source gives it, on 0 to ``scale`` (None where it has no end). ``guessed``
    says that metric, scale and direction are not from ``configs/benchmarks.yaml``. ``parts`` are the tasks of
    which ``raw`` is the plain mean; ``source`` says where a score comes from that no results file has.
    """

    task: str
    name: str
    metric: str
    raw: float
    scale: float | None
    higher_is_better: bool = True
    guessed: bool = False
    parts: tuple[str, ...] = ()
    source: str = ""

    @property
    def value(self) -> float | None:
        """The score on 0 to 1, in its own direction; None where it has no scale.

        >>> Score("mme", "MME (perception)", "mme_perception_score", 1500.0, 2000).value
        0.75
        """
        return self.raw / self.scale if self.scale else None

    @property
    def goodness(self) -> float | None:
        """The same, turned over where lower is better, so that more is always better."""
        return self.value if self.value is None or self.higher_is_better else 1 - self.value


@cache
def load_benchmarks() -> Mapping[str, Benchmark]:
    """All benchmarks by task, in the order of their file."""
    rows: dict[str, dict[str, Any]] = yaml.safe_load(BENCHMARKS_FILE.read_text("utf-8"))
    return MappingProxyType({task: Benchmark(task=task, **row) for task, row in rows.items()})


def main_metric(
    task: str,
    metrics: Mapping[str, Any],
    higher_is_better: Mapping[str, bool | None] | None = None,
    score_key: str | None = None,
) -> Score | None:
    """The main score of a task from its entry in the harness's ``results``; None where it has no number.

    ``higher_is_better`` and ``score_key`` are what the results say of the task. A task that the file does
    not know, nor one of which its name begins with ``TASK_`` (``blink_counting``), gets a guess: the
    ``score_key``, else the metric with the likeliest name; 1 as its scale up to 1, 100 up to 100.

    >>> main_metric("mmmu_val", {"alias": "mmmu_val", "mmmu_acc,none": 0.5}).value
    0.5
    >>> main_metric("new_task", {"speed,none": 12.0, "my_accuracy,none": 61.0}).metric
    'my_accuracy'
    """
    numbers = _numbers(metrics)
    known = _known(task, numbers)
    if known:
        return Score(task, known.name, known.metric, numbers[known.metric], known.scale, known.higher_is_better)
    directions = higher_is_better or {}
    metric = score_key if score_key in numbers else _likeliest(list(numbers))
    if metric is None:
        return None
    raw = numbers[metric]
    direction = directions.get(metric)
    scale = next((scale for scale in (1.0, 100.0) if 0 <= raw <= scale), None)
    return Score(task, task, metric, raw, scale, direction is not False, guessed=True)


def benchmark_scores(results: Mapping[str, Any]) -> list[Score]:
    """The main scores of all other benchmarks of a results JSON of the harness, by task.

    A group that has numbers of its own stands for its subtasks. One without is the plain mean of its
    subtasks where these share metric, scale and direction (``parts`` says so); else they stand for themselves,
    as do those of a group with tasks of ours in it, which is a suite and no benchmark.
    """
    groups = results.get("group_subtasks") or {}
    parts = {part for group, subtasks in groups.items() for part in subtasks if part != group}
    tops = {*(results.get("results") or {}), *groups} - parts
    return sorted(
        (score for task in tops for score in _scores(task, results, frozenset())), key=lambda score: score.task
    )


def _scores(task: str, results: Mapping[str, Any], above: frozenset[str]) -> list[Score]:
    if _is_ours(task, results):
        return []
    subtasks = [part for part in (results.get("group_subtasks") or {}).get(task) or () if part not in above]
    is_suite = any(_is_ours(part, results) for part in subtasks)
    own = main_metric(
        task,
        results.get("results", {}).get(task) or {},
        (results.get("higher_is_better") or {}).get(task),
        ((results.get("configs") or {}).get(task) or {}).get("score_key"),
    )
    if own and not is_suite:
        return [own]
    scores = [score for part in subtasks for score in _scores(part, results, above | {task})]
    kinds = {(score.metric, score.scale, score.higher_is_better) for score in scores}
    if is_suite or len(scores) < 2 or len(kinds) > 1:
        return scores
    known = load_benchmarks().get(task)
    return [
        replace(
            scores[0],
            task=task,
            name=known.name if known else task,
            raw=math.fsum(score.raw for score in scores) / len(scores),
            guessed=any(score.guessed for score in scores),
            parts=tuple(score.task for score in scores),
        )
    ]


def _is_ours(task: str, results: Mapping[str, Any]) -> bool:
    return task.startswith(OWN_PREFIX) or task in (results.get("crystal") or {})


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The means among a task's results, by metric; of several filters the first counts."""
    numbers: dict[str, float] = {}
    for key, value in metrics.items():
        metric = key.partition(",")[0]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if is_number and metric not in NO_METRICS and not any(part in metric for part in NO_MEANS):
            numbers.setdefault(metric, float(value))
    return numbers


def _known(task: str, numbers: Mapping[str, float]) -> Benchmark | None:
    """The entry of a task, or of the longest task that its name begins with, if its metric is there."""
    benchmarks = load_benchmarks()
    exact = benchmarks.get(task)
    if exact:
        return exact if exact.metric in numbers else None
    begun = [known for known in benchmarks.values() if task.startswith(f"{known.task}_") and known.metric in numbers]
    if not begun:
        return None
    nearest = max(begun, key=lambda known: len(known.task))
    rest = task.removeprefix(f"{nearest.task}_").replace("_", " ")
    return replace(nearest, task=task, name=f"{nearest.name}, {rest}")


def _likeliest(metrics: list[str]) -> str | None:
    """The metric with the likeliest name; of several the first, as the task's file has them in order."""
    likely = [metric for metric in metrics if not any(part in metric.lower() for part in UNLIKELY)] or metrics
    for part in LIKELY:
        for metric in likely:
            if part in metric.lower():
                return metric
    return likely[0] if likely else None
