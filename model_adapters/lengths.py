"""How long a request will be, told cheaply: from its text and from the headers of its pictures."""

import io
from typing import Any

from datasets import Dataset, Image
from PIL import Image as Pictures

# Rough rates; they only bring requests of like length together.
CHARACTERS_PER_TOKEN = 4
# One token of the Qwen models, whose tokens grow with the picture. Elsewhere they do so in steps, or not at all.
PIXELS_PER_TOKEN = 28 * 28


class Lengths:
    """Estimates in tokens for the rows of the tasks' datasets; no picture is decoded."""

    def __init__(self, largest: int | None = None) -> None:
        # What is larger is reduced to this many pixels before the model sees it.
        self._largest = largest
        self._undecoded: dict[tuple[str, str], tuple[Dataset, list[str]] | None] = {}

    def estimate(self, text: str, dataset: Any, task: str, split: str, index: int) -> int:
        """Text and pictures of a row together, in tokens; of a dataset of another kind only the text."""
        key = (task, split)
        if key not in self._undecoded:
            self._undecoded[key] = _undecoded(dataset)
        length = len(text) // CHARACTERS_PER_TOKEN
        if source := self._undecoded[key]:
            rows, columns = source
            row = rows[index]
            areas = (_area(row[column]) for column in columns)
            length += sum(min(area, self._largest or area) // PIXELS_PER_TOKEN for area in areas)
        return length


def _undecoded(dataset: Any) -> tuple[Dataset, list[str]] | None:
    features = getattr(dataset, "features", None) or {}
    columns = [name for name, kind in features.items() if isinstance(kind, Image)]
    if not columns:
        return None
    rows = dataset.select_columns(columns)
    for column in columns:
        rows = rows.cast_column(column, Image(decode=False))
    return rows, columns


def _area(image: dict[str, Any] | None) -> int:
    if not image:
        return 0
    try:
        with Pictures.open(io.BytesIO(image["bytes"]) if image["bytes"] else image["path"]) as picture:
            return picture.width * picture.height
    except OSError:
        return 0  # the request itself will say what is wrong with it
