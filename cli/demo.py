"""``crystal-eval demo``: what CRYSTAL measures, on the set that ships in the package, with no GPU and no hub.

Runs the real harness over ``crystal_mini`` with eight scripted stand-ins whose behaviour is known and
one tiny random Qwen2.5-VL, prints their table and writes their report.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from ..errors import CrystalError
from ..model_adapters.personas import PERSONAS
from ..reports.load import load_results
from . import report
from .processes import started
from .table import show

TINY = "tiny-qwen2.5-vl"
#: A random model stops nowhere; this many tokens show that it runs.
TINY_TOKENS = 16
LOG_LINES = 15


def run(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Where everything goes.")] = Path("out/demo"),
) -> None:
    """Run eight scripted models and a tiny real one on the shipped set: their table, and their report.

    Runs lmms-eval on crystal_mini: the scripted stand-ins have a known behaviour and show what each
    metric rewards; a tiny random Qwen2.5-VL goes through the harness's own adapter. Takes a few minutes
    on two cores; needs no GPU, no hub login and no network.

        crystal-eval demo --output out/demo
    """
    results, tiny = folder / "results", folder / TINY
    folder.mkdir(parents=True, exist_ok=True)
    print(f"Building a tiny random Qwen2.5-VL in {tiny} ...", flush=True)
    _call([sys.executable, "-m", "lmms_eval_crystal.model_adapters.tiny", "qwen2_5_vl", str(tiny)], folder / "tiny.log")
    plan = folder / "demo.yaml"
    plan.write_text(yaml.safe_dump(_plan(results, tiny), sort_keys=False), "utf-8")
    command = [sys.executable, "-m", "lmms_eval", "--config", str(plan)]
    log = folder / "demo.log"
    print(f"Running lmms-eval --config {plan} (log: {log}) ...", flush=True)
    _call(command, log, results)
    show(load_results([results]))
    report.make([results], folder, report.Options())
    print(f"Results and samples: {results}")


def _plan(results: Path, tiny: Path) -> list[dict[str, Any]]:
    """The runs, in the form of the harness's --config."""
    common = {"tasks": "crystal_mini", "log_samples": True, "output_path": str(results), "batch_size": "1"}
    scripted = [
        {"model": "crystal_scripted", "model_args": f"persona={persona},model_name={persona}", **common}
        for persona in PERSONAS
    ]
    real = {
        "model": "qwen2_5_vl",
        "model_args": f"pretrained={tiny},device=cpu,device_map=cpu",
        "gen_kwargs": f"max_new_tokens={TINY_TOKENS}",
        **common,
    }
    return [*scripted, real]


def _call(command: list[str], log: Path, results: Path | None = None) -> None:
    """Runs a command into a log; says which results are there as they come. Raises ``CrystalError`` where it fails."""
    # The demo needs nothing from the hub, and must not wait for one that is out of reach.
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    known = earlier = _finished(results)
    with (
        log.open("w", encoding="utf-8") as output,
        started(command, environment, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        while process.poll() is None:
            time.sleep(0.5)
            known = _tell(results, known)
    new = _tell(results, known) - earlier
    # The harness exits with 0 where a run failed, so results are counted.
    if process.returncode or (results and len(new) < len(PERSONAS) + 1):
        tail = "\n".join(log.read_text("utf-8", "replace").splitlines()[-LOG_LINES:])
        raise CrystalError(f"`{' '.join(command)}` did not finish; the end of {log}:\n{tail}")


def _tell(results: Path | None, known: set[Path]) -> set[Path]:
    found = _finished(results)
    for file in sorted(found - known):
        # The harness writes slashes of a path as two underscores.
        print(f"  finished: {file.parent.name.rpartition('__')[2]}", flush=True)
    return found


def _finished(results: Path | None) -> set[Path]:
    return set(results.rglob("*_results.json")) if results else set()
