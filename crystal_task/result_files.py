"""Samples and results files in the layout of the harness, for predictions that were scored without it.

``FOLDER/MODEL/DATE_samples_TASK.jsonl`` and ``DATE_results.json``. Both are written aside and get their
names when they are whole.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ..errors import CrystalError
from ..metrics import GenerationSignature, MacroMean, ScorerSignature, aggregate
from ..metrics.signature import short_hash
from ..metrics.validity import SUMMARISED
from .aggregators import METRICS
from .plugin import metric_directions
from .references import References
from .summary import make_section

#: The harness dates its files in the time of Singapore, and dates order the runs.
HARNESS_TIME = datetime.timezone(datetime.timedelta(hours=8))
#: What the harness replaces in a model's name, and what no name of a folder may be.
NO_FOLDER = re.compile(r'["<>:/|\\?*\[\]\x00-\x1f]+')
#: Bytes of a folder's name, which file systems limit to 255; one of a path is 4096.
NAME_BYTES = 200
#: Said of results in place of a model of the harness.
ADAPTER = "crystal-eval score"


@dataclass(frozen=True)
class ScoredTask:
    """What is known of a scoring before the first record: whose predictions, of which items, under which rules.

    ``questions`` counts the items by who supplied their question.
    """

    name: str
    model: str
    references: References
    scorer: ScorerSignature
    generation: GenerationSignature
    questions: Mapping[str, int]


def write_results(out: Path, task: ScoredTask, records: Iterable[dict[str, Any]], texts: Sequence[str]) -> Path:
    """Writes the samples as the records come, then the results; the path of the results.

    Raises ``CrystalError`` where the folder cannot be written to; what was begun is removed then, as it is where the
    records fail.
    """
    started = time.time()
    try:
        with _made(out.expanduser() / folder_name(task.model)) as folder:
            return _write(folder, task, records, texts, started)
    except OSError as error:
        raise CrystalError(
            f"The results of {task.model} cannot be written under {out} ({error.strerror or error}); choose another "
            "place by -o."
        ) from error


def _write(
    folder: Path, task: ScoredTask, records: Iterable[dict[str, Any]], texts: Sequence[str], started: float
) -> Path:
    date = _free_date(folder, task.name)
    results_file = folder / f"{date}_results.json"
    # The inner file gets its name first: results stand for a run that is whole.
    with _aside(results_file) as results, _aside(folder / f"{date}_samples_{task.name}.jsonl") as samples:
        values: dict[str, list[float]] = {}
        validity: list[dict[str, Any]] = []
        for sample in _samples(task, records, texts):
            samples.write(json.dumps(sample, ensure_ascii=False) + "\n")
            for metric in sample.keys() & set(METRICS):
                values.setdefault(metric, []).append(sample[metric])
            validity.append({name: sample["crystal"][name] for name in SUMMARISED})
        content = _results(task, values, validity, started)
        results.write(json.dumps(content, ensure_ascii=False, indent=2))
    return results_file


def check_folder(out: Path) -> None:
    """Raises ``CrystalError`` where results cannot go to the folder, before anything is computed; leaves nothing."""
    try:
        with _made(out.expanduser(), keep=False) as folder, tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CrystalError(f"The results cannot go to {out} ({reason}); choose another place by -o.") from error


@contextmanager
def _made(folder: Path, keep: bool = True) -> Iterator[Path]:
    """A folder with those above it; of the ones made for it the empty go again after a failure, or without ``keep``."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except BaseException:
        keep = False
        raise
    finally:
        for path in () if keep else new:
            # Another process may have written there by now, and of several some may not have been made.
            with suppress(OSError):
                path.rmdir()


def folder_name(model: str) -> str:
    """The folder of a model's results, as the harness makes it: of a hub id both parts.

    >>> folder_name("owner/name"), folder_name("/models/owner/name"), folder_name("..")
    ('owner__name', 'owner__name', '__')
    """
    name = NO_FOLDER.sub("__", "/".join(model.rstrip("/").split("/")[-2:]).lstrip("/"))
    name = name.encode()[:NAME_BYTES].decode("utf-8", "ignore")
    return name if name.strip(". ") else "__"


def _free_date(folder: Path, task: str) -> str:
    """Now, or the next second that no results of this folder have."""
    moment = datetime.datetime.now(HARNESS_TIME)
    while True:
        date = moment.strftime("%Y%m%d_%H%M%S")
        names = (f"{date}_results.json", f"{date}_samples_{task}.jsonl")
        if not any((folder / name).exists() or _beside(folder / name).exists() for name in names):
            return date
        moment += datetime.timedelta(seconds=1)


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.name}.part")


@contextmanager
def _aside(file: Path) -> Iterator[TextIO]:
    """A file that gets its name when it is whole, and is removed where writing it fails or is interrupted."""
    part = _beside(file)
    try:
        with part.open("x", encoding="utf-8", newline="\n") as content:
            yield content
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _samples(task: ScoredTask, records: Iterable[dict[str, Any]], texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Lines of a samples file, in the harness's own keys."""
    references = task.references
    numbered = all(name.isdecimal() for name in references.ids)
    for index, (record, text, item) in enumerate(zip(records, texts, references.items, strict=True)):
        own_id = {} if numbered else {"id": references.ids[index]}
        tokens = record["crystal"]["output_tokens"]
        content = json.dumps([item.question, item.answer, list(item.reference_steps)], ensure_ascii=False)
        yield {
            "doc_id": references.doc_ids[index],
            **own_id,
            "target": item.answer,
            "filtered_resps": text.strip(),
            "token_counts": [None if tokens is None else {"output_tokens": tokens}],
            "doc_hash": short_hash(content, digits=64),
            **record,
        }


def _results(
    task: ScoredTask, values: Mapping[str, list[float]], validity: Sequence[dict[str, Any]], started: float
) -> dict[str, Any]:
    means = {metric: aggregate(values[metric], metric) for metric in METRICS if metric in values}
    section = make_section(
        task.model, task.scorer, task.generation, task.references.of, task.references.name, means, validity
    ) | {"questions": dict(task.questions)}
    count = len(task.references.items)
    return {
        "results": {task.name: {"alias": task.name, **_columns(means, values)}},
        "group_subtasks": {task.name: []},
        "configs": {task.name: {"task": task.name, "dataset_path": task.references.name, "score_key": "match_f1"}},
        "versions": {task.name: task.scorer.version},
        "n-shot": {task.name: 0},
        "higher_is_better": {task.name: metric_directions()},
        "n-samples": {task.name: {"original": task.references.of, "effective": count}},
        "crystal": {task.name: section},
        "config": {"model": ADAPTER, "model_args": f"model_name={task.model}"},
        "date": started,
        "model_source": ADAPTER,
        "model_name": task.model,
        "model_name_sanitized": folder_name(task.model),
        "total_evaluation_time_seconds": str(time.time() - started),
    }


def _columns(means: Mapping[str, MacroMean], values: Mapping[str, list[float]]) -> dict[str, float | str]:
    """The means under the harness's names, with the standard error of the mean that it computes."""
    columns: dict[str, float | str] = {}
    for metric, mean in means.items():
        count = len(values[metric])
        error = statistics.stdev(values[metric]) / math.sqrt(count) if count > 1 else "N/A"
        columns |= {
            f"{metric},none": float(mean),
            f"{metric}_stderr,none": "N/A",
            f"{metric}_stderr_clt,none": error,
            f"{metric}_stderr_clustered,none": "N/A",
        }
    return columns
