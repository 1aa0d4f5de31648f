"""What a command started is over when the command is, however it ends and whatever the processes think of it."""

import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from lmms_eval_crystal.cli import demo, processes
from lmms_eval_crystal.cli.launch import run_harness
from lmms_eval_crystal.model_adapters.commands import Command

#: Ignores SIGTERM, and so does the worker that it starts in a session of its own, as torchrun does.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
worker = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
started = subprocess.Popen([sys.executable, "-c", worker], start_new_session=True)
time.sleep(0.5)
with open("pids", "w") as file:
    file.write(f"{os.getpid()} {started.pid}")
print("ready", flush=True)
time.sleep(60)
"""
#: A command of ours that runs it.
PARENT = f"""
import sys
from pathlib import Path
from lmms_eval_crystal.cli import processes
from lmms_eval_crystal.cli.launch import run_harness
from lmms_eval_crystal.model_adapters.commands import Command
processes.GRACE_S = 0.5
run_harness(Command("adapter", (sys.executable, "-c", {STUBBORN!r})), Path("out"), [])
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(processes, "GRACE_S", 0.5)
    return tmp_path


def pids(seconds: float = 20) -> list[int]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if Path("pids").is_file() and (found := Path("pids").read_text().split()):
            return [int(pid) for pid in found]
        time.sleep(0.05)
    raise AssertionError("the process did not start")


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def assert_over() -> None:
    left = [pid for pid in pids() if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, "processes went on"


def test_processes_that_ignore_sigterm_are_killed_at_the_time_limit():
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        run_harness(Command("adapter", (sys.executable, "-c", STUBBORN)), Path("out"), [], io.BytesIO(), timeout=2.0)
    assert time.monotonic() - started < 15
    assert_over()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_processes_that_ignore_sigterm_are_killed_when_the_user_ends_the_command(number):
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    parent.send_signal(number)
    assert parent.wait(20) != 0
    parent.stdout.close()
    assert_over()


def test_the_demo_ends_its_run_too(monkeypatch):
    def interrupted(results: Path | None, known: set[Path]) -> set[Path]:
        pids()
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_tell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        demo._call([sys.executable, "-c", STUBBORN], Path("log"))
    assert_over()


def test_processes_get_time_to_end_by_themselves(monkeypatch):
    monkeypatch.setattr(processes, "GRACE_S", 10.0)
    polite = """
    import os, signal, sys, time
    def stop(*_):
        time.sleep(0.5)
        open("flushed", "w").close()
        sys.exit(1)
    signal.signal(signal.SIGTERM, stop)
    open("pids", "w").write(str(os.getpid()))
    time.sleep(60)
    """
    command = Command("adapter", (sys.executable, "-c", textwrap.dedent(polite)))
    with pytest.raises(TimeoutError):
        run_harness(command, Path("out"), [], io.BytesIO(), timeout=2.0)
    assert Path("flushed").is_file()
    assert_over()
