"""The real harness for tests: its command line as a process, and what it wrote."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from warm import run_warm

BIN = Path(sys.executable).parent
#: Long enough for a slow machine; a run takes about fifteen seconds.
TIMEOUT = 280


def environment(**variables: str) -> dict[str, str]:
    """The environment of a run: no hub, no threads beyond need, no CRYSTAL settings but the given ones."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRYSTAL_", "HF_TOKEN"))}
    kept["CRYSTAL_CACHE_DIR"] = os.environ["CRYSTAL_CACHE_DIR"]
    fixed = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "COLUMNS": "140", "CRYSTAL_JOURNAL": "off"}
    return {**kept, **fixed, **variables}


def run(command: list[str], cwd: Path, cold: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the test environment in ``cwd``; output and errors together in ``stdout``.

    ``lmms-eval`` starts warm (``warm.py``), unless ``cold`` or a setting that libraries read when imported says no.
    """
    script, arguments = BIN / command[0], command[1:]
    if command[0] == "lmms-eval" and not cold and not any(name.startswith("HF_") for name in variables):
        code, output = run_warm(script, arguments, cwd, environment(**variables), TIMEOUT)
        return subprocess.CompletedProcess(command, code, output)
    return subprocess.run(
        [str(script), *arguments],
        cwd=cwd,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def scripted(persona: str, tasks: str = "crystal_mini", **more: str) -> list[str]:
    """Arguments of ``lmms-eval`` for a scripted model, writing to ``out``."""
    arguments = [
        "--tasks",
        tasks,
        "--model",
        "crystal_scripted",
        "--model_args",
        f"persona={persona},model_name={persona}",
    ]
    for name, value in more.items():
        arguments += [f"--{name}", value] if value else [f"--{name}"]
    return [*arguments, "--log_samples", "--output_path", "out"]


def results(folder: Path) -> dict[str, Any]:
    """The newest results file under a folder."""
    return json.loads(max(folder.rglob("*_results.json"), key=lambda file: file.name).read_text("utf-8"))


def metrics(folder: Path, task: str = "crystal_mini") -> dict[str, float]:
    """The metrics of a task by name, without errors and other harness columns."""
    values = results(folder)["results"][task]
    return {
        key.partition(",")[0]: value for key, value in values.items() if key.endswith(",none") and "_stderr" not in key
    }


def samples(folder: Path, task: str = "crystal_mini") -> dict[int, dict[str, Any]]:
    """The newest samples of a task by document."""
    file = max(folder.rglob(f"*_samples_{task}.jsonl"), key=lambda file: file.name)
    return {sample["doc_id"]: sample for sample in map(json.loads, file.read_text("utf-8").splitlines())}
