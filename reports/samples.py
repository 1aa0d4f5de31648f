"""Samples of one run, read back from the harness's JSONL: a table of numbers, and each record when it is asked for."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

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


@dataclass(frozen=True)
class Samples:
    """The items of one run.

    ``items`` is a table with a row an item: index ``doc_id``, the columns of ``METRICS`` (floats) and ``TEXTS``
    (strings, empty where unknown), ``references``, ``matches`` (counts) and ``output_tokens`` (NaN where unknown).
    Records stay in the file: a full run of them would take hundreds of megabytes.
    """

    file: Path
    items: pd.DataFrame
    problems: list[str] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict, repr=False)

    def record(self, doc_id: int) -> dict[str, Any]:
        """The record of an item: its metrics and, under ``crystal``, steps, pairs, question, answer and the rest."""
        self._stream.seek(self.places[doc_id])
        sample: dict[str, Any] = json.loads(self._stream.readline())
        return sample

    @cached_property
    def _stream(self) -> Any:
        return self.file.open("rb")


def read_samples(file: Path, advance: Callable[[int], None] = lambda size: None) -> Samples:
    """Reads a samples file; ``advance`` is told the bytes of each line as it is read.

    Lines that are torn, that are no CRYSTAL samples, or that repeat an item are left out, and counted in ``problems``.
    Raises ``OSError`` where the file cannot be read.
    """
    rows: dict[int, dict[str, Any]] = {}
    places: dict[int, int] = {}
    faults: dict[str, list[int]] = {}
    place = 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                sample = json.loads(line)
                doc_id = int(sample["doc_id"])
                row = _row(sample)
            except ValueError:
                faults.setdefault("torn", []).append(number)
            except (KeyError, TypeError, AttributeError):
                faults.setdefault("without the scores of CRYSTAL", []).append(number)
            else:
                if doc_id in rows:
                    faults.setdefault("of an item that came before", []).append(number)
                else:
                    rows[doc_id], places[doc_id] = row, place
            place += len(line)
            advance(len(line))
    items = pd.DataFrame.from_dict(rows, orient="index").sort_index()
    items.index.name = "doc_id"
    problems = [
        f"{file}: {len(found)} of its lines {'is' if len(found) == 1 else 'are'} {fault} (line "
        f"{', '.join(map(str, found[:5]))}{', ...' if len(found) > 5 else ''}) and left out."
        for fault, found in faults.items()
    ]
    return Samples(file, items, problems, places)


def _row(sample: dict[str, Any]) -> dict[str, Any]:
    record = sample["crystal"]
    for metric in NEEDED:
        float(sample[metric])
    tokens = record.get("output_tokens")
    return {
        **{metric: float(sample.get(metric, "nan")) for metric in METRICS},
        **{name: str(record.get(name) or "") for name in TEXTS},
        "references": len(record["reference_steps"]),
        "matches": len(record["pairs"]),
        "output_tokens": float("nan") if tokens is None else float(tokens),
    }
