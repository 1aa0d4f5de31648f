"""The record of one item: its metrics, and all that a report needs of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from ..metrics import AnswerVerdict, StepScores, Validity, count_uncompared
from .fields import unpack_fields
from .item import SOURCES, Item
from .observe import Request
from .response import Response

#: Digits of a similarity in a record; what lies below is rounding of the encoder's device.
SIMILARITY_DIGITS = 4


@dataclass(frozen=True)
class Reading:
    """A response as it is scored: its text, what was read from it, and the request behind it where known."""

    text: str
    response: Response
    request: Request | None = None

    @property
    def output_tokens(self) -> int | None:
        """Number of tokens that the model wrote, where it is known."""
        return self.request.output_tokens if self.request else None

    @property
    def truncated(self) -> bool:
        """Whether the text breaks off, or the model stopped only because it reached the limit."""
        limit = self.request.token_limit if self.request else None
        at_limit = self.output_tokens is not None and limit is not None and self.output_tokens >= limit
        return self.response.truncated or at_limit

    @property
    def readable(self) -> str:
        """The text as a person reads it: fields that came as fields as the JSON that they amount to."""
        if unpack_fields(self.text) is None:
            return self.text
        fields = {"reasoning_steps": list(self.response.steps), "answer": self.response.answer}
        return json.dumps(fields, ensure_ascii=False)


@dataclass(frozen=True)
class Provenance:
    """What made a record: the model's id, and both signatures."""

    model: str = "unknown"
    scorer: str = "unknown"
    generation: str = "unknown"


@dataclass(frozen=True)
class Scored:
    """The scores of one item. ``judged`` is None without a judge."""

    item: Item
    reading: Reading
    steps: StepScores
    verdict: AnswerVerdict
    validity: Validity
    judged: bool | None = None


def make_record(scored: Scored, image_sha256: str, provenance: Provenance) -> dict[str, Any]:
    """Metrics as plain floats, which the harness averages, and under ``crystal`` what it only writes down.

    A metric that an item does not have (``lis_multi`` with fewer than two matches, ``null_f1`` without another
    item, the metrics of other sources, ``accuracy_judged`` without a judge) is absent, not zero.
    """
    item, reading, steps, verdict = scored.item, scored.reading, scored.steps, scored.verdict
    response, validity = reading.response, scored.validity
    # By reference step: the order of nearly equal similarities is rounding.
    pairs = sorted(steps.pairs, key=itemgetter(1))
    place = {pair[:2]: index for index, pair in enumerate(pairs)}
    metrics = {
        "accuracy": float(verdict.paper),
        "accuracy_strict": float(verdict.strict),
        "match_f1": steps.match_f1,
        "precision": steps.precision,
        "recall": steps.recall,
        "ordered_f1": steps.ordered_f1,
        "lis": steps.lis,
        "kendall_tau": steps.kendall_tau,
        "steps": float(steps.predicted),
        "format_valid": float(response.status == "valid"),
        "format_usable": float(response.is_usable),
        "truncated": float(reading.truncated),
    }
    if validity.null_f1 is not None:
        metrics["null_f1"] = validity.null_f1
        metrics["f1_above_null"] = steps.match_f1 - validity.null_f1
    if scored.judged is not None:
        metrics["accuracy_judged"] = float(scored.judged)
    if len(steps.pairs) >= 2:
        metrics["lis_multi"] = steps.lis
    if item.source in SOURCES:
        metrics[f"match_f1_{item.source}"] = steps.match_f1
        metrics[f"accuracy_{item.source}"] = float(verdict.paper)
    details = {
        "model": provenance.model,
        "response": reading.readable,
        "status": response.status,
        "predicted_steps": list(response.steps),
        "uncompared_steps": count_uncompared(response.steps),
        "reference_steps": list(item.reference_steps),
        "pairs": [
            [predicted, reference, round(similarity, SIMILARITY_DIGITS)] for predicted, reference, similarity in pairs
        ],
        "optimal_f1": validity.optimal_f1,
        "first_f1": list(validity.first_f1),
        "conflicts": sorted([place[predicted, reference], kind] for predicted, reference, kind in validity.conflicts),
        "question": item.question,
        "question_from": item.question_from,
        "options": list(item.options),
        "reference_answer": item.answer,
        "answer": response.answer,
        "correct": verdict.paper,
        "correct_kind": verdict.paper_kind,
        "correct_strict": verdict.strict,
        "correct_strict_kind": verdict.kind,
        "source": item.source,
        "image_sha256": image_sha256,
        "output_tokens": reading.output_tokens,
        "scorer": provenance.scorer,
        "generation": provenance.generation,
    }
    return {**metrics, "crystal": details}
