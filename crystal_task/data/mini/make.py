"""Puts the texts and the pictures of ``crystal_mini`` together and writes the parquet file that ships."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from PIL import Image

from . import charts, maths, photos, scenes, science

if TYPE_CHECKING:
    from datasets import Features

ITEMS_FOLDER = Path(__file__).with_name("items")
SOURCES = {
    "mathvision": "MathVision",
    "scienceqa": "ScienceQA-IMG",
    "realworldqa": "RealWorldQA",
    "mmvp": "MMVP",
    "plotqa": "PlotQA",
}
"""File of ``items/`` to the name of the source whose style its items follow, spelled as the benchmark spells it."""

DRAWING_LICENCE = "MIT"
"""Drawings are made by this package and come under its licence."""

JPEG_QUALITY = 85
"""Photographs look untouched at this quality and take about 30 kB each."""

_MODULES = {"charts": charts, "maths": maths, "scenes": scenes, "science": science}


def read_entries() -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries of ``items/*.yaml``, each with its source, in the order of ``SOURCES``.

    >>> source, entry = next(read_entries())
    >>> source, entry["id"], entry["answer"]
    ('MathVision', 'mathvision-01', '48')
    """
    for stem, source in SOURCES.items():
        for entry in yaml.safe_load((ITEMS_FOLDER / f"{stem}.yaml").read_text("utf-8")):
            yield source, entry


def draw(entry: dict[str, Any]) -> Image.Image:
    """The RGB picture of an entry: the drawing or the photograph that it names.

    >>> draw({"drawing": "maths.clock_four"}).size
    (360, 360)
    """
    if "photo" in entry:
        return photos.photograph(entry["photo"], entry.get("crop"), entry.get("mirror", False), entry.get("labels"))
    module, function = entry["drawing"].split(".")
    drawing: Callable[[], Image.Image] = getattr(_MODULES[module], function)
    return drawing()


def make_row(source: str, entry: dict[str, Any]) -> dict[str, Any]:
    """One row of the data set; photographs are stored as JPEG, drawings as PNG.

    >>> row = make_row(*next(read_entries()))
    >>> row["image"]["path"], row["provenance"]
    ('mathvision-01.png', 'Drawn by this package, maths.shaded_triangle.')
    """
    licence, provenance = _origin(entry)
    return {
        "item_id": entry["id"],
        "image": _stored(entry),
        "question": entry["question"],
        "answer": entry["answer"],
        "reference_steps": entry["steps"],
        "choices": entry.get("choices", []),
        "options": entry.get("options", []),
        "source": source,
        "licence": licence,
        "provenance": provenance,
    }


def make_rows() -> list[dict[str, Any]]:
    """All rows in order; a second call returns the same bytes."""
    return [make_row(source, entry) for source, entry in read_entries()]


def features() -> Features:
    """The columns of the benchmark on the hub, and three of ours: ``item_id``, ``licence``, ``provenance``."""
    from datasets import Features, Image, List, Value

    text = Value("string")
    return Features(
        {
            "item_id": text,
            "image": Image(),
            "question": text,
            "answer": text,
            "reference_steps": List(text),
            "choices": List(text),
            "options": List(text),
            "source": text,
            "licence": text,
            "provenance": text,
        }
    )


def write(path: Path) -> int:
    """Writes the data set to a parquet file, and returns the number of items."""
    from datasets import Dataset

    rows = make_rows()
    Dataset.from_list(rows, features=features()).to_parquet(path)
    return len(rows)


def write_pictures(folder: Path) -> None:
    """Writes every item's picture to a folder, to look at while editing the texts."""
    folder.mkdir(parents=True, exist_ok=True)
    for _, entry in read_entries():
        draw(entry).save(folder / f"{entry['id']}.png")


def _stored(entry: dict[str, Any]) -> dict[str, Any]:
    buffer = BytesIO()
    if "photo" in entry:
        draw(entry).save(buffer, "JPEG", quality=JPEG_QUALITY)
        return {"bytes": buffer.getvalue(), "path": f"{entry['id']}.jpg"}
    draw(entry).save(buffer, "PNG", optimize=True)
    return {"bytes": buffer.getvalue(), "path": f"{entry['id']}.png"}


def _origin(entry: dict[str, Any]) -> tuple[str, str]:
    if "photo" not in entry:
        return DRAWING_LICENCE, f"Drawn by this package, {entry['drawing']}."
    photo = photos.PHOTOS[entry["photo"]]
    changes = [change for change in ("crop", "mirror", "labels") if change in entry]
    changed = {"crop": "cropped", "mirror": "mirrored", "labels": "labelled"}
    work = ", ".join(["resized", *(changed[change] for change in changes)])
    return photo.licence, f'skimage.data.{entry["photo"]}, {work}. scikit-image states: "{photo.statement}"'
