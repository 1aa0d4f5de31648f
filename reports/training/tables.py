"""The tables of single trainings: changes, phases, diagnostics, and the paper's rows beneath."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..boards import p_printed
from .cells import Cell, Head, Row, Table, between, fixed, short
from .changes import Change
from .paper import NOTE, SETTINGS_FILE, STRATEGIES_FILE, WEIGHTS_FILE, WEIGHTS_NOTE, published
from .read import Phase, Training, number

#: Digits of a metric that is no share.
DIGITS = {"steps": 1}


def changes_table(found: Sequence[Change]) -> Table:
    """Before and after of one training, a row a metric."""
    tested = [change for change in found if change.tested]
    heads: tuple[Head, ...] = (Head("Before"), Head("After"), Head("Change", "after minus before"))
    if tested:
        heads = (
            *heads[:2],
            Head("Change", "after minus before", "95 % interval"),
            Head("p", "two-sided, for this metric alone"),
            Head("Established", "whether p is at most 0.05"),
        )
        counts = sorted({change.items for change in tested})
        items = f"{counts[-1]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        caption = (
            f"Means over the same {items} held-out items, paired; 95 % intervals resampled by image within each "
            "source. Established where p is at most 0.05, each metric for itself. Longer chains match more by chance, "
            "so look at the row above null beside Match F1."
        )
    else:
        caption = "Means of the two validations; without the items of both, no interval and no test."
    rows = tuple(Row(change.title, _change_cells(change)[: len(heads)]) for change in found)
    return Table("before-after", "Before and after", "Metric", heads, rows, caption)


def _change_cells(change: Change) -> tuple[Cell, ...]:
    digits = DIGITS.get(change.metric, 3)
    interval = between(change.low, change.high, digits, sign=True)
    return (
        Cell(fixed(change.before, digits)),
        Cell(fixed(change.after, digits)),
        Cell(fixed(change.difference, digits, sign=True), interval, change.trend),
        Cell(p_printed(change.p) if change.tested else ""),
        Cell(("yes" if change.established else "no") if change.tested else "not tested"),
    )


def phases_table(training: Training) -> Table:
    """The phases of one training, and those of the paper beneath."""
    heads = (
        Head("Steps", "optimiser steps: in the log, of those planned"),
        Head("Chosen", "step of the checkpoint with which the next phase, or the evaluation, goes on"),
        Head("Learning rate"),
        Head("Batch", "prompts with their candidates on a device at once"),
        Head("Candidates", "responses to a prompt that are set against each other"),
        Head("Accumulation", "batches an optimiser step"),
    )
    rows = [_phase_row(phase) for phase in training.phases]
    rows += [
        Row(
            f"{row['backbone']}, phase {row['phase']}",
            tuple(
                Cell(text)
                for text in (
                    f"{int(row['steps']):,}",
                    "",
                    row["learning_rate"],
                    row["per_device_batch"],
                    row["candidates"],
                    row["grad_accumulation"],
                )
            ),
            paper=True,
        )
        for row in published(SETTINGS_FILE)
    ]
    caption = (
        "The paper’s rows are the settings of its Table S1, for four A100: phase 1 by answers only, phase 2 by CPR."
    )
    return Table("phases", "Phases", "Phase", heads, tuple(rows), caption)


def _phase_row(phase: Phase) -> Row:
    done = f"{phase.done:,}"
    planned = "" if phase.steps is None or phase.steps == phase.done else f" of {phase.steps:,}"
    return Row(
        f"Phase {phase.number}",
        (
            Cell(done + planned),
            Cell("" if phase.chosen is None else f"{phase.chosen:,}"),
            Cell(short(phase.learning_rate)),
            *(Cell(short(count)) for count in (phase.per_device_batch, phase.candidates, phase.accumulation)),
        ),
    )


@dataclass(frozen=True)
class Diagnostic:
    """A column of the paper's Table 6: the name here and in its file, and how it is headed."""

    name: str
    paper: str
    title: str
    meaning: str


DIAGNOSTICS = (
    Diagnostic(
        "val_accuracy",
        "val_accuracy_pct",
        "Accuracy",
        "of the chosen checkpoint on the held-out items; of a training here by the strict rule",
    ),
    Diagnostic("val_match_f1", "val_match_f1", "Match F1", "of the chosen checkpoint on the held-out items"),
    Diagnostic("val_recall", "val_recall", "Recall", "of the chosen checkpoint on the held-out items"),
    Diagnostic(
        "discrimination", "discrimination", "Discrimination", "mean reward of right responses minus that of wrong ones"
    ),
    Diagnostic(
        "reward_f1_pearson", "reward_f1_pearson", "r", "Pearson correlation of reward and Match F1 over responses"
    ),
    Diagnostic(
        "kl_max", "kl_max", "Largest KL", "the largest logged divergence from the model that its phase began with"
    ),
)


def diagnostics_table(trainings: Sequence[Training]) -> Table:
    """The diagnostics of the paper's Table 6 for each training, with its rows beneath."""
    heads = (
        Head("Weights", "of answer and steps in the reward"),
        *(Head(column.title, column.meaning) for column in DIAGNOSTICS),
        Head("Gradient norm", "mean at the beginning and at the end of the last phase", "trend in 100 steps"),
        Head("Conflicts", "share of optimiser steps on which both gradients conflicted", "mean cosine"),
        Head("Stable"),
    )
    rows = [_diagnostics_row(training, f"{training.method}, {training.name}") for training in trainings]
    rows += [
        Row(
            f"CPR {row['answer_weight']} / {row['step_weight']}",
            (
                Cell(f"{row['answer_weight']} / {row['step_weight']}"),
                *(Cell(_as_share(row[column.paper], column.paper)) for column in DIAGNOSTICS),
                Cell(),
                Cell(),
                Cell(row["stable"]),
            ),
            paper=True,
        )
        for row in published(WEIGHTS_FILE)
    ]
    return Table("training", "Diagnostics", "Training", heads, tuple(rows), f"{NOTE} {WEIGHTS_NOTE}")


def _diagnostics_row(training: Training, label: str) -> Row:
    known = training.diagnostics
    ends = [short(number(known.get(name))) for name in ("grad_norm_first", "grad_norm_last")]
    stable = known.get("stable")
    return Row(
        label,
        (
            Cell(_weights(training)),
            *(Cell(fixed(number(known.get(column.name)))) for column in DIAGNOSTICS),
            Cell(" → ".join(ends) if all(ends) else "", _trend(known.get("grad_norm_trend"))),
            Cell(fixed(number(known.get("conflict_share")), 2), fixed(number(known.get("cosine_mean")), 2, sign=True)),
            Cell(("yes" if stable else "no") if isinstance(stable, bool) else ""),
        ),
    )


def _weights(training: Training) -> str:
    """The weights that its method uses."""
    rewards = training.settings.get("rewards")
    known: Mapping[str, Any] = rewards if isinstance(rewards, Mapping) else {}
    if training.method == "answer-only":
        return "answers only"
    names = ("accuracy", "steps") if training.method == "composite" else ("answer_weight", "step_weight")
    pair = [fixed(number(known.get(name)), 2) for name in names]
    return " / ".join(pair) if all(pair) else ""


def _trend(value: Any) -> str:
    found = number(value)
    if found is None:
        return str(value or "")
    return f"+{short(found)}" if found > 0 else short(found)


def _as_share(text: str, column: str) -> str:
    """A figure of the paper as ours are printed: shares instead of percent."""
    return f"{float(text) / 100:.3f}" if column.endswith("_pct") and text else text


def strategies_table() -> Table:
    """The paper's rewards on both of its backbones."""
    columns = {
        "accuracy_pct": "Accuracy",
        "match_f1": "Match F1",
        "precision": "Precision",
        "recall": "Recall",
        "steps": "Steps",
        "lis": "LIS",
        "ordered_f1": "Ordered F1",
    }
    rows = [
        Row(row["strategy"], tuple(Cell(_as_share(row[column], column)) for column in columns), row["backbone"], True)
        for row in published(STRATEGIES_FILE)
    ]
    caption = f"Tables 4 and 5 of the paper, on CRYSTAL itself. {NOTE}"
    heads = tuple(Head(title) for title in columns.values())
    return Table("paper-strategies", "What the paper found", "Reward", heads, tuple(rows), caption)
