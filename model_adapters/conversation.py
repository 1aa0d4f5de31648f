"""From the harness's messages to what a processor takes: one prompt text, and the pictures that belong in it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError
from PIL import Image

from ..errors import CrystalError, first_line

# Shorter special tokens are ordinary characters ("!", a line break) that some checkpoints use as padding.
SHORTEST_MARKER = 3
# Where a processor keeps the texts that stand for a picture or a film.
MARKER_NAMES = ("image_token", "boi_token", "eoi_token", "video_token", "audio_token")
# Stand in for texts when a template is examined; no template writes them.
FIRST, ANSWER, SECOND, MARKER = "[probe 1]", "[probe 2]", "[probe 3]", "\0"

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Conversation:
    """One prompt: the text with the family's markers in it, and a picture for each marker."""

    text: str
    images: tuple[Image.Image, ...]


class ChatFormat:
    """Puts messages into the words of a checkpoint's chat template.

    ``system_prompt`` is what the template itself says before the first turn ("You are a helpful
    assistant." with Qwen2.5-VL), or None. Nothing is added to it: the harness's messages hold no system
    turn for CRYSTAL, and a template is the checkpoint's own way to be asked.
    """

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self._markers = _marker_pattern(processor)
        self.system_prompt = self._find_system_prompt()

    def conversation(self, messages: Iterable[Mapping[str, Any]], load: Callable[[Any], Image.Image]) -> Conversation:
        """The prompt of a request; ``load`` makes the picture of each image part, in order.

        Raises ``CrystalError`` for parts other than text and images, and where the template refuses the messages.
        """
        images: list[Image.Image] = []
        turns: Messages = []
        for message in messages:
            content = message["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            turns.append({"role": message["role"], "content": [self._part(part, load, images) for part in parts]})
        return Conversation(self._render(turns), tuple(images))

    def _part(
        self, part: Mapping[str, Any], load: Callable[[Any], Image.Image], images: list[Image.Image]
    ) -> dict[str, Any]:
        if part["type"] == "text":
            return {"type": "text", "text": self.plain(str(part["text"]))}
        if part["type"] != "image":
            raise CrystalError(
                f"crystal_hf takes texts and images, and a task gives it {part['type']}; leave that out."
            )
        images.append(load(next(part[key] for key in ("url", "image", "path") if key in part)))
        return {"type": "image"}

    def plain(self, text: str) -> str:
        """The text with a space inside each of the checkpoint's special tokens.

        A question that speaks of ``<image>`` would otherwise be given a picture that is not there, and
        one with ``<|im_end|>`` would end its own turn. A space, since every tokenizer knows it and a
        model reads the word as before; texts without special tokens are not touched.
        """
        return self._markers.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text) if self._markers else text

    def _render(self, turns: Messages, answer: bool = True) -> str:
        try:
            return self._processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=answer)
        except (TemplateError, TypeError) as error:
            raise CrystalError(
                f"The model's chat template refuses the messages of a task ({first_line(error)}); "
                "run that task with another model."
            ) from error

    def _find_system_prompt(self) -> str | None:
        """What stands before the first turn, apart from what stands before each turn of a user."""
        picture = {"type": "image"}
        first = [{"role": "user", "content": [picture, {"type": "text", "text": FIRST}]}]
        more = [
            {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
            {"role": "user", "content": [picture, {"type": "text", "text": SECOND}]},
        ]
        start = self._unmarked(self._render(first).partition(FIRST)[0])
        try:
            between = self._unmarked(self._render(first + more).partition(ANSWER)[2].partition(SECOND)[0])
        except CrystalError:
            # A template for one turn only; then all that it says beforehand is taken for it.
            between = ""
        said = start.removesuffix(_common_end(start, between)).replace(MARKER, " ")
        # The same text as where an adapter sends it as a turn of its own, so that signatures compare.
        return re.sub(r"^\s*system\b\s*", "", said).strip() or None

    def _unmarked(self, text: str) -> str:
        return self._markers.sub(MARKER, text) if self._markers else text


def _marker_pattern(processor: Any) -> re.Pattern[str] | None:
    tokenizer = processor.tokenizer
    special = [str(token) for token in tokenizer.added_tokens_decoder.values() if getattr(token, "special", False)]
    named = [getattr(owner, name, None) or "" for owner in (processor, tokenizer) for name in MARKER_NAMES]
    markers = {text for text in (*special, *tokenizer.all_special_tokens, *named) if _is_marker(text)}
    return re.compile("|".join(re.escape(text) for text in sorted(markers, key=len, reverse=True))) if markers else None


def _is_marker(text: str) -> bool:
    return len(text) >= SHORTEST_MARKER and not text.isalnum()


def model_inputs(processor: Any, conversations: Sequence[Conversation]) -> Any:
    """The tensors of a batch, padded on the left: what is generated follows the last token of each row.

    All conversations of a batch hold the same number of pictures.
    """
    texts = [conversation.text for conversation in conversations]
    images = [list(conversation.images) for conversation in conversations]
    beginning = processor.tokenizer.bos_token
    return processor(
        text=texts,
        images=images if any(images) else None,
        padding=True,
        padding_side="left",
        return_tensors="pt",
        # As apply_chat_template does it: a template that writes the beginning of a text itself gets no second one.
        add_special_tokens=not (beginning and texts[0].startswith(beginning)),
    )


def _common_end(one: str, other: str) -> str:
    """The longest text that both end in."""
    longest = min(len(one), len(other))
    return next(
        one[len(one) - length :] for length in range(longest, -1, -1) if one.endswith(other[len(other) - length :])
    )
