"""The first screen of a report in words and numbers: columns, cells, best marks, the headline and the red flags."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from .columns import Column
from .statistics import ESTABLISHED, comparison_of, too_few
from .study import Board, Run, fields

#: Shares from which a flag is raised: fewer truncated or unusable responses move a mean by less than its interval.
TRUNCATED, UNUSABLE = 0.02, 0.05
#: Where the two answer rules part on more items than this, the paper's accuracy overstates.
LENIENT = 0.05
#: Below this share of items with two matches, order says little of a model.
ORDERED = 0.5
#: So many names in a sentence; the rest is counted.
NAMES_SHOWN = 3


def shown(number: float | None, digits: int) -> str:
    """A number as every table of the report prints it."""
    return "" if number is None or math.isnan(number) else f"{number:,.{digits}f}"


def best(board: Board, column: Column) -> set[str]:
    """Labels of the rows with the highest printed value; none where higher is not better or all are equal."""
    if not column.higher_is_better:
        return set()
    printed = {
        run.label: round(mean.mean, column.digits) for run in contenders(board) if (mean := run.mean(column.metric))
    }
    if len(set(printed.values())) < 2:
        return set()
    return {label for label, number in printed.items() if number == max(printed.values())}


def contenders(board: Board) -> Sequence[Run]:
    """The runs that can lead: models; scripted stand-ins only where fewer than two models are there."""
    models = [run for run in board.runs if not run.result.scripted]
    return models if len(models) > 1 else board.runs


def leaves_out_stand_ins(board: Board) -> bool:
    """Whether there are scripted stand-ins that can neither lead nor be marked as best."""
    return len(contenders(board)) < len(board.runs)


def headline(board: Board, comparisons: pd.DataFrame) -> str:
    """One sentence that says who leads, and whether it is established.

    ``comparisons`` is what ``statistics.compare_models`` made of the board's runs.
    """
    runs = contenders(board)
    if len(runs) == 1:
        only = runs[0].result.metrics["match_f1"]
        interval = "" if only.low is None or only.high is None else f" [{only.low:.3f}, {only.high:.3f}]"
        name = f"{runs[0].label} (a scripted stand-in)" if runs[0].result.scripted else runs[0].label
        return f"{name} reaches Match F1 {shown(only.mean, 3)}{interval} over {board.items:,} items."
    parts = [
        f"none can be shown to lead {title} (too few items to establish a difference)"
        if len(runs) > 1 and not comparisons.empty and too_few(comparisons, metric)
        else _lead(runs, metric, title, comparisons)
        for metric, title in (("match_f1", "Match F1"), ("accuracy", "accuracy"))
    ]
    sentence = "; ".join(parts) + "."
    if among := _among(board):
        return f"{among}, {sentence}"
    return sentence[0].upper() + sentence[1:] if sentence.startswith("none ") else sentence


def _among(board: Board) -> str:
    """Whom a headline is about, where some rows are scripted stand-ins; else empty."""
    scripted = sum(run.result.scripted for run in board.runs)
    models = len(board.runs) - scripted
    if not scripted:
        return ""
    if leaves_out_stand_ins(board):
        return f"Of the {models} models (scripted stand-ins aside)"
    stand_ins = f"{scripted} scripted stand-in{'s' if scripted > 1 else ''}"
    return f"Of the one model and {stand_ins}" if models else f"Of the {stand_ins}"


def _lead(runs: Sequence[Run], metric: str, title: str, comparisons: pd.DataFrame) -> str:
    means = {run.label: mean.mean for run in runs if (mean := run.mean(metric))}
    if not means:
        return f"no run has a mean of {title}"
    first, *others = sorted(means, key=lambda label: -means[label])
    if not others:
        return f"only {first} has a mean of {title} ({means[first]:.3f})"
    pairs = {other: _pair(comparisons, metric, first, other) for other in others}
    tested = {other: pair for other, pair in pairs.items() if pair is not None}
    if len(tested) < len(pairs):
        sampled = {run.label for run in runs if run.items is not None}
        why = "no shared items" if {first, *others} - tested.keys() <= sampled else "for want of samples"
        return f"{first} has the highest {title} ({means[first]:.3f}), untested: {why}"
    ahead = [other for other, pair in tested.items() if pair.established and pair.difference < 0]
    if ahead:
        return (
            f"{first} has the highest {title} ({means[first]:.3f}), but {some_names(ahead)} "
            f"{'is' if len(ahead) == 1 else 'are'} ahead on the shared items: results and samples disagree"
        )
    level = [other for other, pair in tested.items() if not pair.established]
    if level:
        return f"{some_names([first, *level])} cannot be told apart at the top of {title}"
    second = tested[others[0]]
    return f"{first} leads {title} by {second.difference:.3f} [{second.low:.3f}, {second.high:.3f}]"


@dataclass(frozen=True)
class _Pair:
    difference: float
    low: float
    high: float
    established: bool


def _pair(comparisons: pd.DataFrame, metric: str, first: str, second: str) -> _Pair | None:
    """The comparison of two rows, first minus second; None where they share no item."""
    row = comparison_of(comparisons, metric, first, second)
    if row is None or not row["items"]:
        return None
    sign = 1 if row["first"] == first else -1
    low, high = sorted((sign * row["low"], sign * row["high"]))
    return _Pair(sign * row["difference"], low, high, bool(row["p_holm"] <= ESTABLISHED))


def some_names(labels: Sequence[str]) -> str:
    """Names in a sentence: all of a few, the first of many."""
    names = list(labels[:NAMES_SHOWN])
    if len(labels) > NAMES_SHOWN:
        names.append(f"{len(labels) - NAMES_SHOWN} more")
    return listed(names)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, all of them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


#: Fields of the generation signature in which the rows of one board should agree, and how a row that does not is told.
GENERATION = {
    "prompt": "prompt {own} instead of {usual}",
    "system": "system prompt {own} instead of {usual}",
    "tokens": "{own} instead of {usual} tokens",
    "temperature": "temperature {own} instead of {usual}",
}


def differences_between_rows(board: Board) -> list[str]:
    """The rows whose generation is not that of most, and in what; empty where all may be compared with each other."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for run in board.runs:
        said = fields(run.result.generation)
        alike.setdefault(tuple(said.get(name, "unknown") for name in GENERATION), []).append(run.label)
    # Of groups of one size the first, which has the best row.
    usual, those = max(alike.items(), key=lambda group: len(group[1]))
    odd = {made: labels for made, labels in alike.items() if made != usual}
    found = [f"{some_names(labels)} had {listed(_unusual(made, usual))}" for made, labels in odd.items()]
    if len(found) > NAMES_SHOWN:
        left = sum(len(labels) for labels in list(odd.values())[NAMES_SHOWN:])
        found = [*found[:NAMES_SHOWN], f"{left} more differ in other ways"]
    if found and len(those) > 1:
        found.append("the others are alike")
    return found


def _unusual(made: Sequence[str], usual: Sequence[str]) -> list[str]:
    return [
        words.format(own=_grouped(own), usual=_grouped(other))
        for words, own, other in zip(GENERATION.values(), made, usual, strict=True)
        if own != other
    ]


def _grouped(value: str) -> str:
    """A number of tokens with its thousands; hashes and words as they are."""
    return f"{int(value):,}" if re.fullmatch(r"[1-9]\d{3,6}", value) else value


def differences_from_paper(board: Board) -> list[str]:
    """Why rows of a board cannot be set beside the paper's table; empty where nothing known speaks against it."""
    return list(dict.fromkeys(reason for run in board.runs for reason in run.result.differs_from_paper))


@dataclass(frozen=True)
class Flag:
    """Something that a reader must know before reading the numbers; of the whole board where ``label`` is empty."""

    label: str
    title: str
    text: str


def flags(board: Board, kin: Callable[[str], str | None] = lambda model: None) -> list[Flag]:
    """The red flags of a board: part of the data, truncation, system prompts, failed calls, scripted models, and more.

    ``kin`` tells of a model whether its family helped to write the references, and how.
    """
    found = []
    if board.items < board.of:
        found.append(Flag("", "Part of the data", f"{board.items:,} of {board.of:,} items: not the benchmark's score."))
    between = differences_between_rows(board)
    if between:
        found.append(Flag("", "Rows made differently", f"{'; '.join(between)}."))
    for run in board.runs:
        found += [Flag(run.label, title, text) for title, text in _flags(run, kin(run.result.model))]
    return found


def _flags(run: Run, kin: str | None) -> Iterable[tuple[str, str]]:
    generation = fields(run.result.generation)
    if run.result.scripted:
        yield "Scripted", "A stand-in with a known behaviour wrote the responses, not a model."
    truncated, usable = _share(run, "truncated"), _share(run, "format_usable")
    if truncated > TRUNCATED:
        yield (
            "Truncated",
            f"{truncated:.1%} of the responses broke off or reached the limit of {generation.get('tokens', 'unknown')} "
            "tokens: raise max_new_tokens before reading anything else.",
        )
    if 1 - usable > UNUSABLE:
        yield "Unusable", f"{1 - usable:.1%} of the responses could not be read and count as misses."
    system = generation.get("system", "unknown")
    if system not in ("none", "unknown"):
        yield "System prompt", f"The adapter added a system prompt (SHA-256 {system}...)."
    if generation.get("prompt", "unknown") == "unknown":
        yield "Unknown prompt", "The predictions were made elsewhere; prompt and settings are not known."
    if generation.get("temperature") not in ("0", "unknown", None):
        yield "Not greedy", f"Temperature {generation['temperature']}: another run gives other numbers."
    if kin:
        yield "Kin", f"{kin}: its steps may resemble the references for that reason."
    failed = 0 if run.items is None else int((run.items["status"] == "failed").sum())
    if failed:
        yield "Failed calls", f"{failed:,} calls never succeeded and count as misses: run the same command again."
    lenient = _share(run, "accuracy") - _share(run, "accuracy_strict")
    if lenient > LENIENT:
        yield "Lenient rule", f"The paper's rule accepts {lenient:.1%} more answers than the strict one."
    ordered = run.mean("lis_multi")
    share = (ordered.items or 0) / run.result.items if ordered else 0
    if share < ORDERED:
        few = f"Only {share:.0%} of the items match" if round(share, 2) else "Hardly any item matches"
        few = few if share else "No item matches"
        yield "Little order", f"{few} two steps or more, so order says little."


def _share(run: Run, metric: str) -> float:
    mean = run.mean(metric)
    return mean.mean if mean else math.nan
