"""One phase of a run: trained from where it stopped, validated and saved on its way, its best checkpoint taken out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers import PrinterCallback
from transformers.integrations.deepspeed import unset_hf_deepspeed_config
from trl.models import unwrap_model_for_generation

from ..errors import CrystalError, first_line
from ..model_adapters.batching import free_memory, is_out_of_memory
from ..model_adapters.loading import DTYPES, Checkpoint
from ..model_adapters.pictures import fit
from .adapter import adapter_of
from .callbacks import Bar, PhaseCallback, sentence
from .config import TrainConfig
from .data import TrainingData, to_dataset
from .keeping import (
    PREFIX,
    best_of,
    check_files,
    check_processes,
    copy_model,
    drop_halves,
    merge_adapter,
    whole_checkpoints,
)
from .plan import arguments, criterion, prompts, reward_of
from .records import Line, Records
from .rewards import rewards_of
from .sharing import main_does
from .trainer import CrystalGRPOTrainer
from .validation import Asking, Metrics, Validator
from .verbosity import VerbosityGuard


@dataclass(frozen=True)
class Run:
    """What all phases of a run have in common."""

    config: TrainConfig
    data: TrainingData
    records: Records
    asking: Asking
    validator: Validator
    bar: Bar

    def start_of(self, phase: int) -> Checkpoint:
        """The model that a phase begins with, which is also what its KL is measured from."""
        if phase == 1:
            return Checkpoint(self.config.model, self.config.revision or None)
        return Checkpoint(str(self.end_of(phase - 1)))

    def end_of(self, phase: int) -> Path:
        """Where the model goes that a phase ends with."""
        last = phase == len(self.config.phases)
        return self.records.best if last else self.records.phase(phase) / "best"

    def steps_before(self, phase: int) -> int:
        """Optimiser steps of the phases before this one."""
        return sum(earlier.steps for earlier in self.config.phases[: phase - 1])

    def validated(self, phase: int, step: int, metrics: Metrics, seconds: float) -> None:
        """Writes and says, on the main process, what a validation has measured."""
        if PartialState().is_main_process:
            line: Line = {"phase": phase, "step": step, "n": len(self.data.validated), **metrics, "seconds": seconds}
            self.records.validated(line)
            where = f"phase {phase} step {step}" if phase else "before training"
            self.bar.say(sentence(where, metrics, line["n"], seconds))


class PhaseTrainer(CrystalGRPOTrainer):
    """The trainer whose evaluation is our validation; it tells nobody about the run but the configured loggers."""

    def __init__(self, *args: Any, validate: Callable[[PhaseTrainer], dict[str, float]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._validate = validate

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """The metrics of a validation, as ``eval_...``."""
        metrics = {f"eval_{name}": value for name, value in self._validate(self).items()}
        self.log(dict(metrics))
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """None: a checkpoint of a run says nothing that the run's own files do not say."""

    def _send_telemetry(self) -> None:
        # trl would tell the hub of each trainer that is made.
        pass


def run_phase(run: Run, phase: int) -> dict[str, Any]:
    """Trains a phase, or what is left of it, and leaves its best checkpoint at ``run.end_of``; what came of it.

    Raises ``Diverged`` where a number is none any more, and ``CrystalError`` for a checkpoint of another number of
    processes.
    """
    if not main_does(run.end_of(phase).is_dir):
        step, checkpoint = main_does(partial(_find_place, run, phase))
        if step < run.config.phases[phase - 1].steps:
            with _out_of_memory_said(phase):
                _train(run, phase, step, checkpoint)
            release_trainer()
        main_does(partial(_take_best, run, phase))
    return main_does(partial(outcome, run, phase))


def outcome(run: Run, phase: int) -> dict[str, Any]:
    """How far a phase has come, and which checkpoint is chosen, by what, and among how many validations."""
    whole = whole_checkpoints(run.records.phase(phase))
    chosen, value = best_of(whole[-1][1]) if whole else (None, None)
    return {
        "phase": phase,
        "reward": reward_of(run.config.method, phase),
        "steps": whole[-1][0] if whole else 0,
        "chosen": chosen,
        "by": criterion(run.config.method, phase),
        "value": value,
        "validations": sum(line["phase"] == phase for line in run.records.validations()),
    }


def _find_place(run: Run, phase: int) -> tuple[int, Path | None]:
    """The step to go on from and its checkpoint; what lies beyond it is forgotten."""
    folder = run.records.phase(phase)
    drop_halves(folder)
    whole = whole_checkpoints(folder)
    step, checkpoint = whole[-1] if whole else (0, None)
    if checkpoint:
        check_files(checkpoint)
        check_processes(checkpoint, PartialState().num_processes)
    run.records.forget_after(phase, step)
    return step, checkpoint


def _train(run: Run, phase: int, step: int, checkpoint: Path | None) -> None:
    """Trains from a step on, of whose checkpoint it goes on; there is none of step 0."""
    config = run.config
    run.bar.at(run.steps_before(phase) + step, f"Phase {phase} of {len(config.phases)}")
    if checkpoint:
        run.bar.say(f"phase {phase}: goes on from step {step} ({checkpoint})")
    guard = VerbosityGuard(config.verbosity.factor, config.verbosity.window) if config.verbosity.factor else None
    rewards = rewards_of(reward_of(config.method, phase), config.rewards, run.validator.reward_encoder, guard)
    trainer = PhaseTrainer(
        validate=partial(_validate, run, phase),
        model=run.start_of(phase).load_network(_weights(config), None),
        reward_funcs=list(rewards),
        args=arguments(config, phase, run.records.phase(phase)),
        train_dataset=to_dataset(
            prompts(config, run.data.train, phase, PartialState().num_processes),
            run.data,
            run.asking.prompt,
            run.asking.chat.plain,
            partial(fit, limits=run.asking.limits.before),
        ),
        processing_class=run.asking.processor,
        callbacks=[PhaseCallback(run.records, phase, config.validate_every, config.keep_checkpoints, run.bar)],
        peft_config=adapter_of(config),
        gradient_surgery=config.surgery,
        guard=guard,
        phase=phase,
    )
    # It prints each line of the log.
    trainer.remove_callback(PrinterCallback)
    with _own_wandb_run(config):
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)


@contextmanager
def _out_of_memory_said(phase: int) -> Iterator[None]:
    """Memory that runs out in a phase is a sentence that says what to lower."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise CrystalError(
            f"Memory ran out in phase {phase} ({first_line(error)}); lower per_device_batch and raise accumulation by "
            "the same factor, lower max_completion_length or max_pixels, or train with lora:; as another "
            "configuration it begins anew, in another output: or with --fresh."
        ) from error


@contextmanager
def _own_wandb_run(config: TrainConfig) -> Iterator[None]:
    """A run of W&B that begins inside ends with it: the next phase counts its steps anew."""
    if "wandb" not in config.report_to:
        yield
        return
    import wandb

    outside = wandb.run
    try:
        yield
    finally:
        if outside is None and wandb.run is not None:
            wandb.finish()


def _weights(config: TrainConfig) -> torch.dtype:
    """Of what type the weights are that a phase begins with: those that are trained keep 32 bits."""
    return torch.float32 if config.lora is None else DTYPES[config.dtype]


def _validate(run: Run, phase: int, trainer: PhaseTrainer) -> dict[str, float]:
    started = time.monotonic()
    gathered = trainer.args.ds3_gather_for_generation
    with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator, gathered) as network:
        written = run.validator.respond(
            network, network.dtype, lambda done, of: run.bar.note(f"validating {done} of {of}")
        )
    metrics = run.validator.measure(written)
    run.validated(phase, trainer.state.global_step, metrics, time.monotonic() - started)
    return {name: value for name, value in metrics.items() if value is not None}


def _take_best(run: Run, phase: int) -> None:
    folder = run.records.phase(phase)
    chosen, _ = best_of(whole_checkpoints(folder)[-1][1])
    run.records.choose(phase, chosen)
    checkpoint = folder / f"{PREFIX}{chosen}"
    if run.config.lora is None:
        copy_model(checkpoint, run.end_of(phase))
    else:
        unset_hf_deepspeed_config()
        base = run.start_of(phase).load_network(_weights(run.config), "cpu")
        merge_adapter(base, run.asking.processor, checkpoint, run.end_of(phase))


def release_trainer() -> None:
    """Gives back what a trainer held, and has models loaded whole again, which DeepSpeed would cut into parts."""
    unset_hf_deepspeed_config()
    free_memory()
