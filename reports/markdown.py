"""``report.md``: tables, comparisons, figures and signatures as GitHub-flavoured Markdown."""

import math
from collections.abc import Sequence
from urllib.parse import quote

from .beyond_length import HEADS, READING, length_rows, length_sentences
from .boards import agreed, grouped, p_printed
from .columns import COLUMNS, Column
from .finding import Finding
from .gfm import bullets, escape, fenced, table
from .leaderboard import (
    best,
    differences_between_rows,
    differences_from_paper,
    leaves_out_stand_ins,
    shown,
)
from .plain import one_line
from .statistics import COMPARED, ESTABLISHED, TOO_FEW
from .study import Run
from .training.section import Section
from .training.section import markdown as training_lines

#: More pairs than this are shown of neighbours in the ranking only.
PAIRS = 45


def to_markdown(findings: Sequence[Finding], notes: Sequence[str] = (), section: Section | None = None) -> str:
    """The whole report but its items; figures are linked by relative paths."""
    lines = ["<!-- crystal-eval report -->", "# CRYSTAL", ""]
    if notes:
        lines += ["**To know of the input**", "", bullets(notes), ""]
    lines += training_lines(section) if section else []
    for finding in findings:
        lines += _section(finding)
    return "\n".join(lines).rstrip() + "\n"


def _section(finding: Finding) -> list[str]:
    board = finding.board
    part = "" if board.items == board.of else f" of {board.of:,}"
    lines = [f"## {escape(finding.name)}", "", f"**{escape(finding.headline)}**", "", *_leaderboard(finding), ""]
    lines.append(f"{board.items:,}{part} items; macro means over items. {_comparable(finding)}")
    lines += ["", *_explained(finding), ""]
    if finding.flags:
        lines += ["### Before reading the numbers", ""]
        lines += [
            f"- {_flagged(flag.labels)}**{escape(flag.title)}**: {escape(flag.text)}" for flag in grouped(finding.flags)
        ]
        lines.append("")
    lines += _comparisons(finding)
    lines += _lengths(finding)
    if finding.figures:
        lines += ["### Figures", ""]
        for drawn in finding.figures:
            title, path = escape(drawn.title), quote(f"{finding.folder}/{drawn.name}.svg")
            lines += [f"#### {title}", "", f"![{title}]({path})", "", escape(drawn.caption), ""]
    if said := agreed(board):
        lines += [said, ""]
    signatures = [f"scorer  {board.scorer}", *(f"{run.label}  {run.result.generation}" for run in board.runs)]
    return [*lines, "### Signatures", "", *fenced([one_line(line) for line in signatures]), ""]


def _comparable(finding: Finding) -> str:
    words = []
    between, from_paper = differences_between_rows(finding.board), differences_from_paper(finding.board)
    if len(finding.board.runs) > 1:
        words.append(
            f"Compare the rows with care: {escape('; '.join(between))}."
            if between
            else "The rows are comparable with each other."
        )
    words.append(
        f"Not comparable with the paper's table: {escape('; '.join(from_paper))}."
        if from_paper
        else "Nothing that is known speaks against setting them beside the paper's table."
    )
    return " ".join(words)


def _columns(finding: Finding) -> list[Column]:
    return [column for column in COLUMNS if any(run.mean(column.metric) for run in finding.board.runs)]


def _leaderboard(finding: Finding) -> list[str]:
    board, columns = finding.board, _columns(finding)
    leaders = {column.metric: best(board, column) for column in columns}
    others = list(dict.fromkeys(score.name for scores in finding.scores.values() for score in scores))
    rows = []
    for run in board.runs:
        cells = [escape(run.label) + (" (scripted)" if run.result.scripted else "")]
        cells += [_cell(run, column, run.label in leaders[column.metric]) for column in columns]
        scores = {score.name: score for score in finding.scores.get(run.label, ())}
        rows.append([*cells, *(f"{scores[name].raw:g}" if name in scores else "" for name in others)])
    return table(["Model", *(escape(column.title) for column in columns), *map(escape, others)], rows)


def _cell(run: Run, column: Column, leads: bool) -> str:
    mean = run.mean(column.metric)
    if mean is None:
        return ""
    number = shown(mean.mean, column.digits)
    number = f"**{number}**" if leads else number
    if column.metric == "match_f1" and mean.low is not None and mean.high is not None:
        number += f" [{shown(mean.low, column.digits)}, {shown(mean.high, column.digits)}]"
    if column.metric == "lis_multi" and mean.items is not None:
        number += f" ({mean.items:,})"
    return number


def _explained(finding: Finding) -> list[str]:
    explained = "; ".join(f"{escape(column.title)}: {escape(column.meaning)}" for column in _columns(finding))
    aside = ", scripted stand-ins aside" if leaves_out_stand_ins(finding.board) else ""
    return [
        f"{explained}. In bold the best of a column where higher is better{aside}; in square brackets the 95 % "
        "bootstrap interval over items, in round ones the number of items behind a value. Other benchmarks as they "
        "print their scores."
    ]


def _flagged(labels: Sequence[str]) -> str:
    return f"{', '.join(map(escape, labels))}: " if labels else ""


def _comparisons(finding: Finding) -> list[str]:
    pairs = finding.comparisons
    if pairs.empty:
        return []
    lines = [
        "### Comparison on the same items",
        "",
        "Paired differences (first minus second) with 95 % intervals, resampled by image within each source; p after "
        f"Holm's correction over all pairs, established at {ESTABLISHED:g}. The smallest difference is what this many "
        "items find in four of five cases.",
        "",
    ]
    places = {run.label: place for place, run in enumerate(finding.board.runs)}
    for metric, title in COMPARED.items():
        of_metric = pairs[pairs["metric"] == metric]
        if of_metric.empty:
            continue
        lines += [f"#### {title}", ""]
        if len(of_metric) > PAIRS:
            apart = of_metric["second"].map(places) - of_metric["first"].map(places)
            of_metric = of_metric[apart.abs() == 1]
            lines += ["Neighbours in the ranking by Match F1; the page has all pairs.", ""]
        head = ["First", "Second", "Difference", "95 % interval", "p (Holm)", "Established", "Smallest", "Items"]
        lines += [*table(head, [_pair(row) for row in of_metric.to_dict("records")], 2), ""]
    return lines


def _lengths(finding: Finding) -> list[str]:
    rows = length_rows(finding.board)
    if not rows:
        return []
    meanings = "; ".join(f"{head.title}: {head.meaning}" for head in HEADS)
    made = table(["Model", *(head.title for head in HEADS)], [[escape(row.label), *row.cells] for row in rows])
    said = bullets(length_sentences(finding.board, finding.comparisons))
    return ["### Is it more than a step count?", "", said, "", READING, "", *made, "", f"{meanings}.", ""]


def _pair(row: dict) -> list[str]:
    names = [escape(str(row["first"])), escape(str(row["second"]))]
    if not row["items"]:
        return [*names, "", "", "", "no shared items", "", "0"]
    return [
        *names,
        f"{row['difference']:+.3f}",
        f"[{row['low']:+.3f}, {row['high']:+.3f}]" if math.isfinite(row["low"] + row["high"]) else TOO_FEW,
        p_printed(row["p_holm"]),
        "yes" if row["p_holm"] <= ESTABLISHED else "no",
        shown(row["smallest"], 3),
        f"{row['items']:,}",
    ]
