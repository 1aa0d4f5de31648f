"""The harness's command line in a process that starts warm: forked from one that has imported the libraries below it.

Importing torch, transformers and their kin is most of a short run. Everything of the harness and of this package
is still imported anew, by the very console script, in a process, folder and environment of its own.
"""

import atexit
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.reduction import DupFd
from pathlib import Path

#: Libraries of others; nothing of the harness, whose order of imports is part of what is tested.
PRELOADED = ("torch", "torchvision", "transformers", "accelerate", "datasets", "sentence_transformers", "pandas")


@cache
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


def run_warm(
    script: Path, arguments: list[str], cwd: Path, environment: dict[str, str], timeout: float
) -> tuple[int, str]:
    """Exit code, and output and errors together, of a Python console script. Raises ``TimeoutExpired``."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = _server().Process(
            target=_run,
            args=(str(script), arguments, str(cwd), environment, DupFd(output.fileno())),
        )
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired([str(script), *arguments], timeout)
        output.seek(0)
        return int(process.exitcode or 0), output.read()


def _run(script: str, arguments: list[str], cwd: str, environment: dict[str, str], output: DupFd) -> None:
    descriptor = output.detach()
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        sys.stdout.flush()
        # A child of multiprocessing ends without what a process of its own does at its exit.
        atexit._run_exitfuncs()
