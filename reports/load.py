"""Results files of the harness, read back: a ``Result`` for each model and CRYSTAL task, and those of other tasks."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import CrystalError
from .benchmarks import Score, benchmark_scores
from .notes import Note
from .training.places import BEFORE, names_of, training_of

RESULTS, SAMPLES = "_results.json", "_samples_{task}.jsonl"
#: What reading a file that something else wrote may raise.
FAULTS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, OSError)


@dataclass(frozen=True)
class Mean:
    """A macro mean as a result file states it; the interval is missing where the run did not compute one."""

    mean: float
    low: float | None = None
    high: float | None = None
    items: int | None = None


@dataclass(frozen=True)
class Result:
    """What one run says of one model on one CRYSTAL task; ``metrics`` has those that it has a mean of."""

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
    """The main score of one model on a benchmark that is not CRYSTAL."""

    model: str
    score: Score


@dataclass(frozen=True)
class Found:
    """All that results files under some paths hold, and a sentence for each thing in them that cannot be used.

    ``others`` stand in the order of their files, the newest last.
    """

    results: list[Result] = field(default_factory=list)
    others: list[OtherResult] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find_results(paths: Iterable[Path]) -> Found:
    """What the harness wrote under the given paths; CRYSTAL's results those scored alike together, best Match F1 first.

    Of several runs with the same model, task and signatures the newest counts, and a problem says so; those of several
    trainings count each, under its name, where their numbers differ. A file that cannot be read becomes a problem, and
    the rest is still read. Raises ``CrystalError`` where a path does not exist.
    """
    found = Found()
    newest: dict[tuple[str | Path | None, ...], Result] = {}
    for file in _result_files(list(paths)):
        try:
            written = json.loads(file.read_text("utf-8"))
            results = list(_results(file, written))
        except FAULTS as error:
            found.problems.append(Note(file, " is no results file of lmms-eval", error, "; delete it or leave it out."))
            continue
        try:
            scores = benchmark_scores(written)
        except FAULTS as error:
            scores = []
            found.problems.append(Note("The results of other tasks in ", file, " cannot be read", error, "."))
        if not results and not scores:
            found.problems.append(Note(file, " holds no metrics (a run with --predict_only writes none)."))
        for result in results:
            key = (result.task, result.model, result.scorer, result.generation, training_of(result.file))
            if key in newest:
                found.problems.append(
                    f"{result.model} ran {result.task} more than once with the same signatures: {file.name} counts, "
                    f"{newest[key].file.name} does not."
                )
            newest[key] = result
        model = results[0].model if results else _model(written)
        found.others.extend(OtherResult(model, score) for score in scores)
    found.results.extend(sorted(_by_training(newest.values()), key=_place))
    return found


def _by_training(results: Iterable[Result]) -> list[Result]:
    """Results with the name of their training behind the model's where several trainings have one of that name.

    What several trainings began with is the same number for number, and one of them stands for all.
    """
    different: list[Result] = []
    for result in results:
        begun = result.model.endswith(BEFORE)
        if not (begun and any(replace(result, file=one.file) == one for one in different)):
            different.append(result)
    trainings: dict[str, set[Path]] = {}
    for result in different:
        if training := training_of(result.file):
            trainings.setdefault(result.model, set()).add(training)
    names = names_of(set().union(*trainings.values()))
    return [
        replace(result, model=f"{result.model} ({names[training]})")
        if (training := training_of(result.file)) and len(trainings[result.model]) > 1
        else result
        for result in different
    ]


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
    return result.task, -result.items, result.scorer, -result.metrics["match_f1"].mean, result.model


def check_paths(paths: Iterable[Path]) -> None:
    """Raises ``CrystalError`` where one does not exist."""
    for path in paths:
        if not path.exists():
            raise CrystalError(f"{path} does not exist; give the folder that --output_path named.")


def _result_files(paths: Sequence[Path]) -> list[Path]:
    check_paths(paths)
    # The same file by two ways is one run.
    found: dict[Path, Path] = {}
    for path in paths:
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
    metrics = {name: mean for name, value in section["metrics"].items() if (mean := _mean(value))}
    if "match_f1" not in metrics:
        raise ValueError("match_f1 is no number")
    if Path(task).name != task or "\0" in task:
        # Files and folders are named after it.
        raise ValueError("a task whose name is a path")
    return Result(
        file=file,
        model=str(section["model"]),
        task=task,
        scorer=str(section["scorer"]),
        generation=str(section["generation"]),
        metrics=metrics,
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


def _mean(value: Mapping[str, Any]) -> Mean | None:
    mean, items = _number(value["mean"]), value.get("items")
    if mean is None:
        return None
    return Mean(
        mean,
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
