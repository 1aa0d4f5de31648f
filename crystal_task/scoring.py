"""From responses to records: one pass over a shard, then one record per item.

The filter gets all responses of a shard at once; everything that profits from batches (embedding)
happens there. ``process_results`` then only looks the record up.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_eval.api.filter import Filter
from loguru import logger
from tqdm import tqdm

from ..errors import CrystalError
from ..metrics import EmbeddingTable, ScorerSignature, StepEncoder, StepScores, judge_answer, score_embedded
from .checks import RawImages
from .errors import stop_the_run
from .fields import unpack_fields
from .item import SOURCES, Item
from .observe import Request, current_run, generation_signature, model_id
from .prompt import Prompt
from .response import Response, parse_response
from .released import parse_released
from .settings import Settings

#: Parsers by the name that the scorer signature shows.
PARSERS = {"ours": parse_response, "released": parse_released}
#: Digits of a similarity in a record; what lies below is rounding of the encoder's device.
SIMILARITY_DIGITS = 4


@dataclass(frozen=True)
class Prediction:
    """A response as it is scored: its text, what was read from it, and its length where known."""

    text: str
    response: Response
    output_tokens: int | None = None
    at_limit: bool = False


@dataclass
class TaskRun:
    """A CRYSTAL task that is loaded: its items, its encoder, and the records made so far."""

    task: str
    items: list[Item]
    images: RawImages
    prompt: Prompt
    parser: str
    settings: Settings
    encoder: StepEncoder
    data_hash: str
    table: EmbeddingTable = field(init=False)
    records: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    generation_kwargs: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.table = EmbeddingTable(self.encoder)

    @property
    def signature(self) -> ScorerSignature:
        """The scorer signature, over the items that the run covers."""
        run = current_run()
        return ScorerSignature(
            data=self.data_hash,
            items=run.items_of(len(self.items)) if run else len(self.items),
            parse=self.parser,
            encoder=self.encoder.signature,
            tau=self.settings.tau,
            alpha=self.settings.alpha,
            judge=self.settings.judge or "none",
        )

    def read(self, text: str, request: Request | None = None) -> Prediction:
        """What a response says. Fields that came as fields are taken as they are, never parsed again."""
        fields = unpack_fields(text)
        response = Response(*fields, "valid", False) if fields is not None else PARSERS[self.parser](text)
        tokens = request.output_tokens if request else None
        limit = request.token_limit if request else None
        return Prediction(text, response, tokens, tokens is not None and limit is not None and tokens >= limit)

    def score_shard(self, texts: Sequence[str], requests: Sequence[Request] | None) -> None:
        """Parses and embeds all responses of the shard in one pass, and makes their records."""
        predictions = [
            self.read(text, request) for text, request in zip(texts, requests or [None] * len(texts), strict=True)
        ]
        indices = [request.index for request in requests or ()]
        steps = [step for index in indices for step in self.items[index].reference_steps]
        steps += [
            step
            for prediction in predictions
            if not prediction.response.is_placeholder
            for step in prediction.response.steps
        ]
        move_to_free_device(self.encoder, self.settings.encoder_device)
        self.encoder.progress = _is_main_process()
        self.table.add(steps)
        progress = tqdm(indices, desc="Scoring", disable=not _is_main_process())
        for index, prediction in zip(progress, predictions, strict=False):
            self.records[index] = (prediction.text.strip(), self._record(self.items[index], prediction))

    def record(self, index: int, text: str) -> dict[str, Any]:
        """The record of an item; made now where the shard was scored without knowing which items it held."""
        with self._lock:
            known, record = self.records.get(index, (None, {}))
            if known != text.strip():
                record = self._record(self.items[index], self.read(text))
                self.records[index] = (text.strip(), record)
            return record

    def _record(self, item: Item, prediction: Prediction) -> dict[str, Any]:
        response = prediction.response
        if response.is_placeholder:
            scores = StepScores.of_pairs([], predicted=len(response.steps), reference=len(item.reference_steps))
        else:
            embedded = self.table.rows(response.steps), self.table.rows(item.reference_steps)
            scores = score_embedded(*embedded, self.settings.tau, self.settings.alpha)
        verdict = judge_answer(response.answer, item.answer, item.question, item.options)
        return make_record(self, item, prediction, scores, verdict)


def readable(prediction: Prediction) -> str:
    """The response as a person reads it: fields that came as fields as the JSON that they amount to."""
    if unpack_fields(prediction.text) is None:
        return prediction.text
    fields = {"reasoning_steps": list(prediction.response.steps), "answer": prediction.response.answer}
    return json.dumps(fields, ensure_ascii=False)


def make_record(run: TaskRun, item: Item, prediction: Prediction, scores: StepScores, verdict: Any) -> dict[str, Any]:
    """Metrics as plain floats, and under ``crystal`` all that a report needs of the item."""
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
        "truncated": float(response.truncated or prediction.at_limit),
    }
    if len(scores.pairs) >= 2:
        metrics["lis_multi"] = scores.lis
    if item.source in SOURCES:
        metrics[f"match_f1_{item.source}"] = scores.match_f1
        metrics[f"accuracy_{item.source}"] = float(verdict.paper)
    observed = current_run()
    details = {
        "model": model_id(observed) if observed else "unknown",
        "response": readable(prediction),
        "status": response.status,
        "predicted_steps": list(response.steps),
        "reference_steps": list(item.reference_steps),
        "pairs": [
            [predicted, reference, round(value, SIMILARITY_DIGITS)] for predicted, reference, value in scores.pairs
        ],
        "question": item.question,
        "options": list(item.options),
        "reference_answer": item.answer,
        "answer": response.answer,
        "correct": verdict.paper,
        "correct_strict": verdict.strict,
        "answer_kind": verdict.kind,
        "source": item.source,
        "image_sha256": run.images.sha256(item.index),
        "output_tokens": prediction.output_tokens,
        "scorer": str(run.signature),
        "generation": str(generation_signature(observed, run.prompt.hash, run.generation_kwargs)),
    }
    return {**metrics, "crystal": details}


class ScoreShard(Filter):
    """The filter that the task YAMLs name: scores the shard, and hands the responses on as they are."""

    @stop_the_run
    def apply(self, resps: list[list[str]], docs: Any) -> list[str]:
        """The first response of each request; of several (``--repeats``) the others stay in ``resps``."""
        for responses in resps:
            # In place: the harness writes these lists as they are, and one lone surrogate loses the rest of its file.
            responses[:] = [without_surrogates(response) for response in responses]
        texts = [responses[0] if responses else "" for responses in resps]
        observed = current_run()
        run_of(docs).score_shard(texts, observed.requests_of(resps) if observed else None)
        return texts


def without_surrogates(text: str) -> str:
    """The text with lone surrogates replaced, which no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


#: The tasks that are loaded in this process, by name.
RUNS: dict[str, TaskRun] = {}


def run_of(docs: Any) -> TaskRun:
    """The task that a dataset was prepared for."""
    return RUNS[docs.select_columns(["crystal_task"])[0]["crystal_task"]]


def _is_main_process() -> bool:
    return os.environ.get("RANK", "0") == "0"


def move_to_free_device(encoder: StepEncoder, wanted: str) -> None:
    """Moves the encoder to the device that is set, or to this rank's GPU, which generation has left free by now."""
    import torch

    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    device = wanted or (f"cuda:{local_rank % torch.cuda.device_count()}" if torch.cuda.is_available() else "cpu")
    try:
        encoder.to(device)
    except RuntimeError as error:  # torch reports a full or a broken GPU with it
        logger.warning(f"The encoder does not fit on {device} ({error}); it runs on the CPU, with the same scores.")
        encoder.to("cpu")
