"""A run that is killed goes on where it stopped: same results and samples, at most the batch in flight made again."""

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from harness import BIN, TIMEOUT, environment, metrics, run, samples
from lmms_eval_crystal.model_adapters.tiny import build_tiny_qwen2_5_vl
from loopback import Loopback

# A test is up to five runs of the harness in a row, and the suite's limit is made for one or two.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
ITEMS, BATCH = 8, 2
POLL_SECONDS = 0.005
#: crystal_hf keeps its journal unasked; below the folder of the run, so that it is found.
UNASKED = {"CRYSTAL_CACHE_DIR": "cache", "CRYSTAL_JOURNAL": ""}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return build_tiny_qwen2_5_vl(tmp_path_factory.mktemp("tiny") / "tiny")


def arguments(kind: str, model_args: str, *more: str) -> list[str]:
    return [
        *("--tasks", "crystal_mini", "--limit", str(ITEMS), "--model", kind, "--model_args", model_args),
        *("--gen_kwargs", "max_new_tokens=16", "--log_samples", "--output_path", "out"),
        *("--verbosity", "DEBUG", *more),
    ]


def crystal_hf(model: Path, *launcher: str) -> list[str]:
    more = arguments("crystal_hf", f"pretrained={model},device=cpu", "--batch_size", str(BATCH))
    return [*(launcher or ("lmms-eval",)), *more]


def responses(folder: Path, state: str = "open") -> list[dict]:
    """The whole lines of responses in the journal."""
    lines = [line for file in sorted(folder.rglob(f"{state}/*.jsonl")) for line in file.read_bytes().split(b"\n")[1:-1]]
    return [json.loads(line) for line in lines]


def kill(command: list[str], folder: Path, when: Callable[[str], bool], **variables: str) -> tuple[Path, list]:
    """Starts the command and kills it (SIGKILL) when its log says so; the log, and the processes that it left behind.

    These are not killed: workers of torchrun, and what ``crystal-eval run`` has started, end by themselves.
    """
    log = folder / "killed.log"
    with log.open("w") as output:
        process = psutil.Popen(
            [str(BIN / command[0]), *command[1:]],
            cwd=folder,
            env=environment(OMP_NUM_THREADS="1", **variables),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        end = time.monotonic() + TIMEOUT
        try:
            while not when(log.read_text()):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(POLL_SECONDS)
            left = process.children(recursive=True)
        finally:
            process.kill()
            process.wait()
    assert not list(folder.rglob("*_results.json"))
    return log, left


def kill_at(command: list[str], folder: Path, count: int, in_flight: int, **variables: str) -> None:
    """Kills the command once the journal holds ``count`` responses; it loses ``in_flight`` at most."""
    before = len(responses(folder))
    log, left = kill(command, folder, lambda log: len(responses(folder)) >= count, **variables)
    psutil.wait_procs(left, timeout=TIMEOUT)
    lost = begun(log) - (len(responses(folder)) - before)
    assert lost <= in_flight, log.read_text()


def kill_three_times_and_finish(
    command: list[str], folder: Path, processes: int = 1, batch: int = BATCH, **variables: str
) -> None:
    """While the model loads, after the first batch, and near the end; then the same command is left to finish."""
    folder.mkdir()
    log, left = kill(command, folder, lambda log: "Loading weights" in log, **variables)
    assert not list(folder.rglob("*.jsonl"))
    kill_at(command, folder, 1, batch * processes, **variables)
    kill_at(command, folder, ITEMS - BATCH, batch * processes, **variables)
    kept = len(responses(folder))
    log = finish(command, folder, **variables)
    assert begun(log) == ITEMS - kept
    assert f"resuming, {kept} of {ITEMS} responses found" in log.read_text() or processes > 1
    assert_nothing_is_doubled(folder)
    _, alive = psutil.wait_procs(left, timeout=0)
    assert not alive


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


@pytest.fixture(scope="module")
def undisturbed(model, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    finish(crystal_hf(model), folder, CRYSTAL_JOURNAL="off")
    return folder


def test_crystal_hf(model, undisturbed, tmp_path):
    kill_three_times_and_finish(crystal_hf(model), tmp_path / "killed", **UNASKED)
    assert_same_run(tmp_path / "killed", undisturbed)


def test_crystal_hf_in_two_processes(model, undisturbed, tmp_path):
    command = crystal_hf(model, "torchrun", "--standalone", "--nproc_per_node", "2", "-m", "lmms_eval")
    kill_three_times_and_finish(command, tmp_path / "killed", processes=2, **UNASKED)
    assert_same_run(tmp_path / "killed", undisturbed)


def test_a_model_of_the_harness_through_crystal_eval_run(model, tmp_path):
    """One item at a time, as by default: in larger batches of its 16 bits the neighbours of an item change its text."""
    command = [
        *("crystal-eval", "run", str(model), "--backend", "qwen2_5_vl", "--model-args", "device=cpu,device_map=cpu"),
        *("--tasks", "crystal_mini", "--limit", str(ITEMS), "--out", "out"),
        *("--gen-kwargs", "max_new_tokens=16"),
    ]
    more = ["--", "--verbosity", "DEBUG"]
    (tmp_path / "undisturbed").mkdir()
    finish([*command, "--no-journal", *more], tmp_path / "undisturbed")
    kill_three_times_and_finish([*command, *more], tmp_path / "killed", batch=1, CRYSTAL_JOURNAL="")
    assert_same_run(tmp_path / "killed", tmp_path / "undisturbed")


def test_no_call_of_an_api_that_ended_is_sent_again_and_another_setting_is_refused(tmp_path):
    with Loopback(delay=0.3).running() as server:
        model_args = f"model_version=m,base_url={server.url},api_key=topsecret,num_concurrent=2,max_retries=1"
        command = ["lmms-eval", *arguments("openai", model_args)]
        kill(command, tmp_path, lambda log: len(responses(tmp_path)) >= 3, CRYSTAL_JOURNAL="journal")
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
