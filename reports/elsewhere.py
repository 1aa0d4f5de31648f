"""A board's models on other benchmarks: columns of the table, ranks, and what the two rankings say in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..errors import CrystalError
from .benchmarks import Score
from .leaderboard import contenders, shown
from .model_names import canonical_name
from .rankings import Rankings, rank_table
from .screen import BenchmarkCell, BenchmarkColumn
from .statistics import MIN_MODELS, rank_correlation
from .study import Board, Run

#: Swaps of two models that are named; the others are counted.
SWAPS = 5
#: Scores on 0 to 1 are printed in percent, as the benchmarks' own tables have them.
PERCENT = 100.0

#: Scores by the label of the run.
Scores = Mapping[str, Sequence[Score]]


@dataclass(frozen=True)
class Elsewhere:
    """Other benchmarks beside a board: a column each, the rankings, and sentences about them."""

    columns: tuple[BenchmarkColumn, ...]
    rankings: Rankings
    sentences: tuple[str, ...]

    @property
    def means(self) -> dict[str, float]:
        """The mean over the shared benchmarks by label, of the models that have one."""
        means = self.rankings.table["others"].dropna()
        return {str(label): float(mean) for label, mean in means.items()}


def scores_of(board: Board, outside: Mapping[str, Sequence[Score]], aliases: Mapping[str, str]) -> Scores:
    """The main scores of each run from its results files, and those of ``outside`` (by model) that these lack.

    Raises ``CrystalError`` where one model has two scores of a benchmark in ``outside``, under two names.
    """
    models = [run.result.model for run in board.runs]
    given: dict[str, list[Score]] = {}
    for name, scores in outside.items():
        model = canonical_name(name, models, aliases)
        of_model = given.setdefault(model, [])
        twice = {score.name for score in scores} & {score.name for score in of_model}
        if twice:
            raise CrystalError(
                f"{model} has two scores for {min(twice)!r} from elsewhere, under two of its names, {name!r} the "
                "second; leave one."
            )
        of_model.extend(scores)
    known_as = {run.label: canonical_name(run.result.model, models, aliases) for run in board.runs}
    return {run.label: _scores(run, given.get(known_as[run.label], ())) for run in board.runs}


def unused_scores(
    boards: Sequence[Board], outside: Mapping[str, Sequence[Score]], aliases: Mapping[str, str]
) -> list[str]:
    """A sentence for each model of ``outside`` that no board has."""
    models = [run.result.model for board in boards for run in board.runs]
    known = {canonical_name(model, models, aliases) for model in models}
    return [
        f"{name} has scores from elsewhere and no results here, so they are left out; see --aliases if it has another "
        "name."
        for name in outside
        if canonical_name(name, models, aliases) not in known
    ]


def _scores(run: Run, given: Sequence[Score]) -> list[Score]:
    measured = {score.name for score in run.others}
    return [*run.others, *(score for score in given if score.name not in measured)]


def elsewhere(board: Board, scores: Scores, comparisons: pd.DataFrame) -> Elsewhere:
    """What other benchmarks say of a board's models; ``comparisons`` are those of ``statistics.compare_models``."""
    means = pd.DataFrame(
        {metric: [_mean(run, metric) for run in board.runs] for metric in ("accuracy", "match_f1")},
        index=[run.label for run in board.runs],
    )
    rankings = rank_table(means, scores, comparisons)
    return Elsewhere(_columns(board, scores), rankings, _sentences(board, rankings))


def _mean(run: Run, metric: str) -> float:
    mean = run.mean(metric)
    return mean.mean if mean else math.nan


def _columns(board: Board, scores: Scores) -> tuple[BenchmarkColumn, ...]:
    names = list(dict.fromkeys(score.name for found in scores.values() for score in found))
    return tuple(
        _column(board, name, {label: score for label, found in scores.items() for score in found if score.name == name})
        for name in names
    )


def _column(board: Board, name: str, scores: Mapping[str, Score]) -> BenchmarkColumn:
    one = next(iter(scores.values()))
    in_percent = all(score.scale is not None for score in scores.values()) and (
        one.scale == 1 or len({score.scale for score in scores.values()}) > 1
    )
    printed = {label: _number(score, in_percent) for label, score in scores.items()}
    guessed = any(score.guessed for score in scores.values())
    leaders: set[str] = set()
    rivals = {run.label: printed[run.label] for run in contenders(board) if run.label in printed}
    if one.higher_is_better and not guessed and len(set(rivals.values())) > 1:
        leaders = {label for label, number in rivals.items() if number == max(rivals.values())}
    cells = {
        label: BenchmarkCell(printed[label], "elsewhere" if score.source else "", label in leaders)
        for label, score in scores.items()
    }
    return BenchmarkColumn(f"{name} ?" if guessed else name, _meaning(one, guessed, in_percent), cells)


def _number(score: Score, in_percent: bool) -> float:
    number = PERCENT * score.value if in_percent and score.value is not None else score.raw
    return round(number, 1)


def _meaning(score: Score, guessed: bool, in_percent: bool) -> str:
    words = f"{score.metric} of {score.task}"
    words += f", the plain mean of {len(score.parts)} tasks" if score.parts else ""
    words += ", in percent" if in_percent else f", up to {score.scale:g}" if score.scale else ""
    words += "" if score.higher_is_better else "; lower is better"
    return words + ("; a guess at its main metric" if guessed else "")


def _sentences(board: Board, rankings: Rankings) -> tuple[str, ...]:
    said = []
    if rankings.benchmarks:
        models = int(rankings.table["others"].notna().sum())
        said.append(
            f"Mean of {', '.join(rankings.benchmarks)} on 0 to 1 over the {models} models that have "
            f"{'them all' if len(rankings.benchmarks) > 1 else 'it'}; guessed metrics are left out."
        )
        said += [
            _correlation(rankings.table, "match_f1", "Match F1"),
            _correlation(rankings.table, "accuracy", "Accuracy"),
        ]
    swaps: list[dict[str, Any]] = rankings.swaps.to_dict("records")  # type: ignore[assignment]
    scripted = {run.label for run in board.runs if run.result.scripted}
    swaps = [swap for swap in swaps if not {swap["better_match_f1"], swap["better_accuracy"]} & scripted] or swaps
    swaps.sort(key=lambda swap: (not swap["established"], -swap["match_f1_difference"]))
    if swaps:
        settled = sum(swap["established"] for swap in swaps)
        said.append(
            f"{len(swaps):,} pair{'s' if len(swaps) > 1 else ''} of models stand{'' if len(swaps) > 1 else 's'} in one "
            f"order by Match F1 and in the other by accuracy, {settled:,} of them with both differences established."
        )
        said += map(_swap, swaps[:SWAPS])
    return tuple(said)


def _swap(swap: Mapping[str, Any]) -> str:
    ahead, behind = (shown(swap[name], 3) for name in ("match_f1_difference", "accuracy_difference"))
    doubt = "" if swap["established"] else ", not both established"
    return (
        f"{swap['better_match_f1']} is ahead of {swap['better_accuracy']} by {ahead} in Match F1 and behind by "
        f"{behind} in accuracy{doubt}."
    )


def _correlation(table: pd.DataFrame, metric: str, title: str) -> str:
    """How far a metric ranks models as their other benchmarks do; said of six models or more only."""
    found = rank_correlation(table[metric], table["others"])
    if found is None:
        return f"{title} against that mean: a rank correlation needs {MIN_MODELS} models or more."
    return (
        f"{title} against that mean: Kendall's tau {found.kendall:.2f} [{found.kendall_low:.2f}, "
        f"{found.kendall_high:.2f}] over {found.models} models."
    )
