"""The steps behind a run's scores, read back from its samples, and which runs may be scored again together."""

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from tqdm import tqdm

from ..errors import CrystalError
from ..metrics.aggregate import SEED
from .study import Run, Study, fields, row_names

#: Statuses of responses that hold no step: they count as predicted and are never matched.
UNUSABLE = ("malformed", "empty", "failed")
#: Parts of the scorer signature that scoring again does not change; runs that agree in them answer the same items.
FIXED = ("data", "parse")


@dataclass(frozen=True)
class Chain:
    """The steps of one item: predicted and reference. ``usable`` is False where nothing could be read."""

    doc_id: int
    source: str
    question: str
    predicted: tuple[str, ...]
    reference: tuple[str, ...]
    usable: bool

    @property
    def encoded(self) -> tuple[str, ...]:
        """The predicted steps that may match: none of an unusable response, whose step stands for one."""
        return self.predicted if self.usable else ()


@dataclass(frozen=True)
class Cohort:
    """Runs of one task over the same items, read by the same parser, whatever they were scored with.

    Labels are unique in it. All of them have samples.
    """

    task: str
    data: str
    runs: tuple[Run, ...]

    @property
    def shared(self) -> list[int]:
        """``doc_id`` of the items that all of its runs have."""
        return sorted(set.intersection(*(_ids(run) for run in self.runs)))

    @property
    def known(self) -> list[int]:
        """``doc_id`` of the items that some run has."""
        return sorted(set.union(*(_ids(run) for run in self.runs)))

    @property
    def of(self) -> int:
        """Number of items of the whole dataset."""
        return self.runs[0].result.of


def cohorts(study: Study) -> tuple[list[Cohort], list[str]]:
    """The runs of a study that have samples, by task, data and parser, and a sentence for each that is left out.

    Raises ``CrystalError`` where none has samples.
    """
    notes: list[str] = []
    groups: dict[tuple[str, ...], dict[tuple[str, str], Run]] = {}
    for board in study.boards:
        parts = fields(board.scorer)
        group = groups.setdefault((board.task, *(parts.get(name, "unknown") for name in FIXED)), {})
        for run in board.sampled:
            # The same responses scored twice, with two encoders say, are one run here.
            key = run.result.model, run.result.generation
            if key in group:
                kept, dropped = sorted((group[key], run), key=lambda one: one.result.file.name, reverse=True)
                group[key] = kept
                notes.append(
                    f"{run.result.model}: {dropped.result.file} holds the same responses as {kept.result.file}, scored "
                    "otherwise, and is left out."
                )
            else:
                group[key] = run
    found = [Cohort(task, data, _labelled(list(group.values()))) for (task, data, _), group in groups.items() if group]
    if not found:
        raise CrystalError(
            "None of the runs has samples, and without them there are no steps to score; run with --log_samples, and "
            "give the folder that --output_path named."
        )
    return found, notes


def _labelled(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Runs that come from several boards may share a label; here they get one each."""
    labels = row_names([run.result for run in runs])
    return tuple(replace(run, label=label) for run, label in zip(runs, labels, strict=True))


def _ids(run: Run) -> set[int]:
    return set() if run.items is None else {int(doc_id) for doc_id in run.items.index}


def signed_number(run: Run, name: str, default: float) -> float:
    """A number that a run's scorer signature states. Raises ``CrystalError`` where it states something else."""
    stated = fields(run.result.scorer).get(name)
    if stated is None:
        return default
    try:
        number = float(stated)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise CrystalError(
            f"{run.label} states {name} as {stated!r} in the scorer signature of {run.result.file}, which is no "
            "number; leave this run out."
        )
    return number


def draw_items(ids: Sequence[int], limit: int | None, seed: int = SEED) -> list[int]:
    """The given items, or ``limit`` of them, drawn at random: each is as likely as another.

    The draw hangs on the items and the seed only, so all runs, encoders and repetitions get the same.
    """
    if limit is None or limit >= len(ids):
        return sorted(ids)
    return sorted(sorted(ids, key=lambda doc_id: hashlib.sha256(f"{seed} {doc_id}".encode()).digest())[:limit])


def read_cohort(cohort: Cohort, doc_ids: Sequence[int], progress: bool = False) -> list[list[Chain]]:
    """The chains of each run of a cohort for the given items, in the order of its runs."""
    with tqdm(total=len(doc_ids) * len(cohort.runs), desc="Reading steps", unit="item", disable=not progress) as bar:
        return [read_chains(run, doc_ids, bar.update) for run in cohort.runs]


def read_chains(run: Run, doc_ids: Iterable[int], advance: Callable[[], object] = lambda: None) -> list[Chain]:
    """The chains of a run for those of the given items that it has."""
    assert run.samples is not None
    chains = []
    for doc_id in doc_ids:
        if doc_id in run.samples.places:
            record = run.samples.record(doc_id)["crystal"]
            chains.append(
                Chain(
                    doc_id=doc_id,
                    source=str(record.get("source") or "unknown"),
                    question=_text(record.get("question") or ""),
                    predicted=tuple(map(_text, record.get("predicted_steps") or ())),
                    reference=tuple(map(_text, record["reference_steps"])),
                    usable=record.get("status") not in UNUSABLE,
                )
            )
        advance()
    return chains


def _text(value: object) -> str:
    """A text that can be encoded: lone surrogates, which JSON may hold, become question marks."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
