"""Methods of training beside each other on generated picture questions and a tiny model, several seeds each.

    python -m lmms_eval_crystal.benchmarks.training out/practice

Each seed has items and a taught model of its own, and all methods start from that model with as many optimiser steps.
Trained by ``crystal-eval train``; the table is of items that nothing of the training has seen, by ``lmms-eval``.
What is there already is not made again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.console import Console
from rich.table import Table

from ..reports.load import find_results
from ..reports.training.methods import Spread, spread
from ..training.config import Method
from ..training.overlap import overlap_f1
from ..training.practice.making import CONFIG, HELD_OUT_ITEMS, MODEL, RATE, RESPONSES, STEPS, THRESHOLD, make

METHODS: tuple[str, ...] = get_args(Method)
CURRICULUM = "cpr-curriculum"
#: The row of the model that all methods of a seed start from.
BEFORE = "before"
METRICS = {
    "accuracy_strict": "accuracy",
    "words_f1": "step F1 by words",
    "match_f1": "Match F1",
    "f1_above_null": "above null",
    "steps": "steps",
}
#: Tiny models are as fast with one thread, and a second run can have the second core.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CRYSTAL_ENCODER": "minilm"}
console = Console()


def phases(method: str) -> str:
    """The phases of a method as ``--set`` takes them: one of all steps, or the curriculum's two of half as many."""
    count, steps = (2, STEPS) if method == CURRICULUM else (1, 2 * STEPS)
    phase = f"{{steps: {steps}, learning_rate: {RATE}, per_device_batch: {RESPONSES}, candidates: 8, accumulation: 1}}"
    return f"[{', '.join([phase] * count)}]"


def run(command: Sequence[str], log: Path, **variables: str) -> None:
    """Runs one of our commands, with what it says in ``log``; ends the program where the command fails."""
    script, *arguments = command
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [str(Path(sys.executable).with_name(script)), *arguments],
            env={**os.environ, **ENVIRONMENT, **variables},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        console.print(f"{script} failed; see {log}.")
        raise typer.Exit(1)


def train(folder: Path, seed: int, methods: Iterable[str]) -> None:
    """One seed: items and model, a training a method, and what each model writes on the held-out items."""
    data = folder / f"seed{seed}"
    if not (data / CONFIG).is_file():
        console.print(f"  seed {seed}: items and a taught model", style="dim")
        make(data, seed)
    models = {BEFORE: data / MODEL}
    for method in methods:
        console.print(f"  seed {seed}: {method}", style="dim")
        output = folder / "runs" / f"{method}-{seed}"
        output.mkdir(parents=True, exist_ok=True)
        chosen = [f"method={method}", f"output={output}", f"phases={phases(method)}", f"seed={seed}"]
        settings = [word for value in chosen for word in ("--set", value)]
        run(["crystal-eval", "train", str(data / CONFIG), *settings], folder / f"{method}-{seed}.log")
        models[method] = output / "best"
    for name, model in models.items():
        results = held_out(folder, name, seed)
        if any(results.rglob("*_results.json")):
            continue
        arguments = f"pretrained={model},model_name={name}-{seed},device=cpu"
        command = ["lmms-eval", "--tasks", "crystal", "--model", "crystal_hf", "--model_args", arguments]
        command += ["--batch_size", "32", "--log_samples", "--output_path", str(results)]
        run(command, folder / f"{name}-{seed}-held-out.log", CRYSTAL_DATASET=str(data / HELD_OUT_ITEMS))


def held_out(folder: Path, name: str, seed: int) -> Path:
    """Where the results of a model on the held-out items lie."""
    return folder / "held_out" / f"{name}-{seed}"


def measured(folder: Path, name: str, seeds: Iterable[int]) -> Mapping[str, Spread]:
    """Each metric of a row over the seeds."""
    results = [find_results([held_out(folder, name, seed)]).results[0] for seed in seeds]
    values = [
        {metric: value.mean for metric, value in result.metrics.items()} | {"words_f1": words_f1(result.samples_file)}
        for result in results
    ]
    return {metric: spread([each[metric] for each in values]) for metric in METRICS}


def words_f1(samples: Path) -> float:
    """Mean step F1 as the rewards see it: a sentence encoder takes all steps on such pictures for the same."""
    with samples.open(encoding="utf-8") as lines:
        records = [json.loads(line)["crystal"] for line in lines]
    scores = [overlap_f1(record["predicted_steps"], record["reference_steps"], THRESHOLD) for record in records]
    return sum(scores) / len(scores)


def table_of(folder: Path, methods: Iterable[str], seeds: Sequence[int]) -> Table:
    """A row a method: means over seeds with Student's 95 % interval, and each seed's value."""
    table = Table(title=f"held-out items, mean of {len(seeds)} seeds [95 % interval] (each seed)", title_justify="left")
    for heading in ("", *METRICS.values()):
        table.add_column(heading)
    for name in (BEFORE, *methods):
        table.add_row(name, *(_cell(value) for value in measured(folder, name, seeds).values()))
    return table


def _cell(value: Spread) -> str:
    each = " ".join(f"{seed:.2f}" for seed in value.values)
    return f"{value.mean:.3f} [{value.low:.2f}, {value.high:.2f}]\n({each})"


def main(
    folder: Annotated[Path, typer.Argument(help="Where everything goes.")],
    seeds: Annotated[int, typer.Option(min=2, help="Number of seeds.")] = 3,
    methods: Annotated[str, typer.Option(help="Methods, with commas between them.")] = ",".join(METHODS),
) -> None:
    """Trains and compares; about 15 minutes of one core a seed."""
    named, numbers = methods.split(","), range(1, seeds + 1)
    for seed in numbers:
        train(folder, seed, named)
    console.print(table_of(folder, named, numbers))
    console.print(f"More of it: crystal-eval report {folder / 'runs'}")


if __name__ == "__main__":
    typer.run(main)
