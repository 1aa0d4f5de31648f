"""Everything that a report is made of: runs with their samples, on boards whose rows may be compared."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path

import pandas as pd

from .benchmarks import Score
from .load import Found, Mean, Result, find_results, load_results
from .model_names import canonical_name
from .notes import Note
from .samples import METRICS, Samples, read_samples

#: What the means of a results file and of its samples may differ by: the rounding of a sum in another order.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Run:
    """One model on one CRYSTAL task: a row of a board.

    ``label`` is its name, unique on the board; ``others`` are the model's main scores on other benchmarks.
    """

    result: Result
    label: str
    samples: Samples | None = None
    others: tuple[Score, ...] = ()

    @property
    def items(self) -> pd.DataFrame | None:
        """Its items as ``Samples.items`` has them; None for a run without samples."""
        return None if self.samples is None or self.samples.items.empty else self.samples.items

    def mean(self, metric: str) -> Mean | None:
        """Its mean of a metric as its results file states it, or of ``output_tokens``; None where it has none."""
        if metric != "output_tokens":
            return self.result.metrics.get(metric)
        known = pd.Series(dtype=float) if self.items is None else self.items["output_tokens"].dropna()
        return Mean(float(known.mean()), items=len(known)) if len(known) else None


@dataclass(frozen=True)
class Board:
    """The runs of one task that were scored alike, best Match F1 first: their numbers may be set beside each other."""

    task: str
    scorer: str
    runs: tuple[Run, ...]

    @property
    def items(self) -> int:
        """Number of items that each of its runs covers."""
        return self.runs[0].result.items

    @property
    def of(self) -> int:
        """Number of items of the whole dataset."""
        return self.runs[0].result.of

    @property
    def sampled(self) -> tuple[Run, ...]:
        """The runs whose samples are there."""
        return tuple(run for run in self.runs if run.items is not None)


@dataclass(frozen=True)
class Study:
    """The boards, that over most items first, and a sentence for each thing that a reader must know of the input."""

    boards: tuple[Board, ...]
    notes: tuple[str, ...] = ()


def load_study(
    paths: Iterable[Path],
    aliases: Mapping[str, str] | None = None,
    advance: Callable[[int], None] = lambda size: None,
    announce: Callable[[int], None] = lambda size: None,
    needed: bool = True,
) -> Study:
    """Reads results and samples under the given paths.

    Scores on other benchmarks reach their model by ``canonical_name`` with ``aliases``; of several on one the newest
    counts. ``announce`` is told the bytes of samples to come, and ``advance`` those read. Raises ``CrystalError``
    where there is no CRYSTAL result at all and one is ``needed``.
    """
    found = load_results(paths) if needed else find_results(paths)
    notes = list(found.problems)
    models = [result.model for result in found.results]
    known_as = {model: canonical_name(model, models, aliases) for model in models}
    others = _others(found, models, aliases)
    announce(sum(_size(result.samples_file) for result in found.results))
    boards = []
    for (task, scorer), group in groupby(found.results, key=lambda result: (result.task, result.scorer)):
        results = list(group)
        runs = []
        for result, label in zip(results, row_names(results), strict=True):
            samples = _samples(result, notes, advance)
            runs.append(Run(result, label, samples, tuple(others.get(known_as[result.model], {}).values())))
        boards.append(Board(task, scorer, tuple(runs)))
    boards.sort(key=lambda board: -board.items)
    notes += _mixed(boards)
    notes += [
        f"{model} has results of other benchmarks and none of CRYSTAL, so it has no row."
        for model in sorted(others.keys() - set(known_as.values()))
    ]
    return Study(tuple(boards), tuple(notes))


def row_names(results: Sequence[Result]) -> list[str]:
    """Names of the rows of one board; runs of one model that differ in their generation are numbered."""
    models = [result.model for result in results]
    names: list[str] = []
    for model in models:
        numbers = count(1)
        name = f"{model} ({next(numbers)})" if models.count(model) > 1 else model
        # A model may be called as the second run of another is.
        while name in names or (name != model and name in models):
            name = f"{model} ({next(numbers)})"
        names.append(name)
    return names


def fields(signature: str) -> dict[str, str]:
    """The parts of a signature by name.

    >>> fields("crystal|v:1|enc:a/b@main")
    {'v': '1', 'enc': 'a/b@main'}
    """
    return dict(re.findall(r"(\w+):([^|]*)", signature))


def _others(found: Found, models: Sequence[str], aliases: Mapping[str, str] | None) -> dict[str, dict[str, Score]]:
    """Scores on other benchmarks by canonical name and task."""
    others: dict[str, dict[str, Score]] = {}
    for other in found.others:
        others.setdefault(canonical_name(other.model, models, aliases), {})[other.score.task] = other.score
    return others


def _samples(result: Result, notes: list[str], advance: Callable[[int], None]) -> Samples | None:
    file = result.samples_file
    if not file.exists():
        notes.append(
            Note(
                f"{result.model} has results of {result.task} and no samples beside ",
                result.file,
                ": its row has the means only; run with --log_samples to compare and read its items.",
            )
        )
        return None
    try:
        samples = read_samples(file, advance, result.scorer)
    except OSError as error:
        notes.append(Note(file, " cannot be read", error, f", so {result.model} has only its means."))
        return None
    notes.extend(samples.problems)
    if len(samples.items) != result.items:
        notes.append(
            Note(
                file,
                f" has {len(samples.items):,} usable items, and the results beside it are means over {result.items:,}: "
                "figures and comparisons cover those that are there, the table shows the results as they were written.",
            )
        )
    elif apart := _apart(result, samples.items):
        notes.append(
            Note(
                file,
                f" has other means than the results beside it say ({', '.join(apart)}): one of the two was changed, so "
                "comparisons need not fit the table.",
            )
        )
    return samples


def _apart(result: Result, items: pd.DataFrame) -> list[str]:
    """The metrics whose mean over the samples is another than the results state of as many items."""
    found = []
    for metric in METRICS:
        stated, known = result.metrics.get(metric), items[metric].dropna()
        if stated and len(known) == (stated.items or result.items) and abs(known.mean() - stated.mean) > ROUNDING:
            found.append(metric)
    return found


def _mixed(boards: Sequence[Board]) -> list[str]:
    """What keeps the rows of two boards apart, in words."""
    notes = []
    for board in boards[1:]:
        first = next(other for other in boards if other.task == board.task)
        if first is board:
            continue
        ours, theirs = fields(first.scorer), fields(board.scorer)
        parts = [
            f"{name} {theirs.get(name)} instead of {ours.get(name)}"
            for name in theirs
            if theirs.get(name) != ours.get(name)
        ]
        models = ", ".join(run.label for run in board.runs)
        notes.append(
            f"{models}: {board.task} scored with {', '.join(parts)}; not comparable with the rows of the first table, "
            "so shown in one of its own."
        )
    return notes


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
