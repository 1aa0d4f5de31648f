"""Results files of the harness, read back: a ``Result`` for each model and CRYSTAL task, and those of other tasks."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import CrystalError

RESULTS, SAMPLES = "_results.json", "_samples_{task}.jsonl"
#: What reading a file that something else wrote may raise.
FAULTS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, OSError)
#: Letters of a fault that a sentence shows; some quote what they could not read.
WHY_LENGTH = 120


@dataclass(frozen=True)
class Mean:
    """A macro mean as a result file states it; the interval is missing where the run did not compute one."""

    mean: float | None
    low: float | None = None
    high: float | None = None
    items: int | None = None


@dataclass(frozen=True)
class Result:
    """What one run says of one model on one CRYSTAL task."""

    file: Path
    model: str
    task: str
    scorer: str
    generation: str
    metrics: dict[str, Mean]
    items: int
    of: int
    differs_from_paper: tuple[str, ...]
    #: Means that are no metrics of the harness: ``optimal_f1``, ``first_f1_1`` and on, ``conflict_<kind>``.
    validity: dict[str, float] = field(default_factory=dict)

    @property
    def scripted(self) -> bool:
        """Whether a stand-in wrote the responses instead of a model."""
        return self.generation.endswith("|scripted:yes")

    @property
    def samples_file(self) -> Path:
        """Where the harness writes this run's samples with --log_samples; it need not exist."""
        return self.file.with_name(self.file.name.removesuffix(RESULTS) + SAMPLES.format(task=self.task))


@dataclass(frozen=True)
class OtherResult:
    """What one run says of one model on a task or group that is not CRYSTAL's; metrics as the harness names them."""

    file: Path
    model: str
    task: str
    metrics: dict[str, float]
    higher_is_better: dict[str, bool | None]
    items: int | None


@dataclass(frozen=True)
class Found:
    """All that results files under some paths hold, and a sentence for each thing in them that cannot be used."""

    results: list[Result] = field(default_factory=list)
    others: list[OtherResult] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find_results(paths: Iterable[Path]) -> Found:
    """What the harness wrote under the given paths; CRYSTAL's results those scored alike together, best Match F1 first.

    Of several runs with the same model, task and signatures the newest counts, and a problem says so. A file that
    cannot be read becomes a problem, and the rest is still read. Raises ``CrystalError`` where a path does not exist.
    """
    found = Found()
    newest: dict[tuple[str, ...], Result] = {}
    others: dict[tuple[str, str], OtherResult] = {}
    for file in _result_files(paths):
        try:
            written = json.loads(file.read_text("utf-8"))
            results = list(_results(file, written))
        except FAULTS as error:
            found.problems.append(f"{file} is no results file of lmms-eval ({_why(error)}); delete it or leave it out.")
            continue
        try:
            elsewhere = list(_others(file, written, results[0].model if results else _model(written)))
        except FAULTS as error:
            elsewhere = []
            found.problems.append(f"The results of other tasks in {file} cannot be read ({_why(error)}).")
        if not results and not elsewhere:
            found.problems.append(f"{file} holds no metrics (a run with --predict_only writes none).")
        for result in results:
            key = (result.task, result.model, result.scorer, result.generation)
            if key in newest:
                found.problems.append(
                    f"{result.model} ran {result.task} more than once with the same signatures: {file.name} counts, "
                    f"{newest[key].file.name} does not."
                )
            newest[key] = result
        others.update({(other.model, other.task): other for other in elsewhere})
    found.results.extend(sorted(newest.values(), key=_place))
    found.others.extend(others.values())
    return found


def load_results(paths: Iterable[Path]) -> Found:
    """As ``find_results``, and raises ``CrystalError`` where no result of a CRYSTAL task is found."""
    paths = list(paths)
    found = find_results(paths)
    if not found.results:
        why = "".join(f" {problem}" for problem in found.problems[:3])
        raise CrystalError(
            f"No CRYSTAL results under {', '.join(map(str, paths))}; give the folder that --output_path named (a run "
            f"with --predict_only leaves none).{why}"
        )
    return found


def _place(result: Result) -> tuple[str, int, str, float, str]:
    """By task, the runs over most items first, those scored alike together, best Match F1 first."""
    return result.task, -result.items, result.scorer, -(result.metrics["match_f1"].mean or 0), result.model


def _why(error: Exception) -> str:
    words = f"{type(error).__name__}: {error}"
    return words if len(words) <= WHY_LENGTH else f"{words[:WHY_LENGTH]}..."


def _result_files(paths: Iterable[Path]) -> list[Path]:
    # The same file by two ways is one run.
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise CrystalError(f"{path} does not exist; give the folder that --output_path named.")
        for file in path.rglob(f"*{RESULTS}") if path.is_dir() else [path]:
            found.setdefault(file.resolve(), file)
    # The harness dates its files, so their names order the runs.
    return sorted(found.values(), key=lambda file: (file.name, str(file)))


def _results(file: Path, written: Mapping[str, Any]) -> Iterable[Result]:
    for task, section in written.get("crystal", {}).items():
        # A run with --predict_only has no metrics.
        if "match_f1" in section["metrics"]:
            yield _result(file, task, section)


def _result(file: Path, task: str, section: Mapping[str, Any]) -> Result:
    return Result(
        file=file,
        model=str(section["model"]),
        task=task,
        scorer=str(section["scorer"]),
        generation=str(section["generation"]),
        metrics={name: _mean(value) for name, value in section["metrics"].items()},
        items=_count(section["items"]),
        of=_count(section["of"]),
        differs_from_paper=tuple(map(str, section["differs_from_paper"])),
        validity=_validity(section.get("validity") or {}),
    )


def _validity(part: Mapping[str, Any]) -> dict[str, float]:
    """The means of ``metrics.validity.summarise``, flat; results that were written without samples have none."""
    found = {
        "optimal_f1": part.get("optimal_f1"),
        **{f"first_f1_{count}": mean for count, mean in enumerate(part.get("first_f1") or (), 1)},
        **{f"conflict_{kind}": share for kind, share in (part.get("conflicts") or {}).items()},
    }
    return {name: number for name, value in found.items() if (number := _number(value)) is not None}


def _mean(value: Mapping[str, Any]) -> Mean:
    items = value.get("items")
    return Mean(
        _number(value["mean"]),
        _number(value.get("low")),
        _number(value.get("high")),
        None if items is None else int(items),
    )


def _number(value: Any) -> float | None:
    """A number, or None for what is none; NaN would spoil every order and mean that it enters."""
    number = float("nan") if value is None else float(value)
    return number if math.isfinite(number) else None


def _count(value: Any) -> int:
    if (count := int(value)) < 1:
        raise ValueError(f"{count} items")
    return count


def _model(written: Mapping[str, Any]) -> str:
    """The model of a file without a CRYSTAL result; a local checkpoint goes by its folder's name, as in ours."""
    name = written.get("model_name") or written.get("config", {}).get("model") or "unknown"
    # A hub id is not told from a relative path by its looks; deeper paths are local.
    return Path(name).name if name.count("/") != 1 else str(name)


def _others(file: Path, written: Mapping[str, Any], model: str) -> Iterable[OtherResult]:
    ours = written.get("crystal", {}).keys()
    metrics = {task: _numbers(values) for task, values in written.get("results", {}).items()}
    members = written.get("group_subtasks", {})
    # A group with a mean of its own stands for its tasks; one that mixes ours with others is a suite, no benchmark.
    mixed = {group for group, tasks in members.items() if ours & set(tasks)}
    inside = {
        task
        for group, tasks in members.items()
        if group not in mixed and metrics.get(group)
        for task in tasks
        if task != group
    }
    for task, values in metrics.items():
        if values and task not in ours | mixed | inside:
            directions = written.get("higher_is_better", {}).get(task) or {}
            items = (written.get("n-samples", {}).get(task) or {}).get("effective")
            yield OtherResult(file, model, task, values, dict(directions), items)


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {
        key.removesuffix(",none"): float(value)
        for key, value in values.items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and "_stderr" not in key
        and math.isfinite(value)
    }
