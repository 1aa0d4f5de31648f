"""The files of a run's output folder: what it was asked for, and what it measured, of which a rerun keeps its part."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CrystalError
from ..jsonable import finite
from ..metrics.signature import data_hash
from .checks import CONFIG_FILE, SPLIT_FILE, is_begun
from .config import TrainConfig
from .data import TrainingData
from .keeping import read_json, unreadable, write_json, write_text

Line = dict[str, Any]
#: Files beside the configuration and the split: the log, the validations, and the summary. ``reports`` reads them by
#: these names, as the folder of the results.
LOG, VALIDATION, SUMMARY = "log.jsonl", "validation.jsonl", "training.json"
RESULTS = "results"
#: Files that grow by a line at a time.
LINES = (LOG, VALIDATION)
#: How the models of the two results are called: that before training, and the one that was chosen.
BEFORE, AFTER = "-before", "-after"


@dataclass(frozen=True)
class Records:
    """The output folder of one run.

    ``config.yaml``, ``split.json``; ``log.jsonl``, a line for each optimiser step; ``validation.jsonl``, a line for
    each validation, phase 0 being the model before training; ``training.json``, the summary, written last.
    """

    folder: Path

    @property
    def best(self) -> Path:
        """The chosen checkpoint, as a whole model."""
        return self.folder / "best"

    @property
    def results(self) -> Path:
        """Scored responses before and after, in the harness's layout."""
        return self.folder / RESULTS

    def phase(self, number: int) -> Path:
        """The folder of a phase, counted from 1."""
        return self.folder / f"phase{number}"

    def begin(self, config: TrainConfig, data: TrainingData, resume: bool) -> None:
        """Writes what the run was asked for; without ``resume`` all that an earlier run left here is removed first.

        That the folder holds no other run is ``checks.prepare``'s to see; here, that the data are still the same.
        Raises ``CrystalError`` where they are not, and where the folder cannot be written to.
        """
        try:
            if not (resume and is_begun(self.folder)):
                self._clear()
            self._check_data(config, data)
            # First, since it is what the folder is known by.
            write_json(self.folder / SPLIT_FILE, _split(config, data))
            write_text(self.folder / CONFIG_FILE, config.as_yaml())
            for file in (self.folder / name for name in LINES):
                if file.exists():
                    # Without what a kill cut off, or the next line would join it.
                    _rewrite(file, _lines(file))
        except OSError as error:
            raise self._unwritable(error) from error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Makes the folder, and keeps other runs out of it; a process that is killed lets go.

        Raises ``CrystalError`` where another run is in it, and where it cannot be made.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.folder, os.O_RDONLY)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            # A file system without locks leaves it to the user.
            with suppress(OSError):
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise CrystalError(
                        f"Another run is writing to {self.folder}; wait until it ends, or name another output:."
                    ) from error
            yield
        finally:
            os.close(handle)

    def _unwritable(self, error: OSError) -> CrystalError:
        return CrystalError(
            f"The training cannot be written to {self.folder} ({error.strerror or error}); name another output:."
        )

    def _clear(self) -> None:
        for name in (CONFIG_FILE, SUMMARY, *LINES):
            (self.folder / name).unlink(missing_ok=True)
        for path in (self.best, self.results, *self.folder.glob("phase[0-9]")):
            shutil.rmtree(path, ignore_errors=True)
        # Last: without it the folder is no training any more.
        (self.folder / SPLIT_FILE).unlink(missing_ok=True)

    def _check_data(self, config: TrainConfig, data: TrainingData) -> None:
        split = self.folder / SPLIT_FILE
        if split.is_file() and read_json(split) != _split(config, data):
            raise CrystalError(
                f"{self.folder} holds a run on other items: {config.data.path} has changed since; name another "
                "output:, or start anew with --fresh."
            )

    def log(self, line: Line) -> None:
        """Adds a line to the log."""
        _append(self.folder / LOG, line)

    def validated(self, line: Line) -> None:
        """Adds a line to the validations."""
        _append(self.folder / VALIDATION, line)

    def logged(self) -> list[Line]:
        """The lines of the log."""
        return _lines(self.folder / LOG)

    def validations(self) -> list[Line]:
        """The lines of the validations."""
        return _lines(self.folder / VALIDATION)

    def forget_after(self, phase: int, step: int) -> None:
        """Drops the lines beyond a step, which a run that goes on from there writes again."""
        for name in LINES:
            file = self.folder / name
            _rewrite(file, [line for line in _lines(file) if (line["phase"], line["step"]) <= (phase, step)])

    def choose(self, phase: int, step: int) -> None:
        """Marks the validation whose checkpoint a phase ends with."""
        lines = self.validations()
        for line in lines:
            if line["phase"] == phase:
                line["chosen"] = line["step"] == step
        _rewrite(self.folder / VALIDATION, lines)

    def summarise(self, summary: Mapping[str, Any]) -> None:
        """Writes the summary of the run."""
        write_json(self.folder / SUMMARY, finite(dict(summary)))

    def is_finished(self) -> bool:
        """Whether the run has come to its end, and not stopped by itself before."""
        summary = self.summary()
        return summary is not None and summary.get("stopped", "") is None

    def reopen(self) -> None:
        """Removes the summary of a run that stopped by itself and is started again."""
        (self.folder / SUMMARY).unlink(missing_ok=True)

    def summary(self) -> dict[str, Any] | None:
        """The summary; None where the run has not ended."""
        file = self.folder / SUMMARY
        return read_json(file) if file.is_file() else None


def _split(config: TrainConfig, data: TrainingData) -> dict[str, Any]:
    """Which items were held out; ``data`` is a hash over all, in their order."""
    items = sorted((*data.train, *data.validation), key=lambda item: item.index)
    return {
        "seed": config.seed,
        "data": data_hash((item.full_question, item.answer, item.reference_steps) for item in items),
        "counts": {"train": len(data.train), "validation": len(data.validation), "validated": len(data.validated)},
        "validation": [item.index for item in data.validation],
        "validated": [item.index for item in data.validated],
    }


def _append(file: Path, line: Line) -> None:
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(finite(line), ensure_ascii=False) + "\n")


def _lines(file: Path) -> list[Line]:
    """The whole lines of a file; the last of a killed run may be cut off."""
    if not file.is_file():
        return []
    lines = file.read_bytes().split(b"\n")[:-1]
    try:
        read = [json.loads(line) for line in lines]
        _ = [(line["phase"], line["step"]) for line in read]
    except (ValueError, KeyError, TypeError) as error:
        raise unreadable(file, error) from error
    return read


def _rewrite(file: Path, lines: Iterable[Line]) -> None:
    write_text(file, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
