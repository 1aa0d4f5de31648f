"""Batches: requests of like length together, and a batch that does not fit into memory in two halves."""

import gc
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

import torch
from loguru import logger as eval_logger

from ..errors import CrystalError, first_line

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
    """Runs work in batches of ``size``; one that does not fit into memory is made in halves, and these in theirs.

    What follows is ``size`` again, since a single huge picture may have been the reason. Where two batches
    have failed, later ones are planned so small that they hold at most half of what the second smallest of
    these held, and one that fits shows that failures up to its own load had another reason. Load is the
    number of items times the greatest length among them, which is what padding makes of a batch.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._failed: list[int] = []

    def run(
        self,
        items: Sequence[Item],
        lengths: Sequence[int],
        work: Callable[[Sequence[Item]], list[Result]],
        name: Callable[[Item], str],
    ) -> Iterator[list[Result]]:
        """The results of consecutive batches, together one for each item, in order.

        ``lengths`` are the items' in any unit. Raises ``CrystalError`` where a single item does not fit, with
        its ``name``.
        """
        start = 0
        while start < len(items):
            end = start + self._fitting(lengths[start : start + self.size])
            yield from self._made(items[start:end], lengths[start:end], work, name)
            start = end

    def _fitting(self, lengths: Sequence[int]) -> int:
        """How many of the next items to take, given the lengths of as many as there may be."""
        if len(self._failed) < 2:
            return len(lengths)
        most = sorted(self._failed)[1] // 2
        return next((count for count in range(len(lengths), 1, -1) if _load(lengths[:count]) <= most), 1)

    def _made(
        self,
        batch: Sequence[Item],
        lengths: Sequence[int],
        work: Callable[[Sequence[Item]], list[Result]],
        name: Callable[[Item], str],
    ) -> Iterator[list[Result]]:
        try:
            results = work(batch)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            # Only its text: the exception holds the frames, and with them the memory that is needed now.
            reason = first_line(error)
        else:
            self._failed = [load for load in self._failed if load > _load(lengths)]
            yield results
            return
        free_memory()
        if len(batch) == 1:
            raise CrystalError(
                f"{name(batch[0])} alone does not fit into memory ({reason}); lower max_pixels= or max_tiles=, take a "
                "16-bit dtype=, or spread the model over several GPUs with device_map=auto."
            )
        eval_logger.warning(f"A batch of {len(batch)} does not fit into memory ({reason}) and is made in two parts.")
        self._failed.append(_load(lengths))
        half = len(batch) // 2
        yield from self._made(batch[:half], lengths[:half], work, name)
        yield from self._made(batch[half:], lengths[half:], work, name)


def _load(lengths: Sequence[int]) -> int:
    """What a batch of these lengths holds once it is padded; a length of 0 is one that is not known."""
    return len(lengths) * max(1, *lengths)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether memory ran out, on a GPU or on the CPU."""
    return isinstance(error, torch.cuda.OutOfMemoryError) or any(phrase in str(error) for phrase in MEMORY_PHRASES)


def free_memory() -> None:
    """Gives back what a batch that failed has left behind."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
