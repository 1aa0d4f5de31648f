"""A run that is killed goes on where it stopped: same results and samples, at most the batch in flight made again."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from harness import BIN, TIMEOUT, environment, metrics, run, samples
from lmms_eval_crystal.model_adapters.tiny import build_tiny_qwen2_5_vl
from loopback import Loopback

pytestmark = pytest.mark.e2e
ITEMS = 8
POLL_SECONDS = 0.005


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return build_tiny_qwen2_5_vl(tmp_path_factory.mktemp("tiny") / "tiny")


def arguments(kind: str, model_args: str, *more: str) -> list[str]:
    return [
        *("--tasks", "crystal_mini", "--limit", str(ITEMS), "--model", kind, "--model_args", model_args),
        *("--gen_kwargs", "max_new_tokens=16", "--log_samples", "--output_path", "out"),
        *("--verbosity", "DEBUG", *more),
    ]


def responses(folder: Path, state: str = "open") -> list[dict]:
    """The whole lines of responses in the journal."""
    lines = [line for file in sorted(folder.rglob(f"{state}/*.jsonl")) for line in file.read_bytes().split(b"\n")[1:-1]]
    return [json.loads(line) for line in lines]


def kill_at(command: list[str], folder: Path, count: int, **variables: str) -> Path:
    """Starts the command and kills it (SIGKILL) once the journal holds ``count`` responses; its log.

    Workers of torchrun are not in the group that is killed: they have to end by themselves.
    """
    log = folder / f"killed-at-{count}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(BIN / command[0]), *command[1:]],
            cwd=folder,
            env=environment(OMP_NUM_THREADS="1", **variables),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        end = time.monotonic() + TIMEOUT
        while len(responses(folder)) < count:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(POLL_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert not list(folder.rglob("*_results.json"))
    return log


def finish(command: list[str], folder: Path, **variables: str) -> Path:
    done = run(command, folder, OMP_NUM_THREADS="1", **variables)
    assert done.returncode == 0, done.stdout
    assert metrics(folder), done.stdout
    log = folder / "finished.log"
    log.write_text(done.stdout)
    return log


def begun(log: Path) -> int:
    """How many items a run began to generate, by its own log."""
    return sum(len(found.split(",")) for found in re.findall(r"Journal: generating \[(.*?)\]", log.read_text()))


def assert_same_run(ours: Path, theirs: Path) -> None:
    assert metrics(ours) == metrics(theirs)
    assert samples(ours) == samples(theirs)


def assert_nothing_is_doubled(folder: Path) -> None:
    items = [entry["doc_id"] for entry in responses(folder, "finished")]
    assert sorted(items) == list(range(ITEMS))
    assert not responses(folder)


def test_three_kills_of_a_model_of_the_harness(model, tmp_path):
    """At the first response, in the middle, and when all is generated and scoring has begun."""
    (tmp_path / "killed").mkdir()
    (tmp_path / "undisturbed").mkdir()
    command = ["lmms-eval", *arguments("qwen2_5_vl", f"pretrained={model},device=cpu,device_map=cpu")]
    finish(command, tmp_path / "undisturbed", CRYSTAL_JOURNAL="off")

    moments = [1, 5, ITEMS]
    logs = [kill_at(command, tmp_path / "killed", count, CRYSTAL_JOURNAL="journal") for count in moments]
    logs.append(finish(command, tmp_path / "killed", CRYSTAL_JOURNAL="journal"))

    assert_same_run(tmp_path / "killed", tmp_path / "undisturbed")
    assert_nothing_is_doubled(tmp_path / "killed")
    assert sum(map(begun, logs)) - ITEMS <= len(moments)
    assert begun(logs[-1]) == 0
    assert f"resuming, {ITEMS} of {ITEMS} responses found" in logs[-1].read_text()


def test_two_processes_killed_then_one_then_two(model, tmp_path):
    """crystal_hf keeps its journal unasked; here two processes are killed, one goes on and is killed, two finish."""
    (tmp_path / "killed").mkdir()
    (tmp_path / "undisturbed").mkdir()
    cache = {"CRYSTAL_CACHE_DIR": "cache", "CRYSTAL_JOURNAL": ""}
    one = ["lmms-eval", *arguments("crystal_hf", f"pretrained={model},device=cpu", "--batch_size", "2")]
    two = ["torchrun", "--nproc_per_node", "2", "-m", "lmms_eval", *one[1:]]
    finish(one, tmp_path / "undisturbed", CRYSTAL_JOURNAL="off")

    logs = [
        kill_at(two, tmp_path / "killed", 2, **cache),
        kill_at(one, tmp_path / "killed", 5, **cache),
        finish(two, tmp_path / "killed", **cache),
    ]
    assert_same_run(tmp_path / "killed", tmp_path / "undisturbed")
    assert_nothing_is_doubled(tmp_path / "killed")
    # A batch of two for each of the three processes that were killed.
    assert sum(map(begun, logs)) - ITEMS <= 2 * 3


def test_no_call_of_an_api_that_ended_is_sent_again_and_another_setting_is_refused(tmp_path):
    with Loopback(delay=0.3).running() as server:
        model_args = f"model_version=m,base_url={server.url},api_key=topsecret,num_concurrent=2,max_retries=1"
        command = ["lmms-eval", *arguments("openai", model_args)]
        kill_at(command, tmp_path, 3, CRYSTAL_JOURNAL="journal")
        kept, sent = len(responses(tmp_path)), len(server.asked)
        assert sent - kept <= 2
        server.asked.clear()
        changed = [text.replace("max_new_tokens=16", "max_new_tokens=8") for text in command]
        refused = run(changed, tmp_path, CRYSTAL_JOURNAL="journal")
        finish(command, tmp_path, CRYSTAL_JOURNAL="journal")
        assert len(server.asked) == len(set(server.asked)) == ITEMS - kept
    assert_nothing_is_doubled(tmp_path)
    assert {sample["crystal"]["output_tokens"] for sample in samples(tmp_path).values()} == {5}
    assert refused.returncode == 1
    sentence = refused.stdout.splitlines()[-1]
    assert "the generation setting max_new_tokens of crystal_mini was 16 and is now 8" in sentence
    assert "Traceback" not in refused.stdout
    assert not any(b"topsecret" in file.read_bytes() for file in (tmp_path / "journal").rglob("*.jsonl"))
