"""Files of predictions, opened: whatever their form, an id and what stands under it, one after the other.

A folder of ``<index>.json`` files, one JSON object keyed by id, a JSON list, JSON Lines, and the samples
file that lmms-eval writes. Which one it is shows in the content.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from loguru import logger as eval_logger
from tqdm import tqdm

from ..crystal_task.item import INDEX
from ..crystal_task.references import unrepeated
from ..errors import CrystalError, first_few

# Under one of these names a line of JSON Lines says which item it belongs to, the harness's own first.
INDEX_KEYS = ("doc_id", "index", "id", "idx")
# Below this many files, or bytes, reading takes a moment and a progress bar would only flicker.
FILES_WORTH_A_BAR = 1000
BYTES_WORTH_A_BAR = 100_000_000


@dataclass(frozen=True)
class Entry:
    """One prediction as its file has it: the id as it is written, the content, and the place for messages."""

    id: object
    value: Any
    where: str


def is_index(stem: str) -> bool:
    """Whether a file's name, without its ending, is the index of an item."""
    return INDEX.fullmatch(stem) is not None


def entries(source: Path, progress: bool = False, is_name: Callable[[str], bool] = is_index) -> Iterator[Entry]:
    """All entries of a file or folder; of a folder the ``.json`` files whose name ``is_name`` takes for an id.

    Raises ``CrystalError`` with the file, and the line where there is one, where it cannot be read.
    """
    return _from_folder(source, progress, is_name) if source.is_dir() else _from_file(source, progress)


def _from_folder(folder: Path, progress: bool, is_name: Callable[[str], bool]) -> Iterator[Entry]:
    found = sorted(folder.iterdir())
    files = [entry for entry in found if entry.suffix.lower() == ".json" and is_name(entry.stem) and entry.is_file()]
    if not files:
        raise CrystalError(
            f"The folder {folder} holds no predictions: none of its files is called <index>.json. "
            "Predictions in one file are given by the path of that file."
        )
    others = sorted(set(found) - set(files))
    if others:
        names = first_few(entry.name for entry in others)
        eval_logger.info(f"{len(others)} in {folder} are not called <index>.json and were left out: {names}.")
    for file in tqdm(files, desc="Reading predictions", disable=not progress or len(files) < FILES_WORTH_A_BAR):
        yield Entry(file.stem, parse(_read(file), str(file)), str(file))


def _from_file(file: Path, progress: bool) -> Iterator[Entry]:
    try:
        with file.open(encoding="utf-8-sig") as lines:
            numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
            first = next(numbered, None)
            if first is None:
                raise CrystalError(f"{file} is empty; it should hold predictions.")
            second = next(numbered, None)
            if is_json_lines(first[1], alone=second is None):
                yield from _from_lines(file, chain([first], [second] if second else [], numbered), progress)
                return
        yield from _from_content(file, parse(_read(file), str(file)))
    except (OSError, UnicodeDecodeError) as error:
        raise CrystalError(f"{file} cannot be read as UTF-8 text: {error}.") from None


def is_json_lines(line: str, alone: bool) -> bool:
    """Whether a file whose first line this is holds JSON Lines: the line is whole, and others follow it or it says
    itself which item it is."""
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return not alone or (isinstance(first, dict) and any(key in first for key in INDEX_KEYS))


def _from_content(file: Path, content: Any) -> Iterator[Entry]:
    if isinstance(content, list) and content and all(isinstance(row, dict) for row in content):
        for place, row in enumerate(content, start=1):
            yield _row(row, f"{file}, entry {place}")
        return
    if not isinstance(content, dict) or not content:
        raise CrystalError(f"{file} should be a JSON object keyed by index, or JSON Lines with doc_id.")
    for key, value in content.items():
        yield Entry(key, value, f"{file}, key {key}")


def _from_lines(file: Path, numbered: Iterable[tuple[int, str]], progress: bool) -> Iterator[Entry]:
    size = file.stat().st_size
    disable = not progress or size < BYTES_WORTH_A_BAR
    with tqdm(total=size, desc="Reading predictions", unit="B", unit_scale=True, disable=disable) as bar:
        for number, line in numbered:
            bar.update(len(line))
            where = f"{file}, line {number}"
            yield _row(parse(line, where), where)


def _row(row: Any, where: str) -> Entry:
    key = next((key for key in INDEX_KEYS if isinstance(row, dict) and key in row), None)
    if key is None:
        raise CrystalError(f"{where} should be a JSON object that says in doc_id which item it belongs to.")
    return Entry(row[key], row, where)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CrystalError(f"{file} cannot be read as UTF-8 text: {error}.") from None


def parse(text: str, where: str) -> Any:
    """The content of a JSON text. Raises ``CrystalError`` where it is torn, or has a key twice."""
    try:
        return json.loads(text, object_pairs_hook=unrepeated)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise CrystalError(f"{where} is no complete JSON: {error.msg} ({line}column {error.colno}).") from None
    except (ValueError, RecursionError) as error:
        raise CrystalError(f"{where} cannot be read: {error}.") from None
