"""One question of the benchmark, as every other part of the package sees it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..metrics.options import question_with_options, unlabelled

#: The five sources of the benchmark; each has metrics of its own.
SOURCES = ("mathvision", "scienceqa", "realworldqa", "mmvp", "plotqa")


@dataclass(frozen=True)
class Item:
    """A question with its answer, ordered reference steps and options (none: an open question).

    ``index`` is the row of the dataset, ``source`` the normalised name of the benchmark that the
    question comes from, empty where it is not stated.
    """

    index: int
    question: str
    answer: str
    reference_steps: tuple[str, ...]
    options: tuple[str, ...] = ()
    source: str = ""

    @classmethod
    def from_row(cls, row: Mapping[str, Any], index: int) -> "Item":
        """The item of a dataset row. ``choices`` wins where a row fills both ``choices`` and ``options``.

        >>> Item.from_row({"question": "Red?", "answer": "yes", "reference_steps": ["It is red"]}, 3).options
        ()
        """
        return cls(
            index=index,
            question=_text(row.get("question")),
            answer=_text(row.get("answer")),
            reference_steps=tuple(_text(step) for step in row.get("reference_steps") or ()),
            options=unlabelled(_listed(row.get("choices")) or _listed(row.get("options"))),
            source=normalise_source(_text(row.get("source"))),
        )

    @property
    def full_question(self) -> str:
        """The question with its options as ``A) ...`` lines."""
        return question_with_options(self.question, self.options)


def _listed(values: Any) -> list[str]:
    """The texts of a list; nothing where all are blank, as some copies fill unused columns."""
    texts = [_text(value) for value in values or ()]
    return texts if any(text.strip() for text in texts) else []


def normalise_source(name: str) -> str:
    """One spelling for a source that is spelled in several ways in the wild.

    >>> normalise_source("ScienceQA-IMG"), normalise_source("MATH-Vision"), normalise_source("Real World QA")
    ('scienceqa', 'mathvision', 'realworldqa')
    """
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    return letters.removesuffix("img") if letters.removesuffix("img") in SOURCES else letters


def _text(value: object) -> str:
    return "" if value is None else str(value)
