"""Thumbnails: small, of each picture once, within a budget, and never a reason to end a report."""

import base64
import io

import pytest
from lmms_eval_crystal.reports.pictures import SIDE, thumbnail, thumbnails
from PIL import Image


def picture(mode: str = "RGB", size: tuple[int, int] = (900, 600), kind: str = "PNG") -> bytes:
    made = io.BytesIO()
    Image.new(mode, size, 100 if mode in ("L", "P") else None).save(made, kind)
    return made.getvalue()


def opened(uri: str) -> Image.Image:
    head, _, data = uri.partition(",")
    assert head == "data:image/webp;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "LA"])
def test_pictures_of_each_mode_become_small_ones_of_the_same_shape(mode):
    assert opened(thumbnail(picture(mode))).size == (SIDE, round(SIDE * 600 / 900))


def test_a_small_picture_keeps_its_size():
    assert opened(thumbnail(picture(size=(40, 30), kind="JPEG"))).size == (40, 30)


@pytest.mark.parametrize("data", [b"", b"no picture", picture()[:20]])
def test_what_cannot_be_decoded_has_no_thumbnail(data):
    assert thumbnail(data) is None


def test_a_picture_that_several_items_share_is_made_once_and_the_budget_holds():
    asked = []

    def at_hand(doc_id: int, sha256: str) -> bytes | None:
        asked.append(doc_id)
        return None if doc_id == 3 else picture()

    wanted = [(1, "a"), (2, "a"), (3, "b"), (4, "c"), (5, "")]
    made = thumbnails(wanted, at_hand)
    assert list(made) == ["a", "c"]
    assert asked == [1, 3, 4]
    assert list(thumbnails(wanted, at_hand, budget=len(made["a"]))) == ["a"]
