"""From responses to records: one pass over a shard, then one record per item.

The filter gets all responses of a shard at once; everything that profits from batches (embedding)
happens there. ``process_results`` then only looks the record up.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_eval.api.filter import Filter
from loguru import logger
from tqdm import tqdm

from ..metrics import (
    AnswerVerdict,
    EmbeddingTable,
    ScorerSignature,
    StepEncoder,
    StepScores,
    judge_answer,
    score_embedded,
)
from .checks import RawImages
from .errors import stop_the_run
from .fields import unpack_fields
from .item import Item
from .judge import AnswerJudge, JudgeCase
from .observe import Request, Shard, current_run, generation_signature
from .prompt import Prompt
from .record import Prediction, make_record
from .released import parse_released
from .response import Response, parse_response
from .settings import Settings

#: Parsers by the name that the scorer signature shows.
PARSERS = {"ours": parse_response, "released": parse_released}


@dataclass
class TaskRun:
    """A CRYSTAL task that is loaded: its items, its encoder, and the records made so far.

    ``table`` holds the embeddings; tasks of one process that use the same encoder share it.
    """

    task: str
    items: list[Item]
    images: RawImages
    prompt: Prompt
    parser: str
    settings: Settings
    encoder: StepEncoder
    table: EmbeddingTable
    data_hash: str
    judge: AnswerJudge | None = None
    _generation: str = "unknown"
    _records: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

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
            judge=self.judge.name if self.judge else "none",
        )

    def read(self, text: str, request: Request | None = None) -> Prediction:
        """What a response says. Fields that came as fields are taken as they are, never parsed again."""
        fields = unpack_fields(text)
        if fields is None:
            response = PARSERS[self.parser](text)
        else:
            steps, answer = fields
            cleaned = [without_surrogates(step) for step in steps]
            response = Response(cleaned, None if answer is None else without_surrogates(answer), "valid", False)
        return Prediction(text, response, request)

    def score_shard(self, texts: Sequence[str], shard: Shard | None) -> None:
        """Parses and embeds all responses of the shard in one pass, and makes their records."""
        if shard is None:  # then each record is made when it is asked for
            return
        run = current_run()
        if run:
            self._generation = str(generation_signature(run.model, self.prompt.hash, shard.generation_kwargs))
        predictions = [self.read(text, request) for text, request in zip(texts, shard.requests, strict=True)]
        move_to_free_device(self.encoder, self.settings.encoder_device)
        self.encoder.progress = _is_main_process()
        self.table.add(step for request in shard.requests for step in self.items[request.index].reference_steps)
        self.table.add(
            step for prediction in predictions if not prediction.is_placeholder for step in prediction.response.steps
        )
        self.encoder.to("cpu")  # the next model of a run over several wants the whole GPU
        items = [self.items[request.index] for request in shard.requests]
        progress = tqdm(predictions, desc="Scoring", disable=not _is_main_process())
        scored = [self._score(item, prediction) for item, prediction in zip(items, progress, strict=True)]
        judged = self._judge(items, predictions, [verdict for _, verdict in scored])
        for item, prediction, (scores, verdict), decision in zip(items, predictions, scored, judged, strict=True):
            self._keep(item, prediction, scores, verdict, decision)

    def record(self, index: int, text: str) -> dict[str, Any]:
        """The record of an item; made now where the shard was scored without knowing which items it held."""
        with self._lock:
            known, record = self._records.get(index, (None, {}))
            if known == text.strip():
                return record
            item, prediction = self.items[index], self.read(text)
            scores, verdict = self._score(item, prediction)
            [decision] = self._judge([item], [prediction], [verdict])
            return self._keep(item, prediction, scores, verdict, decision)

    def _score(self, item: Item, prediction: Prediction) -> tuple[StepScores, AnswerVerdict]:
        response = prediction.response
        verdict = judge_answer(response.answer, item.answer, item.question, item.options)
        if prediction.is_placeholder:
            return StepScores.of_pairs([], len(response.steps), len(item.reference_steps)), verdict
        embedded = self.table.rows(response.steps), self.table.rows(item.reference_steps)
        return score_embedded(*embedded, self.settings.tau, self.settings.alpha), verdict

    def _judge(
        self, items: Sequence[Item], predictions: Sequence[Prediction], verdicts: Sequence[AnswerVerdict]
    ) -> list[bool | None]:
        """The judged verdicts: the judge's where no rule settles the answer, the strict rule's elsewhere."""
        if self.judge is None:
            return [None] * len(items)
        decisions: list[bool | None] = [verdict.strict for verdict in verdicts]
        cases = {
            place: JudgeCase(item.full_question, item.answer, prediction.response.answer)
            for place, (item, prediction, verdict) in enumerate(zip(items, predictions, verdicts, strict=True))
            if not verdict.settled and prediction.response.answer
        }
        for place, decision in zip(cases, self.judge.decide(list(cases.values())), strict=True):
            if decision is not None:
                decisions[place] = decision
        return decisions

    def _keep(
        self,
        item: Item,
        prediction: Prediction,
        scores: StepScores,
        verdict: AnswerVerdict,
        judged: bool | None,
    ) -> dict[str, Any]:
        record = make_record(item, prediction, scores, verdict, judged)
        record["crystal"]["image_sha256"] = self.images.sha256(item.index)
        record["crystal"]["scorer"] = str(self.signature)
        record["crystal"]["generation"] = self._generation
        self._records[item.index] = (prediction.text.strip(), record)
        return record


#: The tasks that are loaded in this process, by name.
RUNS: dict[str, TaskRun] = {}


def run_of(docs: Any) -> TaskRun:
    """The task that a dataset was prepared for."""
    return RUNS[docs.select_columns(["crystal_task"])[0]["crystal_task"]]


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
        run_of(docs).score_shard(texts, observed.shard_of(resps) if observed else None)
        return texts


def without_surrogates(text: Any) -> str:
    """The text with lone surrogates replaced, which no file can hold.

    >>> without_surrogates("caf\\ud83d")
    'caf?'
    """
    text = "" if text is None else str(text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


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
