"""How a text is generated and read off: greedily unless a request asks otherwise, with its tokens counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import GenerationConfig, RepetitionPenaltyLogitsProcessor

from ..errors import CrystalError

# What other adapters of the harness allow where a task does not say; the tasks of CRYSTAL say.
DEFAULT_NEW_TOKENS = 1024
# The settings of a checkpoint that shape greedy text as well. All others (temperature, top_p, top_k and their
# kin, do_sample, lengths, caches) are dropped: they would sample, or only warn that they are ignored.
KEPT = (
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "repetition_penalty",
    "no_repeat_ngram_size",
    "bad_words_ids",
    "suppress_tokens",
)


@dataclass(frozen=True)
class Decoding:
    """The generation settings of a request; requests that differ in them are not generated together."""

    max_new_tokens: int = DEFAULT_NEW_TOKENS
    until: tuple[str, ...] = ()
    #: 0 is greedy.
    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    num_beams: int = 1
    repetition_penalty: float | None = None

    @classmethod
    def of_request(cls, settings: Mapping[str, Any]) -> "Decoding":
        """Reads the harness's ``gen_kwargs``; other keys are some other adapter's and are left alone.

        A temperature above 0 samples, as everywhere in the harness; so does ``do_sample`` without one.
        Raises ``CrystalError`` for numbers that are none.

        >>> Decoding.of_request({"max_new_tokens": 8, "do_sample": False, "temperature": 0, "until": "END"})
        Decoding(max_new_tokens=8, until=('END',), temperature=0.0, top_p=None, top_k=None, num_beams=1, \
repetition_penalty=None)
        """
        until = settings.get("until") or ()
        sampled = 1.0 if settings.get("do_sample") else 0.0
        temperature = settings.get("temperature")
        try:
            decoding = cls(
                max_new_tokens=int(settings.get("max_new_tokens") or DEFAULT_NEW_TOKENS),
                until=(until,) if isinstance(until, str) else tuple(filter(None, until)),
                temperature=sampled if temperature is None else float(temperature),
                top_p=_optional(float, settings.get("top_p")),
                top_k=_optional(int, settings.get("top_k")),
                num_beams=int(settings.get("num_beams") or 1),
                repetition_penalty=_optional(float, settings.get("repetition_penalty")),
            )
        except (TypeError, ValueError) as error:
            raise CrystalError(f"A generation setting is no number ({error}); correct --gen_kwargs.") from error
        if decoding.max_new_tokens < 1 or decoding.temperature < 0:
            raise CrystalError("max_new_tokens starts at 1 and temperature at 0; correct --gen_kwargs.")
        return decoding

    def arguments(self) -> dict[str, Any]:
        """The arguments of ``generate``. Sampling settings are passed only where there is sampling."""
        arguments: dict[str, Any] = {"max_new_tokens": self.max_new_tokens, "num_beams": self.num_beams}
        if self.repetition_penalty:
            arguments["repetition_penalty"] = self.repetition_penalty
        if not self.temperature:
            return arguments | {"do_sample": False}
        # Stated, since transformers would fill in its own: the whole distribution unless the request cuts it.
        top_p, top_k = self.top_p or 1.0, self.top_k or 0
        return arguments | {"do_sample": True, "temperature": self.temperature, "top_p": top_p, "top_k": top_k}

    def cut(self, text: str) -> str:
        """The text before the first of the strings in ``until``, by the harness's rule.

        >>> Decoding(until=("stop",)).cut("go on stop here")
        'go on '
        """
        for end in self.until:
            text = text.split(end)[0]
        return text


def _optional(kind: type, value: Any) -> Any:
    return None if value is None else kind(value)


def greedy_config(network: Any, tokenizer: Any) -> GenerationConfig:
    """The checkpoint's generation config with what shapes greedy text, and with an end and a padding token.

    Those come from the text model's config or the tokenizer where the generation config has none.
    """
    given = network.generation_config
    kept = {name: value for name in KEPT if (value := getattr(given, name, None)) is not None}
    text_config = network.config.get_text_config()
    for name in ("eos_token_id", "pad_token_id"):
        if name not in kept:
            value = getattr(tokenizer, name, None)
            value = getattr(text_config, name, None) if value is None else value
            if value is not None:
                kept[name] = value
    if "pad_token_id" not in kept and "eos_token_id" in kept:
        kept["pad_token_id"] = min(_as_list(kept["eos_token_id"]))
    return GenerationConfig(**kept, do_sample=False)


class UnpaddedPenalty(RepetitionPenaltyLogitsProcessor):
    """The repetition penalty of transformers over what was really asked and written, in a batch as alone.

    Many releases take the padding for a part of the prompt, and so penalise its token, which may be an
    end of the text, in padded rows only. Some also fail at ids that a model reads and never writes.
    """

    def __init__(self, penalty: float, padding: torch.Tensor) -> None:
        super().__init__(penalty)
        # Tokens before the first real one, of each row: (batch,).
        self._padding = padding

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """``scores`` (rows, vocabulary) with the penalty for the tokens of ``input_ids`` (rows, length)."""
        rows, length = input_ids.shape
        # A row for each beam.
        padding = self._padding.repeat_interleave(rows // len(self._padding))[:, None]
        places = torch.arange(length, device=input_ids.device)
        counted = (places >= padding) & (input_ids < scores.shape[-1])
        # The row's own first token in their place: each token counts once, however often it stands there.
        return super().__call__(torch.where(counted, input_ids, input_ids.gather(1, padding)), scores)


def end_tokens(config: GenerationConfig) -> list[int]:
    """The ids that end a text."""
    return _as_list(config.eos_token_id)


def written(tokens: torch.Tensor, ends: Sequence[int]) -> list[list[int]]:
    """The token ids of each row of ``tokens`` (batch, length) before its end, which is not counted.

    A row without an end has reached the limit, and its count is the limit; what follows an end is padding.

    >>> written(torch.tensor([[5, 6, 2, 0], [5, 6, 7, 8]]), ends=[2])
    [[5, 6], [5, 6, 7, 8]]
    """
    rows = []
    for row in tokens.tolist():
        end = next((place for place, token in enumerate(row) if token in ends), len(row))
        rows.append(row[:end])
    return rows


def _as_list(value: int | list[int] | None) -> list[int]:
    if value is None:
        return []
    return [int(value)] if isinstance(value, int) else [int(token) for token in value]
