"""What is timed: crystal-metrics as its users call it, and our ways of scoring the same items with the same encoder."""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from ..crystal_task.item import SOURCES, Item
from ..crystal_task.observe import Request
from ..crystal_task.prompt import Prompt
from ..crystal_task.record import Provenance
from ..crystal_task.references import Hashes
from ..crystal_task.scoring import LoadedTask
from ..crystal_task.settings import Settings
from ..metrics import ALPHA, TAU, EmbeddingTable, StepEncoder, StepScores, score_embedded, score_items, similarity_of
from ..metrics.encoder import resolve_encoder
from ..metrics.sweep import score_thresholds
from .items import SyntheticItem

T = TypeVar("T")
#: Scores of both sides agree to this, but where a similarity lies as near to the threshold or to another one.
SAME = 1e-6
#: Our names of the scores that both sides have, by theirs.
SHARED = {
    "match_f1": "match_f1",
    "precision": "precision",
    "recall": "recall",
    "ordered_match_f1": "ordered_f1",
    "lis_ratio": "lis",
}
#: Texts that are embedded before anything is timed: the first pass of a process sets up threads and memory.
WARM_UP = 256


@dataclass(frozen=True)
class Timed:
    """Seconds of a run on the clock, those in the encoder's forward passes, and seconds of all processors."""

    seconds: float
    forward: float
    processor: float

    @property
    def share_beside(self) -> float:
        """The share of the time that is not the encoder's forward pass, in ``[0, 1]``."""
        return 1 - self.forward / self.seconds


class ForwardClock:
    """Adds up the time that a sentence-transformers model spends in its modules."""

    def __init__(self, model: Any) -> None:
        self.seconds = 0.0
        self._started = 0.0
        self._is_cuda = model.device.type == "cuda"
        for module in model.children():
            module.register_forward_pre_hook(self._start)
            module.register_forward_hook(self._stop)

    def _start(self, *_: Any) -> None:
        self._started = self._now()

    def _stop(self, *_: Any) -> None:
        self.seconds += self._now() - self._started

    def _now(self) -> float:
        # A GPU works on after the call has returned.
        if self._is_cuda:
            torch.cuda.synchronize()
        return time.perf_counter()


class Ours:
    """The ways that this package scores, all with one encoder."""

    def __init__(self, encoder: str, device: str) -> None:
        self.encoder = StepEncoder(encoder, device=device)
        self.clock = ForwardClock(self.encoder._model)
        self._device = device

    def items(self, items: Sequence[SyntheticItem]) -> list[StepScores]:
        """``score_items``, which keeps nothing on disk."""
        return score_items([(item.predicted, item.reference) for item in items], self.encoder)

    def table(self, items: Sequence[SyntheticItem], folder: Path) -> list[StepScores]:
        """An ``EmbeddingTable`` with its file in ``folder``, as the task uses it, and the step scores."""
        table = self._filled(items, folder)
        return [score_embedded(table.rows(item.predicted), table.rows(item.reference)) for item in items]

    def sweep(self, items: Sequence[SyntheticItem], folder: Path, taus: Sequence[float]) -> list[list[StepScores]]:
        """The scores of each item at each threshold."""
        table = self._filled(items, folder)
        return [
            score_thresholds(similarity_of(table.rows(item.predicted), table.rows(item.reference)), taus)
            for item in items
        ]

    def run(self, items: Sequence[SyntheticItem], folder: Path) -> list[dict[str, Any]]:
        """All that a run does after generation: responses parsed, answers judged, null and records made as well."""
        listed = [
            Item(
                index,
                f"Which option is right in picture {index}?",
                "B",
                tuple(item.reference),
                ("red", "green", "blue"),
                SOURCES[index % len(SOURCES)],
            )
            for index, item in enumerate(items)
        ]
        texts = [json.dumps({"reasoning_steps": item.predicted, "answer": "B"}) for item in items]
        settings = Settings("synthetic", "", "", self._device, TAU, ALPHA, "", "")
        task = LoadedTask(
            version=1,
            items=listed,
            images=Hashes(),
            prompt=Prompt(""),
            parser="ours",
            settings=settings,
            encoder=self.encoder,
            table=EmbeddingTable(self.encoder, folder),
        )
        task.expect(texts, [Request(index, None, None) for index in range(len(texts))], Provenance())
        records = [task.record(index, text) for index, text in enumerate(texts)]
        self.encoder.to(self._device)
        return records

    def _filled(self, items: Sequence[SyntheticItem], folder: Path) -> EmbeddingTable:
        table = EmbeddingTable(self.encoder, folder)
        table.add((step for item in items for step in item.reference), keep=True)
        table.add(step for item in items for step in item.predicted)
        return table


class Theirs:
    """``crystal-metrics``: ``evaluate_dataset`` with the paper's settings. It keeps no embeddings from run to run."""

    def __init__(self, encoder: str, device: str) -> None:
        from crystal_metrics import MLLMReasoningEvaluator

        location = resolve_encoder(encoder).location
        self.evaluator = MLLMReasoningEvaluator(location, similarity_threshold=TAU, device=device)
        self.clock = ForwardClock(self.evaluator.model)

    def dataset(self, items: Sequence[SyntheticItem], tau: float = TAU) -> list[dict[str, float]]:
        """One row of scores an item, at a threshold."""
        self.evaluator.similarity_threshold = tau
        predictions = {index: {"reasoning_steps": item.predicted} for index, item in enumerate(items)}
        references = {index: {"reference_steps": item.reference} for index, item in enumerate(items)}
        with contextlib.redirect_stdout(io.StringIO()):
            table = self.evaluator.evaluate_dataset(predictions, references, alpha=ALPHA, order_metric="lis")
        rows: list[dict[str, float]] = table.sort_values("sample_idx").to_dict("records")
        return rows


def timed(action: Callable[[], T], clock: ForwardClock) -> tuple[T, Timed]:
    """What an action returns, and how long it took."""
    forward, processor, begin = clock.seconds, time.process_time(), time.perf_counter()
    result = action()
    seconds = time.perf_counter() - begin
    return result, Timed(seconds, clock.seconds - forward, time.process_time() - processor)


def warm_up(ours: Ours, theirs: Theirs, items: Sequence[SyntheticItem]) -> None:
    """Lets both encoders work once."""
    texts = [step for item in items for step in item.reference][:WARM_UP]
    ours.encoder.encode(texts)
    theirs.evaluator.model.encode(texts, show_progress_bar=False)


def differing(
    ours: Sequence[StepScores], theirs: Sequence[dict[str, float]], encoder: StepEncoder, items: Sequence[SyntheticItem]
) -> int:
    """How many items differ because similarities are as near to each other, or to the threshold, as rounding is.

    Raises ``AssertionError`` where an item differs for any other reason, or where an item is missing.
    """
    assert len(ours) == len(theirs) == len(items), f"{len(ours)} and {len(theirs)} scores of {len(items)} items"
    different = list(_different(ours, theirs))
    for place in different:
        rows = [encoder.encode(steps) for steps in (items[place].predicted, items[place].reference)]
        values = np.sort(np.append(similarity_of(*rows).ravel(), theirs[place]["threshold_used"]))
        assert np.diff(values).min() <= SAME, f"item {place} is scored differently: {ours[place]}, {theirs[place]}"
    return len(different)


def _different(ours: Sequence[StepScores], theirs: Sequence[dict[str, float]]) -> Iterator[int]:
    for place, (mine, row) in enumerate(zip(ours, theirs, strict=True)):
        if any(abs(getattr(mine, name) - row[other]) > SAME for other, name in SHARED.items()):
            yield place
