"""The diagnostics of the paper's Table 6, from the lines that a run has written.

The paper names the columns and not how they are computed, and its model and data are others: the values of
two runs here compare with each other, not with the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import theilslopes

#: Mean KL of a step above which a run counts as unstable. The paper's stable runs reach 0.456 at most, its unstable
#: ones 1.218 at least.
KL_LIMIT = 1.0
#: Share of the steps at each end of the last phase whose gradient norms are averaged.
ENDS = 0.1
#: Steps that a slope is drawn through at most, evenly taken from all.
COMPARED = 2000
Line = Mapping[str, Any]


def diagnose(log: Sequence[Line], after: Line | None, stopped: bool) -> dict[str, float | bool | None]:
    """The diagnostics of a run; None for what cannot be told.

    ``log`` are the lines of the log; ``after`` is the validation of the chosen checkpoint (accuracy by the strict
    rule, ``val_...``, ``discrimination``, ``reward_f1_pearson``). ``kl_max``, ``conflict_share`` (share of the steps
    in which the two gradients conflicted) and ``cosine_mean`` are over all steps. The gradient norms are of the last
    phase: ``grad_norm_first`` and ``_last`` the means over a tenth of its steps, ``grad_norm_trend`` the slope in
    norm per 100 steps (Theil and Sen's, which no single peak moves). ``stable`` is whether the run has not
    ``stopped`` by itself and ``kl_max`` is at most ``KL_LIMIT``.
    """
    known = after or {}
    last = max((line["phase"] for line in log), default=0)
    norms = [
        (line["step"], line["grad_norm"]) for line in log if line["phase"] == last and _is_number(line, "grad_norm")
    ]
    ends = math.ceil(ENDS * len(norms))
    kl = _values(log, "kl")
    return {
        "val_accuracy": known.get("accuracy_strict"),
        "val_match_f1": known.get("match_f1"),
        "val_recall": known.get("recall"),
        "discrimination": known.get("discrimination"),
        "reward_f1_pearson": known.get("reward_f1_pearson"),
        "kl_max": max(kl, default=None),
        "grad_norm_first": _mean(norm for _, norm in norms[:ends]),
        "grad_norm_last": _mean(norm for _, norm in norms[-ends:]) if ends else None,
        "grad_norm_trend": _slope(norms),
        "stable": not stopped and max(kl, default=0.0) <= KL_LIMIT,
        "conflict_share": _mean(_values(log, "surgery/conflict_share")),
        "cosine_mean": _mean(_values(log, "surgery/cosine")),
    }


def _values(log: Iterable[Line], key: str) -> list[float]:
    return [line[key] for line in log if _is_number(line, key)]


def _is_number(line: Line, key: str) -> bool:
    return isinstance(line.get(key), int | float) and math.isfinite(line[key])


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None


def _slope(norms: Sequence[tuple[int, float]]) -> float | None:
    """Change of the norm in 100 steps."""
    if len(norms) < 2:
        return None
    # It looks at all pairs.
    steps, values = zip(*norms[:: math.ceil(len(norms) / COMPARED)], strict=True)
    return 100 * float(theilslopes(values, steps).slope)
