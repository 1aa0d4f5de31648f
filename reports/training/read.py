"""One training, read back from its folder: its settings, its log, its validations, and what came of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ..notes import Note
from ..plain import one_line
from .places import CONFIG, LOG, SPLIT, SUMMARY, VALIDATION

#: What reading a file that was cut off, or changed by hand, may raise.
FAULTS = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, yaml.YAMLError)
#: Settings that runs of one method may differ in and still be repetitions of each other.
REPEATED = ("seed", "output", "model", "data", "keep_checkpoints", "report_to")
#: Methods that project gradients where their configuration leaves it open.
PROJECTED = ("cpr", "cpr-curriculum")


@dataclass(frozen=True)
class Phase:
    """One phase: its settings (None where they are not known) and ``done``, the optimiser steps in its log.

    ``start`` is the number of steps before it, so that a step of it has a place in the whole training.
    """

    number: int
    steps: int | None = None
    learning_rate: float | None = None
    per_device_batch: int | None = None
    candidates: int | None = None
    accumulation: int | None = None
    done: int = 0
    start: int = 0
    chosen: int | None = None


@dataclass(frozen=True)
class Training:
    """A training; ``name`` is that of its folder.

    ``log`` has a row a logged step, ``validations`` one a validation: columns ``phase``, ``step``, ``at`` (steps
    since the beginning) and whatever was written as a number, NaN where it was not; ``chosen`` of a validation says
    whether its checkpoint was kept. ``settings`` is the whole configuration, ``counts`` the numbers of items, and
    ``diagnostics`` has those that were written. ``stopped`` is the sentence with which a training broke off, empty
    where none did.
    """

    folder: Path
    name: str
    settings: Mapping[str, Any]
    phases: tuple[Phase, ...]
    log: pd.DataFrame = field(repr=False)
    validations: pd.DataFrame = field(repr=False)
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    #: A hash of all its items, empty where it is not known.
    data: str = ""
    finished: bool = True
    stopped: str = ""
    seconds: float | None = None

    @property
    def method(self) -> str:
        """The method of its configuration."""
        return _text(self.settings.get("method"))

    @property
    def model(self) -> str:
        """The model that it began with; a local one goes by its folder's name."""
        name = _text(self.settings.get("model"))
        return name if name.count("/") == 1 and not name.startswith((".", "/")) else Path(name).name or "unknown"

    @property
    def seed(self) -> int | None:
        """The seed of its configuration."""
        return _whole(self.settings.get("seed"))

    @property
    def surgery(self) -> bool:
        """Whether conflicting gradients were projected."""
        known = self.settings.get("gradient_surgery")
        return known if isinstance(known, bool) else self.method in PROJECTED

    @property
    def alike(self) -> float | None:
        """Share of the groups whose candidates all earned the same, which move no weight; None where it is unknown."""
        if "frac_reward_zero_std" not in self.log:
            return None
        logged = self.log["frac_reward_zero_std"].dropna()
        return None if logged.empty else float(logged.mean())

    @property
    def before(self) -> pd.Series | None:
        """The validation before the first step; None where there is none."""
        found = self.validations[self.validations["phase"] == 0]
        return None if found.empty else found.iloc[0]

    @property
    def after(self) -> pd.Series | None:
        """The validation of the checkpoint that came out; None before any was chosen."""
        found = self.validations[self.validations["chosen"] & (self.validations["phase"] > 0)]
        return None if found.empty else found.iloc[-1]

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The settings that repetitions of it share."""
        return {name: value for name, value in self.settings.items() if name not in REPEATED}


def read_training(folder: Path, name: str) -> tuple[Training, list[str]]:
    """A training's folder, and a sentence for each thing in it that cannot be used.

    A training that still runs, or was killed, is read as far as it came. Raises one of ``FAULTS`` where its
    configuration cannot be read.
    """
    notes: list[str] = []
    settings = _settings(folder / CONFIG)
    summary = _json(folder / SUMMARY, notes)
    split = _json(folder / SPLIT, notes)
    log = _table(folder / LOG, notes)
    validations = _table(folder / VALIDATION, notes)
    phases = _phases(settings, log, validations)
    starts = {phase.number: phase.start for phase in phases}
    for table in (log, validations):
        table.insert(2, "at", table["step"] + table["phase"].map(starts).fillna(0))
    stopped = summary.get("stopped") or ""
    return (
        Training(
            folder=folder,
            name=name,
            settings=settings,
            phases=phases,
            log=log,
            validations=validations,
            diagnostics=_mapping(summary.get("diagnostics")),
            counts=_counts(split),
            data=str(split.get("data") or ""),
            finished=bool(summary),
            stopped=one_line(str(stopped)),
            seconds=number(summary.get("seconds")),
        ),
        notes,
    )


def number(value: Any) -> float | None:
    """A finite number, or None for what is none."""
    try:
        found = math.nan if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _settings(file: Path) -> dict[str, Any]:
    content = yaml.safe_load(file.read_text("utf-8"))
    if not isinstance(content, dict):
        raise ValueError("no mapping of settings")
    return content


def _json(file: Path, notes: list[str]) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        content = json.loads(file.read_text("utf-8"))
        if not isinstance(content, dict):
            raise ValueError("no mapping")
    except FAULTS as error:
        notes.append(Note(file, " cannot be read", error, "; what it says of the training is left out."))
        return {}
    return content


def _table(file: Path, notes: list[str]) -> pd.DataFrame:
    """The lines of a file as a table; of several on one step the last, since a resumed training repeats some."""
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    torn = 0
    for line in _lines(file, notes):
        try:
            row = json.loads(line)
            key = int(row["phase"]), int(row["step"])
        except FAULTS:
            torn += 1
            continue
        rows[key] = {"phase": key[0], "step": key[1], **_numbers(row), "chosen": row.get("chosen") is True}
    if torn:
        notes.append(Note(file, f": {torn} of its lines cannot be read and {'is' if torn == 1 else 'are'} left out."))
    table = pd.DataFrame([rows[key] for key in sorted(rows)])
    if table.empty:
        table = pd.DataFrame({"phase": [], "step": [], "chosen": []})
    return table.astype({"phase": int, "step": int, "chosen": bool})


def _lines(file: Path, notes: list[str]) -> Iterator[bytes]:
    if not file.is_file():
        return
    try:
        yield from (line for line in file.read_bytes().splitlines() if line.strip())
    except OSError as error:
        notes.append(Note(file, " cannot be read", error, "; its part of the training is left out."))


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    found = {key: number(value) for key, value in row.items() if key not in ("phase", "step", "chosen")}
    return {key: math.nan if value is None else value for key, value in found.items()}


def _phases(settings: Mapping[str, Any], log: pd.DataFrame, validations: pd.DataFrame) -> tuple[Phase, ...]:
    planned = settings.get("phases")
    planned = planned if isinstance(planned, Sequence) and not isinstance(planned, str) else []
    count = max(len(planned), *(int(table["phase"].max()) if len(table) else 0 for table in (log, validations)))
    phases: list[Phase] = []
    start = 0
    for place in range(1, count + 1):
        own = _mapping(planned[place - 1]) if place <= len(planned) else {}
        done = max(
            (int(table.loc[table["phase"] == place, "step"].max()) for table in _with(place, log, validations)),
            default=0,
        )
        kept = validations[(validations["phase"] == place) & validations["chosen"]]
        phases.append(
            Phase(
                number=place,
                steps=_whole(own.get("steps")),
                learning_rate=number(own.get("learning_rate")),
                per_device_batch=_whole(own.get("per_device_batch")),
                candidates=_whole(own.get("candidates")),
                accumulation=_whole(own.get("accumulation")),
                done=done,
                start=start,
                chosen=None if kept.empty else int(kept.iloc[-1]["step"]),
            )
        )
        start += done
    return tuple(phases)


def _counts(split: Mapping[str, Any]) -> dict[str, int]:
    known = {name: _whole(count) for name, count in _mapping(split.get("counts")).items()}
    return {name: count for name, count in known.items() if count is not None}


def _with(phase: int, *tables: pd.DataFrame) -> list[pd.DataFrame]:
    return [table for table in tables if (table["phase"] == phase).any()]


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str:
    return one_line(str(value or "")) or "unknown"
