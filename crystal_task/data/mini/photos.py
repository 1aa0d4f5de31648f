"""The photographs of ``crystal_mini``: which ones, whose word on their licence, and how a part is cut out of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont, ImageOps

from .canvas import INK, WHITE, YELLOW

LONGEST_SIDE = 480
"""Pixels; enough to see all that a reference step names, and small enough for a file that ships in a package."""


@dataclass(frozen=True)
class Photo:
    """A picture of ``skimage.data``: its licence, and the sentence of its docstring that states it, word for word."""

    licence: str
    statement: str


PHOTOS: Mapping[str, Photo] = {
    "astronaut": Photo("Public domain", "No known copyright restrictions, released into the public domain."),
    "camera": Photo("CC0-1.0", "No copyright restrictions. CC0 by the photographer (Lav Varshney)."),
    "chelsea": Photo("CC0-1.0", "No copyright restrictions. CC0 by the photographer (Stefan van der Walt)."),
    "coffee": Photo("CC0-1.0", "No copyright restrictions. CC0 by the photographer (Rachel Michetti)."),
    "coins": Photo("No known copyright restrictions", "No known copyright restrictions."),
    "horse": Photo("CC0-1.0", "No copyright restrictions. CC0 given by owner (Andreas Preuss (marauder))."),
    "retina": Photo(
        "CC0-1.0",
        "This file is made available under the Creative Commons CC0 1.0 Universal Public Domain Dedication.",
    ),
    "rocket": Photo("Public domain", "The image was captured by SpaceX and released in the public domain."),
}


def photograph(
    name: str,
    crop: Sequence[int] | None = None,
    mirror: bool = False,
    labels: Mapping[str, Sequence[int]] | None = None,
) -> Image.Image:
    """A photograph of ``PHOTOS`` as RGB, ``LONGEST_SIDE`` pixels long; needs scikit-image.

    ``crop`` is left, top, right, bottom in pixels of the original; ``mirror`` swaps left and right; ``labels`` maps
    a sign to the place, in pixels of the finished picture, where a disc with that sign is put.
    """
    from skimage import data  # a test extra: only making the set needs it, never using it

    image = Image.fromarray(getattr(data, name)()).convert("RGB")
    if crop:
        image = image.crop((crop[0], crop[1], crop[2], crop[3]))
    if mirror:
        image = ImageOps.mirror(image)
    image = ImageOps.contain(image, (LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    draw = ImageDraw.Draw(image)
    for sign, (x, y) in (labels or {}).items():
        draw.ellipse((x - 13, y - 13, x + 13, y + 13), INK, YELLOW, 2)
        draw.text((x, y), sign, WHITE, ImageFont.load_default(18), "mm")
    return image
