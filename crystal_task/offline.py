"""Scores predictions without the harness, by the same path: parser, one pass over all steps, record, section.

What comes out are the files that the harness would have written (``result_files``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..errors import CrystalError, first_few
from ..metrics import GenerationSignature
from ..metrics.encoder import encoder_presets
from ..metrics.signature import signature_fields
from .encoder import check_device, encoder_of, shared_encoder
from .item import Item
from .judge import AnswerJudge
from .observe import Request
from .plugin import BENCHMARK, PAPER, TASK_NAMES, task_version
from .prediction import Prediction, PredictionSet
from .prompt import Prompt
from .record import Provenance
from .references import References
from .result_files import ScoredTask, write_results
from .scoring import LoadedTask
from .settings import Settings

#: Predictions that are embedded and held at once: more than the benchmark has, so that it is one pass as in the
#: harness.
AT_ONCE = 10_000
#: How the predictions were asked for is not known here; the generation signature comes with them or is unknown.
NO_PROMPT = Prompt("")


@dataclass(frozen=True)
class Rules:
    """How to score: the settings, the parser (``ours`` or ``released``) and the encoder's name."""

    settings: Settings
    parser: str
    encoder: str


@dataclass(frozen=True)
class Overrides:
    """The rules that a user asks for; empty or None where none is."""

    encoder: str = ""
    tau: float | None = None
    alpha: float | None = None
    parser: str = ""


@dataclass(frozen=True)
class Job:
    """The predictions of one model, what they are scored against, and how."""

    predicted: PredictionSet
    references: References
    rules: Rules

    @classmethod
    def plan(cls, predicted: PredictionSet, references: References, overrides: Overrides) -> Job:
        """The rules are what is asked for, else what the environment sets, else how samples were scored before, else
        the defaults. Of the references those remain that a run covered.

        Raises ``CrystalError`` for ids that do not go together, for a threshold or weight out of its range, and
        where samples were scored with an encoder that was a folder.
        """
        check_ids(predicted, references)
        if predicted.is_run:
            references = references.only(predicted.by_id)
        before = signature_fields(predicted.scorer)
        try:
            stated = {name: float(before[name]) for name in ("tau", "alpha") if name in before}
        except ValueError:
            raise CrystalError(
                f"{predicted.source} has a scorer signature that cannot be read ({predicted.scorer:.120}); give the "
                "file as lmms-eval wrote it."
            ) from None
        settings = Settings.from_environment(**stated).with_values(overrides.tau, overrides.alpha)
        name = overrides.encoder or settings.encoder
        if not name:
            name = _encoder_before(before, predicted) if "enc" in before else encoder_of(references.task)
        parser = overrides.parser or before.get("parse", "ours")
        return cls(predicted, references, Rules(replace(settings, dataset=references.name), parser, name))


def _encoder_before(before: Mapping[str, str], predicted: PredictionSet) -> str:
    """The encoder that a scorer signature shows, by a name that it can be loaded under."""
    shown = before["enc"].rpartition("@")[0] or before["enc"]
    for name, preset in encoder_presets().items():
        if shown in (preset.get("id"), preset.get("model")):
            return name
    if "/" in shown:
        return shown
    raise CrystalError(
        f"{predicted.source} was scored with the encoder {shown}, a folder whose place is not known here; give it, or "
        "another encoder, by --encoder."
    )


def check_ids(predicted: PredictionSet, references: References) -> None:
    """Raises ``CrystalError`` where a prediction is for an item that the references do not have."""
    strays = [name for name in predicted.by_id if name not in references.place]
    if strays:
        total = len(predicted.by_id)
        overlap = "none of its ids occurs" if len(strays) == total else f"{len(strays):,} of {total:,} ids do not occur"
        raise CrystalError(
            f"{predicted.source}: {overlap} in {references.name}. Ids of the predictions that are not there: "
            f"{first_few(strays)}; ids there: {first_few(references.ids)}. Those of a dataset are its rows, from 0."
        )


def notes_on(predicted: PredictionSet, references: References) -> list[str]:
    """What has to be known of how predictions and references go together, in sentences."""
    notes = []
    if not predicted.is_run and (missing := [name for name in references.ids if name not in predicted.by_id]):
        notes.append(
            f"{len(missing):,} of {len(references.ids):,} items have no prediction in {predicted.source} and count as "
            f"complete misses: {first_few(missing)}."
        )
    compared = {
        name: _same_question(prediction.question, references.items[references.place[name]].question)
        for name, prediction in predicted.by_id.items()
        if prediction.question.strip() and references.items[references.place[name]].question.strip()
    }
    others = [name for name, is_same in compared.items() if not is_same]
    if len(others) > len(compared) / 2:
        notes.append(
            f"the questions beside {len(others):,} of {len(compared):,} predictions are not those of the references "
            f"({first_few(others)}); check that the ids mean the same items."
        )
    counts = question_counts(_all_asked(predicted, references))
    if counts.get("predictions") or counts.get("none"):
        notes.append(
            f"the references leave out questions; answers are judged with the prediction's own for "
            f"{counts.get('predictions', 0):,} items, and without one for {counts.get('none', 0):,}."
        )
    return [f"{predicted.model}: {note}" for note in notes]


def _same_question(first: str, second: str) -> bool:
    """Whether one text is the other, or a part of it, as where one has the options below it."""
    first, second = (" ".join(text.lower().split()) for text in (first, second))
    return first in second or second in first


def _all_asked(predicted: PredictionSet, references: References) -> list[Item]:
    return [
        _asked(item, predicted.by_id.get(name)) for name, item in zip(references.ids, references.items, strict=True)
    ]


def score_all(jobs: Sequence[Job], out: Path, bars: bool = True) -> list[Path]:
    """Scores the predictions of each model and writes its samples and its results; the paths of the results.

    ``bars`` shows how far it is. Raises ``CrystalError`` for a device or an encoder that cannot be used, before
    anything is computed, and for a folder that cannot be written to.
    """
    for job in jobs:
        check_device(job.rules.settings.encoder_device)
        shared_encoder(job.rules.encoder)
    items = sum(len(job.references.items) for job in jobs)
    # Which steps are new is known model by model only, so the first total grows.
    with (
        tqdm(total=0, desc="Embedding", unit="step", disable=not bars) as embedding,
        tqdm(total=items, desc="Scoring", disable=not bars) as scoring,
    ):
        return [_score(job, out, embedding, scoring) for job in jobs]


def _score(job: Job, out: Path, embedding: tqdm, scoring: tqdm) -> Path:
    predicted, references, rules = job.predicted, job.references, job.rules
    given = [predicted.by_id.get(name) for name in references.ids]
    asked = _all_asked(predicted, references)
    task = _loaded(references, rules, question_source(references.items, asked))
    task.table.bar, task.bar = embedding, scoring
    scorer = task.scorer_signature(None)
    # The questions that predictions bring are used and not hashed, or each model's file would be data of its own.
    task.items = asked
    generation = generation_before(predicted)
    provenance = Provenance(predicted.model, str(scorer), str(generation))
    scored = ScoredTask(
        name=predicted.task or _task_name(references, rules),
        model=predicted.model,
        references=references,
        scorer=scorer,
        generation=generation,
        questions=question_counts(asked),
    )
    texts = ["" if prediction is None else prediction.response for prediction in given]
    limit = _number(generation.tokens)
    requests = [
        Request(index, None if prediction is None else prediction.output_tokens, limit)
        for index, prediction in enumerate(given)
    ]
    try:
        return write_results(out, scored, _records(task, texts, requests, provenance), texts)
    finally:
        # The table is shared, and outlives the bar.
        task.table.bar = None


def _records(
    task: LoadedTask, texts: Sequence[str], requests: Sequence[Request], provenance: Provenance
) -> Iterator[dict[str, Any]]:
    """The record of each item in turn, made for many at once as for a shard of the harness."""
    for start in range(0, len(texts), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        task.expect(texts[part], requests[part], provenance)
        for request, text in zip(requests[part], texts[part], strict=True):
            yield task.record(request.index, text)


def _loaded(references: References, rules: Rules, question_from: str) -> LoadedTask:
    encoder, table = shared_encoder(rules.encoder)
    return LoadedTask(
        version=task_version(references.task if references.task in TASK_NAMES else BENCHMARK),
        items=list(references.items),
        images=references.images,
        prompt=NO_PROMPT,
        parser=rules.parser,
        settings=rules.settings,
        encoder=encoder,
        table=table,
        judge=AnswerJudge(rules.settings.judge) if rules.settings.judge else None,
        question_from=question_from,
    )


def _task_name(references: References, rules: Rules) -> str:
    """The task whose results these are: by its data, and for the benchmark by its parser."""
    return PAPER if references.task == BENCHMARK and rules.parser == "released" else references.task


def _asked(item: Item, prediction: Prediction | None) -> Item:
    """The item with its question as supplied, by the references first."""
    if item.question.strip():
        return item
    question = prediction.question if prediction else ""
    return replace(item, question=question, question_from="predictions" if question.strip() else "none")


def question_source(items: Sequence[Item], asked: Sequence[Item]) -> str:
    """Who supplies the questions: ``references`` where they have any, else ``predictions`` where those have any."""
    if any(item.question.strip() for item in items):
        return "references"
    return "predictions" if any(item.question_from == "predictions" for item in asked) else "none"


def question_counts(asked: Sequence[Item]) -> dict[str, int]:
    """How many items have their question from where."""
    sources = [item.question_from for item in asked]
    return {source: sources.count(source) for source in dict.fromkeys(sources)}


def generation_before(predicted: PredictionSet) -> GenerationSignature:
    """The generation signature that the files state, ``unknown`` for what they do not."""
    stated = signature_fields(predicted.generation)
    return GenerationSignature.parse(
        predicted.generation,
        model=stated.get("model", f"{predicted.model}@unknown"),
        adapter=stated.get("adapter", "unknown"),
    )


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
