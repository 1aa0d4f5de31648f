"""Files of a report for other programs and other texts: tables as CSV and LaTeX, and the whole as Markdown."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .finding import Finding
from .latex import to_latex
from .markdown import to_markdown
from .samples import METRICS, SOURCES
from .study import Run
from .training.export import NAME as TRAINING_NAME
from .training.export import training_table
from .training.section import Section
from .writing import write_whole

#: Metrics that come with the number of items behind them, since not every item has one.
PARTIAL = ("lis_multi", "accuracy_judged")


def write_exports(
    findings: Sequence[Finding], folder: Path, notes: Sequence[str] = (), section: Section | None = None
) -> list[Path]:
    """Writes ``leaderboard.csv``, ``leaderboard.tex``, ``training.csv`` (of what is there) and ``report.md``.

    None of them holds a question, an image, a reference or a response.
    """
    contents = {}
    if findings:
        contents["leaderboard.csv"] = leaderboard_table(findings).to_csv(index=False)
        contents["leaderboard.tex"] = to_latex(findings)
    if section:
        contents[TRAINING_NAME] = training_table(section).to_csv(index=False)
    contents["report.md"] = to_markdown(findings, notes, section)
    return [write_whole(folder / name, content) for name, content in contents.items()]


def leaderboard_table(findings: Sequence[Finding]) -> pd.DataFrame:
    """A row a model and board with every mean to full precision.

    Columns: ``board``, ``task``, ``model`` (as the table names it), ``scripted``, ``items``, ``of``, each metric with
    ``_low`` and ``_high`` (its 95 % interval) and, of those that not every item has, ``_items``, ``output_tokens``,
    then ``task:metric`` of other benchmarks as they print it, ``differs_from_paper``, both signatures, and the name
    of the results file. What a run does not have is empty, and ``_items`` 0.
    """
    rows = [_row(finding, run) for finding in findings for run in finding.board.runs]
    table = pd.DataFrame(rows)
    # Other benchmarks stand between our numbers and the words, whichever run has them.
    first, last = list(_ours(findings[0].board.runs[0])), list(_words(findings[0].board.runs[0]))
    others = [name for name in table.columns if name not in (*LEADING, *first, *last)]
    return table[[*LEADING, *first, *others, *last]]


LEADING = ("board", "task", "model", "scripted", "items", "of")


def _row(finding: Finding, run: Run) -> dict[str, Any]:
    result = run.result
    leading = (finding.name, result.task, run.label, result.scripted, result.items, result.of)
    others = {f"{score.task}:{score.metric}": score.raw for score in finding.scores.get(run.label, ())}
    return {**dict(zip(LEADING, leading, strict=True)), **_ours(run), **others, **_words(run)}


def _ours(run: Run) -> dict[str, float | None]:
    by_source = [f"{metric}_{source}" for metric in ("match_f1", "accuracy") for source in SOURCES]
    cells: dict[str, float | None] = {}
    for metric in (*METRICS, *by_source):
        mean = run.mean(metric)
        cells[metric] = mean.mean if mean else None
        cells[f"{metric}_low"] = mean.low if mean else None
        cells[f"{metric}_high"] = mean.high if mean else None
        if metric in PARTIAL or metric in by_source:
            cells[f"{metric}_items"] = mean.items if mean else 0
    tokens = run.mean("output_tokens")
    cells["output_tokens"] = tokens.mean if tokens else None
    return {name: math.nan if cell is None else cell for name, cell in cells.items()}


def _words(run: Run) -> dict[str, str]:
    return {
        "differs_from_paper": "; ".join(run.result.differs_from_paper),
        "scorer": run.result.scorer,
        "generation": run.result.generation,
        "results_file": run.result.file.name,
    }
