"""Scores of other benchmarks that a user has from elsewhere, by CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd

from ..errors import CrystalError
from .benchmarks import Benchmark, Score, load_benchmarks

NEEDED = ("model", "benchmark", "score")
COLUMNS = (*NEEDED, "scale", "source")
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

    Raises ``CrystalError`` in one sentence where a column is missing, a line has more cells or fewer, a score
    or scale is no number that fits, or a model has two scores for one benchmark.
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
    """The cells of the file, stripped, with numbers for ``score`` and ``scale``; the index is the line of each row."""
    (_, names), *rows = _rows(path)
    heading = [name.casefold() for name in names]
    missing = [column for column in NEEDED if column not in heading]
    if missing:
        raise CrystalError(f"{path} lacks the column {missing[0]!r}; it needs {', '.join(NEEDED)}.")
    twice = [column for column in COLUMNS if heading.count(column) > 1]
    if twice:
        raise CrystalError(f"{path} has two columns {twice[0]!r}; leave one.")
    places = {column: heading.index(column) for column in COLUMNS if column in heading}
    cells = [{column: row[place] for column, place in places.items()} for _, row in rows]
    table = pd.DataFrame(cells, index=[line for line, _ in rows], columns=list(COLUMNS), dtype=object).fillna("")
    for column in ("model", "benchmark"):
        for line in table.index[table[column] == ""]:
            raise CrystalError(f"Line {line} of {path} names no {column}; fill it in.")
    for column in ("score", "scale"):
        numbers = pd.to_numeric(table[column].replace("", np.nan), errors="coerce")
        is_wrong = ~np.isfinite(numbers) & ((table[column] != "") | (column == "score"))
        is_wrong |= (numbers < 0) | ((numbers == 0) & (column == "scale"))
        for line in table.index[is_wrong]:
            raise CrystalError(
                f"Line {line} of {path} has the {column} {table[column][line]!r}; give a number, without a percent "
                f"sign{' and above 0' if column == 'scale' else ''}."
            )
        table[column] = numbers
    for line in table.index[table["score"] > table["scale"]]:
        raise CrystalError(
            f"Line {line} of {path} has a score of {table['score'][line]:g} on a scale of {table['scale'][line]:g}; "
            "correct one of them."
        )
    return table


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The rows of a CSV with the line that each ends on, the heading first; all have as many cells as it.

    Raises ``CrystalError`` for a file that cannot be read, and for a row of more or fewer cells.
    """
    try:
        reader = csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline=""), skipinitialspace=True)
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
        if not rows:
            raise ValueError("it is empty")
    except (OSError, ValueError, csv.Error) as error:
        reason = " ".join(str(error).split())
        raise CrystalError(
            f"The scores in {path} cannot be read ({reason}); give a CSV with the columns {', '.join(NEEDED)}."
        ) from error
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise CrystalError(
                f"Line {line} of {path} has {len(row)} cells and the heading {width}: write numbers with a point, put "
                "texts with commas in quotation marks, and end no line with a comma."
            )
    return rows


def _best(largest: float, known: Benchmark | None) -> float | None:
    """The best value of a benchmark whose scores in the file go up to ``largest``."""
    scales = sorted({*SCALES, known.scale} if known and known.scale else SCALES)
    return None if known and known.scale is None else next((scale for scale in scales if largest <= scale), None)
