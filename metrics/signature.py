"""What made a number, in two short strings that travel with it: the scorer's and the generation's signature."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


def short_hash(text: str, digits: int = 8) -> str:
    """The first hexadecimal digits of the SHA-256 of a text.

    >>> short_hash("CRYSTAL")
    '33b7515a'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def data_hash(items: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """Hash of the questions, answers and reference steps of a dataset, in their order, 8 hexadecimal digits."""
    digest = hashlib.sha256()
    for question, answer, steps in items:
        line = json.dumps([question, answer, list(steps)], ensure_ascii=False)
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:8]


def signature_fields(text: str) -> dict[str, str]:
    """What a signature states, by field; nothing for a text that is none.

    >>> signature_fields("crystal|v:1|enc:a/b@c")["enc"], signature_fields("unknown")
    ('a/b@c', {})
    """
    return dict(part.split(":", 1) for part in text.split("|") if ":" in part)


def _joined(parts: Iterable[tuple[str, object]]) -> str:
    # A value must not look like a further field.
    return "|".join(f"{key}:{str(value).replace('|', '/')}" for key, value in parts)


@dataclass(frozen=True)
class ScorerSignature:
    """All that can change a score once the responses are there.

    ``version`` is raised only when a score can move; the task YAMLs state it as ``metadata.version``.
    """

    version: int
    data: str
    items: int
    parse: str
    encoder: str
    tau: float
    alpha: float
    judge: str = "none"
    #: Who supplied the questions, which the answer rules read; shown where it is not the references.
    question: str = "references"

    def __str__(self) -> str:
        return "crystal|" + _joined(
            {
                "v": self.version,
                "data": self.data,
                "n": self.items,
                "parse": self.parse,
                "enc": self.encoder,
                "tau": self.tau,
                "match": "greedy",
                "order": "lis",
                "alpha": self.alpha,
                "judge": self.judge,
                **({} if self.question == "references" else {"question": self.question}),
            }.items()
        )


@dataclass(frozen=True)
class GenerationSignature:
    """All that is known of how the responses were made; ``unknown`` where the harness does not tell."""

    prompt: str
    system: str
    model: str
    adapter: str
    dtype: str
    tokens: str
    temperature: str
    pixels: str
    scripted: bool

    @classmethod
    def parse(cls, text: str, model: str, adapter: str) -> "GenerationSignature":
        """The signature that a text states, with another model and adapter; ``unknown`` for what it does not state.

        >>> str(GenerationSignature.parse("prompt:0f|scripted:yes", "m@unknown", "Replay/chat"))[:42]
        'prompt:0f|system:unknown|model:m@unknown|a'
        """
        stated = signature_fields(text)
        names = ("prompt", "system", "dtype", "tokens", "temperature", "pixels")
        values = {name: stated.get(name, "unknown") for name in names}
        return cls(model=model, adapter=adapter, scripted=stated.get("scripted") == "yes", **values)

    def __str__(self) -> str:
        return _joined(
            {
                "prompt": self.prompt,
                "system": self.system,
                "model": self.model,
                "adapter": self.adapter,
                "dtype": self.dtype,
                "tokens": self.tokens,
                "temperature": self.temperature,
                "pixels": self.pixels,
                "scripted": "yes" if self.scripted else "no",
            }.items()
        )
