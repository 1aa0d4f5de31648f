"""The guard against verbosity: chains far above the running median of step counts lose step reward.

Word overlap is lenient, so a model can raise its recall by writing on and on; the median of what it wrote lately says
what is far too long for it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, TypeAlias

from torch import distributed

from ..errors import CrystalError
from .config import VerbosityConfig

LogMetric: TypeAlias = Callable[[str, float], object]
#: Chains that must have been seen before any is held to be too long; the median of fewer moves with each of them.
WARM_UP = 32


class VerbosityGuard:
    """Holds the step counts of the last ``window`` completions, the same ones on every rank.

    A chain may have ``factor`` times their median number of steps. ``factor`` must be above 1 or be 0, which turns the
    guard off; ``window`` is at least 1.
    """

    def __init__(self, factor: float = VerbosityConfig.factor, window: int = VerbosityConfig.window) -> None:
        if factor != 0 and not 1 < factor < math.inf:
            raise CrystalError(f"verbosity.factor is {factor}; give a number above 1, or 0 for no guard.")
        if window < 1:
            raise CrystalError(f"verbosity.window is {window}; give the number of completions to look back on, from 1.")
        self.factor = factor
        self._counts: deque[int] = deque(maxlen=window)

    @property
    def median(self) -> float:
        """Median step count of the completions in the window; 0 where there are none yet."""
        return float(median(self._counts)) if self._counts else 0.0

    @property
    def limit(self) -> float:
        """Steps that a chain may have; infinite while the guard is off or has seen too little."""
        seen_enough = len(self._counts) >= min(WARM_UP, self._counts.maxlen or WARM_UP)
        return self.factor * self.median if self.factor and seen_enough else math.inf

    def factor_for(self, count: int, reference: int = 0) -> float:
        """What a chain's step reward is multiplied with, in ``[0, 1]``: limit / count beyond the limit, else 1.

        A chain no longer than its ``reference`` chain is never too long: where a model writes less than is asked for,
        longer chains are what training is for.

        >>> guard = VerbosityGuard(factor=2.0, window=3)
        >>> guard.observe([4, 5, 6])
        >>> guard.factor_for(10), guard.factor_for(20), guard.factor_for(20, reference=20)
        (1.0, 0.5, 1.0)
        """
        limit = max(self.limit, reference)
        return limit / count if count > limit else 1.0

    def judge(self, lengths: Sequence[tuple[int, int]], log_metric: LogMetric | None = None) -> list[float]:
        """The factor of each completion of a batch, from its own and its reference's step counts; then takes it in.

        One limit holds for the whole batch, that of the completions before it; it goes to trl's ``log_metric`` with
        their median and the share of the batch that loses reward.
        """
        factors = [self.factor_for(count, reference) for count, reference in lengths]
        if log_metric and self._counts:
            log_metric("verbosity/median", self.median)
            if math.isfinite(self.limit):
                log_metric("verbosity/limit", self.limit)
            log_metric("verbosity/share_over", sum(factor < 1 for factor in factors) / max(len(factors), 1))
        self.observe(count for count, _ in lengths)
        return factors

    def observe(self, counts: Iterable[int]) -> None:
        """Takes the step counts of a batch into the window, those of all ranks in the order of ranks.

        Completions without steps are left out: they say nothing of how long chains are. Every rank has to call it
        equally often, with as many counts as it has.
        """
        own = [count for count in counts if count > 0]
        if distributed.is_available() and distributed.is_initialized():
            gathered: list[Any] = [None] * distributed.get_world_size()
            distributed.all_gather_object(gathered, own)
            own = [count for of_rank in gathered for count in of_rank]
        self._counts.extend(own)

    def state_dict(self) -> dict[str, list[int]]:
        """All that a resumed run needs, fit for JSON."""
        return {"counts": list(self._counts)}

    def load_state_dict(self, state: Mapping[str, Iterable[int]]) -> None:
        """Goes on from what ``state_dict`` gave; where the window is shorter now, with the latest counts."""
        self._counts = deque(map(int, state["counts"]), maxlen=self._counts.maxlen)
