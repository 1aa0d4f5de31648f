"""What a run says at its end: its means with intervals, its signatures, and what it may be compared with."""

from __future__ import annotations

from typing import Any

from loguru import logger

from ..metrics import MacroMean, ScorerSignature
from ..metrics.encoder import encoder_presets
from ..metrics.signature import GenerationSignature
from .item import SOURCES
from .observe import Run, generation_signature, leaf_tasks
from .paper_prompt import SHA256
from .scoring import RUNS, TaskRun

#: Items of the benchmark (arXiv 2603.13099).
BENCHMARK_ITEMS = 6372


def differences_from_paper(scorer: ScorerSignature, generation: GenerationSignature) -> list[str]:
    """Why a run's numbers cannot be set beside the paper's Table 2; empty where nothing known speaks against it."""
    reasons = []
    if scorer.items != BENCHMARK_ITEMS:
        reasons.append(f"{scorer.items:,} items instead of {BENCHMARK_ITEMS:,}")
    if scorer.parse != "released":
        reasons.append("our parser instead of the released one")
    if generation.prompt != SHA256[:8]:
        reasons.append("another prompt")
    paper_encoder = encoder_presets()["distilroberta"]["model"]
    if not scorer.encoder.startswith(f"{paper_encoder}@"):
        reasons.append(f"encoder {scorer.encoder.split('@')[0]}")
    if (scorer.tau, scorer.alpha) != (0.35, 0.3):
        reasons.append(f"tau {scorer.tau:g} and alpha {scorer.alpha:g} instead of 0.35 and 0.3")
    if generation.scripted:
        reasons.append("a scripted stand-in, not a model")
    return reasons


def finish(run: Run, results: dict[str, Any]) -> None:
    """Adds the section ``crystal`` to the results of the harness, and logs it."""
    section = {}
    for task in leaf_tasks(run.tasks):
        name = str(getattr(task, "task_name", ""))
        ours = _task_run(task)
        if ours is not None and name in results.get("results", {}):
            # The record is no metric; the harness would list it as an empty one.
            results["results"][name].pop("crystal,none", None)
            section[name] = _task_section(run, ours, task, results["results"][name])
            _log(name, section[name])
    if section:
        results["crystal"] = section


def _task_run(task: Any) -> TaskRun | None:
    docs = getattr(task, "eval_docs", None)
    if docs is None or "crystal_task" not in getattr(docs, "column_names", ()):
        return None
    return RUNS.get(docs.select_columns(["crystal_task"])[0]["crystal_task"])


def _task_section(run: Run, ours: TaskRun, task: Any, metrics: dict[str, Any]) -> dict[str, Any]:
    scorer = ours.signature
    generation = generation_signature(run.model, ours.prompt.hash, task.config.generation_kwargs or {})
    return {
        "model": run.model.id,
        "scorer": str(scorer),
        "generation": str(generation),
        "items": scorer.items,
        "of": len(ours.items),
        "differs_from_paper": differences_from_paper(scorer, generation),
        "metrics": {
            key.partition(",")[0]: {"mean": float(mean), "low": mean.low, "high": mean.high, "items": mean.items}
            for key, mean in metrics.items()
            if isinstance(mean, MacroMean)
        },
    }


def _log(name: str, section: dict[str, Any]) -> None:
    lines = [f"{name}: macro means over items, with 95 % bootstrap intervals"]
    for metric, value in section["metrics"].items():
        if not metric.endswith(SOURCES):
            interval = f"[{value['low']:.4f}, {value['high']:.4f}]"
            lines.append(f"  {metric:<16} {value['mean']:8.4f} {interval:>20}  over {value['items']:,} items")
    lines += [f"  scorer      {section['scorer']}", f"  generation  {section['generation']}"]
    differences = section["differs_from_paper"]
    lines.append(
        "  Not comparable with the paper's table: " + "; ".join(differences) + "."
        if differences
        else "  Prompt, parser, encoder and size are the paper's: comparable with its Table 2."
    )
    logger.info("\n".join(lines))
