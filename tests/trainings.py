"""Folders as ``crystal-eval train`` writes them, with made-up numbers, for tests of the reports."""

import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from studies import Talker, write_study

PAPER_PHASES = (
    {"steps": 60, "learning_rate": 3e-6, "per_device_batch": 4, "candidates": 2, "accumulation": 2, "warmup": 0.0},
    {"steps": 120, "learning_rate": 5e-6, "per_device_batch": 5, "candidates": 5, "accumulation": 2, "warmup": 0.0},
)
#: What each method brings in strict accuracy and in recall, in this invented world.
GAINS = {"answer-only": (0.15, 0.0), "composite": (0.1, 0.1), "cpr": (0.1, 0.2), "cpr-curriculum": (0.2, 0.25)}
MODEL = "org/Small-VL-3B"


def write_training(
    folder: Path,
    method: str = "cpr-curriculum",
    seed: int = 42,
    phases: Sequence[dict[str, Any]] = PAPER_PHASES,
    model: str = MODEL,
    items: int = 60,
    every: int = 20,
    results: bool = True,
    summary: bool = True,
    diagnostics: bool = True,
    nan_at: int | None = None,
    settings: dict[str, Any] | None = None,
    split_seed: int = 42,
) -> Path:
    """Writes the folder of one training and returns it.

    ``nan_at`` is the step of the last phase on which the loss is no number; ``results`` are those of before and after,
    ``summary`` is ``training.json``, which only a training that came to its end has.
    """
    folder.mkdir(parents=True)
    rng = random.Random(f"{method} {seed}")
    (folder / "config.yaml").write_text(yaml.safe_dump(_config(method, seed, phases, model, folder) | (settings or {})))
    counts = {"train": 340, "validation": items, "validated": items}
    split = {"seed": seed, "data": "0123abcd", "counts": counts, "validation": list(range(items))}
    (folder / "split.json").write_text(json.dumps(split))
    log = list(_log(rng, phases, nan_at, "cpr" in method))
    validations = list(_validations(rng, method, phases, every, nan_at, items))
    _write_lines(folder / "log.jsonl", log)
    _write_lines(folder / "validation.jsonl", validations)
    stopped = f"The loss of phase {len(phases)}, step {nan_at}, is not finite; {folder}/phase2/checkpoint-20 is kept."
    if summary:
        content = {
            "method": method,
            "model": model,
            "counts": counts,
            "seconds": 754.2,
            "diagnostics": _diagnostics(rng, log, validations, nan_at is None) if diagnostics else {},
            "stopped": stopped if nan_at is not None else None,
        }
        (folder / "training.json").write_text(json.dumps(content))
    if results:
        accuracy, recall = GAINS[method]
        name = model.rpartition("/")[2]
        talkers = (
            Talker(f"{name}-before", recall=0.4, right=0.4, extra=0.5),
            Talker(
                f"{name}-after",
                recall=0.4 + recall + rng.uniform(-0.03, 0.03),
                right=0.4 + accuracy + rng.uniform(-0.05, 0.05),
                extra=0.5,
            ),
        )
        write_study(folder / "results", items, talkers[: 2 if nan_at is None else 1], task="held_out", seed=split_seed)
    return folder


def _config(method: str, seed: int, phases: Sequence[dict[str, Any]], model: str, folder: Path) -> dict[str, Any]:
    return {
        "model": model,
        "output": str(folder),
        "method": method,
        "seed": seed,
        "phases": [dict(phase) for phase in phases],
        "rewards": {"answer_weight": 0.65, "step_weight": 0.35, "format": 0.1, "accuracy": 0.5, "steps": 0.4},
        "gradient_surgery": None,
        "data": {"path": "questions"},
    }


def _log(
    rng: random.Random, phases: Sequence[dict[str, Any]], nan_at: int | None, surgery: bool
) -> Iterator[dict[str, Any]]:
    for number, phase in enumerate(phases, 1):
        last = number == len(phases)
        for step in range(1, phase["steps"] + 1):
            share = step / phase["steps"]
            broken = last and step == nan_at
            yield {
                "phase": number,
                "step": step,
                "loss": math.nan if broken else rng.gauss(0.02, 0.01),
                "reward": 0.4 + 0.2 * share * number + rng.gauss(0, 0.06),
                "reward_std": 0.2,
                "kl": 0.02 + 0.1 * number * share + abs(rng.gauss(0, 0.02)),
                "grad_norm": math.nan if broken else 2 - share + abs(rng.gauss(0, 0.2)),
                **({"surgery/cosine": rng.gauss(0.1, 0.25), "surgery/conflict_share": 0.3} if surgery and last else {}),
                "verbosity/median": 3 + round(2 * share),
                "verbosity/limit": 2 * (3 + round(2 * share)),
            }
            if broken:
                return


def _validations(
    rng: random.Random, method: str, phases: Sequence[dict[str, Any]], every: int, nan_at: int | None, items: int
) -> Iterator[dict[str, Any]]:
    accuracy, recall = GAINS[method]
    total, done = sum(phase["steps"] for phase in phases), 0
    for number, phase in enumerate(({"steps": 0}, *phases)):
        last = phase["steps"] if number < len(phases) or nan_at is None else nan_at
        steps = range(every, last + 1, every) if number else (0,)
        for step in steps:
            share = (done + step) / total
            yield {
                "phase": number,
                "step": step,
                "n": items,
                "accuracy": 0.45 + accuracy * share,
                "accuracy_strict": 0.4 + accuracy * share + rng.gauss(0, 0.02),
                "match_f1": 0.5 + 0.6 * recall * share + rng.gauss(0, 0.01),
                "precision": 0.8,
                "recall": 0.4 + recall * share,
                "ordered_f1": 0.45 + 0.6 * recall * share,
                "lis": 0.8 - 0.1 * share,
                "steps": 4 + 5 * recall * share,
                "format_valid": 0.98,
                "reward": 0.4 + 0.3 * share,
                "discrimination": 0.5,
                "reward_f1_pearson": 0.4,
                "chosen": step == (max(steps) if number else -1),
            }
        done += phase["steps"]


def _diagnostics(
    rng: random.Random, log: list[dict[str, Any]], validations: list[dict[str, Any]], stable: bool
) -> dict[str, Any]:
    best = validations[-1]
    return {
        "val_accuracy": best["accuracy"],
        "val_match_f1": best["match_f1"],
        "val_recall": best["recall"],
        "discrimination": 0.71,
        "reward_f1_pearson": 0.44,
        "kl_max": max(row["kl"] for row in log),
        "grad_norm_first": 2.05,
        "grad_norm_last": 1.02,
        "grad_norm_trend": -0.012,
        "stable": stable,
        "conflict_share": 0.31,
        "cosine_mean": 0.11,
    }


def _write_lines(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
