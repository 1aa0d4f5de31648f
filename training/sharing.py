"""What the processes of a training share: work that one does for all, and lists that each has a part of."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, gather_object

from ..errors import CrystalError

T = TypeVar("T")
#: Processes wait for each other while one of them merges weights, or writes far longer responses.
PATIENCE = timedelta(hours=12)


@contextmanager
def processes() -> Iterator[None]:
    """Inside, the processes that torchrun or accelerate started know each other; they part when all have come out.

    After an error they do not: the others may never come, and the launcher ends them.
    """
    known = dist.is_available() and dist.is_initialized()
    state = PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE)
    yield
    state.wait_for_everyone()
    if not known:
        # Left to the end of the interpreter, gloo's threads abort it.
        state.destroy_process_group()


def main_does(work: Callable[[], T]) -> T:
    """The result of ``work``, which only the main process does; every process gets it, or the ``CrystalError``.

    A collective call: every process must make it. Whatever else the work raises ends the main process, and
    with it the others.
    """
    outcome: list[Any] = [None, None]
    if PartialState().is_main_process:
        try:
            outcome[0] = work()
        except CrystalError as error:
            outcome[1] = str(error)
    result, sentence = broadcast_object_list(outcome)
    if sentence is not None:
        raise CrystalError(sentence)
    return result


def own_share(count: int) -> range:
    """The places among ``count`` that this process works on."""
    state = PartialState()
    return range(state.process_index, count, state.num_processes)


def joined(parts: list[T], count: int) -> list[T]:
    """All ``count`` results in their order, from those that each process has for its ``own_share``. Collective."""
    # Pairs, since what is gathered comes in the order of the processes.
    pairs = gather_object(list(zip(own_share(count), parts, strict=True)))
    return [result for _, result in sorted(pairs, key=lambda pair: pair[0])]


@contextmanager
def same_randomness() -> Iterator[None]:
    """Whatever is drawn inside, what is drawn after it is as if nothing had been: Python, numpy, torch, own GPU."""
    python, numbers = random.getstate(), np.random.get_state()
    device = PartialState().device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numbers)
