"""Tables for the terminal."""

from collections.abc import Callable, Sequence

from rich import box
from rich.table import Table

from .load import Result


def _mean(metric: str) -> Callable[[Result], str]:
    def cell(result: Result) -> str:
        value = result.metrics.get(metric)
        return "-" if value is None else f"{value.mean:.3f}"

    return cell


def _interval(result: Result) -> str:
    value = result.metrics["match_f1"]
    return "-" if value.low is None or value.high is None else f"{value.low:.3f}-{value.high:.3f}"


def _steps(result: Result) -> str:
    return f"{result.metrics['steps'].mean:.1f}"


def _items(result: Result) -> str:
    return str(result.items) if result.items == result.of else f"{result.items}/{result.of}"


#: Heading, cell, and the width of terminal from which on the column is shown. ``lis_multi`` stands for
#: lis, which is 1 by rule where fewer than two steps matched.
COLUMNS: tuple[tuple[str, Callable[[Result], str], int], ...] = (
    ("Items", _items, 0),
    ("Acc.", _mean("accuracy"), 0),
    ("strict", _mean("accuracy_strict"), 0),
    ("Match F1", _mean("match_f1"), 0),
    ("95 % int.", _interval, 100),
    ("Prec.", _mean("precision"), 0),
    ("Recall", _mean("recall"), 0),
    ("Ord. F1", _mean("ordered_f1"), 0),
    ("LIS 2+", _mean("lis_multi"), 90),
    ("Steps", _steps, 80),
    ("Usable", _mean("format_usable"), 110),
    ("Trunc.", _mean("truncated"), 110),
)


def results_table(results: Sequence[Result], width: int) -> Table:
    """One row a model, for a terminal of the given width; rows of several tasks are named by task too."""
    tasks = sorted({result.task for result in results})
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title=f"{', '.join(tasks)}: macro means over items",
        title_justify="left",
    )
    table.add_column("Model", overflow="fold")
    if len(tasks) > 1:
        table.add_column("Task", overflow="fold")
    shown = [(heading, cell) for heading, cell, least in COLUMNS if width >= least]
    for heading, _ in shown:
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        names = [f"{result.model}*" if result.scripted else result.model]
        names += [result.task] if len(tasks) > 1 else []
        table.add_row(*names, *(cell(result) for _, cell in shown))
    return table


def footnotes(results: Sequence[Result]) -> list[str]:
    """What has to be known beside the table: signatures, and what the rows may not be compared with."""
    notes = []
    if any(result.scripted for result in results):
        notes.append("* a scripted stand-in with a known behaviour, not a model")
    scorers = sorted({result.scorer for result in results})
    if len(scorers) > 1:
        notes.append("The rows were scored differently; compare only rows of one scorer signature:")
    notes += [f"scorer: {scorer}" for scorer in scorers]
    reasons = sorted({reason for result in results for reason in result.differs_from_paper})
    if reasons:
        notes.append("Not comparable with the paper's table: " + "; ".join(reasons) + ".")
    return notes
