"""``training.csv``: a row a training with every number to full precision."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from .changes import TITLES, change_of
from .read import number
from .section import Section
from .tables import DIAGNOSTICS

NAME = "training.csv"
#: Diagnostics in the order of the paper's Table 6, then those that it does not have.
NAMES = (
    *(column.name for column in DIAGNOSTICS),
    "grad_norm_first",
    "grad_norm_last",
    "grad_norm_trend",
    "stable",
    "conflict_share",
    "cosine_mean",
)


def training_table(section: Section) -> pd.DataFrame:
    """Columns: ``training``, ``method``, ``model``, ``seed``, ``finished``, ``stopped``, ``seconds``, ``steps``, then
    each metric with ``_before``, ``_after``, ``_change``, ``_low``, ``_high``, ``_p``, and the diagnostics.

    What a training does not have is empty.
    """
    rows: list[dict[str, Any]] = []
    for training, part in zip(section.trainings, section.parts, strict=True):
        row: dict[str, Any] = {
            "training": training.name,
            "method": training.method,
            "model": training.model,
            "seed": training.seed,
            "finished": training.finished,
            "stopped": bool(training.stopped),
            "seconds": training.seconds,
            "steps": sum(phase.done for phase in training.phases),
        }
        for metric in TITLES:
            change = change_of(part.changes, metric)
            values = ("before", "after", "difference", "low", "high", "p")
            names = ("before", "after", "change", "low", "high", "p")
            row |= {
                f"{metric}_{name}": getattr(change, value) if change else math.nan
                for name, value in zip(names, values, strict=True)
            }
        for name in NAMES:
            known = training.diagnostics.get(name)
            row[name] = known if isinstance(known, bool | str) else number(known)
        rows.append(row)
    return pd.DataFrame(rows)
