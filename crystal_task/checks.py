"""What is checked of the data before anything is generated: columns, items, images."""

import hashlib
import io
from pathlib import Path
from typing import Any

import datasets
from PIL import Image as PilImage
from tqdm import tqdm

from .. import ranks
from ..errors import CrystalError
from .item import Item

REQUIRED = ("image", "question", "answer", "reference_steps")
#: Below this many images a progress bar is noise.
BAR_FROM = 500


def check_columns(dataset: datasets.Dataset) -> None:
    """Raises ``CrystalError`` where a column is missing, or where there is no item."""
    missing = [name for name in REQUIRED if name not in dataset.column_names]
    if missing:
        raise CrystalError(
            f"The dataset has no column {', '.join(missing)} (it has {', '.join(dataset.column_names)}); rename the "
            "columns of your copy to those of the hub dataset: " + ", ".join(REQUIRED) + "."
        )
    if isinstance(dataset.features["reference_steps"], datasets.Value):
        raise CrystalError("The column reference_steps holds single texts; store a list of texts in each row.")
    if not len(dataset):
        raise CrystalError("The dataset has no items; point CRYSTAL_DATASET at a copy that has some.")


def with_images(dataset: datasets.Dataset, folder: Path | None) -> datasets.Dataset:
    """The dataset with ``image`` as an image column; texts in it are paths, from ``folder`` on."""
    feature = dataset.features["image"]
    if isinstance(feature, datasets.Image):
        return dataset
    if getattr(feature, "dtype", "") == "string":
        paths = [str((folder or Path()) / path) if path else None for path in dataset["image"]]
        dataset = dataset.remove_columns("image").add_column("image", paths)
    try:
        return dataset.cast_column("image", datasets.Image())
    except Exception as error:  # pyarrow raises its own kinds for types that hold no image
        raise CrystalError(
            f"The column image holds {feature} instead of images; store the bytes of image files, or their paths."
        ) from error


def read_items(dataset: datasets.Dataset) -> list[Item]:
    """All items, without their images. Raises ``CrystalError`` that names the first one that is incomplete."""
    rows = dataset.select_columns([name for name in dataset.column_names if name != "image"])
    items = [Item.from_row(row, index) for index, row in enumerate(rows)]
    for item in items:
        problem = _problem(item)
        if problem:
            raise CrystalError(f"Item {item.index} of the dataset has {problem}; complete it or take it out.")
    return items


def _problem(item: Item) -> str:
    if not item.question.strip():
        return "no question"
    if not item.answer.strip():
        return "no answer"
    if not any(step.strip() for step in item.reference_steps):
        return "no reference steps"
    if len(item.options) > 26:
        return f"{len(item.options)} options, more than there are letters"
    return ""


class RawImages:
    """The image files of a dataset by index, as ``{"bytes", "path"}``, not decoded."""

    def __init__(self, dataset: datasets.Dataset) -> None:
        self._column = dataset.select_columns(["image"]).cast_column("image", datasets.Image(decode=False))

    def __len__(self) -> int:
        return len(self._column)

    def data(self, index: int) -> bytes:
        """The file of one image. Raises ``OSError`` where it is missing, ``ValueError`` where there is none."""
        image: dict[str, Any] = self._column[index]["image"] or {}
        if image.get("bytes"):
            return bytes(image["bytes"])
        if image.get("path"):
            return Path(image["path"]).read_bytes()
        raise ValueError("it has no image")

    def sha256(self, index: int) -> str:
        """SHA-256 of the image file, as records carry it."""
        return hashlib.sha256(self.data(index)).hexdigest()


def check_images(images: RawImages) -> None:
    """Raises ``CrystalError`` for the first image of this rank's shard that cannot be read.

    Reads headers and check sums; decoding all pixels would take minutes.
    """
    shard = range(ranks.rank(), len(images), ranks.world_size())
    for index in tqdm(shard, desc="Checking images", disable=len(shard) < BAR_FROM or not ranks.is_main()):
        try:
            with PilImage.open(io.BytesIO(images.data(index))) as image:
                image.verify()
        except Exception as error:  # decoders raise many kinds
            raise CrystalError(
                f"The image of item {index} cannot be read ({type(error).__name__}: {error}); replace it in your copy "
                "of the dataset, or download the dataset again."
            ) from error
