"""What the harness knows of a run and does not tell its tasks: the model, the shard, the token counts.

``lmms_eval.evaluator.evaluate`` is wrapped while the first CRYSTAL task loads, which is before it is
called. The wrapper changes nothing that the harness does; it notes the arguments, and adds a section
``crystal`` to the results.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..metrics.signature import GenerationSignature, short_hash


@dataclass(frozen=True)
class Request:
    """One response of this shard: the row that it answers, and what is known of its length."""

    index: int
    output_tokens: int | None
    token_limit: int | None


@dataclass(frozen=True)
class Run:
    """The arguments of the harness's ``evaluate`` that a record or a signature needs."""

    model: Any
    tasks: Mapping[Any, Any]
    limit: float | None
    offset: int
    system_instruction: str | None
    cli_args: Any

    def items_of(self, count: int) -> int:
        """How many of ``count`` items the run covers, over all ranks."""
        left = max(0, count - self.offset)
        if self.limit is None or self.limit == -1:
            return left
        # As the harness does it: a limit below 1 is a share of the whole, rounded up.
        wanted = -int(-count * self.limit // 1) if 0 < self.limit < 1 else int(self.limit)
        return min(left, wanted)

    def requests_of(self, responses: Sequence[list[str]]) -> list[Request] | None:
        """The requests behind a filter's responses, which are the very lists that the requests hold."""
        for task in leaf_tasks(self.tasks):
            instances = getattr(task, "instances", None) or []
            if len(instances) == len(responses) and all(
                instance.resps is response for instance, response in zip(instances, responses, strict=True)
            ):
                return [_request(instance) for instance in instances]
        return None


def leaf_tasks(tasks: Mapping[Any, Any]) -> Iterator[Any]:
    """The task objects of the harness's tree of groups and tasks."""
    for task in tasks.values():
        if isinstance(task, Mapping):
            yield from leaf_tasks(task)
        else:
            yield task[1] if isinstance(task, tuple) else task


def _request(instance: Any) -> Request:
    counts = instance.token_counts[0] if instance.token_counts else None
    return Request(
        index=int(instance.doc_id),
        output_tokens=getattr(counts, "output_tokens", None),
        token_limit=_generation_kwargs(instance).get("max_new_tokens"),
    )


def _generation_kwargs(instance: Any) -> dict[str, Any]:
    return next((argument for argument in instance.arguments if isinstance(argument, dict)), {})


_current: Run | None = None


def current_run() -> Run | None:
    """The run in progress; None where the harness was entered in a way that is not known here."""
    return _current


def watch(evaluator: Any, finish: Callable[[Run, dict[str, Any]], None]) -> None:
    """Wraps ``evaluator.evaluate`` once; ``finish`` gets the run and the results of the main process."""
    evaluate = evaluator.evaluate
    if hasattr(evaluate, "__wrapped_by_crystal__"):
        return
    signature = inspect.signature(evaluate)

    @functools.wraps(evaluate)
    def watched(*args: Any, **kwargs: Any) -> Any:
        global _current
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        known = given.arguments
        _current = run = Run(
            model=known["lm"],
            tasks=known["task_dict"],
            limit=known.get("limit"),
            offset=known.get("offset") or 0,
            system_instruction=known.get("system_instruction"),
            cli_args=known.get("cli_args"),
        )
        try:
            results = evaluate(*args, **kwargs)
            if results is not None:
                finish(run, results)
            return results
        finally:
            _current = None

    watched.__wrapped_by_crystal__ = True  # type: ignore[attr-defined]
    evaluator.evaluate = watched


def model_id(run: Run) -> str:
    """The name that a user knows the model by: the first that is stated, as the harness names folders."""
    given = _model_args(run)
    for name in ("model_name", "pretrained", "model_version", "model", "model_id"):
        value = given.get(name) or getattr(run.model, name, None)
        if isinstance(value, str) and value:
            # Of a local checkpoint its folder's name says more than its path, which differs between machines.
            return Path(value).name if Path(value).is_dir() else value
    network = _network(run.model)
    return getattr(getattr(network, "config", None), "_name_or_path", "") or type(run.model).__name__


def _model_args(run: Run) -> dict[str, str]:
    text = getattr(run.cli_args, "model_args", None)
    if not isinstance(text, str):
        return {}
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)


def generation_signature(run: Run | None, prompt: str, generation_kwargs: Mapping[str, Any]) -> GenerationSignature:
    """The generation signature of a run, as far as its model tells."""
    model = run.model if run else None
    network = _network(model)
    config = getattr(network, "config", None)
    system = getattr(model, "system_prompt", None)
    if run and getattr(model, "is_simple", False):
        system = run.system_instruction or system
    revision = str(getattr(config, "_commit_hash", None) or "unknown")[:12]
    scripted = bool(getattr(model, "scripted", False))
    pixels = [str(value) for name in ("min_pixels", "max_pixels") if (value := getattr(model, name, None))]
    dtype = getattr(network, "dtype", None) or getattr(config, "dtype", None)
    return GenerationSignature(
        prompt=prompt,
        system=short_hash(system) if isinstance(system, str) and system else "none",
        model=f"{model_id(run) if run else 'unknown'}@{'none' if scripted else revision}",
        adapter=_adapter(model),
        dtype=str(dtype).removeprefix("torch.") if dtype else "unknown",
        tokens=str(generation_kwargs.get("max_new_tokens", "unknown")),
        temperature=f"{generation_kwargs.get('temperature', 0):g}",
        pixels="-".join(pixels) or "unknown",
        scripted=scripted,
    )


def _adapter(model: Any) -> str:
    if model is None:
        return "unknown"
    kind = "simple" if getattr(model, "is_simple", True) else "chat"
    return f"{type(model).__name__}/{kind}"


def _network(model: Any) -> Any:
    return getattr(model, "_model", None) or getattr(model, "model", None)
