"""What predictions are scored against: the dataset in all its forms, or a JSON object of references by id."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets

from ..errors import CrystalError, first_few
from . import source
from .checks import LISTS_OF_TEXTS, REQUIRED, ImageHashes, RawImages, check_columns, read_items, with_images
from .data import MINI_FILE
from .item import Item, item_id
from .plugin import BENCHMARK, MINI, TASK_NAMES
from .settings import HUB_DATASET, Settings
from .summary import BENCHMARK_ITEMS

#: Files that only the datasets library reads.
TABLES = (".parquet", ".arrow", ".jsonl")
UNKNOWN = "unknown"
#: Characters of a task that is named after a file; file systems take 255 with the rest of a samples file's name.
TASK_LENGTH = 60


@dataclass(frozen=True)
class Hashes:
    """SHA-256 of the images, where they are known but not at hand."""

    values: Sequence[str] = ()

    def sha256(self, index: int) -> str:
        """The hash of one image; ``unknown`` where it is not known."""
        return self.values[index] if index < len(self.values) else UNKNOWN


@dataclass(frozen=True)
class References:
    """Items to score against, by id. Items are numbered by their place here.

    ``name`` is what the data is called, ``task`` the task whose results these are: one of ours, or for other
    items a name made of that of their file. ``ids`` has one id an item, in
    the spelling of ``item_id``. ``of`` is the number of items of the dataset that these are a part of.
    """

    name: str
    task: str
    items: tuple[Item, ...]
    ids: tuple[str, ...]
    images: ImageHashes
    of: int

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each id."""
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def doc_ids(self) -> tuple[int, ...]:
        """The numbers that samples files know the items by: ids that are numbers, and places elsewhere."""
        if all(name.isdecimal() for name in self.ids):
            return tuple(map(int, self.ids))
        return tuple(range(len(self.ids)))

    def only(self, names: Iterable[str]) -> References:
        """The part of these references with the given ids, in the order that it has here."""
        places = sorted(self.place[name] for name in names)
        items = tuple(replace(self.items[place], index=at) for at, place in enumerate(places))
        ids = tuple(self.ids[place] for place in places)
        return References(self.name, self.task, items, ids, _Part(self.images, places), self.of)


@dataclass(frozen=True)
class _Part:
    """The images of some of the items."""

    whole: ImageHashes
    places: Sequence[int]

    def sha256(self, index: int) -> str:
        return self.whole.sha256(self.places[index])


def load_references(name: str) -> References:
    """The references of that name: a dataset (hub id, save_to_disk folder, parquet or JSONL), ``crystal_mini``,
    ``crystal`` (the benchmark, or what ``CRYSTAL_DATASET`` says), or a JSON object keyed by id. The two words come
    before files of that name.

    Raises ``CrystalError`` where there is none, or where an item is incomplete.
    """
    path = Path(name).expanduser()
    if name not in (MINI, BENCHMARK) and path.is_file() and path.suffix not in TABLES:
        content = _json_object(path)
        if content is not None:
            return _from_object(path, content)
    settings = Settings.from_environment()
    if name == MINI:
        data, folder, task = datasets.Dataset.from_parquet(str(MINI_FILE)), None, MINI
    else:
        whole = settings.dataset if name == BENCHMARK else name
        location = source.locate(whole, settings.revision)
        data, folder = source.open_dataset(location, whole), location.folder
        task = BENCHMARK if BENCHMARK in (name, whole) or whole == HUB_DATASET else task_of(whole, len(data))
        name = whole
    without_images = "image" not in data.column_names
    check_columns(data, [column for column in REQUIRED if column != "image"])
    items = read_items(data)
    # Hashes only: a file of images that went away costs a record its hash, not the scoring.
    images = Hashes() if without_images else RawImages(with_images(data, folder))
    return References(name, task, tuple(items), tuple(map(str, range(len(items)))), images, len(items))


def task_of(name: str, items: int) -> str:
    """The task of items that a user brings, by the name of their file, folder or hub id. As many as the benchmark has
    are taken for a copy of it.

    >>> task_of("data/My items.json", 3), task_of("crystal.json", 3), task_of("copy", 6372)
    ('my_items', 'own_crystal', 'crystal')
    """
    if items == BENCHMARK_ITEMS:
        return BENCHMARK
    plain = unicodedata.normalize("NFKD", Path(name).stem).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:TASK_LENGTH]
    return f"own_{slug or 'items'}" if not slug or slug in TASK_NAMES else slug


def _json_object(path: Path) -> dict[str, Any] | None:
    """The content of a JSON file that holds one object of objects; None for other files, rows of a dataset say."""
    try:
        content = json.loads(path.read_text("utf-8-sig"), object_pairs_hook=unrepeated)
    except UnicodeDecodeError as error:
        raise CrystalError(f"{path} cannot be read as UTF-8 text: {error}.") from None
    except OSError as error:
        raise CrystalError(f"{path} cannot be read: {error}.") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":  # JSON Lines under another name
            return None
        raise CrystalError(
            f"{path} is no complete JSON: {error.msg} (line {error.lineno}, column {error.colno}); references are an "
            'object {id: {"reference_steps": [...], "answer": "..."}}, or a dataset.'
        ) from None
    except (ValueError, RecursionError) as error:
        raise CrystalError(f"{path} cannot be read: {error}.") from None
    return content if isinstance(content, dict) and "reference_steps" not in content else None


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose keys differ; Python would silently keep the last of two values for one item."""
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)} stands twice in one object")
    return content


def _from_object(path: Path, content: Mapping[str, Any]) -> References:
    if not content:
        raise CrystalError(f"{path} holds no references; it should be an object keyed by the ids of the items.")
    entries: dict[str, Any] = {}
    for key, entry in content.items():
        name = item_id(key)
        if name is None:
            raise CrystalError(f"{path} has a blank key; its keys are the ids of the items.")
        if name in entries:
            raise CrystalError(f"{path} has item {name} twice, the second time as {key!r}; take one of them out.")
        entries[name] = entry
    if all(name.isdecimal() for name in entries):
        entries = {name: entries[name] for name in sorted(entries, key=int)}
    _check(path, entries)
    items = tuple(Item.from_row({**entry, "answer": _answer(entry)}, at) for at, entry in enumerate(entries.values()))
    hashes = [str(entry.get("image_sha256") or UNKNOWN) for entry in entries.values()]
    return References(str(path), task_of(str(path), len(items)), items, tuple(entries), Hashes(hashes), len(items))


def _check(path: Path, entries: Mapping[str, Any]) -> None:
    """Raises ``CrystalError`` that names the first entries in which something is missing or of another kind."""
    for problem, is_wrong in PROBLEMS.items():
        wrong = [name for name, entry in entries.items() if is_wrong(entry)]
        if wrong:
            raise CrystalError(
                f"{path}: {len(wrong)} of {len(entries)} references {problem} ({first_few(wrong)}); each should be "
                'like {"reference_steps": ["...", "..."], "answer": "..."}.'
            )


def _answer(entry: Mapping[str, Any]) -> str:
    """The answer as a text: a 3 or a true is one, although a text is asked for."""
    answer = entry.get("answer")
    if isinstance(answer, float) and not math.isfinite(answer):
        return ""
    return json.dumps(answer) if isinstance(answer, bool | int | float) else str(answer or "")


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


#: What can be wrong with a reference, the first found is said.
PROBLEMS = {
    "are no objects": lambda entry: not isinstance(entry, dict),
    "have no reference_steps": lambda entry: entry.get("reference_steps") in (None, []),
    "have reference_steps that are no list of texts": lambda entry: not _is_list_of_texts(entry["reference_steps"]),
    "have only blank reference_steps": lambda entry: not any(step.strip() for step in entry["reference_steps"]),
    "have no answer": lambda entry: not _answer(entry).strip(),
    "have an answer that is no text": lambda entry: isinstance(entry["answer"], list | dict),
    "have choices or options that are no list of texts": lambda entry: (
        not all(entry.get(name) is None or _is_list_of_texts(entry[name]) for name in LISTS_OF_TEXTS[1:])
    ),
    "have a question or source that is no text": lambda entry: (
        not all(isinstance(entry.get(name), str | None) for name in ("question", "source"))
    ),
}
