"""What a run says at its end: its means with intervals, its signatures, and what it may be compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loguru import logger

from ..metrics import ALPHA, TAU, GenerationSignature, MacroMean, ScorerSignature
from ..metrics.encoder import default_encoder, encoder_presets
from ..metrics.validity import summarise
from .observe import Run, generation_signature, leaf_tasks
from .paper_prompt import SHA256
from .scoring import LoadedTask, loaded_task
from .settings import HUB_DATASET

#: Items of the benchmark (arXiv 2603.13099).
BENCHMARK_ITEMS = 6372


def differences_from_paper(scorer: ScorerSignature, generation: GenerationSignature, dataset: str) -> list[str]:
    """Why a run's numbers cannot be set beside the paper's Table 2; empty where nothing known speaks against it."""
    reasons = []
    if scorer.items != BENCHMARK_ITEMS:
        reasons.append(f"{scorer.items:,} items instead of {BENCHMARK_ITEMS:,}")
    elif dataset != HUB_DATASET:
        reasons.append(f"data from {dataset} instead of {HUB_DATASET}")
    if scorer.parse != "released":
        reasons.append("our parser instead of the released one")
    if generation.prompt == "unknown":
        reasons.append("predictions made elsewhere, with a prompt and settings that are not known here")
    elif generation.prompt != SHA256[:8]:
        reasons.append("another prompt")
    if scorer.encoder.split("@")[0] != encoder_presets()[default_encoder()]["model"]:
        reasons.append(f"encoder {scorer.encoder.split('@')[0]}")
    if (scorer.tau, scorer.alpha) != (TAU, ALPHA):
        reasons.append(f"tau {scorer.tau:g} and alpha {scorer.alpha:g} instead of {TAU:g} and {ALPHA:g}")
    if generation.temperature not in ("0", "unknown"):
        reasons.append(f"temperature {generation.temperature} instead of greedy decoding")
    if generation.scripted:
        reasons.append("a scripted stand-in, not a model")
    return reasons


def finish(run: Run, results: dict[str, Any]) -> None:
    """Adds the section ``crystal`` to the results of the harness, and logs it."""
    section = {}
    for task in leaf_tasks(run.tasks):
        name = str(getattr(task, "task_name", ""))
        loaded = loaded_task(getattr(task, "eval_docs", None))
        metrics = results.get("results", {}).get(name)
        if loaded is None or metrics is None:
            continue
        # The record is no metric; the harness would list it as an empty one.
        metrics.pop("crystal,none", None)
        means = {key.partition(",")[0]: mean for key, mean in metrics.items() if isinstance(mean, MacroMean)}
        if means:  # none with --predict_only
            records = [sample["crystal"] for sample in results.get("samples", {}).get(name, ()) if "crystal" in sample]
            section[name] = _task_section(run, loaded, task, means, records)
            _log(name, section[name])
    if section:
        results["crystal"] = section


def _task_section(
    run: Run, loaded: LoadedTask, task: Any, means: dict[str, MacroMean], records: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The section of one task; ``records`` are those of its items, which are there with ``--log_samples`` only."""
    generation = generation_signature(run.model, loaded.prompt.hash, task.config.generation_kwargs or {})
    return make_section(
        run.model.id,
        loaded.scorer_signature(run),
        generation,
        len(loaded.items),
        loaded.settings.dataset,
        means,
        records,
    )


def make_section(
    model: str,
    scorer: ScorerSignature,
    generation: GenerationSignature,
    of: int,
    dataset: str,
    means: Mapping[str, MacroMean],
    records: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The section of one task in a results file; ``of`` is the number of items that ``dataset`` has.

    ``records`` need hold no more than what ``validity.summarise`` reads.
    """
    return {
        "model": model,
        "scorer": str(scorer),
        "generation": str(generation),
        "items": scorer.items,
        "of": of,
        "differs_from_paper": differences_from_paper(scorer, generation, dataset),
        "metrics": {
            name: {"mean": float(mean), "low": mean.low, "high": mean.high, "items": mean.items}
            for name, mean in means.items()
        }
        # Absent where no item has two matches; that is a result, and one to be seen.
        | ({} if "lis_multi" in means else {"lis_multi": {"mean": None, "low": None, "high": None, "items": 0}}),
        **({"validity": summarise(records)} if records else {}),
    }


def _log(name: str, section: dict[str, Any]) -> None:
    lines = [f"{name}: macro means over items, with 95 % bootstrap intervals"]
    lines += [f"  {_line(metric, value)}" for metric, value in section["metrics"].items()]
    lines += [f"  scorer      {section['scorer']}", f"  generation  {section['generation']}"]
    differences = section["differs_from_paper"]
    lines.append(
        "  Not comparable with the paper's table: " + "; ".join(differences) + "."
        if differences
        else "  Prompt, parser, encoder and size are the paper's: comparable with its Table 2."
    )
    logger.info("\n".join(lines))


def _line(metric: str, value: dict[str, Any]) -> str:
    if value["mean"] is None:
        return f"{metric:<20}        -                       over no items"
    return f"{metric:<20} {value['mean']:8.4f} [{value['low']:.4f}, {value['high']:.4f}]  over {value['items']:,} items"
