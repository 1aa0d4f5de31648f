"""Batches: requests of like length together, and smaller batches after one that did not fit into memory."""

import gc
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

import torch
from loguru import logger as eval_logger

from ..errors import CrystalError

Item = TypeVar("Item")
Result = TypeVar("Result")

# What torch says where memory runs out outside CUDA's own allocator, which has an exception of its own.
MEMORY_PHRASES = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)


def buckets(keys: Sequence[Hashable], lengths: Sequence[int]) -> list[list[int]]:
    """The places of all requests, one bucket for each different key, the longest first in each.

    Neighbours are then of like length, so that little is padded; and what does not fit fails early.

    >>> buckets(["a", "b", "a", "a"], [3, 9, 7, 5])
    [[2, 3, 0], [1]]
    """
    found: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return [sorted(places, key=lambda place: -lengths[place]) for places in found.values()]


class Batches:
    """Runs work in batches of ``size``, which is halved whenever one does not fit, and stays so."""

    def __init__(self, size: int) -> None:
        self.size = size

    def run(
        self, items: Sequence[Item], work: Callable[[Sequence[Item]], list[Result]], name: Callable[[Item], str]
    ) -> Iterator[list[Result]]:
        """The results of consecutive batches, together one for each item, in order.

        Raises ``CrystalError`` where a single item does not fit, with its ``name``.
        """
        start = 0
        while start < len(items):
            batch = items[start : start + self.size]
            try:
                results = work(batch)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                # Only its text: the exception holds the frames, and with them the memory that is needed now.
                reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            else:
                yield results
                start += len(batch)
                continue
            free_memory()
            self._halve(len(batch), name(batch[0]), reason)

    def _halve(self, size: int, first: str, reason: str) -> None:
        if size == 1:
            raise CrystalError(
                f"{first} alone does not fit into memory ({reason}); lower max_pixels= or max_tiles=, take a 16-bit "
                "dtype=, or spread the model over several GPUs with device_map=auto."
            )
        self.size = size // 2
        eval_logger.warning(f"A batch of {size} does not fit into memory ({reason}); from here on {self.size} at once.")


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether memory ran out, on a GPU or on the CPU."""
    return isinstance(error, torch.cuda.OutOfMemoryError) or any(phrase in str(error) for phrase in MEMORY_PHRASES)


def free_memory() -> None:
    """Gives back what a batch that failed has left behind."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
