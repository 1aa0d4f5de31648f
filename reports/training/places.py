"""Where the files of a training lie, how its folder is told from others, and the names of several in one report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

CONFIG, SPLIT, SUMMARY = "config.yaml", "split.json", "training.json"
LOG, VALIDATION = "log.jsonl", "validation.jsonl"
#: Scored responses of before and after, in folders of the harness's layout.
RESULTS = "results"
#: How the models of those results end.
BEFORE, AFTER = "-before", "-after"


def is_training(folder: Path) -> bool:
    """Whether a folder is one that ``crystal-eval train`` writes, finished or not."""
    return (folder / CONFIG).is_file() and ((folder / SUMMARY).is_file() or (folder / SPLIT).is_file())


def training_folders(paths: Iterable[Path]) -> list[Path]:
    """The folders of trainings among the given paths and below them, each once, in the order of their names."""
    found: dict[Path, Path] = {}
    for path in paths:
        configs = path.rglob(CONFIG) if path.is_dir() else ()
        for folder in sorted(config.parent for config in configs):
            if is_training(folder):
                found.setdefault(folder.resolve(), folder)
    return list(found.values())


def training_of(file: Path) -> Path | None:
    """The folder of the training that wrote a results file, resolved; None where no training did."""
    inside = [above.parent for above in file.resolve().parents if above.name == RESULTS]
    return next((above for above in inside if is_training(above)), None)


def names_of(folders: Iterable[Path]) -> Mapping[Path, str]:
    """The name of each folder by its resolved path: the last parts of it, as many as tell it from the others.

    >>> names_of([Path("/out/cpr/1"), Path("/out/cpr/2")])[Path("/out/cpr/1")]
    '1'
    >>> names_of([Path("/out/cpr/1"), Path("/out/composite/1")])[Path("/out/cpr/1")]
    'cpr/1'
    """
    whole = [folder.resolve() for folder in folders]
    length = 1
    while len({folder.parts[-length:] for folder in whole}) < len(set(whole)):
        length += 1
    return {folder: "/".join(folder.parts[-length:]) for folder in whole}
