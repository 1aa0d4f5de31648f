"""What the shipped data set ``crystal_mini`` promises: its items, its pictures, its licences, and who makes it."""

import re
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, Image
from lmms_eval_crystal.crystal_task.data import MINI_FILE
from lmms_eval_crystal.crystal_task.data.mini import make, photos
from PIL import Image as Pictures
from PIL import ImageDraw

# Another version of Pillow may set a letter half a pixel off or encode a JPEG slightly differently. Such noise is
# spread thin; a digit that changed fills a good part of one block.
BLOCK = 16
NOISE_OF_PICTURE, NOISE_OF_BLOCK = 1.5, 12.0

ROWS: list[dict[str, Any]] = pq.read_table(MINI_FILE).to_pylist()
BY_ID = {row["item_id"]: row for row in ROWS}
ENTRIES = [entry for _, entry in make.read_entries()]
LETTERED = [row for row in ROWS if row["choices"] or row["options"]]


def picture_of(row: dict[str, Any]) -> Pictures.Image:
    return Pictures.open(BytesIO(row["image"]["bytes"])).convert("RGB")


def look_alike(one: Pictures.Image, other: Pictures.Image) -> bool:
    """Whether two pictures of one size differ by rendering noise only."""
    difference = np.abs(np.asarray(one, np.float64) - np.asarray(other, np.float64)).mean(axis=2)
    rows, columns = (side - side % BLOCK for side in difference.shape)
    blocks = difference[:rows, :columns].reshape(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK).mean(axis=(1, 3))
    return bool(difference.mean() < NOISE_OF_PICTURE and blocks.max() < NOISE_OF_BLOCK)


def kind_of(row: dict[str, Any]) -> str:
    options, answer = row["choices"] or row["options"], row["answer"]
    if options:
        return "option text" if answer in options else "letter"
    if answer in ("Yes", "No"):
        return "yes/no"
    if re.fullmatch(r"\d+(\.\d+|/\d+)?", answer):
        return "number" if answer.isdigit() else "decimal or fraction"
    return "number with unit" if answer[0].isdigit() else "open"


# --- the file is what its maker makes ---


@pytest.fixture(scope="module")
def made() -> dict[str, dict[str, Any]]:
    return {row["item_id"]: row for row in make.make_rows()}


def test_texts_are_those_of_the_item_files(made: dict[str, dict[str, Any]]) -> None:
    def texts(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"image": row["image"]["path"]}

    assert list(map(texts, ROWS)) == list(map(texts, made.values()))


@pytest.mark.parametrize("item_id", BY_ID)
def test_picture_is_the_one_that_the_maker_draws(item_id: str, made: dict[str, dict[str, Any]]) -> None:
    shipped, drawn = picture_of(BY_ID[item_id]), picture_of(made[item_id])
    assert shipped.size == drawn.size
    assert look_alike(shipped, drawn)


def test_comparison_of_pictures_sees_a_number_that_is_gone() -> None:
    picture = picture_of(BY_ID["plotqa-05"])
    changed = picture.copy()
    ImageDraw.Draw(changed).rectangle((432, 302, 454, 318), "white")
    assert look_alike(picture, picture)
    assert not look_alike(picture, changed)


def test_writing_it_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.parquet", "two.parquet"):
        assert make.write(tmp_path / name) == len(ROWS)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


# --- the columns and the size ---


def test_file_is_small_enough_for_a_package() -> None:
    assert MINI_FILE.stat().st_size < 3_000_000


def test_datasets_reads_the_columns_of_the_hub_and_ours() -> None:
    dataset = Dataset.from_parquet(str(MINI_FILE), keep_in_memory=True)
    assert dataset.features == make.features()
    assert isinstance(dataset.features["image"], Image)
    assert dataset[0]["image"].size == picture_of(ROWS[0]).size


def test_every_source_has_ten_items() -> None:
    assert Counter(row["source"] for row in ROWS) == dict.fromkeys(make.SOURCES.values(), 10)


def test_item_ids_are_unique() -> None:
    assert len(BY_ID) == len(ROWS)


# --- each item ---


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["item_id"])
def test_item_is_whole(row: dict[str, Any]) -> None:
    steps = row["reference_steps"]
    assert 3 <= len(steps) <= 20
    assert len({step.casefold() for step in steps}) == len(steps)
    assert all(step == step.strip() and step.endswith(".") for step in steps)
    assert row["question"].endswith(("?", "Give the unit."))
    assert row["answer"].strip()
    assert row["licence"]
    assert row["provenance"]
    assert not (row["choices"] and row["options"])
    picture = picture_of(row)
    assert max(picture.size) <= photos.LONGEST_SIDE
    assert picture.getextrema() != ((255, 255),) * 3


@pytest.mark.parametrize("row", LETTERED, ids=lambda row: row["item_id"])
def test_answer_is_one_of_the_options(row: dict[str, Any]) -> None:
    options = row["choices"] or row["options"]
    assert len(set(options)) == len(options) >= 2
    assert row["answer"] in options or row["answer"] in "ABCDEFGH"[: len(options)]


def test_no_step_serves_two_items() -> None:
    steps = Counter(step for row in ROWS for step in row["reference_steps"])
    assert steps.most_common(1)[0][1] == 1


def test_lengths_spread_around_the_benchmarks_mean() -> None:
    lengths = [len(row["reference_steps"]) for row in ROWS]
    assert 8 <= np.mean(lengths) <= 12
    assert min(lengths) == 3
    assert max(lengths) >= 15


def test_every_kind_of_answer_occurs() -> None:
    kinds = Counter(map(kind_of, ROWS))
    assert set(kinds) == {
        "letter",
        "option text",
        "yes/no",
        "number",
        "decimal or fraction",
        "number with unit",
        "open",
    }
    assert {"choices", "options"} <= {column for row in LETTERED for column in row if row[column]}
    letters = Counter(row["answer"] for row in LETTERED if kind_of(row) == "letter")
    assert set(letters) == set("ABCD")


# --- licences ---


@pytest.mark.parametrize("name", photos.PHOTOS)
def test_licence_of_a_photograph_is_what_scikit_image_states(name: str) -> None:
    from skimage import data

    # Without the marks of links and with single spaces, as a reader sees it.
    docstring = " ".join(re.sub(r"`([^`<]*)<[^>]*>`_+", r"\1", getattr(data, name).__doc__).split()).replace(" .", ".")
    assert photos.PHOTOS[name].statement in docstring
    assert f"`{name}`" in MINI_FILE.with_name("README.md").read_text("utf-8")


def test_every_photograph_named_is_used() -> None:
    assert {entry["photo"] for entry in ENTRIES if "photo" in entry} == set(photos.PHOTOS)


def test_photographs_carry_the_statement_of_their_licence() -> None:
    for entry in ENTRIES:
        row = BY_ID[entry["id"]]
        if "photo" in entry:
            assert photos.PHOTOS[entry["photo"]].statement in row["provenance"]
        else:
            assert row["licence"] == make.DRAWING_LICENCE
