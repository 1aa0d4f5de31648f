"""Files of predictions that were made elsewhere, in all the forms that ``crystal_replay`` and ``crystal-eval`` take.

A folder of ``<index>.json`` files, one JSON object keyed by index, JSON Lines with ``doc_id`` and a text
or the two fields, and the samples file that lmms-eval writes. Which one it is shows in the content.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ..crystal_task.cleaning import replace_surrogates
from ..crystal_task.item import INDEX
from ..crystal_task.prediction import Prediction
from ..errors import CrystalError, first_few
from .prediction_files import Entry, entries

K = TypeVar("K")
# What lmms-eval's samples call a response; it leaves resps out where both are the same.
SAMPLE_KEYS = ("resps", "filtered_resps")
# Under one of these names a file holds the response as the model wrote it.
TEXT_KEYS = ("response", "text", "prediction", "output")


def read_predictions(path: str | Path, progress: bool = False) -> dict[int, Prediction]:
    """All predictions under ``path``, by the index of their item.

    ``progress`` shows a bar for folders of thousands of files. Raises ``CrystalError`` with the file, and
    the line where there is one, if the path is missing, a file cannot be read, has another shape, or gives
    one item two different predictions.

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
        if not source.exists():
            raise CrystalError(f"There is no file or folder {source}, seen from {Path.cwd()}; correct predictions=.")
        found = entries(source, progress)
        return unique((_index(entry.id, entry.where), prediction_of(entry)) for entry in found)
    except (OSError, RuntimeError) as error:  # names that are too long, homes of nobody, folders without permission
        raise CrystalError(f"predictions={path!s:.80} cannot be read: {error}.") from error


def unique(found: Iterable[tuple[K, Prediction]]) -> dict[K, Prediction]:
    """The predictions by their item. Raises ``CrystalError`` where one item has two that differ."""
    by_item: dict[K, Prediction] = {}
    for item, prediction in found:
        earlier = by_item.setdefault(item, prediction)
        if earlier != prediction:
            raise CrystalError(f"Item {item} has two different predictions: {earlier.where} and {prediction.where}.")
    return by_item


def _index(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or not INDEX.fullmatch(str(value)):
        raise CrystalError(f"{where}: {value!r} is no index of an item; indices are whole numbers from 0.")
    return int(value)


def prediction_of(entry: Entry) -> Prediction:
    """What an entry of a file predicts. Raises ``CrystalError`` with its place where it is of another shape."""
    value, where = entry.value, entry.where
    if isinstance(value, str):
        return Prediction(text=replace_surrogates(value), where=where)
    if not isinstance(value, dict):
        raise CrystalError(f"{where} should be an object with reasoning_steps and answer, or a text.")
    samples = [key for key in SAMPLE_KEYS if key in value]
    sample = next((key for key in samples if value[key] not in (None, [], [[]])), samples[0] if samples else None)
    if sample is not None:
        text = replace_surrogates(_sample_text(value[sample], f"{where}, {sample}"))
        record = value.get("crystal")
        record = record if isinstance(record, dict) else {}
        generation, tokens = record.get("generation"), record.get("output_tokens")
        return Prediction(
            text=text,
            where=where,
            generation=generation if isinstance(generation, str) else "",
            output_tokens=tokens if isinstance(tokens, int) else None,
            question=_question(record) if record.get("question_from") == "predictions" else "",
        )
    if "reasoning_steps" in value:
        return replace(_fields(value, where), question=_question(value))
    name = next((key for key in TEXT_KEYS if key in value), None)
    if name is None:
        raise CrystalError(
            f"{where} has neither reasoning_steps and answer nor a text ({', '.join(TEXT_KEYS)}); "
            f"its keys are {first_few(value)}."
        )
    text = value[name]
    if not isinstance(text, str | None):
        raise CrystalError(f"{where}: {name} should be a text.")
    return Prediction(text=replace_surrogates(text or ""), where=where, question=_question(value))


def _question(value: Mapping[str, Any]) -> str:
    question = value.get("question")
    return replace_surrogates(question) if isinstance(question, str) else ""


def _fields(value: Mapping[str, Any], where: str) -> Prediction:
    if "answer" not in value:
        raise CrystalError(f"{where} has reasoning_steps but no answer; write null where the model gave none.")
    steps, answer = value["reasoning_steps"], value["answer"]
    steps = [] if steps is None else steps
    if isinstance(answer, float) and math.isnan(answer):
        answer = None  # as tables write an empty cell
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
