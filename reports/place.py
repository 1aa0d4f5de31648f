"""The folder of a report: whether its files may be replaced, and what an earlier report left in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import CrystalError
from .figures.registry import FIGURES
from .training.section import FIGURES as TRAINING_FIGURES
from .writing import make_folder, not_written

#: How files of a report begin; a file of such a name that begins otherwise is somebody else's.
MARKS = {
    "report.html": b"<!doctype html>\n<!-- crystal-eval report -->",
    "report.md": b"<!-- crystal-eval report -->",
    "leaderboard.csv": b"board,task,model,scripted,items,of,",
    "leaderboard.tex": b"% Made by crystal-eval report",
    "training.csv": b"training,method,model,seed,finished,stopped,",
}
_ITEMS = re.compile(r"\d+-\d{3,}\.js")
_FIGURES_OF_A_BOARD = re.compile(r"\d+-.+")
_FIGURES_OF_TRAININGS = re.compile(r"(methods|dynamics(-\d+)?)\.(svg|png)")
#: Tables that a report has of some inputs only, so that those of an earlier one must not stay.
_SOMETIMES = ("leaderboard.csv", "leaderboard.tex", "training.csv")


def check_folder(folder: Path) -> None:
    """Makes the folder of a report. Raises ``CrystalError`` where it cannot be, and where it would cost other files."""
    make_folder(folder)
    for name, mark in MARKS.items():
        file = folder / name
        if file.exists() and not _begins(file, mark):
            raise CrystalError(f"{file} is there and not of crystal-eval report; name another folder with -o.")
    if (folder / "report.md").exists():
        return
    for file in _beside(folder):
        raise CrystalError(f"{file} is there and no report beside it; name another folder with -o.")


def clear_folder(folder: Path) -> None:
    """Removes the page of an earlier report, then what lies beside it, so that no page has the items of another."""
    try:
        for file in (folder / "report.html", *(folder / name for name in _SOMETIMES), *_beside(folder)):
            file.unlink(missing_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error


def _begins(file: Path, mark: bytes) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(mark)) == mark
    except OSError:
        return False


def _beside(folder: Path) -> Iterator[Path]:
    """Items and figures as a report names them; nothing else that lies among them."""
    yield from (file for file in _files(folder / "items") if _ITEMS.fullmatch(file.name))
    drawn = {f"{entry.name}{ending}" for entry in FIGURES for ending in (".svg", ".png")}
    figures = folder / "figures"
    boards = [inner for inner in _entries(figures) if inner.is_dir() and _FIGURES_OF_A_BOARD.fullmatch(inner.name)]
    for place in (figures, *boards):
        yield from (file for file in _files(place) if file.name in drawn)
    yield from (file for file in _files(folder / TRAINING_FIGURES) if _FIGURES_OF_TRAININGS.fullmatch(file.name))


def _files(folder: Path) -> list[Path]:
    return [entry for entry in _entries(folder) if entry.is_file()]


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
