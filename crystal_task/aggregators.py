"""The aggregators that the task YAMLs name: ``macro_<metric>``, one for each metric.

Each is the macro mean over the items that have the metric. It refuses NaN, and its result (a float to
the harness) also knows its bootstrap interval and how many items it covers.
"""

from collections.abc import Callable, Sequence
from functools import cache

from ..errors import stop_the_run
from ..metrics import MacroMean, aggregate
from .item import SOURCES

#: All metrics that an item can have; which direction is better stands in the task YAMLs.
METRICS = (
    "accuracy",
    "accuracy_strict",
    "accuracy_judged",
    "match_f1",
    "precision",
    "recall",
    "ordered_f1",
    "null_f1",
    "f1_above_null",
    "lis",
    "lis_multi",
    "kendall_tau",
    "steps",
    "format_valid",
    "format_usable",
    "truncated",
    *(f"{metric}_{source}" for metric in ("match_f1", "accuracy") for source in SOURCES),
)


@cache
def _macro(metric: str) -> Callable[[Sequence[float]], MacroMean]:
    @stop_the_run
    def macro(items: Sequence[float]) -> MacroMean:
        return aggregate(items, metric)

    macro.__name__ = macro.__qualname__ = f"macro_{metric}"
    return macro


def __getattr__(name: str) -> Callable[[Sequence[float]], MacroMean]:
    metric = name.removeprefix("macro_")
    if name.startswith("macro_") and metric in METRICS:
        return _macro(metric)
    raise AttributeError(name)
