"""What makes the responses of a run: its model, and of each task the prompt, the data and the generation settings.

Two runs of the same identity may share responses. Secrets are never part of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..arguments import split_arguments
from ..crystal_task.observe import Run, leaf_tasks
from ..crystal_task.scoring import loaded_task
from ..redaction import names_secret, without_secrets

#: Model arguments that say where and how fast responses are made, not which: a run may resume with others.
INDIFFERENT = re.compile(
    r"(device|device_map|batch_size|max_batch_size|num_concurrent|num_cpus|timeout|max_retries|retry_backoff_s|work_dir"
    r"|tensor_parallel_size|data_parallel_size|gpu_memory_utilization|disable_log_stats|adaptive_\w+|prefix_\w+)$"
)
#: The files that make a checkpoint what it is; logs and optimiser states beside them do not.
CHECKPOINT = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".json", ".jinja", ".model")
#: Bytes from the end of each of these files: training moves the last weights too, and tens of GB are not read.
TAIL = 65536
#: Hexadecimal digits of the hashes: enough to tell a few thousand runs apart.
DIGITS = 16


def run_identity(run: Run, cli_args: Any = None) -> dict[str, Any]:
    """The identity of a run as JSON: ``{"model": {...}, "tasks": {name: {...}}}``.

    ``cli_args`` are the harness's, None where it was entered from Python; the model's arguments come from them.
    """
    model = {**asdict(run.model), "arguments": _model_arguments(cli_args)}
    tasks = {str(getattr(task, "task_name", "")): _task_identity(task) for task in leaf_tasks(run.tasks)}
    return json.loads(json.dumps({"model": model, "tasks": tasks}, default=str, sort_keys=True))


def run_hash(run: Run, cli_args: Any = None) -> str:
    """Hash of the identity and of which items are asked how often, 16 hexadecimal digits: one for each command."""
    repeats = [getattr(task.config, "repeats", None) for task in leaf_tasks(run.tasks)]
    return digest([run_identity(run, cli_args), run.limit, run.offset, repeats])


def digest(value: Any) -> str:
    """SHA-256 of a value's JSON, 16 hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two identities, in words; a task that only one of them has is no difference.

    >>> differences({"model": {"id": "a"}, "tasks": {}}, {"model": {"id": "b"}, "tasks": {}})
    ['the model id was a and is now b']
    """
    flat = _flat(then.get("model", {})), _flat(now.get("model", {}))
    found = list(_words(*flat, "the model {}"))
    old, new = then.get("tasks", {}), now.get("tasks", {})
    for task in sorted(old.keys() & new.keys()):
        found += _words(_flat(old[task]), _flat(new[task]), f"the {{}} of {task}")
    return found


def _words(then: Mapping[str, str], now: Mapping[str, str], what: str) -> Iterator[str]:
    for name in sorted(then.keys() | now.keys()):
        old, new = then.get(name, "not set"), now.get(name, "not set")
        if old != new:
            yield f"{what.format(name)} was {old} and is now {new}"


def _flat(value: Mapping[str, Any], leading: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, part in value.items():
        flat |= _flat(part, f"{leading}{name} ") if isinstance(part, Mapping) else {f"{leading}{name}": str(part)}
    return flat


def _task_identity(task: Any) -> dict[str, Any]:
    ours = loaded_task(getattr(task, "eval_docs", None))
    # Of another package's task only the settings are known as a whole; its prompts are compared one by one.
    if ours:
        known = {"prompt": ours.prompt.hash, "dataset": ours.scorer_signature(None).data}
    else:
        known = {"version": str(task.VERSION)}
    return {**known, "generation setting": _public(task.config.generation_kwargs or {})}


def _public(value: Any) -> Any:
    """The value as plain JSON without what is secret by its name or by its look, however deep it lies."""
    if isinstance(value, Mapping):
        return {str(name): _public(part) for name, part in value.items() if not names_secret(str(name))}
    if isinstance(value, list | tuple):
        return [_public(part) for part in value]
    return value if value is None or isinstance(value, int | float) else without_secrets(str(value))


def _model_arguments(cli_args: Any) -> dict[str, str]:
    given = getattr(cli_args, "model_args", None) or {}
    parsed = split_arguments(given) if isinstance(given, str) else dict(given)
    arguments = {"model": str(getattr(cli_args, "model", "unknown"))}
    for name, value in parsed.items():
        if not INDIFFERENT.match(name) and not names_secret(name):
            arguments[name] = without_secrets(str(value)) + _content(str(value))
    return arguments


def _content(value: str) -> str:
    """Hash of the files that an argument names, since a checkpoint that is trained on keeps its path."""
    path = Path(value)
    try:
        if path.is_dir():
            files = [file for file in sorted(path.iterdir()) if file.suffix in CHECKPOINT]
        else:
            files = [path] if path.is_file() else []
        return f" (content {digest([_fingerprint(file) for file in files])})" if files else ""
    except OSError:  # a text that is too long to be a path, or a folder that is closed to us
        return ""


def _fingerprint(file: Path) -> list[Any]:
    size = file.stat().st_size
    with file.open("rb") as opened:
        opened.seek(max(0, size - TAIL))
        return [file.name, size, hashlib.sha256(opened.read()).hexdigest()]
