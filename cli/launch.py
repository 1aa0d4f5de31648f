"""Runs a command of the harness: secrets kept out of what it prints and writes, and its success judged by results."""

import contextlib
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..errors import CrystalError
from ..model_adapters.commands import Command
from ..redaction import masked, secret_values
from .processes import started

#: The harness prints the value of the first in its log; the hub library reads both.
TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
RESULTS = "*_results.json"
#: How this package's own errors begin in the output of a run.
ERROR_MARK = b"CRYSTAL: "
#: The line that ends a traceback, where colours do not stand before it.
ERROR_LINE = re.compile(r"[\w.]*(Error|Exception)\b")
#: Colours, and the moves of a terminal's cursor.
CODES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
#: Characters of such a line that are shown again.
ERROR_LENGTH = 300
#: Bytes that are read at once.
BLOCK = 65536


def run_harness(
    command: Command, out: Path, tasks: Sequence[str], output: IO[bytes] | None = None, timeout: float | None = None
) -> list[Path]:
    """Runs the command and returns the results files that it wrote, at least one; they hold all ``tasks``.

    Its output goes to ``output`` (default: this process's own) as it comes, without secrets, and with colours only to
    a terminal. Raises
    ``CrystalError`` where it failed, which the harness itself reports with exit code 0, and ``TimeoutError`` where it
    was stopped after ``timeout`` seconds.
    """
    known = _stamps(out)
    secrets = secret_values(os.environ)
    with _environment(command) as environment:
        ended = _stream(command.arguments, environment, secrets, output or sys.stdout.buffer, timeout)
    written = [file for file, stamp in _stamps(out).items() if known.get(file) != stamp]
    _redact(written, secrets)
    results = [file for file in written if file.match(RESULTS)]
    missing = [task for task in tasks if not any(_holds(file, task) for file in results)]
    if ended.code or missing or not results:
        raise CrystalError(ended.sentence or _failure(ended, missing, out, command.resumes))
    return results


@contextlib.contextmanager
def _environment(command: Command) -> Iterator[dict[str, str]]:
    """The environment of the run; the hub token stands in a file that only this user can read, while it lasts."""
    environment = {**os.environ, **command.variables}
    token = next((value for name in TOKEN_VARIABLES if (value := environment.pop(name, "").strip())), "")
    for name in TOKEN_VARIABLES:
        environment.pop(name, None)
    if not token:
        yield environment
        return
    with tempfile.TemporaryDirectory(prefix="crystal-") as folder:
        path = Path(folder) / "token"
        path.touch(mode=0o600)
        path.write_text(token, "utf-8")
        yield {**environment, "HF_TOKEN_PATH": str(path)}


@dataclass(frozen=True)
class _Ended:
    """How a process ended: exit code, the sentence of this package's own error, the last line that told of one."""

    code: int
    sentence: str
    error: str


def _stream(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    secrets: Sequence[bytes],
    output: IO[bytes],
    timeout: float | None,
) -> _Ended:
    sentence = error = ""
    in_colour = output.isatty()
    until = None if timeout is None else time.monotonic() + timeout
    with started(arguments, environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in _lines(process.stdout, until):
            shown = masked(line, secrets)
            output.write(shown if in_colour else CODES.sub(b"", shown))
            output.flush()
            if shown.startswith(ERROR_MARK):
                sentence = _text(shown.removeprefix(ERROR_MARK))
            elif ERROR_LINE.match(_text(shown)):
                error = _text(shown)
    return _Ended(process.returncode, sentence, error[:ERROR_LENGTH])


def _text(line: bytes) -> str:
    return CODES.sub(b"", line).decode("utf-8", "replace").strip()


def _lines(stream: IO[bytes], until: float | None) -> Iterator[bytes]:
    """Pieces that end in a line feed or in the carriage return of a progress bar: a secret is never cut in two.

    Raises ``TimeoutError`` where the stream is still open at ``until``, a time of the monotonic clock.
    """
    blocks: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        with contextlib.suppress(OSError, ValueError):  # closed by the other thread
            while block := os.read(stream.fileno(), BLOCK):
                blocks.put(block)
        blocks.put(b"")

    # In a thread, since a read cannot be given a time limit on every system.
    threading.Thread(target=read, daemon=True).start()
    rest = b""
    while block := _next(blocks, until):
        *pieces, rest = re.split(rb"(?<=[\r\n])", rest + block)
        yield from pieces
    if rest:
        yield rest


def _next(blocks: "queue.SimpleQueue[bytes]", until: float | None) -> bytes:
    try:
        return blocks.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
    except queue.Empty:
        raise TimeoutError from None


def _stamps(out: Path) -> dict[Path, tuple[int, int]]:
    """Every file of the harness under ``out`` with its time and size: a results file of an earlier run is no result."""
    files = [*out.rglob(RESULTS), *out.rglob("*_samples_*.jsonl")]
    return {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(files)}


def _redact(files: Sequence[Path], secrets: Sequence[bytes]) -> None:
    """Takes secrets out of files just written: a server may put a key into the message of a failed call."""
    for file in files:
        content = file.read_bytes()
        if any(secret in content for secret in secrets):
            file.write_bytes(masked(content, secrets))


def _holds(file: Path, task: str) -> bool:
    try:
        content = json.loads(file.read_text("utf-8"))
    except ValueError:
        return False
    return any(task in content.get(section, {}) for section in ("results", "groups", "group_subtasks"))


def _failure(ended: _Ended, missing: Sequence[str], out: Path, resumes: bool) -> str:
    again = (
        "What was generated is kept: correct what it says, and start the same command to go on."
        if resumes
        else "Correct what it says, and start the command again."
    )
    reason = f"the last error was {ended.error!r}, and more" if ended.error else "the reason"
    if ended.code:
        return f"The run ended with exit code {ended.code}; {reason} stands above. {again}"
    what = f" for {', '.join(missing)}" if missing else ""
    return (
        f"The run wrote no results{what} under {out}; {reason} stands above (the harness itself ends without an "
        f"error). {again}"
    )
