"""Where the data is. The task YAMLs name ``dataset_path`` and ``dataset_kwargs`` of this module.

Both are attributes that are computed when the harness loads a task (PEP 562), so that
``CRYSTAL_DATASET`` and ``CRYSTAL_REVISION`` work with the plain ``lmms-eval`` command. The data is
opened here once, because what the harness says of data that it cannot open takes a minute of retries
and ends in a traceback with exit code 0.
"""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import CrystalError, first_line, stop_the_run
from .settings import HUB_DATASET, Settings

#: How much of a path a message shows.
SHOWN = 80
SPLIT = "test"
#: Names of splits in file names; the first that occurs counts.
SPLITS = ("test", "train", "validation", "val", "dev")
#: What the datasets library says of a file and of a saved folder without rows.
OF_NO_ITEMS = ("corresponds to no data", "list index out of range")
#: Builders of the datasets library for files of these endings.
BUILDERS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".arrow": "arrow"}


@dataclass(frozen=True)
class Split:
    """Which split is wanted, and where a user names the data, for messages."""

    name: str = SPLIT
    setting: str = "in CRYSTAL_DATASET, or for crystal-eval score by --references"


TEST = Split()


@dataclass(frozen=True)
class Location:
    """Arguments of ``datasets.load_dataset`` or ``load_from_disk``; of local data also the folder it lies in."""

    path: str
    kwargs: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def is_local(self) -> bool:
        return self.folder is not None


def locate(dataset: str, revision: str = "", split: Split = TEST) -> Location:
    """What ``CRYSTAL_DATASET`` stands for: a hub id, a ``save_to_disk`` folder, or parquet/JSONL files.

    Of local data only the files of ``split`` are taken, where their names say which they are. Raises ``CrystalError``
    for a path that holds none of these.
    """
    try:
        path = Path(dataset).expanduser()
        path.exists()
    except (OSError, RuntimeError) as error:  # RuntimeError: the home of nobody
        raise CrystalError(_advice(dataset[:SHOWN], split, f"it cannot be looked at ({first_line(error)})")) from error
    if path.is_dir():
        return _folder(path.resolve(), split)
    if path.is_file():
        if path.suffix not in BUILDERS:
            raise CrystalError(_advice(dataset, split, f"files of type {path.suffix or 'none'} are not understood"))
        return _files([path.resolve()], split)
    if dataset.count("/") != 1 or dataset.startswith(("/", ".", "~")) or path.suffix in BUILDERS:
        raise CrystalError(_advice(dataset, split, "there is no such file or folder"))
    return Location(dataset, {"revision": revision} if revision else {})


def _folder(path: Path, split: Split) -> Location:
    if (path / "dataset_dict.json").is_file():
        splits = sorted(entry.name for entry in path.iterdir() if (entry / "state.json").is_file())
        if split.name in splits:
            return Location(str(path), {"load_from_disk": True}, path)
        if len(splits) != 1:
            raise CrystalError(
                _advice(str(path), split, f"its splits are {', '.join(splits) or 'none'}, none named {split.name!r}")
            )
        return _folder(path / splits[0], split)
    for pattern in ("*.arrow", "*.parquet", "*.jsonl", "**/*.parquet", "**/*.jsonl"):
        files = _of_split(sorted(path.glob(pattern)), path, split)
        if files:
            return _files(files, split, path)
    raise CrystalError(_advice(str(path), split, "the folder holds no saved dataset and no parquet or JSONL files"))


def _of_split(files: list[Path], folder: Path, split: Split) -> list[Path]:
    """The files whose name or folder says that they are of the split; all where none names a split."""
    names = dict.fromkeys((split.name, *SPLITS))
    splits = {file: next((s for s in names if s in _words(file.relative_to(folder))), "") for file in files}
    if not any(splits.values()):
        return files
    if split.name not in splits.values():
        named = ", ".join(sorted(set(splits.values()) - {""}))
        raise CrystalError(_advice(str(folder), split, f"its files are of the splits {named}, none of {split.name!r}"))
    return [file for file, name in splits.items() if name == split.name]


def _words(path: Path) -> list[str]:
    return re.split(r"[^a-z]+", str(path.with_suffix("")).lower())


def _files(files: list[Path], split: Split, folder: Path | None = None) -> Location:
    builder = BUILDERS[files[0].suffix]
    data_files = {split.name: [glob.escape(str(file)) for file in files]}
    return Location(builder, {"data_files": data_files}, folder or files[0].parent)


def open_dataset(location: Location, name: str, split: Split = TEST) -> Any:
    """The split, opened; of the test split this fills the cache that the harness reads. Raises ``CrystalError``."""
    import datasets

    try:
        if location.kwargs.get("load_from_disk"):
            splits = datasets.load_from_disk(location.path)
        else:
            cache_dir = _harness_cache() if split == TEST else None
            splits = datasets.load_dataset(location.path, cache_dir=cache_dir, **location.kwargs)
    except Exception as error:  # builders and hub clients raise whatever they like
        reason = _reason(error)
        if location.is_local:
            raise CrystalError(_advice(name, split, f"reading it failed: {reason}")) from error
        raise CrystalError(_hub_advice(name, split, reason)) from error
    if split.name not in splits:
        raise CrystalError(_advice(name, split, f"its splits are {', '.join(splits)}, none named {split.name!r}"))
    return splits[split.name]


def _harness_cache() -> str | None:
    """The harness's own folder for datasets; None, the library's default, where this harness has no such function."""
    from lmms_eval.api import task

    resolve = getattr(task, "_resolve_hf_datasets_cache_dir", None)
    return resolve() if resolve else None


def _hub_advice(name: str, split: Split, reason: str) -> str:
    if split != TEST:
        return (
            f"The dataset {name} could not be fetched from the Hugging Face hub ({reason}). If it is gated or private, "
            f"accept its terms at https://huggingface.co/datasets/{name} and log in with `hf auth login`; without the "
            f"hub, name a local copy {split.setting}."
        )
    return (
        f"The dataset {name} could not be fetched from the Hugging Face hub ({reason}). It is gated: accept its terms "
        f"at https://huggingface.co/datasets/{name} and log in with `hf auth login` (or set HF_TOKEN). Without the "
        "hub, set CRYSTAL_DATASET (or --references of crystal-eval score) to a local copy (a save_to_disk folder, "
        "parquet or JSONL files), or try the task crystal_mini, which needs neither."
    )


def _advice(name: str, split: Split, problem: str) -> str:
    default = f" (default {HUB_DATASET})" if split == TEST else ""
    return (
        f"The dataset {name}: {problem}. Name a hub id{default}, a folder written by save_to_disk, or parquet or JSONL "
        f"files with the columns image, question, answer and reference_steps ({split.setting})."
    )


def _reason(error: BaseException) -> str:
    """What went wrong at the bottom: the datasets library wraps its reasons in general words."""
    while error.__cause__ is not None:
        error = error.__cause__
    if any(words in str(error) for words in OF_NO_ITEMS):
        return "it has no items"
    return first_line(error, with_type=True)


@stop_the_run
def current_location() -> Location:
    """The location that the environment asks for, opened."""
    settings = Settings.from_environment()
    return _opened(settings.dataset, settings.revision)


@cache
def _opened(dataset: str, revision: str) -> Location:
    # Once a process: the YAML of each task asks for the path and for the other arguments.
    location = locate(dataset, revision)
    open_dataset(location, dataset)
    return location


def location_folder() -> Path | None:
    """The folder that image paths in local data start from; None for the hub."""
    settings = Settings.from_environment()
    return locate(settings.dataset, settings.revision).folder


def __getattr__(name: str) -> Any:
    if name == "dataset_path":
        return current_location().path
    if name == "dataset_kwargs":
        return dict(current_location().kwargs)
    raise AttributeError(name)
