"""How large a picture reaches a model: read from its processor, and set there where it has such a setting."""

from dataclasses import dataclass
from typing import Any

from ..errors import CrystalError
from .pictures import PixelLimits

# The names under which the Qwen processors keep their least and largest area, in spite of what they say.
AREA_KEYS = ("shortest_edge", "longest_edge")


@dataclass(frozen=True)
class ImageLimits:
    """The limits of a run.

    ``before`` is what a picture is brought to before the processor sees it; ``least`` and ``largest`` are
    what the generation signature shows, in pixels (``3136``, ``12845056``) or, where a family cuts tiles
    of one size, as their number and size (``12x448x448``). ``largest_area`` is
    the limit among these that is an area, in pixels.
    """

    before: PixelLimits
    least: str | None
    largest: str | None
    largest_area: int | None = None


def set_image_limits(
    processor: Any, min_pixels: int | None = None, max_pixels: int | None = None, max_tiles: int | None = None
) -> ImageLimits:
    """Sets the limits on ``processor``; None leaves what the checkpoint says.

    The Qwen processors take areas themselves; for all others a picture is scaled to the limits beforehand.
    Tiles can be set where the model takes any number of them (InternVL). Raises ``CrystalError`` for a
    number of tiles that the model was not made for, and for limits that exclude each other.
    """
    if min_pixels and max_pixels and min_pixels > max_pixels:
        raise CrystalError(f"min_pixels={min_pixels} is more than max_pixels={max_pixels}; swap or drop one.")
    images = processor.image_processor
    _set_tiles(images, max_tiles)
    size = dict(getattr(images, "size", None) or {})
    if hasattr(images, "merge_size") and all(size.get(key) for key in AREA_KEYS):
        least, largest = _areas(size, min_pixels, max_pixels)
        areas = dict(zip(AREA_KEYS, (least, largest), strict=True))
        images.size = {**{key: value for key, value in size.items() if value}, **areas}
        # The same under the names that transformers 4 reads.
        for name, area in (("min_pixels", least), ("max_pixels", largest)):
            if hasattr(images, name):
                setattr(images, name, area)
        return ImageLimits(PixelLimits(), str(least), str(largest), largest_area=largest)
    shown = [str(limit) for limit in (max_pixels, _tiles_text(images)) if limit]
    before = PixelLimits(min_pixels, max_pixels)
    return ImageLimits(before, str(min_pixels or "") or None, ",".join(shown) or None, largest_area=max_pixels)


def _areas(size: dict[str, int], min_pixels: int | None, max_pixels: int | None) -> tuple[int, int]:
    """One limit alone moves the checkpoint's other one out of its way."""
    least, largest = min_pixels or size[AREA_KEYS[0]], max_pixels or size[AREA_KEYS[1]]
    return (least, max(least, largest)) if min_pixels else (min(least, largest), largest)


def _set_tiles(images: Any, wanted: int | None) -> None:
    if wanted is None:
        return
    if hasattr(images, "max_patches"):
        images.max_patches = wanted
        images.min_patches = min(images.min_patches, wanted)
    elif wanted != (own := _fixed_tiles(images)):
        what = f"takes {own} tiles a picture, as it was trained" if own else "cuts no tiles"
        raise CrystalError(f"max_tiles={wanted} cannot be set: this model {what}; leave it out, or use max_pixels=.")


def _fixed_tiles(images: Any) -> int | None:
    """The most tiles of a model that knows only certain layouts of them."""
    if tiles := getattr(images, "max_image_tiles", None):
        return int(tiles)
    if grid := getattr(images, "image_grid_pinpoints", None):
        height, width = _square(images)
        # One more for the whole picture, which comes beside its tiles.
        return 1 + max(rows * columns for rows, columns in grid) // (height * width)
    return None


def _tiles_text(images: Any) -> str:
    height, width = _square(images)
    tiles = getattr(images, "max_patches", None) or _fixed_tiles(images)
    return "x".join(str(number) for number in (tiles, height, width) if number)


def _square(images: Any) -> tuple[int, int]:
    """Height and width of what the vision part sees at once; zeros where the processor does not say."""
    for name in ("crop_size", "size"):
        size = dict(getattr(images, name, None) or {})
        if size.get("height") and size.get("width"):
            return size["height"], size["width"]
    return 0, 0
