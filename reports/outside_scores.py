"""Scores of other benchmarks that a user has from elsewhere, by CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ..errors import CrystalError
from .benchmarks import Benchmark, Score, load_benchmarks

NEEDED = ("model", "benchmark", "score")
#: What a score that was read from a CSV calls its metric, where the benchmark is not known here.
METRIC = "score"
#: Best values of a score, of which a file that gives none means the smallest that holds all its scores.
SCALES = (1.0, 100.0)


def read_scores_csv(path: Path) -> dict[str, list[Score]]:
    """Scores by model (as the file names it) from a CSV with the columns ``model``, ``benchmark``, ``score``.

    ``benchmark`` may be a task of the harness or the display name of one in ``configs/benchmarks.yaml``.
    Optional: ``scale``, the best value; where it is left out, 1 if no score of the benchmark in the file is
    above 1, else 100 (or what ``configs/benchmarks.yaml`` has, such as 2000 for MME), else none; and
    ``source``, where the number stands. More is better on benchmarks that are not known here.

    Raises ``CrystalError`` in one sentence where a column is missing, a score or scale is no number that
    fits, or a model has two scores for one benchmark.
    """
    table = _read(path)
    named = {name.casefold(): known for known in load_benchmarks().values() for name in (known.task, known.name)}
    found: dict[str, dict[str, Score]] = {}
    for row in table.to_dict("records"):
        known = named.get(row["benchmark"].casefold())
        largest = float(table.loc[table["benchmark"] == row["benchmark"], "score"].max())
        score = Score(
            task=known.task if known else row["benchmark"],
            name=known.name if known else row["benchmark"],
            metric=known.metric if known else METRIC,
            raw=row["score"],
            scale=_best(largest, known) if np.isnan(row["scale"]) else row["scale"],
            higher_is_better=known.higher_is_better if known else True,
            source=row["source"] or path.name,
        )
        of_model = found.setdefault(row["model"], {})
        if of_model.setdefault(score.task, score) is not score:
            raise CrystalError(f"{path} has two scores of {row['model']!r} for {score.name!r}; leave one.")
    return {model: list(scores.values()) for model, scores in found.items()}


def _read(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True, encoding="utf-8-sig")
    except (OSError, ValueError, pd.errors.ParserError) as error:
        reason = " ".join(str(error).split())
        raise CrystalError(
            f"The scores in {path} cannot be read ({reason}); give a CSV with the columns {', '.join(NEEDED)}."
        ) from error
    table.columns = table.columns.str.strip().str.casefold()
    missing = [column for column in NEEDED if column not in table]
    if missing:
        raise CrystalError(f"{path} lacks the column {missing[0]!r}; it needs {', '.join(NEEDED)}.")
    table = table.apply(lambda column: column.str.strip())
    for column in ("scale", "source"):
        table[column] = table.get(column, "")
    for column in ("model", "benchmark"):
        if (table[column] == "").any():
            line = int((table[column] == "").to_numpy().argmax())
            raise CrystalError(f"Line {line + 2} of {path} names no {column}; fill it in.")
    for column in ("score", "scale"):
        numbers = pd.to_numeric(table[column].replace("", np.nan), errors="coerce")
        is_wrong = ~np.isfinite(numbers) & ((table[column] != "") | (column == "score"))
        is_wrong |= (numbers < 0) | ((numbers == 0) & (column == "scale"))
        if is_wrong.any():
            line = int(is_wrong.to_numpy().argmax())
            raise CrystalError(
                f"Line {line + 2} of {path} has the {column} {table[column][line]!r}; give a number, without a percent "
                f"sign{' and above 0' if column == 'scale' else ''}."
            )
        table[column] = numbers
    too_large = table["score"] > table["scale"]
    if too_large.any():
        line = int(too_large.to_numpy().argmax())
        raise CrystalError(
            f"Line {line + 2} of {path} has a score of {table['score'][line]:g} on a scale of "
            f"{table['scale'][line]:g}; correct one of them."
        )
    return table


def _best(largest: float, known: Benchmark | None) -> float | None:
    """The best value of a benchmark whose scores in the file go up to ``largest``."""
    scales = sorted({*SCALES, known.scale} if known and known.scale else SCALES)
    return None if known and known.scale is None else next((scale for scale in scales if largest <= scale), None)
