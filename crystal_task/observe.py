"""What the harness knows of a run and does not tell its tasks: the model, the shard, the token counts.

``lmms_eval.evaluator.evaluate`` is wrapped while the first CRYSTAL task loads, which is before it is
called. The wrapper changes nothing that the harness does; it notes the arguments, and adds a section
``crystal`` to the results.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from loguru import logger

from ..arguments import split_arguments
from ..metrics.signature import GenerationSignature, short_hash

T = TypeVar("T")
#: Arguments that name a model, the most telling first.
NAME_ARGUMENTS = ("model_name", "pretrained", "model_version", "model", "model_id")


@dataclass(frozen=True)
class Request:
    """One response of this shard: the row that it answers, and what is known of its length."""

    index: int
    output_tokens: int | None
    token_limit: int | None


@dataclass(frozen=True)
class Shard:
    """The requests of one task on this rank, in the order of their responses, and its generation settings."""

    requests: list[Request]
    generation_kwargs: Mapping[str, Any]


@dataclass(frozen=True)
class Model:
    """What a model of the harness tells of itself, read before the harness drops its weights for scoring."""

    id: str = "unknown"
    revision: str = "unknown"
    adapter: str = "unknown"
    dtype: str = "unknown"
    pixels: str = "unknown"
    system: str = "none"
    scripted: bool = False
    #: For predictions that were made elsewhere: how, as far as their files say. None for a model that generates.
    replayed: str | None = None


@dataclass(frozen=True)
class Run:
    """The arguments of the harness's ``evaluate`` that a record or a signature needs."""

    model: Model
    tasks: Mapping[Any, Any]
    limit: float | None
    offset: int

    def covered(self, items: Sequence[T]) -> Sequence[T]:
        """Those of a task's items that the run covers, over all ranks."""
        limit = len(items) if self.limit is None or self.limit == -1 else self.limit
        if 0 < limit < 1:  # a share of the whole, rounded up, as the harness does it
            limit = math.ceil(len(items) * limit)
        return items[self.offset : self.offset + int(limit)]

    def shard_of(self, responses: Sequence[list[str]]) -> Shard | None:
        """What lies behind a filter's responses, which are the very lists that the harness's requests hold."""
        for task in leaf_tasks(self.tasks):
            instances = getattr(task, "instances", None) or []
            if len(instances) == len(responses) and all(
                instance.resps is response for instance, response in zip(instances, responses, strict=True)
            ):
                return Shard([_request(instance) for instance in instances], task.config.generation_kwargs or {})
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


#: What a run is made inside: gets the harness's model, the run, and the arguments of the command line or None.
Surrounding = Callable[[Any, "Run", Any], contextlib.AbstractContextManager[None]]
_surroundings: list[Surrounding] = []
_current: Run | None = None


def surround(surrounding: Surrounding) -> None:
    """Has every run from now on made inside a context, which can lend the model other methods while it lasts."""
    if surrounding not in _surroundings:
        _surroundings.append(surrounding)


def current_run() -> Run | None:
    """The run in progress; None where the harness was entered in a way that is not known here."""
    return _current


def watch(finish: Callable[[Run, dict[str, Any]], None]) -> None:
    """Wraps ``evaluate`` of the harness once; ``finish`` gets the run and the results of the main process."""
    from lmms_eval import evaluator

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
            model=describe_model(known["lm"], known.get("cli_args"), known.get("system_instruction")),
            tasks=known["task_dict"],
            limit=known.get("limit"),
            offset=known.get("offset") or 0,
        )
        try:
            with contextlib.ExitStack() as around:
                for surrounding in _surroundings:
                    around.enter_context(surrounding(known["lm"], run, known.get("cli_args")))
                results = evaluate(*args, **kwargs)
                if results is not None:
                    _finish_safely(finish, run, results)
                return results
        finally:
            _current = None

    watched.__wrapped_by_crystal__ = True  # type: ignore[attr-defined]
    evaluator.evaluate = watched


def _finish_safely(finish: Callable[[Run, dict[str, Any]], None], run: Run, results: dict[str, Any]) -> None:
    """A summary that fails must not take the results with it."""
    try:
        finish(run, results)
    except Exception as error:
        logger.opt(exception=error).warning(
            "The summary of CRYSTAL could not be made; the harness's results are whole."
        )


def describe_model(model: Any, cli_args: Any = None, system_instruction: str | None = None) -> Model:
    """What can be read off a model of the harness, whatever its class."""
    network = getattr(model, "_model", None) or getattr(model, "model", None)
    config = getattr(network, "config", None)
    scripted = bool(getattr(model, "scripted", False))
    is_simple = bool(getattr(model, "is_simple", True))
    # The harness gives --system_instruction to simple models only; some adapters bring a prompt of their own.
    system = (system_instruction if is_simple else None) or getattr(model, "system_prompt", None)
    dtype = getattr(network, "dtype", None) or getattr(config, "dtype", None)
    pixels = [str(value) for name in ("min_pixels", "max_pixels") if (value := getattr(model, name, None))]
    return Model(
        id=_model_id(model, cli_args, config),
        revision="none" if scripted else str(getattr(config, "_commit_hash", None) or "unknown")[:12],
        adapter=f"{type(model).__name__}/{'simple' if is_simple else 'chat'}",
        dtype=str(dtype).removeprefix("torch.") if dtype else "unknown",
        pixels="-".join(pixels) or "unknown",
        system=short_hash(system) if isinstance(system, str) and system else "none",
        scripted=scripted,
        replayed=getattr(model, "replayed_generation", None),
    )


def _model_id(model: Any, cli_args: Any, config: Any) -> str:
    """The name that a user knows the model by: the first that is stated, as the harness names folders."""
    given = _model_args(cli_args)
    # What the user says comes before what the model says of itself: some adapters shorten their name.
    candidates = [given.get(name) for name in NAME_ARGUMENTS] + [getattr(model, name, None) for name in NAME_ARGUMENTS]
    for value in candidates:
        if isinstance(value, str) and value:
            # Of a local checkpoint its folder's name says more than its path, which differs between machines.
            return Path(value).name if Path(value).is_dir() else value
    return getattr(config, "_name_or_path", "") or type(model).__name__


def _model_args(cli_args: Any) -> dict[str, str]:
    text = getattr(cli_args, "model_args", None)
    if not isinstance(text, str):
        return {}
    return split_arguments(text)


def generation_signature(model: Model, prompt: str, generation_kwargs: Mapping[str, Any]) -> GenerationSignature:
    """The generation signature of a run, as far as its model tells; of replayed predictions, as their files tell."""
    if model.replayed is not None:
        return GenerationSignature.parse(model.replayed, model=f"{model.id}@unknown", adapter=model.adapter)
    return GenerationSignature(
        prompt=prompt,
        system=model.system,
        model=f"{model.id}@{model.revision}",
        adapter=model.adapter,
        dtype=model.dtype,
        tokens=str(generation_kwargs.get("max_new_tokens", "unknown")),
        temperature=_number(generation_kwargs.get("temperature", 0)),
        pixels=model.pixels,
        scripted=model.scripted,
    )


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
