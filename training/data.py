"""The training items: opened and checked, split into training and validation, and as a dataset for trl."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import datasets
from PIL import Image
from tqdm import tqdm

from .. import ranks
from ..crystal_task import source
from ..crystal_task.checks import BAR_FROM, RawImages, check_columns, checked_file, read_items, with_images
from ..crystal_task.data import MINI_FILE
from ..crystal_task.item import Item
from ..crystal_task.plugin import MINI
from ..crystal_task.prompt import Prompt, as_rgb
from ..errors import CrystalError
from .config import DataConfig, TrainConfig
from .leakage import check_leakage, check_name, question_key

SETTING = "as path: below data: in the configuration"
Items = tuple[Item, ...]


@dataclass(frozen=True)
class TrainingData:
    """Items with their images. ``train`` and ``validation`` share no pair of question and image; ``validated`` are
    those of ``validation`` that are generated for at each validation. All three are in the order of the dataset."""

    name: str
    train: tuple[Item, ...]
    validation: tuple[Item, ...]
    validated: tuple[Item, ...]
    images: RawImages = field(repr=False)

    def open_image(self, item: Item) -> Image.Image:
        """The picture of an item as a person sees it, in RGB. Raises ``CrystalError`` where it cannot be decoded."""
        try:
            with Image.open(io.BytesIO(self.images.data(item.index))) as image:
                return as_rgb(image)
        except (OSError, ValueError, SyntaxError) as error:  # SyntaxError: Pillow's word for broken PNG
            raise CrystalError(
                f"The image of item {item.index} of {self.name} cannot be decoded ({error}); replace it or take the "
                "item out."
            ) from error


def load_items(config: TrainConfig) -> TrainingData:
    """All items of ``config.data``, checked and split. The same on every rank.

    Raises ``CrystalError`` for data that cannot be opened, is incomplete, holds items of CRYSTAL's test set, or is
    too small to be split.
    """
    wanted = config.data
    if not wanted.allow_test_items:
        check_name(wanted)
    dataset, name = _opened(wanted)
    items = read_items(dataset)
    images = RawImages(dataset)
    hashes = _hashes(images)
    if not wanted.allow_test_items:
        check_leakage(items, hashes, images)
    train, validation, validated = _split(items, hashes, wanted, config.seed, name)
    return TrainingData(name, train, validation, validated, images)


def _opened(wanted: DataConfig) -> tuple[datasets.Dataset, str]:
    if wanted.path == MINI:
        return datasets.Dataset.from_parquet(str(MINI_FILE)), MINI
    split = source.Split(wanted.split, SETTING)
    location = source.locate(wanted.path, wanted.revision, split)
    dataset = source.open_dataset(location, wanted.path, split)
    check_columns(dataset)
    return with_images(dataset, location.folder), wanted.path


def _hashes(images: RawImages) -> list[str]:
    """SHA-256 of each image file; every rank reads all of them, so that all end with the same sentence."""
    hidden = len(images) < BAR_FROM or not ranks.is_main()
    indices = tqdm(range(len(images)), desc="Checking images", disable=hidden)
    return [hashlib.sha256(checked_file(images, index)).hexdigest() for index in indices]


def _split(
    items: Sequence[Item], hashes: Sequence[str], wanted: DataConfig, seed: int, name: str
) -> tuple[Items, Items, Items]:
    """Training items, validation items, and those of the latter that are generated for.

    Items of one question and image stay together. They are drawn by hashes of these and the seed, so that adding
    items to the data hardly moves the others.
    """
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(_digest(seed, question_key(item.question), hashes[item.index]), []).append(item)
    share = round(wanted.validation * len(items))
    drawn: list[Item] = []
    for digest in sorted(groups):
        if len(drawn) >= share:
            break
        drawn += groups[digest]
    if not drawn or len(drawn) == len(items):
        what = "none for validation" if not drawn else "none for training"
        raise CrystalError(
            f"data.validation {wanted.validation:g} of the {len(items)} items of {name} "
            f"({len(groups)} different) leaves {what}; bring more items or change that share."
        )
    held_out = {item.index for item in drawn}
    train = tuple(item for item in items if item.index not in held_out)
    return train, _in_order(drawn), _in_order(drawn[: wanted.validation_items or None])


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()


def _in_order(items: Iterable[Item]) -> Items:
    return tuple(sorted(items, key=lambda item: item.index))


def reward_columns(items: Sequence[Item]) -> dict[str, list[Any]]:
    """The columns that rewards take, a value an item."""
    return {
        "solution": [item.answer for item in items],
        "reference_steps": [list(item.reference_steps) for item in items],
        "question": [item.question for item in items],
        "options": [list(item.options) for item in items],
    }


def to_dataset(
    items: Sequence[Item],
    data: TrainingData,
    prompt: Prompt,
    clean: Callable[[str], str] = str,
    prepare: Callable[[Image.Image], Image.Image] = as_rgb,
) -> datasets.Dataset:
    """The items as trl takes them: ``prompt`` (one user turn, the text, then the image), ``images``, and for the
    rewards ``solution``, ``reference_steps``, ``question`` and ``options``.

    Images are decoded when a row is read, each once for a group of candidates, and go through ``prepare`` (the model
    adapters' ``fit`` with the limits of a run); prompts go through ``clean`` (their ``ChatFormat.plain``).
    """
    rows = {
        "prompt": [clean(prompt.fill(item)) for item in items],
        "images": list(range(len(items))),
        **reward_columns(items),
    }

    def decoded(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        made = dict(batch)
        if "prompt" in batch:
            made["prompt"] = [_user_turn(text) for text in batch["prompt"]]
        if "images" in batch:
            opened = {place: prepare(data.open_image(items[place])) for place in dict.fromkeys(batch["images"])}
            made["images"] = [[opened[place]] for place in batch["images"]]
        return made

    texts = datasets.Features(
        {name: datasets.Value("string") for name in ("prompt", "solution", "question")}
        | {"images": datasets.Value("int64")}
        | {name: datasets.List(datasets.Value("string")) for name in ("reference_steps", "options")}
    )
    return datasets.Dataset.from_dict(rows, features=texts).with_transform(decoded)


def _user_turn(text: str) -> list[dict[str, Any]]:
    """As ``crystal_task.prompt.messages`` orders it; trl puts the image into the empty place."""
    return [{"role": "user", "content": [{"type": "text", "text": text}, {"type": "image"}]}]
