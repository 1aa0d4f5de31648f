"""From responses to records: one pass over a shard, then one record per item.

The filter gets all responses of a shard at once and notes them; the first document that the harness asks
for has them all parsed, embedded and scored in batches. So nothing is computed where nothing is asked
for (``--predict_only``), and one thread computes while the others wait.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lmms_eval.api.filter import Filter
from loguru import logger
from tqdm import tqdm

from .. import ranks
from ..errors import stop_the_run
from ..metrics import (
    STEP_LIMIT,
    EmbeddingTable,
    ScorerSignature,
    StepEncoder,
    StepScores,
    Validity,
    chain_similarity,
    compared_steps,
    count_uncompared,
    judge_answer,
    null_partners,
    score_similarity,
    validity_of,
)
from ..metrics.signature import data_hash
from .checks import ImageHashes
from .cleaning import replace_surrogates
from .encoder import move_to_free_device
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
    where the questions are from, which the answer rules read: of a dataset, its own. ``bar`` counts the items of
    several tasks, in place of a bar for each.
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
    bar: tqdm | None = None
    _noted: tuple[Sequence[str], Sequence[Request]] | None = None
    _covered: range = range(0)
    _hashes: dict[range, str] = field(default_factory=dict)
    _partners: dict[range, dict[int, int | None]] = field(default_factory=dict)
    _provenance: Provenance = field(default_factory=Provenance)
    _records: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._covered = range(len(self.items))
        self._provenance = Provenance(scorer=str(self.scorer_signature(None)))

    def scorer_signature(self, run: Run | None) -> ScorerSignature:
        """The scorer signature, over the items that the run covers: on all ranks the same."""
        covered = self._indices(run)
        if covered not in self._hashes:
            items = (self.items[index] for index in covered)
            self._hashes[covered] = data_hash((item.full_question, item.answer, item.reference_steps) for item in items)
        return ScorerSignature(
            version=self.version,
            data=self._hashes[covered],
            items=len(covered),
            parse=self.parser,
            encoder=self.encoder.signature,
            tau=self.settings.tau,
            alpha=self.settings.alpha,
            judge=self.judge.name if self.judge else "none",
            question=self.question_from,
        )

    def _indices(self, run: Run | None) -> range:
        """The items that a run covers, over all ranks."""
        indices = range(len(self.items))
        covered = run.covered(indices) if run else indices
        return covered if isinstance(covered, range) else indices

    def note(self, texts: list[str], responses: Sequence[list[str]]) -> None:
        """Keeps the responses of the shard for when their records are asked for."""
        run = current_run()
        shard = run.shard_of(responses) if run else None
        self._covered = self._indices(run)
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
        _warn_of_floods(items, readings)
        self._embed(items, readings)
        scored = [self._score_item(item, reading) for item, reading in zip(items, self._counted(readings), strict=True)]
        for result in self._judged(scored):
            index = result.item.index
            record = make_record(result, self.images.sha256(index), self._provenance)
            self._records[index] = (result.reading.text.strip(), record)
        self.table.forget_passing()

    def _counted(self, readings: Sequence[Reading]) -> Iterator[Reading]:
        if self.bar is None:
            yield from tqdm(readings, desc="Scoring", disable=len(readings) < 2 or not ranks.is_main())
            return
        for reading in readings:
            yield reading
            self.bar.update()

    def _embed(self, items: Sequence[Item], readings: Sequence[Reading]) -> None:
        """All steps of the items in batches, on the GPU that generation has left free."""
        responses = [reading.response for reading in readings if not reading.response.is_placeholder]
        move_to_free_device(self.encoder, self.settings.encoder_device)
        self.table.progress = len(items) > 1 and ranks.is_main()
        self.table.add((step for item in items for step in item.reference_steps), keep=True)
        self.table.add(step for response in responses for step in compared_steps(response.steps))
        # Last, as other ranks have put most of these into the cache by now.
        partners = [partner for item in items if (partner := self._partner(item))]
        self.table.add((step for partner in partners for step in partner.reference_steps), keep=True)
        self.encoder.to("cpu")  # the next model of a run over several wants the whole GPU

    def _partner(self, item: Item) -> Item | None:
        """The item whose references are this one's null: the same on all ranks. None where the run has no other."""
        covered = self._covered if item.index in self._covered else range(len(self.items))
        if covered not in self._partners:
            items = [self.items[index] for index in covered]
            places = null_partners((item.source, item.question, item.reference_steps) for item in items)
            self._partners[covered] = {
                item.index: None if place is None else items[place].index
                for item, place in zip(items, places, strict=True)
            }
        index = self._partners[covered][item.index]
        return None if index is None else self.items[index]

    def _score_item(self, item: Item, reading: Reading) -> Scored:
        response = reading.response
        verdict = judge_answer(response.answer, item.answer, item.question, item.options)
        partner = self._partner(item)
        if response.is_placeholder:
            steps = StepScores.of_pairs([], len(response.steps), len(item.reference_steps))
            return Scored(item, reading, steps, verdict, Validity.of_placeholder(partner is not None))
        similarity = chain_similarity(self.table, response.steps, item.reference_steps)
        null = chain_similarity(self.table, response.steps, partner.reference_steps) if partner else None
        steps = score_similarity(similarity, self.settings.tau, self.settings.alpha)
        validity = validity_of(similarity, null, steps, response.steps, item.reference_steps, self.settings.tau)
        return Scored(item, reading, steps, verdict, validity)

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


def _warn_of_floods(items: Sequence[Item], readings: Sequence[Reading]) -> None:
    flooded = [item for item, each in zip(items, readings, strict=True) if count_uncompared(each.response.steps)]
    if flooded:
        logger.warning(
            f"{len(flooded)} responses have more than {STEP_LIMIT} different steps (that to item {flooded[0].index} "
            "first); the steps beyond count as predicted and match nothing."
        )


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
