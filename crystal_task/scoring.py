"""From responses to records: one pass over a shard, then one record per item.

The filter gets all responses of a shard at once and notes them; the first document that the harness asks
for has them all parsed, embedded and scored in batches. So nothing is computed where nothing is asked
for (``--predict_only``), and one thread computes while the others wait.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lmms_eval.api.filter import Filter
from loguru import logger
from tqdm import tqdm

from .. import ranks
from ..errors import stop_the_run
from ..metrics import EmbeddingTable, ScorerSignature, StepEncoder, StepScores, judge_answer, score_embedded
from ..metrics.signature import data_hash
from .checks import ImageHashes
from .cleaning import replace_surrogates
from .fields import unpack_fields
from .item import Item
from .judge import AnswerJudge, JudgeCase
from .observe import Request, Run, current_run, generation_signature
from .prompt import Prompt
from .record import Provenance, Reading, Scored, make_record
from .released import parse_released
from .response import Response, parse_response
from .settings import Settings

#: Parsers by the name that the scorer signature shows.
PARSERS = {"ours": parse_response, "released": parse_released}


@dataclass
class LoadedTask:
    """A CRYSTAL task that the harness has loaded: its items, its encoder, and the records made so far.

    ``table`` holds the embeddings; tasks of one process that use the same encoder share it. ``question_from`` says
    where the questions are from, which the answer rules read: of a dataset, its own.
    """

    version: int
    items: list[Item]
    images: ImageHashes
    prompt: Prompt
    parser: str
    settings: Settings
    encoder: StepEncoder
    table: EmbeddingTable
    judge: AnswerJudge | None = None
    question_from: str = "references"
    _noted: tuple[Sequence[str], Sequence[Request]] | None = None
    _provenance: Provenance = field(default_factory=Provenance)
    _records: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._provenance = Provenance(scorer=str(self.scorer_signature(None)))

    def scorer_signature(self, run: Run | None) -> ScorerSignature:
        """The scorer signature, over the items that the run covers: on all ranks the same."""
        covered = run.covered(self.items) if run else self.items
        return ScorerSignature(
            version=self.version,
            data=data_hash((item.full_question, item.answer, item.reference_steps) for item in covered),
            items=len(covered),
            parse=self.parser,
            encoder=self.encoder.signature,
            tau=self.settings.tau,
            alpha=self.settings.alpha,
            judge=self.judge.name if self.judge else "none",
            question=self.question_from,
        )

    def note(self, texts: list[str], responses: Sequence[list[str]]) -> None:
        """Keeps the responses of the shard for when their records are asked for."""
        run = current_run()
        shard = run.shard_of(responses) if run else None
        provenance = Provenance(scorer=str(self.scorer_signature(run)))
        if run and shard:
            generation = generation_signature(run.model, self.prompt.hash, shard.generation_kwargs)
            provenance = replace(provenance, model=run.model.id, generation=str(generation))
        self.expect(texts, shard.requests if shard else (), provenance)

    def expect(self, texts: Sequence[str], requests: Sequence[Request], provenance: Provenance) -> None:
        """Has the texts, which answer the requests, scored in one pass as soon as the record of one is asked for."""
        self._records.clear()
        self._noted = (texts, requests) if requests else None
        self._provenance = provenance

    def record(self, index: int, text: str) -> dict[str, Any]:
        """The record of an item, for the given response to it.

        Made with those of the whole shard, or alone where it is not known which items the shard held.
        """
        with self._lock:
            if self._noted:
                (texts, requests), self._noted = self._noted, None
                indices = [request.index for request in requests]
                readings = [self._read(noted, request) for noted, request in zip(texts, requests, strict=True)]
                self._score(indices, readings)
            known, record = self._records.get(index, (None, {}))
            if known != text.strip():
                self._score([index], [self._read(text)])
                _, record = self._records[index]
            return record

    def _read(self, text: str, request: Request | None = None) -> Reading:
        """What a response says. Fields that came as fields are taken as they are, never parsed again."""
        fields = unpack_fields(text)
        if fields is None:
            return Reading(replace_surrogates(text), PARSERS[self.parser](text), request)
        steps, answer = fields
        cleaned = [replace_surrogates(step) for step in steps]
        response = Response(cleaned, None if answer is None else replace_surrogates(answer), "valid")
        return Reading(text, response, request)

    def _score(self, indices: Sequence[int], readings: Sequence[Reading]) -> None:
        items = [self.items[index] for index in indices]
        self._embed(items, readings)
        bar = tqdm(readings, desc="Scoring", disable=len(items) < 2 or not ranks.is_main())
        scored = [self._score_item(item, reading) for item, reading in zip(items, bar, strict=True)]
        for result in self._judged(scored):
            index = result.item.index
            record = make_record(result, self.images.sha256(index), self._provenance)
            self._records[index] = (result.reading.text.strip(), record)

    def _embed(self, items: Sequence[Item], readings: Sequence[Reading]) -> None:
        """All steps of the items in one call of the encoder, on the GPU that generation has left free."""
        steps = [step for item in items for step in item.reference_steps]
        steps += [
            step for reading in readings if not reading.response.is_placeholder for step in reading.response.steps
        ]
        move_to_free_device(self.encoder, self.settings.encoder_device)
        self.encoder.progress = len(items) > 1 and ranks.is_main()
        self.table.add(steps)
        self.encoder.to("cpu")  # the next model of a run over several wants the whole GPU

    def _score_item(self, item: Item, reading: Reading) -> Scored:
        response = reading.response
        verdict = judge_answer(response.answer, item.answer, item.question, item.options)
        if response.is_placeholder:
            steps = StepScores.of_pairs([], len(response.steps), len(item.reference_steps))
        else:
            embedded = self.table.rows(response.steps), self.table.rows(item.reference_steps)
            steps = score_embedded(*embedded, self.settings.tau, self.settings.alpha)
        return Scored(item, reading, steps, verdict)

    def _judged(self, scored: Sequence[Scored]) -> list[Scored]:
        """With the judge's verdict where no rule settles the answer, and the strict rule's elsewhere."""
        if self.judge is None:
            return list(scored)
        open_cases = {
            result.item.index: JudgeCase(result.item.full_question, result.item.answer, result.reading.response.answer)
            for result in scored
            if not result.verdict.settled and result.reading.response.answer
        }
        decisions = dict(zip(open_cases, self.judge.decide(list(open_cases.values())), strict=True))
        # A judge that fails leaves the rule's verdict.
        rules = {result.item.index: result.verdict.strict for result in scored}
        verdicts = rules | {index: decision for index, decision in decisions.items() if decision is not None}
        return [replace(result, judged=verdicts[result.item.index]) for result in scored]


#: The tasks that are loaded in this process, by name.
LOADED: dict[str, LoadedTask] = {}


def loaded_task(docs: Any) -> LoadedTask | None:
    """The task that a dataset was prepared for; None for a dataset of another task."""
    if "crystal_task" not in getattr(docs, "column_names", ()):
        return None
    return LOADED.get(docs.select_columns(["crystal_task"])[0]["crystal_task"])


class NoteResponses(Filter):
    """The filter that the task YAMLs name: notes the responses of the shard, and hands them on as they are."""

    @stop_the_run
    def apply(self, resps: list[list[str]], docs: Any) -> list[str]:
        """The first response of each request; of several (``--repeats``) the others stay in ``resps``."""
        texts = ["" if not responses or responses[0] is None else str(responses[0]) for responses in resps]
        task = loaded_task(docs)
        if task:
            task.note(texts, resps)
        for responses in resps:
            # In place: the harness writes these lists as they are, and one lone surrogate loses the rest of its file.
            responses[:] = [replace_surrogates(str(response)) for response in responses if response is not None]
        return [replace_surrogates(text) for text in texts]


def move_to_free_device(encoder: StepEncoder, wanted: str) -> None:
    """Moves the encoder to the device that is set, or to this rank's GPU, which generation has left free by now."""
    import torch

    own_gpu = f"cuda:{ranks.local_rank() % torch.cuda.device_count()}" if torch.cuda.is_available() else "cpu"
    device = wanted or own_gpu
    try:
        encoder.to(device)
    except RuntimeError as error:  # torch reports a full or a broken GPU with it
        logger.warning(f"The encoder does not fit on {device} ({error}); it runs on the CPU, with the same scores.")
        encoder.to("cpu")
