"""Results of the harness, read back: one ``Result`` a model and CRYSTAL task."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CrystalError


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

    @property
    def scripted(self) -> bool:
        """Whether a stand-in wrote the responses instead of a model."""
        return self.generation.endswith("|scripted:yes")


def load_results(paths: Iterable[Path]) -> list[Result]:
    """CRYSTAL results under the given paths: those scored alike together, best Match F1 first.

    Of several runs with the same model, task and signatures the newest counts.

    Raises ``CrystalError`` where a path does not exist, a file is no JSON, or nothing is found.
    """
    newest: dict[tuple[str, ...], Result] = {}
    for file in _result_files(paths):
        for result in _read(file):
            newest[(result.task, result.model, result.scorer, result.generation)] = result
    if not newest:
        raise CrystalError(
            f"No CRYSTAL results under {', '.join(map(str, paths))}; give the folder that --output_path named (a run "
            "with --predict_only leaves none)."
        )
    return sorted(newest.values(), key=_place)


def _place(result: Result) -> tuple[str, int, str, float, str]:
    """By task, the runs over most items first, those scored alike together, best Match F1 first."""
    return result.task, -result.items, result.scorer, -(result.metrics["match_f1"].mean or 0), result.model


def _result_files(paths: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise CrystalError(f"{path} does not exist; give the folder that --output_path named.")
        found += sorted(path.rglob("*_results.json")) if path.is_dir() else [path]
    # The harness dates its files, so their names order the runs.
    return sorted(found, key=lambda file: file.name)


def _read(file: Path) -> list[Result]:
    try:
        sections = json.loads(file.read_text("utf-8")).get("crystal", {})
        # A run with --predict_only has no metrics.
        scored = {task: section for task, section in sections.items() if "match_f1" in section["metrics"]}
        return [_result(file, task, section) for task, section in scored.items()]
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise CrystalError(f"{file} is no results file of lmms-eval ({problem}); delete it or leave it out.") from error


def _result(file: Path, task: str, section: dict[str, Any]) -> Result:
    return Result(
        file=file,
        model=section["model"],
        task=task,
        scorer=section["scorer"],
        generation=section["generation"],
        metrics={name: Mean(**value) for name, value in section["metrics"].items()},
        items=section["items"],
        of=section["of"],
        differs_from_paper=tuple(section["differs_from_paper"]),
    )
