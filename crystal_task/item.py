"""One question of the benchmark, as every other part of the package sees it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..metrics.options import question_with_options, unlabelled

#: The five sources of the benchmark; each has metrics of its own.
SOURCES = ("mathvision", "scienceqa", "realworldqa", "mmvp", "plotqa")
#: Twelve digits hold the index of any dataset; a longer run of digits is something else.
INDEX = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True)
class Item:
    """A question with its answer, ordered reference steps and options (none: an open question).

    ``index`` is the row of the dataset, ``source`` the normalised name of the benchmark that the
    question comes from, empty where it is not stated. ``question_from`` says who supplied the question:
    ``references``, ``predictions`` where the references have none, or ``none``.
    """

    index: int
    question: str
    answer: str
    reference_steps: tuple[str, ...]
    options: tuple[str, ...] = ()
    source: str = ""
    question_from: str = "references"

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


def item_id(value: object) -> str | None:
    """One spelling of an item's id in a file: numbers without leading zeros, also as the name of a file.

    None for what can be no id.

    >>> item_id("00012.json"), item_id(12), item_id(" q_12 "), item_id(True)
    ('12', '12', 'q_12', None)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as tables write whole numbers of a column with gaps
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value).strip().removesuffix(".json")
    return str(int(text)) if INDEX.fullmatch(text) else text or None


def normalise_source(name: str) -> str:
    """One spelling for a source that is spelled in several ways in the wild.

    >>> normalise_source("ScienceQA-IMG"), normalise_source("MATH-Vision"), normalise_source("Real World QA")
    ('scienceqa', 'mathvision', 'realworldqa')
    """
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    return letters.removesuffix("img") if letters.removesuffix("img") in SOURCES else letters


def _text(value: object) -> str:
    return "" if value is None else str(value)
