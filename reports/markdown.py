"""``report.md``: tables, comparisons, figures and signatures as GitHub-flavoured Markdown."""

import re
from collections.abc import Sequence
from urllib.parse import quote

from .beyond_length import HEADS, READING, length_rows
from .exports import Chapter
from .leaderboard import COLUMNS, LEVEL, Column, best, differences_between_rows, differences_from_paper, shown, value
from .plain import one_line
from .study import Run

#: More pairs than this are shown of neighbours in the ranking only.
PAIRS = 45
TITLES = {"match_f1": "Match F1", "accuracy": "Accuracy", "accuracy_strict": "Strict accuracy"}


def to_markdown(chapters: Sequence[Chapter], notes: Sequence[str] = ()) -> str:
    """The whole report but its items; figures are linked by relative paths."""
    lines = ["# CRYSTAL", ""]
    if notes:
        lines += ["**To know of the input**", "", *(f"- {escape(note)}" for note in notes), ""]
    for chapter in chapters:
        lines += _chapter(chapter)
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    """A text on one line that Markdown shows as it is, in a table's cell too.

    >>> escape("a|b <i> 5*x_1")
    'a\\\\|b &lt;i&gt; 5\\\\*x\\\\_1'
    """
    plain = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # A colon and an at sign would make links of addresses.
    return re.sub(r"([\\`*_\[\]|~$#!])", r"\\\1", plain).replace("://", "&#58;//").replace("@", "&#64;")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The lines of a table whose cells are Markdown already; the first ``left`` columns are texts."""
    marks = ["---"] * left + ["--:"] * (len(head) - left)
    return [f"| {' | '.join(cells)} |" for cells in (head, marks, *rows)]


def _chapter(chapter: Chapter) -> list[str]:
    board = chapter.board
    part = "" if board.items == board.of else f" of {board.of:,}"
    lines = [f"## {escape(chapter.name)}", "", f"**{escape(chapter.headline)}**", "", *_leaderboard(chapter), ""]
    lines.append(f"{board.items:,}{part} items; macro means over items. {_comparable(chapter)}")
    lines += ["", *_explained(chapter), ""]
    if chapter.flags:
        lines += ["### Before reading the numbers", ""]
        lines += [f"- {_flagged(flag.label)}**{escape(flag.title)}**: {escape(flag.text)}" for flag in chapter.flags]
        lines.append("")
    lines += _comparisons(chapter)
    lines += _lengths(chapter)
    if chapter.figures:
        lines += ["### Figures", ""]
        for drawn in chapter.figures:
            title, path = escape(drawn.title), quote(f"{chapter.folder}/{drawn.name}.svg")
            lines += [f"#### {title}", "", f"![{title}]({path})", "", escape(drawn.caption), ""]
    signatures = [f"scorer  {board.scorer}", *(f"{run.label}  {run.result.generation}" for run in board.runs)]
    return [*lines, "### Signatures", "", *_fenced([one_line(line) for line in signatures]), ""]


def _comparable(chapter: Chapter) -> str:
    words = []
    between, from_paper = differences_between_rows(chapter.board), differences_from_paper(chapter.board)
    if len(chapter.board.runs) > 1:
        words.append(
            f"The rows differ in {escape('; '.join(between))}: compare them with care."
            if between
            else "The rows are comparable with each other."
        )
    words.append(
        f"Not comparable with the paper's table: {escape('; '.join(from_paper))}."
        if from_paper
        else "Nothing that is known speaks against setting them beside the paper's table."
    )
    return " ".join(words)


def _columns(chapter: Chapter) -> list[Column]:
    return [column for column in COLUMNS if any(value(run, column.metric) for run in chapter.board.runs)]


def _leaderboard(chapter: Chapter) -> list[str]:
    board, columns = chapter.board, _columns(chapter)
    leaders = {column.metric: best(board, column) for column in columns}
    others = list(dict.fromkeys(score.name for scores in chapter.scores.values() for score in scores))
    rows = []
    for run in board.runs:
        cells = [escape(run.label) + (" (scripted)" if run.result.scripted else "")]
        cells += [_cell(run, column, run.label in leaders[column.metric]) for column in columns]
        scores = {score.name: score for score in chapter.scores.get(run.label, ())}
        rows.append([*cells, *(f"{scores[name].raw:g}" if name in scores else "" for name in others)])
    return table(["Model", *(escape(column.title) for column in columns), *map(escape, others)], rows)


def _cell(run: Run, column: Column, leads: bool) -> str:
    mean = value(run, column.metric)
    if mean is None or mean.mean is None:
        return ""
    number = shown(mean.mean, column.digits)
    number = f"**{number}**" if leads else number
    if column.metric == "match_f1" and mean.low is not None and mean.high is not None:
        number += f" [{shown(mean.low, column.digits)}, {shown(mean.high, column.digits)}]"
    if column.metric == "lis_multi" and mean.items is not None:
        number += f" ({mean.items:,})"
    return number


def _explained(chapter: Chapter) -> list[str]:
    explained = "; ".join(f"{escape(column.title)}: {escape(column.meaning)}" for column in _columns(chapter))
    return [
        f"{explained}. In bold the best of a column where higher is better; in square brackets the 95 % bootstrap "
        "interval over items, in round ones the number of items behind a value. Other benchmarks as they print their "
        "scores."
    ]


def _flagged(label: str) -> str:
    return f"{escape(label)}: " if label else ""


def _comparisons(chapter: Chapter) -> list[str]:
    pairs = chapter.comparisons
    if pairs.empty:
        return []
    lines = [
        "### Comparison on the same items",
        "",
        "Paired differences (first minus second) with 95 % intervals, resampled by image within each source; p after "
        f"Holm's correction over all pairs, established at {LEVEL:g}. The smallest difference is what this many items "
        "find in four of five cases.",
        "",
    ]
    places = {run.label: place for place, run in enumerate(chapter.board.runs)}
    for metric, title in TITLES.items():
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


def _lengths(chapter: Chapter) -> list[str]:
    rows = length_rows(chapter.board)
    if not rows:
        return []
    meanings = "; ".join(f"{head.title}: {head.meaning}" for head in HEADS)
    made = table(["Model", *(head.title for head in HEADS)], [[escape(row.label), *row.cells] for row in rows])
    return ["### Is it more than a step count?", "", READING, "", *made, "", f"{meanings}.", ""]


def _pair(row: dict) -> list[str]:
    names = [escape(str(row["first"])), escape(str(row["second"]))]
    if not row["items"]:
        return [*names, "", "", "", "no shared items", "", "0"]
    return [
        *names,
        f"{row['difference']:+.3f}",
        f"[{row['low']:+.3f}, {row['high']:+.3f}]",
        f"{row['p_holm']:.4f}",
        "yes" if row["p_holm"] <= LEVEL else "no",
        shown(row["smallest"], 3),
        f"{row['items']:,}",
    ]


def _fenced(lines: Sequence[str]) -> list[str]:
    """Lines as they are, in a fence that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *lines, fence]
