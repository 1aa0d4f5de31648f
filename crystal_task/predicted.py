"""The predictions of one model as they are scored without the harness, wherever they were read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .references import References


class Given(Protocol):
    """One prediction, as far as the scorer needs it."""

    @property
    def response(self) -> str:
        """The text, or the fields in the form that is never parsed."""

    @property
    def question(self) -> str:
        """The question as the prediction's file has it; empty where it has none."""

    @property
    def output_tokens(self) -> int | None:
        """Tokens that the model wrote, where known."""


@dataclass(frozen=True)
class Predicted:
    """The predictions of one model by item id.

    ``generation`` is what their files say of how they were made. Of the samples of a run, ``is_run``, which asked for
    these items and no others, ``task`` is its task, ``scorer`` the signature of the scores that they had, and
    ``references`` the items that they carry, where these are wanted.
    """

    model: str
    source: Path
    by_id: Mapping[str, Given]
    generation: str = ""
    scorer: str = ""
    task: str = ""
    is_run: bool = False
    references: References | None = None
