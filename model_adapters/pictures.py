"""Pictures as every processor takes them: upright, three channels, no thinner than a processor can cut."""

from dataclasses import dataclass
from math import ceil, sqrt
from pathlib import Path

from loguru import logger as eval_logger
from PIL import Image

from ..crystal_task.prompt import as_rgb
from ..errors import CrystalError

# The Qwen processors refuse what is longer than 200 times its breadth.
LARGEST_RATIO = 200
# One patch of the Qwen models with its merging, the coarsest grid among the families; some processors of
# transformers take a picture of one or three rows for one with so many channels.
SMALLEST_SIDE = 28


@dataclass(frozen=True)
class PixelLimits:
    """Least and largest area in pixels, by which a picture is enlarged or reduced before a processor sees it."""

    least: int | None = None
    largest: int | None = None


def opened(image: object) -> Image.Image:
    """The picture of a message: a PIL image as it is, or the file that a path names.

    Raises ``CrystalError`` for anything else, and where the file is no picture.
    """
    if isinstance(image, Image.Image):
        return image
    if isinstance(image, str | Path) and Path(image).is_file():
        try:
            return Image.open(image)
        except OSError as error:
            raise CrystalError(f"The file {image} is no picture that can be read; mend it or leave it out.") from error
    raise CrystalError(
        f"A task gives crystal_hf a picture as {type(image).__name__} ({str(image)[:80]}), and it takes PIL images and "
        "files; leave that task out."
    )


def fit(image: Image.Image, limits: PixelLimits = PixelLimits()) -> Image.Image:
    """An RGB picture within the limits, at most 1:200, and 28 pixels or more on its short side.

    What is too thin gets white margins, since stretching would change what is in it; what is too small is
    enlarged in proportion.

    >>> fit(Image.new("1", (3000, 2))).size
    (5600, 28)
    >>> fit(Image.new("RGB", (4000, 1000)), PixelLimits(largest=10_000)).size
    (200, 50)
    """
    picture = as_rgb(image)
    width, height = picture.size
    breadth = ceil(max(width, height) / LARGEST_RATIO)
    if min(width, height) < breadth:
        eval_logger.warning(f"A picture of {width} by {height} pixels is too thin; it gets white margins.")
        canvas = Image.new("RGB", (max(width, breadth), max(height, breadth)), "white")
        canvas.paste(picture, ((canvas.width - width) // 2, (canvas.height - height) // 2))
        picture = canvas
    scale = _scale(picture, limits)
    if scale == 1:
        return picture
    wide, high = (max(SMALLEST_SIDE, round(side * scale)) for side in picture.size)
    return picture.resize((wide, high), Image.Resampling.BICUBIC)


def _scale(picture: Image.Image, limits: PixelLimits) -> float:
    area = picture.width * picture.height
    scale = 1.0
    if limits.least and area < limits.least:
        scale = sqrt(limits.least / area)
    if limits.largest and area > limits.largest:
        scale = sqrt(limits.largest / area)
    return max(scale, SMALLEST_SIDE / min(picture.size)) if min(picture.size) < SMALLEST_SIDE else scale
