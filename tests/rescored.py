"""Synthetic output folders whose scores an encoder really gives."""

import json
from pathlib import Path

from lmms_eval_crystal.metrics import StepEncoder, StepScores, aggregate, score_items
from studies import write_study

SCORED = ("precision", "recall", "match_f1", "lis", "kendall_tau", "ordered_f1")


def write_rescored(folder: Path, encoder: StepEncoder, **options) -> Path:
    """As ``write_study``, with the step scores of this encoder at 0.35 in samples and results."""
    write_study(folder, encoder=encoder.signature, **options)
    for results in folder.rglob("*_results.json"):
        written = json.loads(results.read_text("utf-8"))
        [(task, section)] = written["crystal"].items()
        file = results.with_name(results.name.replace("_results.json", f"_samples_{task}.jsonl"))
        samples = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]
        found = score_items([chain(sample) for sample in samples], encoder)
        for sample, scores in zip(samples, found, strict=True):
            if sample["crystal"]["status"] == "malformed":
                steps = sample["crystal"]["predicted_steps"], sample["crystal"]["reference_steps"]
                scores = StepScores.of_pairs([], *map(len, steps))
            sample.update({name: getattr(scores, name) for name in SCORED})
            sample["crystal"]["pairs"] = [list(pair) for pair in scores.pairs]
        for name in SCORED:
            mean = aggregate([sample[name] for sample in samples])
            section["metrics"][name] = {
                "mean": float(mean),
                "low": mean.low,
                "high": mean.high,
                "items": mean.items,
            }
        file.write_text("".join(json.dumps(sample) + "\n" for sample in samples), "utf-8")
        results.write_text(json.dumps(written), "utf-8")
    return folder


def chain(sample: dict) -> tuple[list[str], list[str]]:
    """Predicted and reference steps of a sample."""
    return sample["crystal"]["predicted_steps"], sample["crystal"]["reference_steps"]
