"""The diagnosis of an item: whether the answer is right, and whether the steps are those of the question.

Each item has exactly one of six; ``diagnose`` has the rule, ``DIAGNOSES`` says what each means. The rule
reads the steps through their matches, so it is as blunt as those: a right route that the reference does
not take looks lucky, and at another ``CRYSTAL_TAU`` or encoder other thresholds are due.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ..errors import CrystalError
from ..metrics.aggregate import SEED

#: Which of the two accuracies decides whether an item is right.
ANSWERS = {"strict": "accuracy_strict", "paper": "accuracy"}
#: Examples of one diagnosis that a page shows.
EXAMPLES = 5


@dataclass(frozen=True)
class Thresholds:
    """Where a diagnosis turns; each value is in ``[0, 1]``. Raises ``CrystalError`` for any other.

    ``match_f1``: steps are sound from here on. Steps of *another* question of the same source reach 0.19 on
    average and 0.5 in fewer than one case in twenty (at tau 0.35, between the references of ``crystal_mini``,
    MiniLM), so that what is above hardly comes by chance.
    ``recall``: and where more of the reference steps than this are there: whoever leaves out half of the
    reasoning does not show it.
    ``precision``: steps that are not sound are still good ones where at least this share of them matches;
    below it most of what was said has nothing to do with the reference.
    ``answers``: ``strict`` takes ``accuracy_strict``, since the rule of ``paper`` (``accuracy``) lets pass
    counts that are off by a tenth, and luck with the marker is not luck of the model.
    """

    match_f1: float = 0.5
    recall: float = 0.5
    precision: float = 0.5
    answers: Literal["strict", "paper"] = "strict"

    def __post_init__(self) -> None:
        for name in ("match_f1", "recall", "precision"):
            if not 0 <= getattr(self, name) <= 1:
                raise CrystalError(f"The threshold {name} is {getattr(self, name)}; give a number from 0 to 1.")
        if self.answers not in ANSWERS:
            raise CrystalError(f"The answers of a diagnosis are strict or paper, not {self.answers!r}.")

    def __str__(self) -> str:
        return (
            f"right: {ANSWERS[self.answers]}; sound: match_f1 >= {self.match_f1:g} and recall > {self.recall:g}; "
            f"good steps: precision >= {self.precision:g}"
        )


@dataclass(frozen=True)
class Diagnosis:
    """One class: its name in data, its label, what it means in a sentence, and what to do about it."""

    name: str
    label: str
    meaning: str
    advice: str


#: In the order in which they are shown, best first.
DIAGNOSES = {
    diagnosis.name: diagnosis
    for diagnosis in (
        Diagnosis(
            "sound",
            "sound and right",
            "The answer is right, and most of the reference steps are there.",
            "Nothing to mend; look at Ordered F1 for their order.",
        ),
        Diagnosis(
            "cherry_picked",
            "right by few good steps",
            "The answer is right and the steps that were given are good, but too few of the reference steps are there.",
            "Check whether the prompt or the token limit cuts the reasoning short; reward recall in training.",
        ),
        Diagnosis(
            "lucky",
            "right by unrelated steps",
            "The answer is right, but most of the steps match nothing in the reference.",
            "Read examples first: a guess, knowledge without looking, or a route of its own look alike here.",
        ),
        Diagnosis(
            "sound_wrong",
            "sound but wrong",
            "The answer is wrong, though most of the reference steps are there.",
            "Look at the last step: a slip in the conclusion, a unit or a format of the answer that the marker "
            "does not take.",
        ),
        Diagnosis(
            "neither",
            "neither",
            "The answer is wrong, and the steps are not sound.",
            "Sort by source and by number of reference steps to see where the model is out of its depth.",
        ),
        Diagnosis(
            "malformed",
            "malformed",
            "Nothing could be read from the response, so it says nothing of the reasoning.",
            "Look at the statuses and the share of truncated responses; raise max_new_tokens or mend the prompt "
            "before reading any other number.",
        ),
    )
}


def diagnose(items: pd.DataFrame, thresholds: Thresholds | None = None) -> pd.Series:
    """The name of the diagnosis of each item, as a categorical over ``DIAGNOSES`` with the index of ``items``.

    Reads ``format_usable``, ``match_f1``, ``precision``, ``recall`` and the accuracy that decides. In this
    order: not usable is malformed; sound steps are ``sound`` or ``sound_wrong`` by the answer; any others
    with a wrong answer ``neither``; with a right one ``cherry_picked`` or ``lucky`` by their precision.
    """
    limits = thresholds or Thresholds()
    usable = items["format_usable"] > 0
    right = items[ANSWERS[limits.answers]] > 0
    sound = (items["match_f1"] >= limits.match_f1) & (items["recall"] > limits.recall)
    good = items["precision"] >= limits.precision
    rules = [~usable, sound & right, sound & ~right, ~right, good]
    names = np.select(rules, ["malformed", "sound", "sound_wrong", "neither", "cherry_picked"], "lucky")
    return pd.Series(pd.Categorical(names, categories=list(DIAGNOSES)), index=items.index, name="diagnosis")


def counts(diagnosed: pd.Series) -> dict[str, int]:
    """How many items of a run have each diagnosis, those that none has included."""
    found = diagnosed.value_counts()
    return {name: int(found.get(name, 0)) for name in DIAGNOSES}


def examples(items: pd.DataFrame, diagnosed: pd.Series, name: str, n: int = EXAMPLES, seed: int = SEED) -> list[int]:
    """Up to ``n`` ``doc_id`` with that diagnosis, drawn in turn from each source; the order of rows does not matter."""
    sources = items.loc[diagnosed[diagnosed == name].index, "source"].fillna("")
    rng = np.random.default_rng(seed)
    drawn = []
    for source in sorted(sources.unique()):
        doc_ids = np.sort(sources.index[sources == source].to_numpy())
        # Rounds first: each source gives one before any gives two.
        drawn += [(place, source, int(doc_id)) for place, doc_id in enumerate(rng.permutation(doc_ids))]
    return [doc_id for _, _, doc_id in sorted(drawn)[:n]]
