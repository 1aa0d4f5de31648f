"""What is checked of the data before anything is generated: columns, items, images."""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import datasets
from loguru import logger
from PIL import Image as PilImage
from PIL import ImageFile
from tqdm import tqdm

from .. import ranks
from ..errors import CrystalError
from .item import Item

REQUIRED = ("image", "question", "answer", "reference_steps")
LISTS_OF_TEXTS = ("reference_steps", "choices", "options")
TEXTS = ("string", "large_string", "null")
#: Beginnings of the types that read as a text without loss.
PLAIN = ("string", "large_string", "int", "uint", "float", "bool")
#: Formats whose check sums ``verify`` compares; of the others it reads the header only.
SELF_CHECKING = ("PNG", "WEBP")
#: A JPEG ends in this mark, before what little some cameras append.
JPEG_END, JPEG_TAIL = b"\xff\xd9", 4096
#: Below this many images a progress bar is noise.
BAR_FROM = 500


def check_columns(dataset: datasets.Dataset, required: Sequence[str] = REQUIRED) -> None:
    """Raises ``CrystalError`` where a column is missing or of another type, or where there is no item."""
    missing = [name for name in required if name not in dataset.column_names]
    if missing:
        raise CrystalError(
            f"The dataset has no column {', '.join(missing)} (it has {', '.join(dataset.column_names)}); rename the "
            "columns of your copy to those of the hub dataset: " + ", ".join(required) + "."
        )
    if not len(dataset):
        raise CrystalError("The dataset has no items; point CRYSTAL_DATASET at a copy that has some.")
    for name in LISTS_OF_TEXTS:
        if name in dataset.column_names and not _is_list_of_texts(dataset.features[name]):
            raise CrystalError(
                f"The column {name} holds {dataset.features[name]}; store a list of texts in each row, empty where "
                "there is nothing to list."
            )
    for name in ("question", "answer"):
        kind = getattr(dataset.features[name], "dtype", "")
        if not kind.startswith(PLAIN):
            raise CrystalError(f"The column {name} holds {dataset.features[name]}; store texts.")


def _is_list_of_texts(feature: Any) -> bool:
    inner = feature[0] if isinstance(feature, list) and feature else getattr(feature, "feature", feature)
    # A column that is empty in all rows has the type null.
    is_list = isinstance(feature, list) or inner is not feature
    return getattr(inner, "dtype", "") == "null" or (is_list and getattr(inner, "dtype", "") in TEXTS)


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
    try:
        items = [Item.from_row(row, index) for index, row in enumerate(rows)]
    except UnicodeDecodeError as error:
        raise CrystalError(f"The dataset holds texts that are no UTF-8 ({error}); save it as UTF-8.") from error
    for item in items:
        problem = _problem(item)
        if problem:
            raise CrystalError(f"Item {item.index} of the dataset has {problem}; complete it or take it out.")
    blank = [item.index for item in items if not all(step.strip() for step in item.reference_steps)]
    if blank:
        logger.warning(
            f"{len(blank)} items have a blank reference step (item {blank[0]} first); it counts as a step, as in the "
            "authors' scorer."
        )
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


class ImageHashes(Protocol):
    """Images by index, as far as a record needs them."""

    def sha256(self, index: int) -> str:
        """SHA-256 of the image file; ``unknown`` where it is not at hand."""
        ...


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
        """SHA-256 of the image file, as records carry it; ``unknown`` where a file went away during the run."""
        try:
            return hashlib.sha256(self.data(index)).hexdigest()
        except (OSError, ValueError):
            return "unknown"


def check_images(images: RawImages) -> None:
    """Raises ``CrystalError`` for the first image of this rank's shard that cannot be read.

    Reads headers and check sums; decoding all pixels of the benchmark would take minutes. Files of the few
    formats that have no check sum and no mark at their end are decoded.
    """
    shard = range(ranks.rank(), len(images), ranks.world_size())
    for index in tqdm(shard, desc="Checking images", disable=len(shard) < BAR_FROM or not ranks.is_main()):
        checked_file(images, index)


def checked_file(images: RawImages, index: int) -> bytes:
    """The file of one image. Raises ``CrystalError`` where it cannot be read."""
    try:
        data = images.data(index)
        _check_file(data)
    except Exception as error:  # decoders raise many kinds
        raise CrystalError(
            f"The image of item {index} cannot be read ({type(error).__name__}: {error}); replace it in your copy of "
            "the dataset, or download the dataset again."
        ) from error
    return data


def _check_file(data: bytes) -> None:
    with PilImage.open(io.BytesIO(data)) as image:
        image.verify()
        kind = image.format
    if kind in SELF_CHECKING or (kind == "JPEG" and JPEG_END in data[-JPEG_TAIL:]):
        return
    # The harness has Pillow fill up files that break off.
    lenient, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
    try:
        with PilImage.open(io.BytesIO(data)) as image:
            image.load()
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = lenient
