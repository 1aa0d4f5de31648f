"""Samples of one run, read back from the harness's JSONL: a table of numbers, and each record when it is asked for."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from .notes import Note

#: Columns of the table that are numbers in the sample itself; those that an item does not have are NaN.
METRICS = (
    "accuracy",
    "accuracy_strict",
    "accuracy_judged",
    "match_f1",
    "null_f1",
    "f1_above_null",
    "precision",
    "recall",
    "ordered_f1",
    "lis",
    "lis_multi",
    "kendall_tau",
    "steps",
    "format_valid",
    "format_usable",
    "truncated",
)
#: Metrics without which a line cannot stand in a report.
NEEDED = ("accuracy", "accuracy_strict", "match_f1", "precision", "recall")
TEXTS = ("status", "source", "image_sha256", "correct_kind", "correct_strict_kind")
#: How the sources call themselves, in the order in which they are shown.
SOURCES = {
    "mathvision": "MathVision",
    "scienceqa": "ScienceQA",
    "realworldqa": "RealWorldQA",
    "mmvp": "MMVP",
    "plotqa": "PlotQA",
}
#: Rows of a dataset are counted by whole numbers, which the page tells apart up to this one.
LAST_ID = 2**53
#: Columns that count what a list of the record holds.
COUNTS = {"references": "reference_steps", "matches": "pairs"}
COLUMNS = (*METRICS, *TEXTS, *COUNTS, "output_tokens")


@dataclass(frozen=True)
class Samples:
    """The items of one run.

    ``items`` is a table with a row an item: index ``doc_id``, the columns of ``METRICS`` (floats) and ``TEXTS``
    (strings, empty where unknown), ``references``, ``matches`` (counts) and ``output_tokens`` (NaN where unknown).
    Records stay in the file: a full run of them would take hundreds of megabytes.
    """

    file: Path
    items: pd.DataFrame
    problems: Sequence[str] = ()
    places: dict[int, int] = field(default_factory=dict, repr=False)

    def record(self, doc_id: int) -> dict[str, Any]:
        """The record of an item: its metrics and, under ``crystal``, steps, pairs, question, answer and the rest."""
        self._stream.seek(self.places[doc_id])
        sample: dict[str, Any] = json.loads(self._stream.readline())
        return sample

    @cached_property
    def _stream(self) -> Any:
        return self.file.open("rb")


def read_samples(file: Path, advance: Callable[[int], None] = lambda size: None, scorer: str = "") -> Samples:
    """Reads a samples file; ``advance`` is told the bytes of each line as it is read.

    Lines that are torn, that are no CRYSTAL samples, that repeat an item, or that carry another signature than
    ``scorer`` are left out, and counted in ``problems``. Raises ``OSError`` where the file cannot be read.
    """
    rows: dict[int, dict[str, Any]] = {}
    places: dict[int, int] = {}
    faults: dict[str, list[int]] = {}
    place = 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            # An empty line is no item, and nothing is lost with it.
            if line.strip() and (fault := _take(line, place, scorer, rows, places)):
                faults.setdefault(fault, []).append(number)
            place += len(line)
            advance(len(line))
    items = pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS)).sort_index()
    items.index.name = "doc_id"
    problems: list[str] = [
        Note(
            file,
            f": {len(found)} of its lines {'is' if len(found) == 1 else 'are'} {fault} (line "
            f"{', '.join(map(str, found[:5]))}{', ...' if len(found) > 5 else ''}) and left out.",
        )
        for fault, found in faults.items()
    ]
    return Samples(file, items, problems, places)


def _take(line: bytes, place: int, scorer: str, rows: dict[int, dict[str, Any]], places: dict[int, int]) -> str:
    """Puts the sample of a line among the others, or says what is wrong with it."""
    try:
        sample = json.loads(line)
    except (ValueError, RecursionError):
        return "torn"
    try:
        doc_id, row = _doc_id(sample["doc_id"]), _row(sample)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return "without the scores of CRYSTAL"
    if scorer and sample["crystal"].get("scorer", scorer) != scorer:
        return "scored in another way than the results say"
    if doc_id in rows:
        return "of an item that came before"
    rows[doc_id], places[doc_id] = row, place
    return ""


def _row(sample: dict[str, Any]) -> dict[str, Any]:
    record = sample["crystal"]
    if not all(0 <= float(sample[metric]) <= 1 for metric in NEEDED):
        raise ValueError("a score outside of [0, 1], or none")
    _list(record.get("predicted_steps") or [])
    for predicted, reference, similarity in _list(record["pairs"]):
        if not (_is_whole(predicted) and _is_whole(reference) and math.isfinite(similarity)):
            raise ValueError("pairs are two places and a similarity")
    counts = {name: len(_list(record[key])) for name, key in COUNTS.items()}
    texts = {name: str(record.get(name) or "") for name in TEXTS}
    numbers = {metric: _number(sample.get(metric)) for metric in METRICS}
    return {**numbers, **texts, **counts, "output_tokens": _number(record.get("output_tokens"))}


def _doc_id(value: Any) -> int:
    """A whole number, or one in digits; a fraction or a truth value would become the number of another item."""
    doc_id = value if _is_whole(value) else int(value) if isinstance(value, str) else None
    if doc_id is None or abs(doc_id) > LAST_ID:
        raise ValueError("no row of a dataset")
    return int(doc_id)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("steps and pairs are lists")
    return value


def _number(value: Any) -> float:
    number = float("nan") if value is None else float(value)
    return number if math.isfinite(number) else float("nan")
