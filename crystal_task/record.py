"""The record of one item: its metrics, and all that a report needs of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from ..metrics import AnswerVerdict, StepScores
from .fields import unpack_fields
from .item import SOURCES, Item
from .observe import Request, current_run
from .response import Response

#: Digits of a similarity in a record; what lies below is rounding of the encoder's device.
SIMILARITY_DIGITS = 4


@dataclass(frozen=True)
class Prediction:
    """A response as it is scored: its text, what was read from it, and the request behind it where known."""

    text: str
    response: Response
    request: Request | None = None

    @property
    def is_placeholder(self) -> bool:
        """Whether nothing could be read: one step that counts, and is never encoded nor matched."""
        return self.response.is_placeholder

    @property
    def output_tokens(self) -> int | None:
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


def make_record(
    item: Item, prediction: Prediction, scores: StepScores, verdict: AnswerVerdict, judged: bool | None = None
) -> dict[str, Any]:
    """Metrics as plain floats, which the harness averages, and under ``crystal`` what it only writes down.

    A metric that an item does not have (``lis_multi`` with fewer than two matches, the metrics of other
    sources, ``accuracy_judged`` without a judge) is absent, not zero.
    """
    response = prediction.response
    metrics = {
        "accuracy": float(verdict.paper),
        "accuracy_strict": float(verdict.strict),
        "match_f1": scores.match_f1,
        "precision": scores.precision,
        "recall": scores.recall,
        "ordered_f1": scores.ordered_f1,
        "lis": scores.lis,
        "kendall_tau": scores.kendall_tau,
        "steps": float(scores.predicted),
        "format_valid": float(response.status == "valid"),
        "format_usable": float(response.status in ("valid", "recovered")),
        "truncated": float(prediction.truncated),
    }
    if judged is not None:
        metrics["accuracy_judged"] = float(judged)
    if len(scores.pairs) >= 2:
        metrics["lis_multi"] = scores.lis
    if item.source in SOURCES:
        metrics[f"match_f1_{item.source}"] = scores.match_f1
        metrics[f"accuracy_{item.source}"] = float(verdict.paper)
    run = current_run()
    details = {
        "model": run.model.id if run else "unknown",
        "response": prediction.readable,
        "status": response.status,
        "predicted_steps": list(response.steps),
        "reference_steps": list(item.reference_steps),
        # By reference step: the order of nearly equal similarities is rounding.
        "pairs": [
            [predicted, reference, round(similarity, SIMILARITY_DIGITS)]
            for predicted, reference, similarity in sorted(scores.pairs, key=itemgetter(1))
        ],
        "question": item.question,
        "options": list(item.options),
        "reference_answer": item.answer,
        "answer": response.answer,
        "correct": verdict.paper,
        "correct_strict": verdict.strict,
        "answer_kind": verdict.kind,
        "source": item.source,
        "output_tokens": prediction.output_tokens,
    }
    return {**metrics, "crystal": details}
