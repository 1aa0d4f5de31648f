"""``crystal-eval train`` as a command: killed and started again, it ends where an undisturbed run ends."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import torch
from harness import BIN, TIMEOUT, environment, run, samples
from lmms_eval_crystal.training.records import Records
from lmms_eval_crystal.training.run import train
from safetensors.torch import load_file
from tiny_run import RESPONSES, build_model, make_items, tiny_config

pytestmark = pytest.mark.e2e

POLL_SECONDS = 0.005
#: One thread, since sums of several are not always the same.
SETTINGS = {"CRYSTAL_PROMPT_FILE": "prompt.txt", "OMP_NUM_THREADS": "1"}


def kill(command: list[str], folder: Path, when: Callable[[], bool]) -> str:
    """Starts the command and kills it (SIGKILL) as soon as ``when`` holds; what it has printed."""
    log = folder / "killed.log"
    with log.open("w") as output:
        process = psutil.Popen(
            [str(BIN / command[0]), *command[1:]],
            cwd=folder,
            env=environment(**SETTINGS),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        end = time.monotonic() + TIMEOUT
        try:
            while not when():
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(POLL_SECONDS)
        finally:
            process.kill()
            process.wait()
    return log.read_text()


def test_a_run_that_is_killed_goes_on_and_ends_with_the_same_model(tmp_path, monkeypatch):
    (tmp_path / "prompt.txt").write_text("Look: {question}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CRYSTAL_PROMPT_FILE", "prompt.txt")
    build_model(tmp_path / "model")
    make_items(tmp_path / "items")
    (tmp_path / "config.yaml").write_text(tiny_config(Path()).as_yaml())
    command = ["crystal-eval", "train", "config.yaml"]
    records = Records(tmp_path / "out")

    def logged(phase: int, step: int) -> bool:
        return any((line["phase"], line["step"]) == (phase, step) for line in records.logged())

    kill(command, tmp_path, lambda: logged(2, 3))
    assert records.summary() is None
    done = run(command, tmp_path, **SETTINGS)
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout
    assert "after training" in done.stdout.lower()

    torch.set_num_threads(1)
    undisturbed = Records(train(tiny_config(Path(), output="undisturbed")))
    ours, theirs = (load_file(records.best / "model.safetensors") for records in (records, undisturbed))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)

    evaluation = ["lmms-eval", "--tasks", "crystal", "--limit", "2", "--model", "crystal_hf", "--model_args"]
    best = [f"pretrained={records.best},device=cpu", "--gen_kwargs", "max_new_tokens=1", "--log_samples"]
    data = {"CRYSTAL_DATASET": "items", "CRYSTAL_ENCODER": "minilm"}
    evaluated = run([*evaluation, *best, "--output_path", "eval"], tmp_path, **SETTINGS, **data)
    assert evaluated.returncode == 0, evaluated.stdout
    written = {sample["crystal"]["response"] for sample in samples(tmp_path / "eval", task="crystal").values()}
    assert written & {*RESPONSES}
