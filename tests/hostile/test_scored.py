"""Hostile responses from text to record: parsed, judged and scored with a real encoder, within 2 s and 1 GB."""

import json
import os
import pickle
import resource
import time
import traceback

import psutil
import pytest
import synthetic
import torch
from lmms_eval_crystal.crystal_task import hooks
from lmms_eval_crystal.crystal_task.response import PLACEHOLDER_STEP
from lmms_eval_crystal.crystal_task.scoring import LOADED
from lmms_eval_crystal.metrics import STEP_LIMIT

#: Seconds of processor time, and bytes beyond those that the process has before.
LIMIT_S, LIMIT_BYTES = 2.0, 1 << 30
MB5 = 5_000_000
ITEM = synthetic.rows(1)[0]
STEPS, ANSWER = ITEM["reference_steps"], ITEM["answer"]
RTL, MARKS = "\u202e", "\u200f\u2067"


def written(steps: list[str], answer: str = ANSWER) -> str:
    return json.dumps({"reasoning_steps": steps, "answer": answer}, ensure_ascii=False)


def padded(size: int) -> str:
    """A sound response of so many bytes: the reference steps, and one more step again and again."""
    filler = "Nothing else can be seen in it."
    return written([*STEPS, *[filler] * (size // (len(filler) + 4))])


LOOP = f'{{"reasoning_steps": ["{STEPS[0]}", ' + f'"{STEPS[1]}", ' * 20_000
NUMBERED = [f"This is step number {number}" for number in range(20_000)]
#: A text, the status that its record shows, and what else must come out: metrics, or fields of the record.
CASES = {
    "5 MB": (padded(MB5), "valid", {"recall": 1, "accuracy": 1, "uncompared_steps": 0}),
    "5 MB that break off": (padded(MB5)[:-30], "recovered", {"recall": 1, "accuracy": 0, "truncated": 1}),
    "20,000 different steps": (
        written([*STEPS, *NUMBERED]),
        "valid",
        {"recall": 1, "steps": 20_003, "precision": 3 / 20_003, "uncompared_steps": 20_003 - STEP_LIMIT},
    ),
    "20,000 equal steps": (written([STEPS[0]] * 20_000), "valid", {"recall": 2 / 3, "precision": 2 / 20_000}),
    "steps of 100 kB": (
        written([f"{step} {'and so on ' * 10_000}" for step in STEPS]),
        "valid",
        {"steps": 3, "accuracy": 1},
    ),
    "one word of 100 kB a step": (written(["x" * 100_000, *STEPS]), "valid", {"recall": 1, "precision": 3 / 4}),
    "one word of 5 MB": (written(["…" * (MB5 // 3), *STEPS]), "valid", {"recall": 1, "precision": 3 / 4}),
    "fractions of 5 MB": (written(["½ " * (MB5 // 3), *STEPS]), "valid", {"recall": 1, "precision": 3 / 4}),
    "5 MB of objects that are none": ('{"a":}\n' * (MB5 // 7), "malformed", {"match_f1": 0, "steps": 1}),
    "5 MB of a table": ("\n| " * (MB5 // 3), "malformed", {"match_f1": 0, "steps": 1}),
    "a loop that never ends": (LOOP, "recovered", {"recall": 2 / 3, "steps": 20_001, "truncated": 1}),
    "100,000 brackets": ("[" * 100_000, "malformed", {"match_f1": 0, "steps": 1}),
    "100,000 brackets that close": ("[" * 100_000 + "]" * 100_000, "malformed", {"match_f1": 0}),
    "100,000 braces before a response": ("{" * 100_000 + "\n" + written(STEPS), "recovered", {"accuracy": 1}),
    "a response inside 100,000 brackets": ("[" * 100_000 + written(STEPS) + "]" * 100_000, "recovered", {"recall": 1}),
    "100 kB of inner quotes": (
        '{"reasoning_steps": ["' + 'a "b" ' * 16_000 + f'"], "answer": "{ANSWER}"}}',
        "recovered",
        {"steps": 1, "accuracy": 1},
    ),
    "lone surrogates": (written([step + "\ud800" for step in STEPS], ANSWER + "\udfff"), "recovered", {"recall": 1}),
    "NUL bytes": (written(STEPS).replace("a", "a\x00"), "recovered", {"match_f1": 1, "accuracy": 1}),
    "escaped NUL bytes": (written([step + "\\u0000" for step in STEPS]), None, {"recall": 1}),
    "5 MB of NUL": ("\x00" * MB5, None, {"match_f1": 0, "steps": 1, "accuracy": 0}),
    "5 MB of white space": (" \n" * (MB5 // 2), "empty", {"match_f1": 0, "steps": 1}),
    "right-to-left text": (
        written([*STEPS, "התמונה מראה ריבוע אחד", "الشكل مربع واحد"], ANSWER),
        "valid",
        {"recall": 1, "accuracy": 1},
    ),
    "marks that turn the text round": (
        written([f"{RTL}{step}{MARKS}" for step in STEPS]),
        None,
        {"recall": 1, "accuracy": 1},
    ),
    "a number of 10,000 digits": (written(STEPS, "9" * 10_000), "valid", {"match_f1": 1, "accuracy_strict": 0}),
    "a bare number of 10,000 digits": (
        written(STEPS).replace(f'"{ANSWER}"', "9" * 10_000),
        None,
        {"match_f1": 1, "accuracy_strict": 0},
    ),
    "an infinite number": (written(STEPS).replace(f'"{ANSWER}"', "1e999"), None, {"match_f1": 1, "accuracy": 0}),
    "a tower of powers": (written(STEPS, r"$9^{9^{9^{9^{9}}}}$"), None, {"match_f1": 1, "accuracy_strict": 0}),
    "LaTeX without an end": (
        written(STEPS, r"\frac{" * 20_000 + "1"),
        None,
        {"recall": 1, "accuracy_strict": 0},
    ),
    "an answer of 5 MB": (written(STEPS, "blue or " * (MB5 // 8)), "valid", {"match_f1": 1, "accuracy_strict": 0}),
    "reasoning of 5 MB that never closes": ("<think>" + "so " * (MB5 // 3), "malformed", {"truncated": 1}),
    "reasoning of 5 MB before a response": (
        "<think>" + "so " * (MB5 // 3) + "</think>" + written(STEPS),
        "recovered",
        {"match_f1": 1, "accuracy": 1},
    ),
    "prose of 5 MB": ("I look at it again. " * (MB5 // 20), "malformed", {"match_f1": 0}),
    "20,000 responses in one": ((written(STEPS) + "\n") * 20_000, "recovered", {"match_f1": 1, "accuracy": 1}),
    "a key 100,000 times": ('{"answer": "red", ' * 100_000, None, {"match_f1": 0}),
    "one character of 100,000 marks": (written([*STEPS, "a" + "\u0301" * 100_000]), "valid", {"recall": 1}),
    "markup and scripts": (
        written([*STEPS, "</script><script>alert(1)</script>", "__import__('os').system('false')"]),
        "valid",
        {"recall": 1, "precision": 3 / 5},
    ),
    "a failed call": ("[LMMS_EVAL_REQUEST_FAILED after 5 retries] " + "e" * MB5, "failed", {"match_f1": 0}),
}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    """The task ``crystal`` on two items, its encoder warm."""
    patch = pytest.MonkeyPatch()
    made = synthetic.dataset(2)
    made.to_parquet(tmp_path_factory.mktemp("data") / "data.parquet")
    patch.setenv("CRYSTAL_ENCODER", "minilm")
    hooks.prepare_crystal(made)
    patch.undo()
    LOADED["crystal"].record(1, written(STEPS))
    return LOADED["crystal"]


def in_a_process_of_its_own(action):
    """What an action returns, and the processor time and the memory that it took, under a limit on both."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            # The parent's pool of threads does not live on in a fork; to wait for it would take for ever.
            torch.set_num_threads(1)
            before = psutil.Process().memory_info().vms
            resource.setrlimit(resource.RLIMIT_AS, (before + LIMIT_BYTES, -1))
            begin = time.process_time()
            result = action(), time.process_time() - begin
        except BaseException:
            result = traceback.format_exc(), 0.0
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(content)


@pytest.mark.parametrize(("text", "status", "expected"), CASES.values(), ids=CASES.keys())
def test_a_hostile_response_is_scored_in_time_and_memory(task, text, status, expected):
    record, seconds = in_a_process_of_its_own(lambda: task.record(0, text))
    assert isinstance(record, dict), record
    assert seconds < LIMIT_S
    details = record["crystal"]
    assert status is None or details["status"] == status
    found = {name: record.get(name, details.get(name)) for name in expected}
    assert found == pytest.approx(expected)
    # The samples file holds it, and it can be read again.
    assert json.loads(json.dumps(record, ensure_ascii=False).encode("utf-8")) == json.loads(json.dumps(record))
    if details["status"] in ("malformed", "empty", "failed"):
        assert details["predicted_steps"] == [PLACEHOLDER_STEP]
