"""Processes that a command starts: each is over, with all that it started, when the command is."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import psutil

#: Seconds that processes get to end by themselves: to flush a journal, to stop the workers of a launcher.
GRACE_S = 10.0
#: Seconds that the system may take over a kill, which frees the GPU's memory too.
KILL_S = 5.0
POLL_S = 0.05
#: prctl's option that sends a signal when the parent dies; Linux only.
PR_SET_PDEATHSIG = 1
#: What asks this process to end: `kill`, and the terminal that closes.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextlib.contextmanager
def started(
    arguments: Sequence[str], environment: Mapping[str, str], **more: Any
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process of its own session, which is waited for; where the context ends by an error, it is ended instead.

    Ctrl-C, SIGTERM and SIGHUP end the context too. ``more`` are arguments of ``subprocess.Popen``.
    """
    with _exit_on_signal():
        process = subprocess.Popen(
            arguments,
            env=dict(environment),
            # Ctrl-C then comes to this process only, which sees to it that all of the other's end.
            start_new_session=True,
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            **more,
        )
        with process:
            try:
                yield process
                process.wait()
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    print("\nEnding what was started; Ctrl-C again kills it.", file=sys.stderr, flush=True)
                end(process)
                raise


def end(process: "subprocess.Popen[bytes]", grace: float | None = None) -> None:
    """Asks a process and all that it started to end, and kills what has not after ``grace`` seconds (``GRACE_S``).

    A second Ctrl-C kills at once.
    """
    # Workers of torchrun have sessions of their own, which the group does not reach; orphans only it does.
    family = _family(process)
    _send(process, signal.SIGTERM)
    try:
        _let_end(family, GRACE_S if grace is None else grace)
    finally:
        family = list({*family, *_family(process)})
        _send(process, getattr(signal, "SIGKILL", signal.SIGTERM))
        for member in family:
            with contextlib.suppress(psutil.Error):
                member.kill()
        _let_end(family, KILL_S)


def _let_end(family: Sequence[psutil.Process], seconds: float) -> None:
    # Looked at and not waited for: until it is reaped, the number of a group is no other's.
    until = time.monotonic() + seconds
    while any(map(_alive, family)) and time.monotonic() < until:
        time.sleep(POLL_S)


def _family(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    try:
        root = psutil.Process(process.pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def _alive(member: psutil.Process) -> bool:
    try:
        return member.is_running() and member.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _send(process: "subprocess.Popen[bytes]", number: int) -> None:
    """A signal for the group of a process; for none once it is reaped, when its number may be another's."""
    if process.returncode is not None:
        return
    if not hasattr(os, "killpg"):
        process.terminate()
        return
    # No permission: what macOS says of a group that is over and not reaped.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _end_with_parent() -> None:
    """Runs in the child: it ends when this process is killed, so that a rerun does not meet it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@contextlib.contextmanager
def _exit_on_signal() -> Iterator[None]:
    """Turns the signals that would end this process into the end of this block."""

    def stop(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    try:
        before = {number: signal.signal(number, stop) for number in ENDING}
    except ValueError:  # not the main thread, where no signal arrives
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
