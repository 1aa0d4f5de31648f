"""A training run from its configuration to a chosen checkpoint: before, the phases, after, and what they came to.

A run that was killed goes on where it stopped, phase by phase and checkpoint by checkpoint, and ends with the
weights that it would have had.
"""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from accelerate import PartialState

from ..model_adapters.loading import Checkpoint, choose_dtype
from .callbacks import Bar, hints, sentence
from .checks import Ready, prepare
from .config import TrainConfig
from .diagnostics import diagnose
from .keeping import PREFIX
from .phases import Run, outcome, release_trainer, run_phase
from .quiet import quiet_libraries
from .records import AFTER, BEFORE, Records
from .results import write_scored
from .sharing import main_does, processes
from .trainer import Diverged
from .validation import Asking, Metrics, Validator


def train(config: TrainConfig, *, resume: bool = True) -> Path:
    """Trains, validates and chooses as the configuration says; the output folder.

    With ``resume`` a run that is there already goes on from its last whole checkpoint; without, it is removed. Works
    in one process and in several that torchrun or accelerate started. Raises ``CrystalError`` for what is wrong with
    the configuration or the data, before a model is loaded, and ``Diverged`` where training stopped by itself; the
    summary is written then as well.
    """
    quiet_libraries()
    ready = prepare(config, resume)
    records = Records(Path(config.output).expanduser())
    with ExitStack() as stack, processes():
        main_does(lambda: stack.enter_context(records.alone()))
        main_does(partial(records.begin, config, ready.data, resume))
        if main_does(records.is_finished):
            if PartialState().is_main_process:
                print(f"{records.folder} holds this training, finished; --fresh trains anew.", flush=True)
            return records.folder
        main_does(records.reopen)
        with Bar(sum(phase.steps for phase in config.phases)) as bar:
            _train(_prepared(config, ready, records, bar))
    return records.folder


def _prepared(config: TrainConfig, ready: Ready, records: Records, bar: Bar) -> Run:
    asking = Asking.of(config, ready.prompt, ready.processor)
    validator = Validator(config, ready.data, asking, ready.encoder)
    return Run(config, ready.data, records, asking, validator, bar)


def _train(run: Run) -> None:
    phases: list[dict[str, Any]] = []
    try:
        if not main_does(partial(_is_measured, run)):
            run.bar.at(0, "Before training")
            metrics, seconds = _measure(run, run.start_of(1), BEFORE)
            run.validated(0, 0, metrics, seconds)
            for hint in hints(metrics, run.config.max_completion_length):
                run.bar.say(hint)
        for phase in range(1, len(run.config.phases) + 1):
            phases.append(run_phase(run, phase))
        run.bar.at(sum(phase.steps for phase in run.config.phases), "After training")
        after, seconds = _measure(run, Checkpoint(str(run.records.best)), AFTER)
        chosen = f"after training (phase {phases[-1]['phase']} step {phases[-1]['chosen']})"
        run.bar.say(sentence(chosen, after, len(run.data.validated), seconds))
    except Diverged as error:
        stopped = str(error)
        phases.append(main_does(partial(outcome, run, len(phases) + 1)))
        main_does(lambda: run.records.summarise(_summary(run, phases, None, 0.0, stopped)))
        raise
    main_does(lambda: run.records.summarise(_summary(run, phases, after, seconds, None)))


def _is_measured(run: Run) -> bool:
    """Whether the model before training has been measured, and its results written."""
    there = any((run.records.results / _name(run, BEFORE)).glob("*_results.json"))
    return there and any(line["phase"] == 0 for line in run.records.validations())


def _name(run: Run, suffix: str) -> str:
    return f"{Path(run.config.model).name}{suffix}"


def _measure(run: Run, checkpoint: Checkpoint, suffix: str) -> tuple[Metrics, float]:
    """Validates a whole model as it lies on disk, and writes the results; the metrics, and seconds. Collective."""
    started = time.monotonic()
    device = PartialState().device
    dtype = choose_dtype(run.config.dtype, None, device)
    network = checkpoint.load_network(dtype, {"": device})
    written = run.validator.respond(network, dtype, lambda done, of: run.bar.note(f"validating {done} of {of}"))
    revision = str(getattr(network.config, "_commit_hash", None) or "unknown")[:12]
    del network
    release_trainer()
    metrics = run.validator.measure(written)
    name = _name(run, suffix)

    def write() -> None:
        shutil.rmtree(run.records.results / name, ignore_errors=True)
        write_scored(run.validator, written, name, revision, dtype, run.records.results)

    main_does(write)
    return metrics, time.monotonic() - started


def _summary(
    run: Run, phases: list[dict[str, Any]], after: Metrics | None, seconds: float, stopped: str | None
) -> dict[str, Any]:
    """What ``training.json`` says; ``seconds`` are those of the measurement after training."""
    config, records = run.config, run.records
    log, validations = records.logged(), records.validations()
    before = next((line for line in validations if line["phase"] == 0), None)
    chosen = next((line for line in reversed(validations) if line.get("chosen")), None)
    spent = sum(line.get("step_time") or 0 for line in log) + sum(line["seconds"] for line in validations)
    return {
        "method": config.method,
        "model": config.model,
        "revision": config.revision,
        "processes": PartialState().num_processes,
        "counts": {
            "train": len(run.data.train),
            "validation": len(run.data.validation),
            "validated": len(run.data.validated),
            "steps": len(log),
        },
        "seconds": round(spent + seconds, 1),
        "phases": phases,
        "best": _best(run, phases),
        "before": before and {key: value for key, value in before.items() if key not in ("phase", "step", "chosen")},
        "after": after and {"n": len(run.data.validated), **after},
        "diagnostics": diagnose(log, after or chosen, stopped is not None),
        "stopped": stopped,
    }


def _best(run: Run, phases: list[dict[str, Any]]) -> str | None:
    """The best model that there is, seen from the output folder; of a phase that stopped, its best checkpoint."""
    for phase in reversed(phases):
        whole = run.end_of(phase["phase"])
        if not whole.is_dir() and phase["chosen"] is not None:
            whole = run.records.phase(phase["phase"]) / f"{PREFIX}{phase['chosen']}"
        if whole.is_dir():
            return str(whole.relative_to(run.records.folder))
    return None
