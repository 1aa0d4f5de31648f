"""Test items among the training items: CRYSTAL's own test split and the shipped set are refused as training data."""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import datasets
from PIL import Image
from tqdm import tqdm

from .. import ranks
from ..crystal_task import source
from ..crystal_task.checks import BAR_FROM, RawImages, check_columns, with_images
from ..crystal_task.data import MINI_FILE
from ..crystal_task.item import Item
from ..crystal_task.plugin import MINI
from ..crystal_task.prompt import as_rgb
from ..crystal_task.settings import HUB_DATASET, Settings
from ..errors import CrystalError, first_few
from .config import DataConfig

#: Where a chat template puts a picture, as data for training have it in their texts.
IMAGE_MARK = re.compile(r"<\|?(?:image|img|vision)\w*\|?>")
ALLOW = "write allow_test_items: true below data:"


def question_key(question: str) -> str:
    """One spelling of a question: letters and digits alone count, without case and without marks of a picture.

    >>> question_key("<image>\\nHow many  DOGS?") == question_key("how many dogs")
    True
    """
    text = unicodedata.normalize("NFKC", IMAGE_MARK.sub("", question)).casefold()
    return "".join(filter(str.isalnum, text)) or text.strip()


def check_name(wanted: DataConfig) -> None:
    """Raises ``CrystalError`` where the data is by its name a test set of CRYSTAL; opens nothing."""
    benchmark = Settings.from_environment().dataset
    own = {HUB_DATASET.lower(), benchmark.lower()}
    same_place = Path(wanted.path).expanduser().exists() and _place(wanted.path) == _place(benchmark)
    if wanted.path == MINI or (wanted.split == source.SPLIT and (wanted.path.lower() in own or same_place)):
        raise CrystalError(
            f"The training data {wanted.path} is a test set of CRYSTAL, and a model that was trained on it can no "
            f"longer be measured with it; name other items as path: below data:, or {ALLOW} for a trial."
        )


def _place(path: str) -> Path:
    return Path(path).expanduser().resolve()


def check_leakage(items: Sequence[Item], hashes: Sequence[str], images: RawImages) -> None:
    """Raises ``CrystalError`` where items have the question and the image of a test item: of the benchmark (its copy
    that ``CRYSTAL_DATASET`` names), or of ``crystal_mini``.

    ``hashes`` are the SHA-256 of the image files. Images are the same if their files are, or all their pixels; one
    that was scaled or compressed anew is not recognised. Raises ``CrystalError`` as well where the benchmark's copy
    cannot be read.
    """
    mini = datasets.Dataset.from_parquet(str(MINI_FILE))
    _compare(items, hashes, images, mini, MINI)
    settings = Settings.from_environment()
    try:
        location = source.locate(settings.dataset, settings.revision)
        benchmark = source.open_dataset(location, settings.dataset)
        check_columns(benchmark, ("image", "question", "answer"))
        benchmark = with_images(benchmark, location.folder)
    except CrystalError as error:
        raise CrystalError(
            "Whether items of CRYSTAL's test set are among the training items cannot be told, because the dataset "
            f"{settings.dataset} cannot be read here; set CRYSTAL_DATASET to a copy of it (or log in to the hub), or "
            f"{ALLOW} if you know that there are none."
        ) from error
    _compare(items, hashes, images, benchmark, settings.dataset)


def _compare(
    items: Sequence[Item], hashes: Sequence[str], images: RawImages, test: datasets.Dataset, name: str
) -> None:
    """Only images of equal questions are read: the benchmark has gigabytes of them."""
    columns = [column for column in ("question", "choices", "options") if column in test.column_names]
    asked: dict[str, list[int]] = {}
    for index, row in enumerate(test.select_columns(columns)):
        for key in _question_keys(Item.from_row(row, index)):
            asked.setdefault(key, []).append(index)
    test_images = RawImages(test)
    # Data sets ask one question of many pictures: each picture is read once, not once a pair.
    file_of, pixels_of = cache(test_images.sha256), cache(partial(_pixels, test_images))
    leaked: dict[int, int] = {}
    hidden = len(items) < BAR_FROM or not ranks.is_main()
    for item in tqdm(items, desc=f"Comparing with {name}", disable=hidden):
        rows = dict.fromkeys(row for key in _question_keys(item) for row in asked.get(key, ()))
        same = [row for row in rows if file_of(row) == hashes[item.index]]
        if rows and not same:
            own = _pixels(images, item.index)
            same = [row for row in rows if pixels_of(row) == own]
        if same:
            leaked[item.index] = same[0]
    if leaked:
        first, row = next(iter(leaked.items()))
        raise CrystalError(
            f"{len(leaked)} of the training items ({first_few(leaked)}) have the question and the image of test items "
            f"(item {first} is item {row} of {name}), and a model that was trained on them can no longer be measured "
            f"with these; take them out, or {ALLOW} for a trial."
        )


def _question_keys(item: Item) -> set[str]:
    """The question alone and with its options, which some data sets write into it, and its first line: others write
    below it how to answer."""
    first = IMAGE_MARK.sub("", item.question).strip().partition("\n")[0]
    return {question_key(item.question), question_key(item.full_question), question_key(first)}


def _pixels(images: RawImages, index: int) -> str:
    """A hash of size and pixels as a person sees them; one of its own for what cannot be decoded."""
    try:
        with Image.open(io.BytesIO(images.data(index))) as image:
            picture = as_rgb(image)
    except (OSError, ValueError, SyntaxError):
        return f"item {index} of {id(images)}"
    return hashlib.sha256(repr(picture.size).encode() + picture.tobytes()).hexdigest()
