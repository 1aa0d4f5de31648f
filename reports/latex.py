"""``leaderboard.tex``: a booktabs table a board, to be put into a paper with ``\\input``."""

import unicodedata
from collections.abc import Sequence

from .columns import COLUMNS, Column
from .finding import Finding
from .leaderboard import (
    best,
    differences_between_rows,
    differences_from_paper,
    leaves_out_stand_ins,
    shown,
)
from .plain import one_line
from .study import Run

#: Columns that a printed page has room for; the others are in the CSV.
LEFT_OUT = ("output_tokens", "truncated")
#: Letters of a name that stay together.
UNBROKEN = 14
#: Width of the column of names.
NAMES = "3.4cm"
HEAD = (
    "% Made by crystal-eval report, for \\input{leaderboard}; needs the packages booktabs and graphicx.\n"
    "% Values in bold are the best of a column where higher is better.\n"
)
SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    # \$ would take it from a font of bitmaps.
    "$": r"{\char36}",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Apart from each other these make no dashes and no quotation marks.
    "-": "-{}",
    "'": "'{}",
    "`": "`{}",
    '"': "''{}",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "‘": "`{}",
    "’": "'{}",
    "“": "``",
    "”": "''",
    "×": r"$\times$",
    "±": r"$\pm$",
    "°": r"$^\circ$",
    "µ": r"$\mu$",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
}
#: Commands of the accents that every font can set, by their combining characters.
ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u ",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r ",
    "\u030b": "H ",
    "\u030c": "v ",
    "\u0327": "c ",
}


def to_latex(findings: Sequence[Finding]) -> str:
    """A table a board; compiles with plain pdfLaTeX, whatever the models are called."""
    return HEAD + "\n".join(_table(finding, place) for place, finding in enumerate(findings))


def escape(text: str) -> str:
    """A text as LaTeX sets it; signs that pdfLaTeX has no letter for become their code points.

    >>> escape("50 % of a_b")
    '50 \\\\% of a\\\\_b'
    >>> escape("caf\\u00e9 \\u6a21")
    "caf\\\\'{e} [U+6A21]"
    """
    return "".join(_sign(sign) for sign in one_line(text))


def breakable(text: str) -> str:
    """The same for names and signatures: lines may break after each sign that is no letter, and in long words."""
    parts, letters = [], 0
    for sign in one_line(text):
        letters = letters + 1 if sign.isalnum() else 0
        parts.append(_sign(sign))
        if sign != " " and letters in (0, UNBROKEN):
            parts.append(r"\allowbreak{}")
            letters = 0
    return "".join(parts)


def _sign(sign: str) -> str:
    if sign in SPECIAL:
        return SPECIAL[sign]
    if " " <= sign <= "~":
        return sign
    letter, *accents = list(unicodedata.normalize("NFD", sign))
    if len(accents) == 1 and accents[0] in ACCENTS and letter.isascii():
        return f"\\{ACCENTS[accents[0]]}{{{letter}}}"
    return f"[U+{ord(sign):04X}]"


def _table(finding: Finding, place: int) -> str:
    board = finding.board
    columns = [column for column in COLUMNS if column.metric not in LEFT_OUT and _has(board.runs, column)]
    leaders = {column.metric: best(board, column) for column in columns}
    rows = [_row(run, columns, leaders) for run in board.runs]
    comments = [f"% {one_line(run.label)}: {one_line(run.result.generation)}" for run in board.runs]
    heads = " & ".join(["Model", *(escape(column.title) for column in columns)])
    return "\n".join(
        [
            *comments,
            "\\begin{table*}[t]",
            "\\centering\\footnotesize\\setlength{\\tabcolsep}{3.5pt}\\setlength{\\belowcaptionskip}{5pt}",
            f"\\caption{{{_caption(finding)}}}",
            f"\\label{{tab:crystal-{place + 1}}}",
            # Shrinks where the page is too narrow.
            "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%",
            f"\\begin{{tabular}}{{p{{{NAMES}}}{'r' * len(columns)}}}",
            "\\toprule",
            f"{heads} \\\\",
            "\\midrule",
            *rows,
            "\\bottomrule",
            "\\end{tabular}}",
            "\\end{table*}",
            "",
        ]
    )


def _has(runs: Sequence[Run], column: Column) -> bool:
    return any(run.mean(column.metric) for run in runs)


def _row(run: Run, columns: Sequence[Column], leaders: dict[str, set[str]]) -> str:
    name = breakable(run.label)
    cells = [f"\\raggedright\\sloppy {name}{'*' if run.result.scripted else ''}"]
    cells += [_cell(run, column, run.label in leaders[column.metric]) for column in columns]
    return " & ".join(cells) + " \\\\"


def _cell(run: Run, column: Column, leads: bool) -> str:
    mean = run.mean(column.metric)
    if mean is None:
        return "--"
    number = shown(mean.mean, column.digits)
    number = f"\\textbf{{{number}}}" if leads else number
    if column.metric == "match_f1" and mean.low is not None and mean.high is not None:
        number += f" {{\\tiny[{shown(mean.low, column.digits)}, {shown(mean.high, column.digits)}]}}"
    return number


def _caption(finding: Finding) -> str:
    board = finding.board
    part = "" if board.items == board.of else f" of {board.of:,}: not the benchmark's score"
    words = [
        f"CRYSTAL, task \\texttt{{{escape(board.task)}}}, {board.items:,} items{part}.",
        "Macro means over items; in brackets the 95~\\% bootstrap interval of Match F1; accuracy by the paper's rule.",
    ]
    if any(column.metric == "lis_multi" for column in COLUMNS if _has(board.runs, column)):
        words.append("LIS 2+ is over the items with two or more matches.")
    if any(run.result.scripted for run in board.runs):
        unmarked = ", which bold leaves aside" if leaves_out_stand_ins(board) else ""
        words.append(f"An asterisk marks scripted stand-ins{unmarked}.")
    if between := differences_between_rows(board):
        words.append(f"Compare the rows with care: {escape('; '.join(between))}.")
    if from_paper := differences_from_paper(board):
        words.append(f"Not comparable with the paper's table: {escape('; '.join(from_paper))}.")
    words.append(f"Scorer: \\texttt{{{breakable(board.scorer)}}}.")
    return " ".join(words)
