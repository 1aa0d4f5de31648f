"""The trainings under some paths."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..notes import Note
from .places import CONFIG, names_of, training_folders
from .read import FAULTS, Training, read_training


def find_trainings(paths: Iterable[Path]) -> tuple[list[Training], list[str]]:
    """The trainings whose folders are, or lie below, the given paths, and a sentence for each fault in them."""
    folders = training_folders(paths)
    names = names_of(folders)
    found: list[Training] = []
    notes: list[str] = []
    for folder in folders:
        try:
            training, faults = read_training(folder, names[folder.resolve()])
        except FAULTS as error:
            notes.append(Note(folder / CONFIG, " cannot be read", error, ", so this training is left out."))
            continue
        found.append(training)
        notes += faults
    return found, notes
