"""Rules between the keys of a configuration: weights that add up, batches that hold whole groups, phases."""

from __future__ import annotations

import math

from .. import ranks
from ..errors import CrystalError
from .config import PhaseConfig, TrainConfig, phases_of

#: Weights are written in decimals, whose sums are off by rounding only.
TOLERANCE = 1e-6


def check_rules(config: TrainConfig, file: str) -> None:
    """Raises ``CrystalError`` for the first rule that ``config`` breaks; ``file`` is what messages call it."""
    if not config.model.strip():
        raise CrystalError(f"{file} names no model; write model: with a hub id (OWNER/NAME) or a folder.")
    if not config.data.path.strip():
        raise CrystalError(
            f"{file} names no data; write path: below data: with a hub id, a save_to_disk folder, or parquet or JSONL "
            "files."
        )
    if not config.output.strip():
        raise CrystalError(f"{file}: output is blank; name the folder that the training goes to.")
    if 0 < config.verbosity.factor <= 1:
        raise CrystalError(
            f"{file}: verbosity.factor is {config.verbosity.factor:g}, which would punish every second chain; give a "
            "number above 1, or 0 for no guard."
        )
    _check_weights(config, file)
    wanted, found = phases_of(config.method), len(config.phases)
    if found != wanted:
        raise CrystalError(
            f"{file} has {found} phase{'s' * (found != 1)} and {config.method} has {wanted}; list {wanted} under "
            "phases:, each with its own steps and learning_rate."
        )
    for number, phase in enumerate(config.phases):
        _check_batch(phase, f"{file}: phases.{number}")
    if config.gradient_surgery and config.method == "answer-only":
        raise CrystalError(
            f"{file} asks for gradient_surgery, which needs two objectives, and answer-only has one; leave it out, or "
            "take composite, cpr or cpr-curriculum."
        )
    if 0 < config.verbosity.factor <= 1:
        raise CrystalError(
            f"{file}: verbosity.factor is {config.verbosity.factor:g}, so chains of the usual length would lose; write "
            "a number above 1, or 0 for no guard."
        )
    if config.min_pixels and config.max_pixels and config.min_pixels > config.max_pixels:
        raise CrystalError(f"{file}: min_pixels is more than max_pixels; swap or drop one.")


def _check_weights(config: TrainConfig, file: str) -> None:
    weights = config.rewards
    cpr = {"answer_weight": weights.answer_weight, "step_weight": weights.step_weight}
    all_three = {"format": weights.format, "accuracy": weights.accuracy, "steps": weights.steps}
    without_steps = {"format": weights.format, "accuracy": weights.accuracy}
    if config.method in ("cpr", "cpr-curriculum") and not _is_one(cpr):
        raise CrystalError(f"{file}: {_sum_of(cpr)}, and the weights of the reward {config.method} sum to 1.")
    if config.method == "composite" and not _is_one(all_three):
        raise CrystalError(f"{file}: {_sum_of(all_three)}, and the weights of the reward composite sum to 1.")
    if config.method in ("answer-only", "cpr-curriculum"):
        where = "answer-only" if config.method == "answer-only" else "phase 1"
        # GRPO divides by the deviation of a group, so their proportion alone counts, and those of composite serve too.
        if not (_is_one(without_steps) or _is_one(all_three)):
            raise CrystalError(
                f"{file}: {_sum_of(without_steps)}, and the weights of {where} sum to 1, alone or with steps "
                f"({weights.steps:g})."
            )
        if not weights.accuracy:
            raise CrystalError(f"{file}: rewards.accuracy is 0, so nothing in {where} rewards the answer; raise it.")


def _is_one(weights: dict[str, float]) -> bool:
    return math.isclose(sum(weights.values()), 1, abs_tol=TOLERANCE)


def _sum_of(weights: dict[str, float]) -> str:
    terms = " + ".join(f"rewards.{name} {weight:g}" for name, weight in weights.items())
    return f"{terms} is {sum(weights.values()):g}"


def _check_batch(phase: PhaseConfig, place: str) -> None:
    """What is generated for one optimiser step holds whole groups of candidates, or trl refuses it."""
    processes = ranks.world_size()
    whole = phase.responses_per_step(processes)
    if whole % phase.candidates:
        raise CrystalError(
            f"{place} generates per_device_batch {phase.per_device_batch} x accumulation {phase.accumulation} x "
            f"{processes} process{'es' * (processes > 1)} = {whole} responses a step, which is no multiple of "
            f"candidates {phase.candidates}; change one of them."
        )
