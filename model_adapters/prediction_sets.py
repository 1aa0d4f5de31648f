"""The predictions of one model after another, found under the paths that a user gives to ``crystal-eval score``.

A path is a file or folder of predictions, a samples file of lmms-eval, or a whole output folder of lmms-eval.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loguru import logger as eval_logger
from tqdm import tqdm

from ..crystal_task.item import Item, item_id
from ..crystal_task.prediction import Prediction, PredictionSet, common_generation
from ..crystal_task.references import UNKNOWN, Hashes, References
from ..crystal_task.settings import HUB_DATASET
from ..errors import CrystalError, first_few
from .prediction_files import Entry, entries, is_index, is_json_lines
from .predictions import SAMPLE_KEYS, prediction_of, unique

#: How lmms-eval names the samples of a task; the date orders the runs.
SAMPLES = re.compile(r"(?P<date>\d{8}_\d{6})_samples_(?P<task>.+)\.jsonl")
#: What a record holds of the item that it scores.
ITEM_KEYS = ("question", "options", "reference_steps", "reference_answer")


def find_sets(
    paths: Sequence[Path], references: References | None = None, name: str = "", apart: Path | None = None
) -> list[PredictionSet]:
    """The predictions under the paths, a set a model and task; of runs with the same signatures the newest.

    ``references`` lend their ids, by which files of a folder are known; without them only samples that carry their
    items are of use. ``name`` names the only model; ``apart`` is a folder that is left out, where results go.

    Raises ``CrystalError`` where a path holds no predictions, or where a file is torn or of another shape.
    """
    known = references.place if references else {}

    def is_name(stem: str) -> bool:
        return is_index(stem) or item_id(stem) in known

    try:
        sources = [source for path in paths for source in _sources(path, is_name, apart)]
        bar = tqdm(sources, desc="Reading", unit="file", disable=len(sources) < 2)
        sets = [_read(source, is_name, references is None, progress=len(sources) < 2) for source in bar]
    except (OSError, RuntimeError) as error:
        raise CrystalError(f"The predictions cannot be read: {error}.") from error
    if name.strip():
        if len({found.model for found in sets}) > 1:
            names = first_few(dict.fromkeys(found.model for found in sets))
            raise CrystalError(f"--name names one model, and these predictions are of several: {names}.")
        sets = [replace(found, model=name) for found in sets]
    return _distinct(sets)


def _sources(path: Path, is_name: Callable[[str], bool], apart: Path | None) -> list[Path]:
    """The files of samples, or the one file or folder, that a path stands for."""
    path = path.expanduser()
    if not path.exists():
        raise CrystalError(f"There is no file or folder {path}, seen from {Path.cwd()}; correct the path.")
    if path.is_file():
        if path.name.endswith("_results.json"):
            raise CrystalError(f"{path} holds means, no predictions; give its folder, or the samples file beside it.")
        return [path]
    if any(file.suffix.lower() == ".json" and is_name(file.stem) for file in path.iterdir()):
        return [path]
    found = sorted((file for file in path.rglob("*.jsonl") if SAMPLES.fullmatch(file.name)), key=lambda f: f.name)
    if apart and path.resolve() in apart.resolve().parents:
        found = [file for file in found if apart.resolve() not in file.resolve().parents]
    ours = [file for file in found if _is_ours(file)]
    if len(ours) < len(found):
        others = {match["task"] for file in found if file not in ours and (match := SAMPLES.fullmatch(file.name))}
        eval_logger.info(f"Samples of other tasks under {path} were left out: {first_few(sorted(others))}.")
    if found and not ours:
        raise CrystalError(f"The samples under {path} are of other tasks than CRYSTAL's; give those of CRYSTAL.")
    if not ours:
        raise CrystalError(
            f"The folder {path} holds no predictions: no file <index>.json, and no *_samples_*.jsonl of lmms-eval (a "
            "run writes them with --log_samples). A file of predictions is given by its own path."
        )
    return ours


def _is_ours(file: Path) -> bool:
    """Whether a samples file is of a CRYSTAL task, by its name or its first record."""
    match = SAMPLES.fullmatch(file.name)
    if match and match["task"].startswith("crystal"):
        return True
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    return is_json_lines(first, alone=True) and isinstance(json.loads(first).get("crystal"), dict)


def _read(source: Path, is_name: Callable[[str], bool], need_items: bool, progress: bool) -> PredictionSet:
    """All predictions of a source, and the items in their records where each has one."""
    records: dict[str, Mapping[str, Any]] = {}
    unrecorded: list[str] = []
    first: dict[str, Any] = {}

    def found() -> Iterator[tuple[str, Prediction]]:
        for entry in entries(source, progress=progress, is_name=is_name):
            key = _key(entry)
            record = _record(entry)
            if record and not first:
                first.update(record)
            item = _item_fields(record, entry.value)
            if item is None:
                unrecorded.append(key)
            elif need_items:
                records.setdefault(key, item)
            yield key, prediction_of(entry)

    by_id = unique(found())
    match = SAMPLES.fullmatch(source.name)
    if need_items and unrecorded:
        raise CrystalError(
            f"{source} does not say what its predictions are scored against (item {first_few(unrecorded)}); give "
            "--references: the dataset, crystal_mini, or a JSON file of references."
        )
    return PredictionSet(
        model=str(first.get("model") or (source.parent.name if match else source.stem or source.name)),
        source=source,
        by_id=by_id,
        generation=common_generation(by_id.values()),
        task=match["task"] if match else "",
        scorer=str(first.get("scorer", "")),
        is_run=bool(match) or not unrecorded,
        references=_references(source, records) if need_items else None,
    )


def _key(entry: Entry) -> str:
    """The id of an entry; of samples of items that have ids of their own, that id."""
    value = entry.value.get("id") if _record(entry) and "id" in entry.value else entry.id
    key = item_id(value)
    if key is None:
        raise CrystalError(f"{entry.where}: {value!r} is no id of an item; ids are numbers or texts.")
    return key


def _record(entry: Entry) -> Mapping[str, Any] | None:
    """The record under ``crystal`` that this package writes into a sample."""
    if not isinstance(entry.value, dict) or not any(key in entry.value for key in SAMPLE_KEYS):
        return None
    record = entry.value.get("crystal")
    return record if isinstance(record, dict) else None


def _item_fields(record: Mapping[str, Any] | None, sample: Any) -> Mapping[str, Any] | None:
    """The part of a record that says which item it scores; None where it does not."""
    if record is None or any(key not in record for key in ITEM_KEYS):
        return None
    kept = (*ITEM_KEYS, "source", "question_from", "image_sha256")
    return {key: record[key] for key in kept if key in record} | {"doc_id": sample.get("doc_id")}


def _references(source: Path, records: Mapping[str, Mapping[str, Any]]) -> References:
    """The items that samples carry, in the order of their documents, as they were scored before."""
    ordered = sorted(records, key=lambda key: int(item_id(records[key]["doc_id"]) or 0))
    items = []
    for place, key in enumerate(ordered):
        record = records[key]
        try:
            items.append(
                Item(
                    index=place,
                    # One that came with a prediction is the prediction's, and comes with it again.
                    question=str(record["question"]) if _from_references(record) else "",
                    answer=str(record["reference_answer"]),
                    reference_steps=tuple(map(str, record["reference_steps"])),
                    options=tuple(map(str, record["options"])),
                    source=str(record.get("source") or ""),
                )
            )
        except TypeError:
            raise CrystalError(f"{source}: the record of item {key} is of another shape; give --references.") from None
    hashes = [str(records[key].get("image_sha256") or UNKNOWN) for key in ordered]
    match = SAMPLES.fullmatch(source.name)
    task = match["task"] if match else "crystal"
    name, of = _dataset(source, task, len(items))
    return References(name, task, tuple(items), tuple(ordered), Hashes(hashes), of)


def _from_references(record: Mapping[str, Any]) -> bool:
    return record.get("question_from", "references") == "references"


def _dataset(source: Path, task: str, items: int) -> tuple[str, int]:
    """The name of the dataset that samples are of and how many items it has, where the results beside them say so."""
    name, of = f"the records of {source.name}", items
    match = SAMPLES.fullmatch(source.name)
    if match:
        try:
            results = json.loads(source.with_name(f"{match['date']}_results.json").read_text("utf-8"))
            of = max(int(results["crystal"][task]["of"]), items)
            # Files go by the name of their builder there, which says nothing.
            name = HUB_DATASET if results["configs"][task]["dataset_path"] == HUB_DATASET else name
        except (OSError, ValueError, KeyError, TypeError):
            pass
    return name, of


def _distinct(sets: Iterable[PredictionSet]) -> list[PredictionSet]:
    """The newest of runs with one task, model, data and way of generation. Raises ``CrystalError`` where two other
    sets would go by one name."""
    newest: dict[tuple[str, ...], PredictionSet] = {}
    for found in sets:
        key = (found.model, found.task, found.scorer, found.generation) if found.is_run else (found.model,)
        earlier = newest.setdefault(key, found)
        if found.is_run and found.source.name > earlier.source.name:
            newest[key] = found
        if not found.is_run and earlier.source != found.source:
            raise CrystalError(
                f"{earlier.source} and {found.source} would both be the model {found.model}; score them one after the "
                "other, each with a --name."
            )
    return list(newest.values())
