"""Files of a report for other programs and other texts: ``leaderboard.csv``, ``leaderboard.tex`` and ``report.md``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from .benchmarks import Score
from .figures.exhibit import Drawn
from .leaderboard import Flag, value
from .samples import METRICS
from .study import Board, Run
from .writing import write_whole

#: Metrics that come with the number of items behind them, since not every item has one.
PARTIAL = ("lis_multi", "accuracy_judged")
SOURCES = ("mathvision", "scienceqa", "realworldqa", "mmvp", "plotqa")


@dataclass(frozen=True)
class Chapter:
    """A board with what is said of it. ``folder`` is that of its figures, seen from the files that are written.

    ``comparisons`` are those of ``statistics.compare_models``, ``scores`` of other benchmarks are by label.
    """

    board: Board
    name: str
    headline: str
    comparisons: pd.DataFrame
    figures: Sequence[Drawn] = ()
    folder: str = "figures"
    flags: Sequence[Flag] = ()
    scores: Mapping[str, Sequence[Score]] = field(default_factory=dict)


def write_exports(chapters: Sequence[Chapter], folder: Path, notes: Sequence[str] = ()) -> list[Path]:
    """Writes the three files and returns them; none holds a question, an image, a reference or a response."""
    # They import this module for what they are made of.
    from .latex import to_latex
    from .markdown import to_markdown

    contents = {
        "leaderboard.csv": leaderboard_table(chapters).to_csv(index=False),
        "leaderboard.tex": to_latex(chapters),
        "report.md": to_markdown(chapters, notes),
    }
    return [write_whole(folder / name, content) for name, content in contents.items()]


def leaderboard_table(chapters: Sequence[Chapter]) -> pd.DataFrame:
    """A row a model and board with every mean to full precision.

    Columns: ``board``, ``task``, ``model`` (as the table names it), ``scripted``, ``items``, ``of``, each metric with
    ``_low`` and ``_high`` (its 95 % interval) and, of those that not every item has, ``_items``, ``output_tokens``,
    then ``task:metric`` of other benchmarks as they print it, ``differs_from_paper``, both signatures, and the name
    of the results file. What a run does not have is empty.
    """
    rows = [_row(chapter, run) for chapter in chapters for run in chapter.board.runs]
    table = pd.DataFrame(rows)
    # Other benchmarks stand between our numbers and the words, whichever run has them.
    first, last = list(_ours(chapters[0].board.runs[0])), list(_words(chapters[0].board.runs[0]))
    others = [name for name in table.columns if name not in (*LEADING, *first, *last)]
    return table[[*LEADING, *first, *others, *last]]


LEADING = ("board", "task", "model", "scripted", "items", "of")


def _row(chapter: Chapter, run: Run) -> dict[str, Any]:
    result = run.result
    leading = (chapter.name, result.task, run.label, result.scripted, result.items, result.of)
    others = {f"{score.task}:{score.metric}": score.raw for score in chapter.scores.get(run.label, ())}
    return {**dict(zip(LEADING, leading, strict=True)), **_ours(run), **others, **_words(run)}


def _ours(run: Run) -> dict[str, float | None]:
    by_source = [f"{metric}_{source}" for metric in ("match_f1", "accuracy") for source in SOURCES]
    cells: dict[str, float | None] = {}
    for metric in (*METRICS, *by_source):
        mean = value(run, metric)
        cells[metric] = mean.mean if mean else None
        cells[f"{metric}_low"] = mean.low if mean else None
        cells[f"{metric}_high"] = mean.high if mean else None
        if metric in PARTIAL or metric in by_source:
            known = run.result.metrics.get(metric)
            cells[f"{metric}_items"] = known.items if known else None
    tokens = value(run, "output_tokens")
    cells["output_tokens"] = tokens.mean if tokens else None
    return {name: math.nan if cell is None else cell for name, cell in cells.items()}


def _words(run: Run) -> dict[str, str]:
    return {
        "differs_from_paper": "; ".join(run.result.differs_from_paper),
        "scorer": run.result.scorer,
        "generation": run.result.generation,
        "results_file": run.result.file.name,
    }
