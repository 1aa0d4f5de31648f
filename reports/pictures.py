"""Thumbnails of the items in a page, as data URIs, each different picture once."""

import base64
import io
from collections.abc import Callable, Iterable, Mapping

from PIL import Image

#: Longer side in pixels: charts and labels can still be told apart.
SIDE = 320
#: WebP quality at which a chart's labels stay readable; a picture then takes about 8 kB.
QUALITY = 62
#: Bytes of all thumbnails of a page; the pictures past it are left out, and the page says so.
BUDGET = 4_500_000

#: The image file of an item, given its ``doc_id`` and the SHA-256 in its record; None where it is not at hand.
Pictures = Callable[[int, str], bytes | None]


def thumbnail(data: bytes) -> str | None:
    """A small WebP of an image file as a data URI; None where it cannot be decoded."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            # A JPEG is decoded at a fraction of its size.
            image.draft("RGB", (2 * SIDE, 2 * SIDE))
            image.thumbnail((SIDE, SIDE))
            small = io.BytesIO()
            image.convert("RGBA" if "A" in image.getbands() or "transparency" in image.info else "RGB").save(
                small, "WEBP", quality=QUALITY, method=4
            )
    except Exception:  # decoders raise many kinds, and a picture is no reason to end a report
        return None
    return f"data:image/webp;base64,{base64.b64encode(small.getvalue()).decode()}"


def thumbnails(
    wanted: Iterable[tuple[int, str]],
    pictures: Pictures,
    budget: int = BUDGET,
    advance: Callable[[], None] = lambda: None,
) -> Mapping[str, str]:
    """Data URIs by SHA-256 of the items' images, in the given order until ``budget`` (characters) is used up."""
    made: dict[str, str] = {}
    left = budget
    for doc_id, sha256 in wanted:
        advance()
        if sha256 in made or not sha256:
            continue
        data = pictures(doc_id, sha256)
        uri = thumbnail(data) if data else None
        if uri and len(uri) <= left:
            made[sha256] = uri
            left -= len(uri)
    return made
