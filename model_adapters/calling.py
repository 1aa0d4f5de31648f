"""How a model of the harness is called so that each response is there as soon as it is made.

An adapter returns nothing before its whole list of requests is done. So it is called with a batch at a
time; one that talks to an API is called with one request at a time, as many at once as it would itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

import torch.distributed as dist
from lmms_eval.api.instance import GenerationResult, Instance
from loguru import logger
from tqdm import tqdm

from .batching import buckets

#: The module of the harness that logs a speed each time an adapter is called; it adds them up as well.
SPEEDS = "lmms_eval.models.model_utils.gen_metrics"
#: Ways of Accelerate to spread a model over processes that must call it equally often.
LOCKSTEP = ("FSDP", "DEEPSPEED", "MEGATRON_LM")
#: Where a request stands in the list that the harness gave.
Place = int
Generate = Callable[[list[Instance]], list[Any]]
Keep = Callable[[Mapping[Place, Any]], None]


def call_all(lm: Any, generate: Generate, requests: Sequence[Instance], missing: Sequence[Place], keep: Keep) -> None:
    """Has the requests at the places ``missing`` answered; ``keep`` gets each response once it is made.

    ``keep`` may be called from several threads at once. ``generate`` is the model's own ``generate_until``.
    Where all ranks must call the model equally often, each of them calls this, with nothing missing too.
    """
    if in_step(lm):
        _by_batch(lm, generate, requests, missing, keep, together=True)
    elif not missing:
        return
    elif hasattr(lm, "maybe_forward_with_tool"):
        _by_coroutine(lm, generate, requests, missing, keep)
    elif hasattr(lm, "num_concurrent"):
        _by_call(lm, generate, requests, missing, keep)
    else:
        _by_batch(lm, generate, requests, missing, keep)


def _by_batch(
    lm: Any,
    generate: Generate,
    requests: Sequence[Instance],
    missing: Sequence[Place],
    keep: Keep,
    together: bool = False,
) -> None:
    """``together`` has the model called as often as on the rank with the most batches missing."""
    wanted = set(missing)
    # Batches of the whole list, so that after a kill the same items share a batch as would have without.
    shares = [[place for place in batch if place in wanted] for batch in batches(lm, requests)]
    shares = [places for places in shares if places]
    idle = _most_of_all_ranks(len(shares)) - len(shares) if together else 0
    for places in shares:
        logger.debug(f"Journal: generating {[requests[place].doc_id for place in places]}")
        for made in _made(lm, generate, [requests[place] for place in places]):
            keep({places[index]: output for index, output in made.items()})
    # A rank without requests cannot take part, as in the harness itself.
    for _ in range(idle if requests else 0):
        generate([requests[-1]])


def in_step(lm: Any) -> bool:
    """Whether the processes of the run must call the model equally often, since they compute each call together.

    vLLM does where its own arguments spread it over processes, of data parallelism too: its engines ask
    each other after every step whether one of them has work left. After a kill the processes have unequal
    shares left, and one that called the model less often would leave the others waiting for ever.
    """
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return False
    spread = getattr(getattr(lm, "accelerator", None), "distributed_type", "")
    parallel = max(getattr(lm, name, 1) or 1 for name in ("tensor_parallel_size", "data_parallel_size"))
    return parallel > 1 or str(getattr(spread, "value", spread)) in LOCKSTEP


def _most_of_all_ranks(count: int) -> int:
    counts = [0] * dist.get_world_size()
    dist.all_gather_object(counts, count)
    return max(counts)


def _made(lm: Any, generate: Generate, batch: list[Instance]) -> Iterator[Mapping[int, Any]]:
    """The responses to a batch by their places in it, all at once or in the parts that the model makes of it."""
    if hasattr(lm, "generate_batches"):
        yield from lm.generate_batches(batch)
    else:
        yield dict(zip(range(len(batch)), generate(batch), strict=True))


def batches(lm: Any, requests: Sequence[Instance]) -> list[list[Place]]:
    """The places of the requests in batches of the model's size, each of one task and one setting of generation.

    A model that tells the length of a request gets equally long ones together, the longest first, so that
    a batch that does not fit the memory shows at once.
    """
    # Of one task too: simple adapters of the harness read all of a batch from the first request's dataset.
    keys = [
        repr(([argument for argument in request.args if isinstance(argument, dict)], request.args[-2:]))
        for request in requests
    ]
    length = getattr(lm, "request_length", None)
    lengths = [length(request) if callable(length) else 0 for request in requests]
    size = _batch_size(lm)
    return [places[start : start + size] for places in buckets(keys, lengths) for start in range(0, len(places), size)]


def _batch_size(lm: Any) -> int:
    for name in ("batch_size", "batch_size_per_gpu"):
        size = getattr(lm, name, None)
        if isinstance(size, int) and size > 0:
            return size
    return 1


def _by_call(lm: Any, generate: Generate, requests: Sequence[Instance], missing: Sequence[Place], keep: Keep) -> None:
    at_once = max(1, int(lm.num_concurrent))
    if getattr(lm, "adaptive_concurrency", False):
        logger.warning(
            f"With a journal {at_once} calls run at once (num_concurrent); CRYSTAL_JOURNAL=off lets their number adapt."
        )

    def call(place: Place) -> None:
        # Kept by the thread that made it, so that a call that is paid for is on the disk whatever the others do.
        [output] = generate([requests[place]])
        keep({place: output})

    with ThreadPoolExecutor(at_once) as pool:
        calls = [pool.submit(call, place) for place in missing]
        try:
            for done in as_completed(calls):
                done.result()
        finally:
            # After an error nothing more is sent; the calls under way end, and are kept, before the pool closes.
            pool.shutdown(wait=False, cancel_futures=True)


def _by_coroutine(
    lm: Any, generate: Generate, requests: Sequence[Instance], missing: Sequence[Place], keep: Keep
) -> None:
    """For ``async_openai``, whose client lives in one event loop: its list stays whole, each call of it is watched."""
    forward = lm.maybe_forward_with_tool
    kept: set[Place] = set()

    async def watched(request: Instance, index: int) -> Any:
        text, index, tokens = await forward(request, index)
        keep({missing[index]: GenerationResult(text, tokens)})
        kept.add(missing[index])
        return text, index, tokens

    lm.maybe_forward_with_tool = watched
    try:
        made = generate([requests[place] for place in missing])
    finally:
        del lm.maybe_forward_with_tool
    # What never came back from a call is here only: failures, and what a spent budget left out.
    keep({place: output for place, output in zip(missing, made, strict=True) if place not in kept})


class _NoBar(tqdm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "disable": True})


@contextmanager
def quietly(lm: Any) -> Iterator[None]:
    """Hides the adapter's own progress bars and speeds, of which there would be one a batch or call."""
    modules = [sys.modules.get(base.__module__) for base in type(lm).__mro__]
    showing = [module for module in modules if getattr(module, "tqdm", None) is tqdm]
    for module in showing:
        module.tqdm = _NoBar  # type: ignore[union-attr]
    logger.disable(SPEEDS)
    try:
        yield
    finally:
        logger.enable(SPEEDS)
        for module in showing:
            module.tqdm = tqdm  # type: ignore[union-attr]
