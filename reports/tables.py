"""Tables for the terminal."""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from .load import Mean, Result

#: Metric, heading; ``lis_multi`` stands for lis, which is 1 by rule where fewer than two steps matched.
COLUMNS = (
    ("accuracy", "Accuracy"),
    ("accuracy_strict", "strict"),
    ("match_f1", "Match F1"),
    ("precision", "Precision"),
    ("recall", "Recall"),
    ("ordered_f1", "Ordered F1"),
    ("lis_multi", "LIS of 2+"),
    ("steps", "Steps"),
    ("format_usable", "Usable"),
    ("truncated", "Truncated"),
)


def results_table(results: Sequence[Result]) -> Table:
    """One row a model and task, the means of the main metrics, Match F1 with its 95 % interval."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="CRYSTAL: macro means over items", title_justify="left")
    table.add_column("Model", no_wrap=True)
    table.add_column("Task", no_wrap=True)
    table.add_column("Items", justify="right")
    for _, heading in COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        name = f"{result.model} (scripted)" if result.scripted else result.model
        items = str(result.items) if result.items == result.of else f"{result.items} of {result.of}"
        table.add_row(name, result.task, items, *(_cell(metric, result) for metric, _ in COLUMNS))
    return table


def _cell(metric: str, result: Result) -> str:
    value = result.metrics.get(metric)
    if value is None:
        return "-"
    if metric == "steps":
        return f"{value.mean:.1f}"
    return _with_interval(value) if metric == "match_f1" else f"{value.mean:.3f}"


def _with_interval(value: Mean) -> str:
    if value.low is None or value.high is None:
        return f"{value.mean:.3f}"
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"


def footnotes(results: Sequence[Result]) -> list[str]:
    """What has to be known beside the table: signatures, and what the rows may not be compared with."""
    notes = []
    scorers = sorted({result.scorer for result in results})
    if len(scorers) > 1:
        notes.append("The rows were scored differently; compare only rows of one scorer signature:")
    notes += [f"  scorer {scorer}" for scorer in scorers]
    reasons = sorted({reason for result in results for reason in result.differs_from_paper})
    if reasons:
        notes.append("Not comparable with the paper's table: " + "; ".join(reasons) + ".")
    if any(result.scripted for result in results):
        notes.append("Rows marked (scripted) are stand-ins with a known behaviour, not models.")
    return notes
