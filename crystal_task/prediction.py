"""Predictions that were made elsewhere, as they are scored without the harness: one, and those of one model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .fields import pack_fields
from .references import References


@dataclass(frozen=True)
class Prediction:
    """One prediction: either the text of a response, or steps and answer that were taken out of it already."""

    text: str | None = None
    steps: tuple[str, ...] = ()
    answer: str | None = None
    # The file, and the line or key in it, for messages.
    where: str = field(default="", compare=False)
    # The generation signature that a sample of this package carries.
    generation: str = field(default="", compare=False)
    # The question, where the file has it beside the response, as the authors' files do.
    question: str = field(default="", compare=False)
    # Tokens that the model wrote, where a sample of this package says so.
    output_tokens: int | None = field(default=None, compare=False)

    @property
    def response(self) -> str:
        """What goes to the scorer: the text as it is, or the fields in the form that it never parses."""
        return pack_fields(self.steps, self.answer) if self.text is None else self.text


@dataclass(frozen=True)
class PredictionSet:
    """The predictions of one model by item id.

    ``generation`` is what their files say of how they were made. Of the samples of a run, ``is_run``, which asked for
    these items and no others, ``task`` is its task, ``scorer`` the signature of the scores that they had, and
    ``references`` the items that they carry, where these are wanted.
    """

    model: str
    source: Path
    by_id: Mapping[str, Prediction]
    generation: str = ""
    scorer: str = ""
    task: str = ""
    is_run: bool = False
    references: References | None = None


def common_generation(predictions: Iterable[Prediction]) -> str:
    """How predictions were made, where all say the same; else no more than that some were scripted."""
    stated = {prediction.generation for prediction in predictions}
    if len(stated) == 1:
        return stated.pop()
    return "scripted:yes" if any(text.endswith("scripted:yes") for text in stated) else ""
