"""Pictures of any kind reach a processor upright, in three channels, and no thinner than it can cut."""

import io

import datasets
import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters.image_limits import set_image_limits
from lmms_eval_crystal.model_adapters.lengths import Lengths
from lmms_eval_crystal.model_adapters.pictures import PixelLimits, fit, opened
from PIL import Image
from transformers import AutoProcessor

from .hf_cases import AWKWARD, checkpoint, load, photo, requests


@pytest.mark.parametrize("name", AWKWARD)
def test_every_picture_becomes_one_that_all_processors_take(name: str) -> None:
    picture = fit(AWKWARD[name][0])
    assert picture.mode == "RGB"
    assert min(picture.size) >= 28
    assert max(picture.size) / min(picture.size) <= 200


def test_an_ordinary_picture_is_not_touched() -> None:
    assert fit(photo(300, 200)).tobytes() == photo(300, 200).tobytes()


def test_a_thin_picture_gets_white_margins_and_a_log_line(heard: list[str]) -> None:
    picture = fit(Image.new("RGB", (6000, 10), "black"))
    assert picture.size == (6000, 30)
    assert [picture.getpixel((3000, row)) for row in (0, 15, 29)] == [(255, 255, 255), (0, 0, 0), (255, 255, 255)]
    assert any("6000 by 10 pixels is too thin" in message for message in heard)


def test_transparency_is_white_and_a_turned_photograph_upright() -> None:
    assert fit(Image.new("RGBA", (40, 40))).getpixel((5, 5)) == (255, 255, 255)
    assert fit(AWKWARD["EXIF"][0]).size == (100, 200)


def test_grey_of_16_bits_is_scaled_and_not_cut_off() -> None:
    assert fit(Image.new("I;16", (40, 40), 0x8000)).getpixel((0, 0)) == (127, 127, 127)


def test_limits_scale_in_proportion() -> None:
    assert fit(photo(400, 100), PixelLimits(largest=10_000)).size == (200, 50)
    assert fit(photo(40, 40), PixelLimits(least=10_000)).size == (100, 100)


def test_a_task_may_give_the_path_of_a_picture_and_nothing_else(tmp_path) -> None:
    photo(30, 40).save(tmp_path / "picture.png")
    (tmp_path / "text.png").write_text("not a picture")
    assert opened(str(tmp_path / "picture.png")).size == (30, 40)
    with pytest.raises(CrystalError, match="is no picture that can be read"):
        opened(tmp_path / "text.png")
    with pytest.raises(CrystalError, match="a picture as bytes"):
        opened(b"\x89PNG")


def test_the_qwen_processors_take_areas_themselves() -> None:
    processor = AutoProcessor.from_pretrained(checkpoint("qwen2_5_vl"))
    limits = set_image_limits(processor, min_pixels=28 * 28 * 4, max_pixels=28 * 28 * 16)
    assert (limits.before, limits.least, limits.largest) == (PixelLimits(), "3136", "12544")
    grid = processor.image_processor([photo(4000, 3000)], return_tensors="pt")["image_grid_thw"][0]
    assert grid.prod() // 4 <= 16
    # One limit alone moves the checkpoint's other one out of its way.
    assert set_image_limits(processor, max_pixels=1000).least == "1000"


def test_tiles_can_be_set_where_the_model_takes_any_number() -> None:
    processor = AutoProcessor.from_pretrained(checkpoint("internvl"))
    assert set_image_limits(processor).largest == "12x56x56"
    assert set_image_limits(processor, max_tiles=2).largest == "2x56x56"
    inputs = processor(text=["<IMG_CONTEXT>"], images=[[photo(400, 150)]], return_tensors="pt")
    assert len(inputs["pixel_values"]) == 3  # two tiles and the whole picture


@pytest.mark.parametrize(("family", "own"), [("mllama", 4), ("llava_next", 5)])
def test_other_tiles_than_a_model_was_trained_with_are_refused(family: str, own: int) -> None:
    processor = AutoProcessor.from_pretrained(checkpoint(family))
    assert set_image_limits(processor, max_tiles=own).largest == f"{own}x56x56"
    with pytest.raises(CrystalError, match=f"max_tiles=2 cannot be set: this model takes {own} tiles a picture"):
        set_image_limits(processor, max_tiles=2)


def test_limits_of_the_user_hold_for_families_without_a_setting_of_their_own() -> None:
    model = load(checkpoint("llava_next"), min_pixels=400, max_pixels=6400)
    assert (model.min_pixels, model.max_pixels) == ("400", "6400,5x56x56")
    sizes = [image.size for request in requests([0, 1]) for image in model._conversation(request).images]
    assert all(width * height <= 6500 for width, height in sizes)
    with pytest.raises(CrystalError, match="min_pixels=9 is more than max_pixels=4"):
        set_image_limits(model._processor, min_pixels=9, max_pixels=4)


def test_lengths_are_told_from_text_and_headers_alone() -> None:
    picture = photo(560, 280)
    features = datasets.Features({"image": datasets.Image(), "question": datasets.Value("string")})
    rows = datasets.Dataset.from_dict({"image": [picture, None], "question": ["a", "b"]}, features=features)
    lengths = Lengths()
    assert lengths.estimate("x" * 40, rows, "task", "test", 0) == 10 + 200
    assert lengths.estimate("x" * 40, rows, "task", "test", 1) == 10
    assert Lengths(largest=784).estimate("", rows, "task", "test", 0) == 1
    assert Lengths().estimate("x" * 40, [{"image": picture}], "task", "test", 0) == 10


def test_the_header_of_a_picture_that_cannot_be_decoded_is_enough() -> None:
    whole = io.BytesIO()
    photo(560, 280).save(whole, "PNG")
    pictures = [{"bytes": data, "path": None} for data in (whole.getvalue()[:60], b"?")]
    rows = datasets.Dataset.from_dict({"image": pictures}, features=datasets.Features({"image": datasets.Image()}))
    assert [Lengths().estimate("", rows, "task", "test", index) for index in range(2)] == [200, 0]
