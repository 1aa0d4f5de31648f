"""Output folders as the harness writes them, of any size and with known numbers, for tests of the reports."""

import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_crystal.metrics import aggregate
from lmms_eval_crystal.metrics.validity import summarise

SOURCES = ("mathvision", "scienceqa", "realworldqa", "mmvp", "plotqa")
SCORER = (
    "crystal|v:1|data:{data}|n:{items}|parse:ours|enc:{encoder}|tau:0.35|match:greedy|order:lis|alpha:0.3|judge:none"
)
GENERATION = (
    "prompt:66854a62|system:none|model:{model}@main|adapter:CrystalHF/chat|dtype:bfloat16|tokens:4096"
    "|temperature:0|pixels:unknown|scripted:no"
)
WORDS = (
    "the a red blue small tall left right of on under shows bar line angle triangle dog sign count sum equals".split()
)
#: Text that must never be more than text on a page.
HOSTILE = (
    "<script>window.__pwned = 1</script>",
    "</script><img src=x onerror='window.__pwned = 1'>",
    "[click](javascript:window.__pwned=1) javascript:alert(1)",
    "\u202egnp.exe\u202c and \u2067right to left\u2069",
    "{{ 7 * 7 }} {% include 'x' %} ${7*7} `--> <!-- ]]>",
    "word" * 25_000,
    '=HYPERLINK("http://example.org") | a pipe \\ a backslash & % $ # _ { } ~ ^',
)


@dataclass(frozen=True)
class Talker:
    """A synthetic model: how much of a reference it finds, how many other steps it adds, how often it is right."""

    model: str
    recall: float = 0.6
    extra: float = 2.0
    right: float = 0.6
    shuffled: float = 0.1
    malformed: float = 0.02


TALKERS = (
    Talker("org/Reasoner-7B", recall=0.75, extra=1.5, right=0.62, shuffled=0.05),
    Talker("org/Guesser-8B", recall=0.45, extra=1.0, right=0.68, shuffled=0.15),
    Talker("other/Talker-3B", recall=0.55, extra=6.0, right=0.41, shuffled=0.3, malformed=0.08),
)


def write_study(
    folder: Path,
    items: int = 60,
    talkers: Iterable[Talker] = TALKERS,
    texts: Sequence[str] = (),
    task: str = "crystal",
    of: int | None = None,
    encoder: str = "sentence-transformers/all-distilroberta-v1@main",
    others: dict[str, dict[str, dict[str, float]]] | None = None,
    seed: int = 42,
) -> Path:
    """Writes a results and a samples file for each talker, as lmms-eval lays them out; returns the folder.

    ``texts`` are put among questions, steps, answers and responses. ``others`` has results of other tasks by model
    and task. Items come in pairs that share an image, as in the benchmark.
    """
    benchmark = [_item(random.Random(f"{seed} {number}"), number, texts) for number in range(items)]
    scorer = SCORER.format(data=hashlib.sha256(str(seed).encode()).hexdigest()[:8], items=items, encoder=encoder)
    for place, talker in enumerate(talkers):
        rng = random.Random(f"{seed} {talker.model}")
        generation = GENERATION.format(model=talker.model)
        samples = [_sample(rng, item, talker, texts, (scorer, generation)) for item in benchmark]
        results = _results(
            samples, talker, task, of or items, (scorer, generation), (others or {}).get(talker.model, {})
        )
        target = folder / talker.model.replace("/", "__")
        target.mkdir(parents=True, exist_ok=True)
        date = f"20261101_{place:06d}"
        (target / f"{date}_results.json").write_text(json.dumps(results), "utf-8")
        with (target / f"{date}_samples_{task}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples)
    return folder


def _sentence(rng: random.Random, texts: Sequence[str], odds: float = 0.05) -> str:
    if texts and rng.random() < odds:
        return rng.choice(texts)
    return " ".join(rng.choices(WORDS, k=rng.randint(5, 14))).capitalize() + "."


def _item(rng: random.Random, number: int, texts: Sequence[str]) -> dict[str, Any]:
    return {
        "doc_id": number,
        "question": _sentence(rng, texts, 0.2),
        "answer": texts[number % len(texts)] if texts and number % 7 == 0 else str(rng.randint(1, 99)),
        "options": [],
        "source": SOURCES[number % len(SOURCES)],
        "steps": [_sentence(rng, texts) for _ in range(max(3, min(25, round(rng.gauss(11.6, 4)))))],
        "image": hashlib.sha256(f"image {number // 2}".encode()).hexdigest(),
    }


def _sample(
    rng: random.Random, item: dict[str, Any], talker: Talker, texts: Sequence[str], signatures: tuple[str, str]
) -> dict[str, Any]:
    malformed = rng.random() < talker.malformed
    found = [] if malformed else [place for place in range(len(item["steps"])) if rng.random() < talker.recall]
    if rng.random() < talker.shuffled:
        rng.shuffle(found)
    steps: list[tuple[str, int | None]] = [(item["steps"][place], place) for place in found]
    for _ in range(0 if malformed else max(0, round(rng.gauss(talker.extra, 1)))):
        steps.insert(rng.randint(0, len(steps)), (_sentence(rng, texts), None))
    if not steps:
        steps = [("(no step could be read)", None)]
    pairs = [[p, r, round(rng.uniform(0.36, 0.99), 4)] for p, (_, r) in enumerate(steps) if r is not None]
    pairs.sort(key=lambda pair: pair[1])
    right = not malformed and rng.random() < talker.right
    strict = right and rng.random() < 0.95
    precision, recall = len(pairs) / len(steps), len(pairs) / len(item["steps"])
    f1 = 2 * precision * recall / (precision + recall) if pairs else 0.0
    order = _order([pair[0] for pair in pairs])
    answer = item["answer"] if right else _sentence(rng, texts, 0.2)
    metrics = {
        "accuracy": float(right),
        "accuracy_strict": float(strict),
        "match_f1": f1,
        "null_f1": f1 / 4,
        "f1_above_null": f1 - f1 / 4,
        "precision": precision,
        "recall": recall,
        "ordered_f1": f1 * (0.7 + 0.3 * order),
        "lis": order,
        "kendall_tau": order,
        "steps": float(len(steps)),
        "format_valid": float(not malformed),
        "format_usable": float(not malformed),
        "truncated": float(malformed),
        **({"lis_multi": order} if len(pairs) > 1 else {}),
        f"match_f1_{item['source']}": f1,
        f"accuracy_{item['source']}": float(right),
    }
    texts_of_steps = [text for text, _ in steps]
    record = {
        "model": talker.model,
        "response": json.dumps({"reasoning_steps": texts_of_steps, "answer": answer}),
        "status": "malformed" if malformed else "valid",
        "predicted_steps": texts_of_steps,
        "reference_steps": item["steps"],
        "pairs": pairs,
        "question": item["question"],
        "options": item["options"],
        "reference_answer": item["answer"],
        "answer": "" if malformed else answer,
        "correct": right,
        "correct_kind": "number",
        "correct_strict": strict,
        "correct_strict_kind": "number",
        "source": item["source"],
        "image_sha256": item["image"],
        "optimal_f1": f1,
        "first_f1": [f1 * min(count, len(steps)) / len(steps) for count in range(1, 11)],
        "conflicts": [[0, "number"]] if pairs and item["doc_id"] % 9 == 0 else [],
        "output_tokens": sum(len(text) for text in texts_of_steps) // 4,
        "scorer": signatures[0],
        "generation": signatures[1],
    }
    return {"doc_id": item["doc_id"], "target": item["answer"], **metrics, "crystal": record}


def _order(sequence: list[int]) -> float:
    if len(sequence) < 2:
        return 1.0
    longest = [1] * len(sequence)
    for end in range(len(sequence)):
        longest[end] = 1 + max((longest[start] for start in range(end) if sequence[start] < sequence[end]), default=0)
    return max(longest) / len(sequence)


def _results(
    samples: list[dict[str, Any]],
    talker: Talker,
    task: str,
    of: int,
    signatures: tuple[str, str],
    others: dict[str, dict[str, float]],
) -> dict[str, Any]:
    names = sorted({name for sample in samples for name, value in sample.items() if isinstance(value, float)})
    means = {name: aggregate([sample[name] for sample in samples if name in sample], name) for name in names}
    section = {
        "model": talker.model,
        "scorer": signatures[0],
        "generation": signatures[1],
        "items": len(samples),
        "of": of,
        "differs_from_paper": ["our parser instead of the released one", "another prompt"],
        "metrics": {
            name: {"mean": float(mean), "low": mean.low, "high": mean.high, "items": mean.items}
            for name, mean in means.items()
        },
        "validity": summarise(sample["crystal"] for sample in samples),
    }
    return {
        "results": {task: {f"{name},none": float(mean) for name, mean in means.items()}, **others},
        "group_subtasks": {},
        "higher_is_better": {},
        "n-samples": {task: {"original": of, "effective": len(samples)}},
        "crystal": {task: section},
        "config": {"model": "crystal_hf", "model_args": f"pretrained={talker.model}", "limit": None},
        "model_name": talker.model,
        "date": "20261101",
    }
