"""Files of predictions that were made elsewhere, in all the forms that ``crystal_replay`` and ``crystal-eval`` take.

A folder of ``<index>.json`` files, one JSON object keyed by index, JSON Lines with ``doc_id`` and a text
or the two fields, and the samples file that lmms-eval writes. Which one it is shows in the content.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loguru import logger as eval_logger
from tqdm import tqdm

from ..crystal_task.cleaning import replace_surrogates
from ..crystal_task.fields import pack_fields
from ..errors import CrystalError

# Under one of these names a line of JSON Lines says which item it belongs to, the harness's own first.
INDEX_KEYS = ("doc_id", "index", "id", "idx")
# What lmms-eval's samples call a response; it leaves resps out where both are the same.
SAMPLE_KEYS = ("resps", "filtered_resps")
# Under one of these names a file holds the response as the model wrote it.
TEXT_KEYS = ("response", "text", "prediction", "output")
# Twelve digits hold the index of any dataset; a longer run of digits is something else.
INDEX = re.compile(r"[0-9]{1,12}")
# Below this many files reading takes a moment and a progress bar would only flicker.
FILES_WORTH_A_BAR = 1000
# So many names make a message useful; the rest would bury it.
NAMES_SHOWN = 5


@dataclass(frozen=True)
class Prediction:
    """One prediction: either the text of a response, or steps and answer that were taken out of it already."""

    text: str | None = None
    steps: tuple[str, ...] = ()
    answer: str | None = None
    # The file, and the line or key in it, for messages.
    where: str = field(default="", compare=False)
    # The generation signature that a sample of this package carries.
    generation: str = field(default="", compare=False)

    @property
    def response(self) -> str:
        """What goes to the scorer: the text as it is, or the fields in the form that it never parses."""
        return pack_fields(self.steps, self.answer) if self.text is None else self.text


@dataclass(frozen=True)
class Predictions(Mapping[int, Prediction]):
    """The predictions of one file or folder by the index of their item."""

    source: Path
    by_index: Mapping[int, Prediction]

    def __getitem__(self, index: int) -> Prediction:
        return self.by_index[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self.by_index)

    def __len__(self) -> int:
        return len(self.by_index)

    @property
    def generation(self) -> str:
        """How the predictions were made, where all say the same; else no more than that some were scripted."""
        stated = {prediction.generation for prediction in self.values()}
        if len(stated) == 1:
            return stated.pop()
        return "scripted:yes" if any(text.endswith("scripted:yes") for text in stated) else ""

    def check_indices(self, items: int, dataset: str) -> None:
        """Raise ``CrystalError`` if a prediction is for an item that a dataset of so many ``items`` does not have."""
        strays = sorted(index for index in self if index >= items)
        if strays:
            first = self[strays[0]]
            raise CrystalError(
                f"{first.where} is a prediction for item {strays[0]}, which {dataset} does not have: its {items} items "
                f"are 0 to {items - 1}. {len(strays)} of {len(self)} predictions are out of range; "
                "check that the file was made from this dataset."
            )


def read_predictions(path: str | Path, progress: bool = False) -> Predictions:
    """All predictions under ``path``; ``progress`` shows a bar for folders of thousands of files.

    Raises ``CrystalError`` with the file, and the line where there is one, if the path is missing, a file
    cannot be read, has another shape, or gives one item two different predictions.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "7.json").write_text('{"reasoning_steps": ["Two dogs sit"], "answer": "2"}')
    ...     read_predictions(folder)[7].answer
    '2'
    """
    if not str(path).strip():
        raise CrystalError("predictions= is empty; give a file or a folder of predictions.")
    try:
        source = Path(path).expanduser()
        if source.is_dir():
            found = _from_folder(source, progress)
        elif source.is_file():
            found = _from_file(source)
        else:
            raise CrystalError(f"There is no file or folder {source}, seen from {Path.cwd()}; correct predictions=.")
        return Predictions(source, _unique(found))
    except (OSError, RuntimeError) as error:  # names that are too long, homes of nobody, folders without permission
        raise CrystalError(f"predictions={path!s:.80} cannot be read: {error}.") from error


def _unique(found: Iterable[tuple[int, Prediction]]) -> dict[int, Prediction]:
    by_index: dict[int, Prediction] = {}
    for index, prediction in found:
        earlier = by_index.setdefault(index, prediction)
        if earlier != prediction:
            raise CrystalError(f"Item {index} has two different predictions: {earlier.where} and {prediction.where}.")
    return by_index


def _from_folder(folder: Path, progress: bool) -> Iterator[tuple[int, Prediction]]:
    entries = sorted(folder.iterdir())
    files = [entry for entry in entries if entry.suffix == ".json" and INDEX.fullmatch(entry.stem)]
    if not files:
        raise CrystalError(
            f"The folder {folder} holds no predictions: none of its files is called <index>.json. "
            "Predictions in one file are given by the path of that file."
        )
    others = sorted(set(entries) - set(files))
    if others:
        names = _first_few(entry.name for entry in others)
        eval_logger.info(f"{len(others)} in {folder} are not called <index>.json and were left out: {names}.")
    for file in tqdm(files, desc="Reading predictions", disable=not progress or len(files) < FILES_WORTH_A_BAR):
        yield int(file.stem), _prediction(_parse(_read(file), str(file)), str(file))


def _from_file(file: Path) -> Iterator[tuple[int, Prediction]]:
    text = _read(file)
    if not text.strip():
        raise CrystalError(f"{file} is empty; it should hold predictions.")
    if _is_json_lines(text):
        return _from_lines(file, text)
    return _from_object(file, _parse(text, str(file)))


def _is_json_lines(text: str) -> bool:
    """Whether a JSON object ends and something follows it, or a single object says itself which item it is."""
    text = text.strip()
    try:
        first, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return end < len(text) or (isinstance(first, dict) and any(key in first for key in INDEX_KEYS))


def _from_object(file: Path, content: Any) -> Iterator[tuple[int, Prediction]]:
    if not isinstance(content, dict) or not content:
        raise CrystalError(f"{file} should be a JSON object keyed by index, or JSON Lines with doc_id.")
    for key, value in content.items():
        where = f"{file}, key {key}"
        yield _index(key, where), _prediction(value, where)


def _from_lines(file: Path, text: str) -> Iterator[tuple[int, Prediction]]:
    # Not splitlines(): it also breaks at separators that JSON allows inside a string.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        row = _parse(line, where)
        key = next((key for key in INDEX_KEYS if isinstance(row, dict) and key in row), None)
        if key is None:
            raise CrystalError(f"{where} should be a JSON object that says in doc_id which item it belongs to.")
        yield _index(row[key], where), _prediction(row, where)


def _index(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or not INDEX.fullmatch(str(value)):
        raise CrystalError(f"{where}: {value!r} is no index of an item; indices are whole numbers from 0.")
    return int(value)


def _prediction(value: object, where: str) -> Prediction:
    if isinstance(value, str):
        return Prediction(text=replace_surrogates(value), where=where)
    if not isinstance(value, dict):
        raise CrystalError(f"{where} should be an object with reasoning_steps and answer, or a text.")
    samples = [key for key in SAMPLE_KEYS if key in value]
    sample = next((key for key in samples if value[key] not in (None, [], [[]])), samples[0] if samples else None)
    if sample is not None:
        text = replace_surrogates(_sample_text(value[sample], f"{where}, {sample}"))
        record = value.get("crystal")
        generation = record.get("generation") if isinstance(record, dict) else None
        return Prediction(text=text, where=where, generation=generation if isinstance(generation, str) else "")
    if "reasoning_steps" in value:
        return _fields(value, where)
    name = next((key for key in TEXT_KEYS if key in value), None)
    if name is None:
        raise CrystalError(
            f"{where} has neither reasoning_steps and answer nor a text ({', '.join(TEXT_KEYS)}); "
            f"its keys are {_first_few(value) or 'none'}."
        )
    text = value[name]
    if not isinstance(text, str | None):
        raise CrystalError(f"{where}: {name} should be a text.")
    return Prediction(text=replace_surrogates(text or ""), where=where)


def _fields(value: Mapping[str, Any], where: str) -> Prediction:
    if "answer" not in value:
        raise CrystalError(f"{where} has reasoning_steps but no answer; write null where the model gave none.")
    steps, answer = value["reasoning_steps"], value["answer"]
    if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
        raise CrystalError(f"{where}: reasoning_steps should be a list of texts.")
    if isinstance(answer, int | float):
        # An answer of 3 or true is one, although the prompt asks for a text.
        answer = json.dumps(answer)
    if not isinstance(answer, str | None):
        raise CrystalError(f"{where}: answer should be a text.")
    return Prediction(
        steps=tuple(replace_surrogates(step) for step in steps),
        answer=None if answer is None else replace_surrogates(answer),
        where=where,
    )


def _sample_text(value: object, where: str) -> str:
    """The first response of a sample: a text, in as many lists as the harness's filters put around it."""
    while isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str):
        raise CrystalError(f"{where} should be a list that holds the text of a response.")
    return value


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CrystalError(f"{file} cannot be read as UTF-8 text: {error}.") from None


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise CrystalError(f"{where} is no complete JSON: {error.msg} ({line}column {error.colno}).") from None
    except (ValueError, RecursionError) as error:
        raise CrystalError(f"{where} cannot be read: {error}.") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose keys differ; Python would silently keep the last of two predictions for one item."""
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)} stands twice in one object")
    return content


def _first_few(names: Iterable[object]) -> str:
    shown = [str(name) for name in names]
    return ", ".join(shown[:NAMES_SHOWN]) + (", ..." if len(shown) > NAMES_SHOWN else "")
