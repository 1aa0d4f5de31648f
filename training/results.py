"""Validation responses as the harness would have written their results, so that a report sets before beside after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from ..crystal_task.offline import Job, Rules, score_all
from ..crystal_task.prediction import Prediction, PredictionSet
from ..crystal_task.references import References, task_of
from ..crystal_task.settings import Settings
from ..metrics import GenerationSignature
from ..metrics.signature import short_hash
from ..model_adapters.responses import Written
from .validation import Validator

#: Said of these results in place of a model of the harness.
ADAPTER = "crystal-eval train"


def write_scored(
    validator: Validator, written: Sequence[Written], model: str, revision: str, dtype: torch.dtype, out: Path
) -> Path:
    """Scores the responses to ``validator.data.validated`` and writes them below ``out``; the path of the results.

    ``model`` names their folder. They are a part of the data, and say so.
    """
    generation = str(_signature(validator, model, revision, dtype))
    predictions = {
        str(item.index): Prediction(text=made.text, generation=generation, output_tokens=made.output_tokens)
        for item, made in zip(validator.data.validated, written, strict=True)
    }
    predicted = PredictionSet(model=model, source=out, by_id=predictions, generation=generation, is_run=True)
    settings = Settings.from_environment()
    rules = Rules(settings, "ours", validator.encoder)
    return score_all([Job(predicted, _references(validator).only(predictions), rules)], out, bars=False)[0]


def _references(validator: Validator) -> References:
    data = validator.data
    items = tuple(sorted((*data.train, *data.validation), key=lambda item: item.index))
    ids = tuple(str(item.index) for item in items)
    return References(data.name, task_of(data.name, len(items)), items, ids, data.images, len(items))


def _signature(validator: Validator, model: str, revision: str, dtype: torch.dtype) -> GenerationSignature:
    asking = validator.asking
    pixels = "-".join(limit for limit in (asking.limits.least, asking.limits.largest) if limit)
    return GenerationSignature(
        prompt=asking.prompt.hash,
        system=short_hash(asking.chat.system_prompt) if asking.chat.system_prompt else "none",
        model=f"{model}@{revision}",
        adapter=ADAPTER,
        dtype=str(dtype).removeprefix("torch."),
        tokens=str(validator.config.max_completion_length),
        temperature="0",
        pixels=pixels or "unknown",
        scripted=False,
    )
