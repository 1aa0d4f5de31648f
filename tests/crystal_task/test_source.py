"""Where the data may come from, and what is said where it does not."""

import datetime
import io

import datasets
import pytest
import synthetic
from lmms_eval_crystal.crystal_task import checks, source
from lmms_eval_crystal.crystal_task.item import Item, normalise_source
from lmms_eval_crystal.errors import CrystalError
from PIL import Image, ImageFile


def opened(path) -> datasets.Dataset:
    """The test split as the harness would open it."""
    location = source.locate(str(path))
    if location.kwargs.get("load_from_disk"):
        return datasets.load_from_disk(location.path)["test"]
    return datasets.load_dataset(location.path, **location.kwargs)["test"]


def test_a_hub_id_keeps_its_revision():
    assert source.locate("owner/name", "abc123") == source.Location("owner/name", {"revision": "abc123"})
    assert not source.locate("owner/name").is_local


@pytest.mark.parametrize("form", ["parquet", "folder of parquet", "dataset", "dict", "dict of one split", "arrow file"])
def test_local_copies_in_all_forms(tmp_path, form):
    made = synthetic.dataset()
    path = tmp_path / "copy"
    if form == "parquet":
        path = tmp_path / "copy.parquet"
        made.to_parquet(path)
    elif form == "folder of parquet":
        path.mkdir()
        for part in range(2):
            made.shard(2, part, contiguous=True).to_parquet(path / f"{part}.parquet")
    elif form == "dataset":
        made.save_to_disk(path)
    elif form == "arrow file":
        made.save_to_disk(path)
        path = next(path.glob("*.arrow"))
    else:
        split = "test" if form == "dict" else "train"
        datasets.DatasetDict({split: made}).save_to_disk(path)
    items = checks.read_items(opened(path))
    assert [item.question for item in items] == made["question"][:]


def test_jsonl_with_image_paths_relative_to_the_file(tmp_path):
    (tmp_path / "images").mkdir()
    lines = []
    for index, row in enumerate(synthetic.rows(3)):
        (tmp_path / "images" / f"{index}.png").write_bytes(row["image"]["bytes"])
        lines.append({**row, "image": f"images/{index}.png"})
    datasets.Dataset.from_list(lines).to_json(tmp_path / "copy.jsonl")
    location = source.locate(str(tmp_path / "copy.jsonl"))
    data = checks.with_images(opened(tmp_path / "copy.jsonl"), location.folder)
    images = checks.RawImages(data)
    checks.check_images(images)
    assert images.data(2) == synthetic.picture(2)
    assert data[0]["image"].size == (32, 32)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/no/such/file.parquet", "there is no such file or folder"),
        ("no_such_thing", "there is no such file or folder"),
        (".", "holds no saved dataset"),
        ("x" * 5000, "it cannot be looked at"),
        ("~nosuchuser/data", "it cannot be looked at"),
    ],
)
def test_a_path_that_leads_nowhere_is_named(name, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CrystalError, match=says):
        source.locate(name)


def test_of_a_folder_with_several_splits_the_test_files_are_taken(tmp_path):
    for split, count in (("test", 3), ("train", 5)):
        synthetic.dataset(count).to_parquet(tmp_path / f"{split}-00000-of-00001.parquet")
    assert len(opened(tmp_path)) == 3
    (tmp_path / "test-00000-of-00001.parquet").unlink()
    with pytest.raises(CrystalError, match="of the splits train, none of 'test'"):
        source.locate(str(tmp_path))


def test_a_file_of_another_type_is_refused(tmp_path):
    (tmp_path / "data.csv").write_text("question\n")
    with pytest.raises(CrystalError, match=r"type \.csv"):
        source.locate(str(tmp_path / "data.csv"))


def test_several_splits_without_a_test_split_are_refused(tmp_path):
    datasets.DatasetDict({"a": synthetic.dataset(1), "b": synthetic.dataset(1)}).save_to_disk(tmp_path / "copy")
    with pytest.raises(CrystalError, match="splits are a, b, none named 'test'"):
        source.locate(str(tmp_path / "copy"))


def test_a_torn_parquet_file_is_named(tmp_path):
    (tmp_path / "copy.parquet").write_bytes(b"PAR1 and then nothing")
    location = source.locate(str(tmp_path / "copy.parquet"))
    with pytest.raises(CrystalError, match=r"copy\.parquet: reading it failed"):
        source.open_dataset(location, str(tmp_path / "copy.parquet"))


def test_the_hub_out_of_reach_says_terms_login_and_local_copies():
    with pytest.raises(CrystalError, match=r"accept its terms.*hf auth login.*CRYSTAL_DATASET.*crystal_mini"):
        source.open_dataset(source.locate("waybarrios/CRYSTAL"), "waybarrios/CRYSTAL")


@pytest.mark.parametrize("column", checks.REQUIRED)
def test_a_missing_column_is_named(column):
    with pytest.raises(CrystalError, match=f"no column {column}"):
        checks.check_columns(synthetic.dataset().remove_columns(column))


def test_no_items_and_steps_that_are_one_text_are_refused():
    with pytest.raises(CrystalError, match="no items"):
        checks.check_columns(synthetic.dataset().select([]))
    with pytest.raises(CrystalError, match="list of texts in each row"):
        checks.check_columns(synthetic.dataset(2, reference_steps=["one text", "another"]))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("choices", ["['red', 'blue']", ""]),
        ("options", [{"A": "red"}, {"A": "blue"}]),
        ("reference_steps", [[["a"]], [["b"]]]),
        ("reference_steps", [[{"step": "a"}], [{"step": "b"}]]),
        ("answer", [datetime.date(2024, 1, 5)] * 2),
        ("question", [["a"], ["b"]]),
    ],
)
def test_columns_of_another_type_are_named(column, values):
    with pytest.raises(CrystalError, match=f"The column {column} holds"):
        checks.check_columns(synthetic.dataset(2, **{column: values}))


def test_numbers_as_answers_and_columns_that_are_empty_throughout_are_fine():
    data = synthetic.dataset(2, answer=[3, 4], choices=[[], []], options=[None, None])
    checks.check_columns(data)
    assert [item.answer for item in checks.read_items(data)] == ["3", "4"]


def test_blank_choices_do_not_hide_options():
    row = {"question": "Which?", "answer": "A", "reference_steps": ["x"], "choices": ["", None], "options": ["red"]}
    assert Item.from_row(row, 0).options == ("red",)


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("reference_steps", [], "no reference steps"),
        ("reference_steps", [" "], "no reference steps"),
        ("question", " ", "no question"),
        ("answer", "", "no answer"),
        ("choices", ["x"] * 27, "27 options"),
    ],
)
def test_an_incomplete_item_is_named(column, value, says):
    values = [row[column] for row in synthetic.rows(4)]
    values[2] = value
    with pytest.raises(CrystalError, match=f"Item 2 of the dataset has {says}"):
        checks.read_items(synthetic.dataset(4, **{column: values}))


def photograph(kind: str) -> bytes:
    buffer = io.BytesIO()
    noise = Image.effect_noise((300, 200), 90).convert("P" if kind == "GIF" else "RGB")
    noise.save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "GIF", "BMP", "TIFF", "PNG", "WEBP"])
def test_an_image_that_breaks_off_is_found_in_every_format(kind, monkeypatch):
    """Also under the harness's setting, with which Pillow fills up what is missing."""
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    whole = photograph(kind)
    for data, good in ((whole, True), (whole[: len(whole) // 2], False)):
        images = checks.RawImages(synthetic.dataset(1, image=[{"bytes": data, "path": None}]))
        if good:
            checks.check_images(images)
        else:
            with pytest.raises(CrystalError, match="image of item 0 cannot be read"):
                checks.check_images(images)
    assert ImageFile.LOAD_TRUNCATED_IMAGES


@pytest.mark.parametrize("broken", [b"no image at all", b"", synthetic.picture(0)[:40]])
def test_an_unreadable_image_is_named(broken):
    images = [{"bytes": synthetic.picture(index), "path": None} for index in range(4)]
    images[3] = {"bytes": broken, "path": None}
    with pytest.raises(CrystalError, match="image of item 3 cannot be read"):
        checks.check_images(checks.RawImages(synthetic.dataset(4, image=images)))


def test_each_rank_checks_its_share_of_the_images(monkeypatch):
    images = [{"bytes": synthetic.picture(index) if index != 3 else b"broken", "path": None} for index in range(4)]
    raw = checks.RawImages(synthetic.dataset(4, image=images))
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    checks.check_images(raw)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(CrystalError, match="item 3"):
        checks.check_images(raw)


def test_a_column_that_holds_no_images_is_refused():
    data = datasets.Dataset.from_dict({"image": [1, 2]})
    with pytest.raises(CrystalError, match="column image holds"):
        checks.with_images(data, None)


def test_choices_win_over_options_and_letters_are_not_doubled():
    row = {"question": "Which?", "answer": "A", "reference_steps": ["x"], "options": ["o"]}
    assert Item.from_row({**row, "choices": ["(A) red", "(B) blue"]}, 0).options == ("red", "blue")
    assert Item.from_row({**row, "choices": []}, 0).options == ("o",)
    assert Item.from_row({**row, "choices": ["A) red", "green"]}, 0).options == ("A) red", "green")
    assert Item.from_row({**row, "options": None}, 0).full_question == "Which?"
    assert Item.from_row(row, 0).full_question == "Which?\nA) o"


@pytest.mark.parametrize("name", ["mathvision", "MathVision", "MATH-Vision", "math_vision"])
def test_sources_have_one_spelling(name):
    assert normalise_source(name) == "mathvision"
    assert normalise_source("Something-IMG") == "somethingimg"
