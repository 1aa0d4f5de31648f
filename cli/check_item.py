"""The check of one item: generated, scored and written as a run would, and its text looked at."""

import io
import json
import re
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..crystal_task.plugin import MINI
from ..errors import CrystalError
from ..model_adapters.commands import build_command
from .check_subject import Check, Subject
from .launch import run_harness

NAME = "one item"
#: Seconds that the one item may take, so that all of the check stays under two minutes.
ITEM_TIMEOUT_S = 75
#: Enough to show that text comes, and whether it is one token over and over.
ITEM_TOKENS = 16
#: A piece of text, without its white space, that repeats itself to the end at least six times.
ONE_TOKEN = re.compile(r"(.{1,12}?)\1{5,}")
#: Characters that a line shows of a text.
SHOWN = 40


def check_one_item(subject: Subject) -> Check:
    """Runs an item as the run would, without its journal and into a folder that goes away."""
    here = subject.target.is_folder or subject.weights.complete
    if not (here or subject.is_api or subject.full):
        return Check(NAME, "WARN", "not run, since the model is not fetched yet; --full does both")
    tasks = subject.wishes.tasks if subject.full or subject.data_is_near else MINI
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="crystal-check-") as folder:
        wishes = replace(
            subject.wishes,
            tasks=tasks,
            out=Path(folder),
            journal="off",
            limit=1,
            nproc=1,
            # An API gets its whole budget: hidden reasoning would use up a small one and leave no text.
            gen_kwargs="" if subject.is_api else f"max_new_tokens={ITEM_TOKENS}",
        )
        command = build_command(subject.target, wishes, subject.gpus)
        limit = None if subject.full else ITEM_TIMEOUT_S
        try:
            run_harness(command, Path(folder), tasks.split(","), io.BytesIO(), limit)
            problem = _problem(Path(folder), subject.is_api)
        except TimeoutError:
            return Check(
                NAME,
                "WARN",
                f"{tasks}: not done after {ITEM_TIMEOUT_S} s, which loading a large model may take; --full waits",
            )
        except CrystalError as error:
            problem = str(error)
    if problem:
        return Check(NAME, "FAIL", f"{tasks}: {problem}")
    return Check(NAME, "OK", f"{tasks}: generated and scored in {time.monotonic() - started:.0f} s")


def _problem(folder: Path, is_api: bool) -> str:
    """What is wrong with what the run wrote; empty where nothing is."""
    files = sorted(folder.rglob("*_samples_*.jsonl"))
    if not files:
        return "no samples were written, so a report could show no item; look for free space, and at the log of a run"
    for file in files:
        try:
            samples = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            texts = [text_of(sample) for sample in samples]
        except (ValueError, LookupError, TypeError, AttributeError):
            return f"{file.name} is cut short, so its items would be lost; look for free space where --out is"
        if not texts:
            return f"{file.name} holds no item; look for free space where --out is"
        for sample, text in zip(samples, texts, strict=True):
            if found := text_problem(text, sample.get("crystal", {}).get("status"), is_api):
                return found
    return ""


def text_of(sample: dict[str, Any]) -> str:
    """The response in a line of the samples, of our tasks as the model gave it."""
    own = sample.get("crystal")
    text = own["response"] if own else sample["filtered_resps"][0]
    return text if isinstance(text, str) else str(text)


def text_problem(text: str, status: str | None, is_api: bool) -> str:
    """What a response says of the model behind it; empty where it says nothing bad."""
    if status == "failed":
        return f"the call failed: {text[:300]}"
    if not text.strip():
        if is_api:
            return "no text came; give hidden reasoning more room (crystal-eval run --gen-kwargs max_new_tokens=32768)"
        return "no text came, as from numbers that overflow; try --model-args dtype=bfloat16, or float32"
    if ONE_TOKEN.fullmatch("".join(text.split())):
        return (
            f"the model writes one token over and over ({text.strip()[:SHOWN]!r}), as where its numbers overflow; try "
            "--model-args dtype=bfloat16, or float32"
        )
    return ""
