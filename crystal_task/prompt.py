"""What a model is asked: the prompt file around the question, with the image behind it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from ..errors import CrystalError
from ..metrics.signature import short_hash
from .item import Item

PROMPT_FILE = Path(__file__).parent / "prompts" / "crystal.txt"
#: Where the question goes: our name of the place, and the one in the authors' prompt.
PLACES = ("{question}", "{USER_INSTRUCTION}")
EIGHT_BITS = 255
_PLACE = re.compile("|".join(map(re.escape, PLACES)))


@dataclass(frozen=True)
class Prompt:
    """The wording of a prompt, with a place for the question."""

    text: str

    @classmethod
    def from_file(cls, path: str | Path) -> "Prompt":
        """Raises ``CrystalError`` where the file cannot be read or has no place for the question."""
        try:
            text = Path(path).expanduser().read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise CrystalError(
                f"The prompt file {path} cannot be read ({error}); set CRYSTAL_PROMPT_FILE to a UTF-8 text file."
            ) from error
        if not _PLACE.search(text):
            raise CrystalError(
                f"The prompt file {path} has no place for the question; write {' or '.join(PLACES)} where it goes."
            )
        return cls(text.strip())

    @property
    def hash(self) -> str:
        """First 8 hexadecimal digits of the SHA-256 of the wording, as the generation signature shows it."""
        return short_hash(self.text)

    def fill(self, item: Item) -> str:
        """The text for one item, by plain replacement: prompts are full of JSON braces.

        >>> Prompt('Write {"a": 1} for: {question}').fill(Item(0, "Why?", "x", ("y",)))
        'Write {"a": 1} for: Why?'
        """
        return _PLACE.sub(lambda _: item.full_question, self.text)


def as_rgb(image: Image.Image) -> Image.Image:
    """The picture as a person sees it: turned as its EXIF data says, transparency on white, three channels.

    Adapters of the harness treat other modes each in their own way, down to black backgrounds.
    """
    upright = ImageOps.exif_transpose(image) or image
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        layers = upright.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layers.size, "white"), layers).convert("RGB")
    if upright.mode.startswith("I") and (grey := np.asarray(upright.convert("I"))).max() > EIGHT_BITS:
        # Pillow would cut 16 bits of grey off instead of scaling them.
        return Image.fromarray((grey // (EIGHT_BITS + 2)).clip(0, EIGHT_BITS).astype(np.uint8)).convert("RGB")
    return upright.convert("RGB")


def messages(text: str, image: Image.Image) -> list[dict[str, Any]]:
    """One user turn as chat models take it: the text, then the image."""
    return [{"role": "user", "content": [{"type": "text", "text": text}, {"type": "image", "url": image}]}]
