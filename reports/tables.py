"""Tables for the terminal."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby

from rich import box
from rich.table import Table
from rich.text import Text

from .columns import COLUMNS, Column
from .load import Result
from .plain import one_line
from .study import row_names

INTERVAL = "95 % int."
#: Columns that a narrow terminal goes without, the first first.
DISPENSABLE = (INTERVAL, "Ord. F1", "Prec.", "Steps", "LIS 2+", "Ab. null", "strict")
#: A name that is longer is folded.
NAME_WIDTH = 28
LEGEND = (
    "Acc. accuracy, strict accuracy_strict, Ab. null f1_above_null, Ord. F1 ordered_f1, LIS 2+ lis_multi (items behind "
    "it), Usable format_usable, Trunc. truncated; the interval is Match F1's."
)


def _items(result: Result) -> str:
    return str(result.items) if result.items == result.of else f"{result.items}/{result.of}"


def _interval(result: Result) -> str:
    value = result.metrics["match_f1"]
    return "-" if value.low is None or value.high is None else f"{value.low:.3f}-{value.high:.3f}"


def _cell(column: Column, result: Result) -> str:
    value = result.metrics.get(column.metric)
    printed = "-" if value is None else f"{value.mean:.{column.digits}f}"
    if column.metric == "lis_multi":
        # It says something only with the number of items behind it.
        return f"{printed} ({value.items})" if value and value.items else "- (0)"
    return printed


def _columns() -> Iterator[tuple[str, Callable[[Result], str]]]:
    """Heading and cell of each column."""
    yield "Items", _items
    for column in COLUMNS:
        if column.short:
            yield column.short, partial(_cell, column)
        if column.metric == "match_f1":
            yield INTERVAL, _interval


def blocks(results: Sequence[Result], width: int) -> Iterator[tuple[Table, list[str]]]:
    """For each task and way of scoring a table of its models, and what has to be known beside it.

    ``width`` is that of the terminal, in characters. Rows of one table may be compared with each other.
    """
    for (task, scorer), rows in groupby(results, key=lambda result: (result.task, result.scorer)):
        block = list(rows)
        names = _names(block)
        hidden = _hidden(block, names, width)
        yield _table(task, block, names, hidden), _notes(scorer, block, names, hidden)


def _hidden(block: Sequence[Result], names: Sequence[str], width: int) -> list[str]:
    """The columns that do not fit."""
    needed = {heading: 2 + max(len(heading), *(len(cell(row)) for row in block)) for heading, cell in _columns()}
    left = width - 2 - min(NAME_WIDTH, max(map(len, names)))
    hidden: list[str] = []
    while sum(needed.values()) > left and len(hidden) < len(DISPENSABLE):
        hidden.append(DISPENSABLE[len(hidden)])
        needed.pop(hidden[-1])
    return hidden


def _names(block: Sequence[Result]) -> list[str]:
    return [f"{name}*" if result.scripted else name for name, result in zip(row_names(block), block, strict=True)]


def _table(task: str, block: Sequence[Result], names: Sequence[str], hidden: Sequence[str]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title=Text(f"{one_line(task)}: macro means over items", "table.title"),
        title_justify="left",
    )
    table.add_column("Model", overflow="fold", min_width=min(NAME_WIDTH, max(map(len, names))))
    shown = [(heading, cell) for heading, cell in _columns() if heading not in hidden]
    for heading, _ in shown:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, result in zip(names, block, strict=True):
        table.add_row(Text(one_line(name)), *(cell(result) for _, cell in shown))
    return table


def _notes(scorer: str, block: Sequence[Result], names: Sequence[str], hidden: Sequence[str]) -> list[str]:
    notes = []
    if hidden:
        notes.append(f"Hidden at this width: {', '.join(hidden)}.")
    if any(result.scripted for result in block):
        notes.append("* written by a scripted stand-in with a known behaviour, not by a model")
    for name, result in zip(names, block, strict=True):
        if [other.model for other in block].count(result.model) > 1:
            notes.append(f"{name}: {result.generation}")
    notes.append(f"scorer: {scorer}")
    shared = [reason for reason in block[0].differs_from_paper if all(reason in r.differs_from_paper for r in block)]
    if shared:
        notes.append("Not comparable with the paper's table: " + "; ".join(shared) + ".")
    for name, result in zip(names, block, strict=True):
        own = [reason for reason in result.differs_from_paper if reason not in shared and not result.scripted]
        if own:
            notes.append(f"{name} is not comparable with the paper's table: " + "; ".join(own) + ".")
    return notes
