"""How models rank by accuracy, by Match F1 and by their other benchmarks, and where the rankings part."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .benchmarks import Score
from .statistics import DIGITS, ESTABLISHED, comparison_of


@dataclass(frozen=True)
class Rankings:
    """``table``: a row a model, with ``accuracy``, ``match_f1``, ``others`` and their ranks (1 is best).

    ``others`` is the mean of the 0-to-1 scores (turned over where lower is better) on ``benchmarks``, the
    display names of those that every model with scores from elsewhere has; guessed ones are left out, for
    neither their metric nor their scale is sure. NaN for a model without such scores.

    ``swaps``: pairs of models that the two rankings put in opposite order: ``better_match_f1``,
    ``better_accuracy`` (models), ``match_f1_difference``, ``accuracy_difference`` (of the better less the
    other, both positive), ``match_f1_p``, ``accuracy_p`` (Holm's, NaN without a comparison), ``established``
    (both at most 0.05).
    """

    table: pd.DataFrame
    benchmarks: tuple[str, ...]
    swaps: pd.DataFrame


def rank_table(
    board: pd.DataFrame,
    scores: Mapping[str, Sequence[Score]] | None = None,
    comparisons: pd.DataFrame | None = None,
    accuracy: str = "accuracy",
) -> Rankings:
    """The rankings of ``board`` (index: model; columns ``match_f1`` and the accuracy that is to be ranked by).

    ``scores`` are the other benchmarks by model, ``comparisons`` what ``compare_models`` returned. Equal
    values share the better rank.
    """
    others, benchmarks = _others(list(board.index), scores or {})
    table = pd.DataFrame({"accuracy": board[accuracy], "match_f1": board["match_f1"], "others": others})
    for column in ("accuracy", "match_f1", "others"):
        table[f"{column}_rank"] = table[column].round(DIGITS).rank(ascending=False, method="min").astype("Int64")
    return Rankings(table, benchmarks, _swaps(table, comparisons, accuracy))


def _others(models: Sequence[str], scores: Mapping[str, Sequence[Score]]) -> tuple[pd.Series, tuple[str, ...]]:
    goodness = {
        model: {s.name: s.goodness for s in scores.get(model, ()) if s.goodness is not None and not s.guessed}
        for model in models
    }
    scored = [set(of_model) for of_model in goodness.values() if of_model]
    shared = sorted(set.intersection(*scored)) if scored else []
    means = {
        model: float(np.mean([of_model[name] for name in shared])) if shared and of_model else np.nan
        for model, of_model in goodness.items()
    }
    return pd.Series(means, dtype=float), tuple(shared)


def _swaps(table: pd.DataFrame, comparisons: pd.DataFrame | None, accuracy: str) -> pd.DataFrame:
    rows = []
    for pair in itertools.combinations(table.index, 2):
        f1, right = (
            round(table.loc[pair[0], column] - table.loc[pair[1], column], DIGITS)
            for column in ("match_f1", "accuracy")
        )
        if not f1 * right < 0:
            continue
        by_f1, by_accuracy = pair if f1 > 0 else pair[::-1]
        values = [_adjusted_p(comparisons, metric, pair) for metric in ("match_f1", accuracy)]
        rows.append((by_f1, by_accuracy, abs(f1), abs(right), *values, all(p <= ESTABLISHED for p in values)))
    columns = (
        "better_match_f1 better_accuracy match_f1_difference accuracy_difference match_f1_p accuracy_p established"
    )
    return pd.DataFrame(rows, columns=columns.split())


def _adjusted_p(comparisons: pd.DataFrame | None, metric: str, pair: tuple[str, str]) -> float:
    row = None if comparisons is None else comparison_of(comparisons, metric, *pair)
    return np.nan if row is None else float(row["p_holm"])
