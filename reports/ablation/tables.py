"""What an ablation found, as tables and sentences, as CSV and as Markdown."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import pandas as pd

from ..gfm import bullets, escape
from ..grid import Grid
from .measure import Ablation
from .rankings import Ranking, Wordings, by_both_orders, over_prompts, over_settings, over_settings_above_null

TITLES = {"match_f1": "Match F1", "precision": "Precision", "recall": "Recall"}
#: Shown by threshold too, beside what the figure has.
ABOVE_NULL = "f1_above_null"
TABLES = {**TITLES, ABOVE_NULL: "Match F1 above null"}
FIGURE = "Match F1, precision and recall by encoder and threshold"
#: Columns of the CSV that say which runs and items a row is about.
ABOUT = ("task", "data", "of")
ORDER_NOTE = (
    "LIS is the longest run of matches in order over all matches, Kendall's tau the share of pairs of matches that are "
    "in order (0.5 by chance; LIS has a chance level that falls with the number of matches). Both over the items with "
    "two matches or more; the correlation is Spearman's of the two over those items, empty where one never varies."
)
NULL_NOTE = (
    "Above null: Match F1 less that of the same steps against another item's reference steps, at the same setting. "
    "Where a lenient encoder or threshold makes any two steps match, Match F1 is high and this is near 0."
)


def grids(ablation: Ablation) -> list[Grid]:
    """The tables: each metric by encoder and threshold, order measured both ways, ranks, and prompts if any."""
    found = [_by_threshold(ablation, metric) for metric in TABLES if ablation.table[metric].notna().all()]
    found.append(_order(ablation))
    ranking, wordings = over_settings(ablation), over_prompts(ablation)
    if ranking:
        found.append(_ranks(ranking, "Rank by Match F1 over all settings", _names(ablation)))
    if wordings:
        found.append(_prompts(wordings, ablation))
        if wordings.ranking:
            found.append(_ranks(wordings.ranking, "Rank by Match F1 over the wordings of the prompt", {}))
    return found


def sentences(ablation: Ablation) -> list[str]:
    """What has to be known beside the tables."""
    cohort, reference = ablation.cohort, ablation.reference
    part = "" if ablation.items == cohort.of else f" of {cohort.of:,}"
    said = [
        f"{cohort.task}: {ablation.items:,}{part} items, {len(cohort.runs)} runs. Reference: {reference.encoder} at "
        f"{reference.tau:g}.",
        *_lacking(ablation),
        *ablation.checks,
    ]
    ranking, wordings, orders = over_settings(ablation), over_prompts(ablation), by_both_orders(ablation)
    said += ranking.sentences if ranking else ["One model or one setting: there is no ranking that could change."]
    said += over_settings_above_null(ablation)
    said += wordings.ranking.sentences if wordings and wordings.ranking else ()
    said += _which_prompts(ablation, wordings) if wordings else ()
    said += [orders] if orders else []
    said.append(ORDER_NOTE)
    if ablation.table[ABOVE_NULL].notna().all():
        said.append(NULL_NOTE)
    if any(run.result.scripted for run in cohort.runs):
        said.append("* written by a scripted stand-in with a known behaviour, not by a model")
    reasons = dict.fromkeys(reason for run in cohort.runs for reason in run.result.differs_from_paper)
    said.append(
        "Numbers of different encoders or thresholds are not comparable with each other; what can be compared is how "
        "models stand to each other within one setting."
        + (f" Nor are these comparable with the paper's ablation: {'; '.join(reasons)}." if reasons else "")
    )
    return said


def _lacking(ablation: Ablation) -> list[str]:
    known, shared = ablation.cohort.known, ablation.cohort.shared
    if len(known) == len(shared):
        return []
    return [
        f"Only the {len(shared):,} items that all runs have are taken, so that ranks are over the same ones; "
        f"{len(known) - len(shared):,} more are not in every run's samples."
    ]


def _which_prompts(ablation: Ablation, wordings: Wordings) -> Iterator[str]:
    """Which row had which wording: the rows of one model are told apart by numbers only."""
    rows = ablation.at_reference
    for prompt in wordings.values.columns:
        labels = rows.index[(rows["prompt"] == prompt) & rows["model"].isin(wordings.values.index)]
        yield f"Prompt {prompt}, as the run printed it in its generation signature: {', '.join(map(str, labels))}."
    yield (
        "Whether two wordings differ by more than chance stands in the report (crystal-eval report), which compares "
        "their rows on the same items."
    )


def to_csv(ablations: Sequence[Ablation]) -> str:
    """A row a run, encoder and threshold, numbers to full precision."""
    frames = []
    for ablation in ablations:
        frame = ablation.table.assign(task=ablation.cohort.task, data=ablation.cohort.data, of=ablation.cohort.of)
        reference = (frame["encoder"] == ablation.reference.encoder) & (frame["tau"] == ablation.reference.tau)
        frames.append(frame.assign(reference=reference)[[*ABOUT, *ablation.table.columns, "reference"]])
    written: str = pd.concat(frames).to_csv(index=False, lineterminator="\n")
    return written


def to_markdown(ablation: Ablation, figure: str, caption: str) -> str:
    """A section: the figure by its path, the tables, what has to be known."""
    parts = [f"## {escape(ablation.cohort.task)}", f"![{FIGURE}]({figure})", escape(caption)]
    parts += [grid.to_markdown() for grid in grids(ablation)]
    parts.append(bullets(sentences(ablation)))
    scorers = dict.fromkeys(run.result.scorer for run in ablation.cohort.runs)
    generations = [f"{run.label}: {run.result.generation}" for run in ablation.cohort.runs]
    signatures = [*(f"scored by the run with {scorer}" for scorer in scorers), *generations]
    parts.append("Signatures:\n\n" + bullets(signatures))
    return "\n\n".join(parts) + "\n"


def short_encoders(signatures: Sequence[str]) -> dict[str, str]:
    """A short name for each encoder, still different from the others'.

    >>> short_encoders(["a/mini@1", "a/large@1"])
    {'a/mini@1': 'mini', 'a/large@1': 'large'}
    """
    bare = [signature.rpartition("@")[0].rpartition("/")[2] or signature for signature in signatures]
    return {
        signature: name if bare.count(name) == 1 else signature
        for signature, name in zip(signatures, bare, strict=True)
    }


def _names(ablation: Ablation) -> dict[str, str]:
    return {run.label: f"{run.label}*" if run.result.scripted else run.label for run in ablation.cohort.runs}


def _by_threshold(ablation: Ablation, metric: str) -> Grid:
    values, names, encoders = ablation.by_setting(metric), _names(ablation), short_encoders(ablation.encoders)
    means = {label: values.loc[label] for label in values.index}
    models = [run.label for run in ablation.cohort.runs if not run.result.scripted]
    if len(models) > 1:
        names["mean of models"], means["mean of models"] = "mean of models", values.loc[models].mean()
    rows = [
        [names[label], encoders[encoder], *(_number(mean[encoder, tau]) for tau in ablation.taus)]
        for label, mean in means.items()
        for encoder in ablation.encoders
    ]
    headings = ["Model", "Encoder", *(f"{tau:.2f}" for tau in ablation.taus)]
    return Grid(f"{TABLES[metric]} by encoder and threshold", headings, rows, words=2)


def _order(ablation: Ablation) -> Grid:
    names = _names(ablation)
    rows = [
        [
            names[str(label)],
            str(row["order_items"]),
            _number(row["lis_multi"]),
            _number(row["kendall_multi"]),
            _number(row["order_agreement"]),
        ]
        for label, row in ablation.at_reference.iterrows()
    ]
    return Grid("Order at the reference", ["Model", "Items", "LIS", "Kendall's tau", "Correlation"], rows)


def _ranks(ranking: Ranking, title: str, names: Mapping[str, str]) -> Grid:
    ranks = ranking.stability.ranks.sort_values("reference", kind="stable")
    columns = (ranks[name].tolist() for name in ("reference", "best", "worst", "kept"))
    rows = [
        [names.get(str(label), str(label)), str(reference), _span(best, worst), f"{kept:.0%}"]
        for label, reference, best, worst, kept in zip(ranks.index, *columns, strict=True)
    ]
    return Grid(title, ["Model", "Reference", "All", "Kept"], rows)


def _span(best: int, worst: int) -> str:
    return str(best) if best == worst else f"{best} to {worst}"


def _prompts(wordings: Wordings, ablation: Ablation) -> Grid:
    scripted = {run.result.model for run in ablation.cohort.runs if run.result.scripted}
    return Grid(
        "Match F1 by prompt, at the reference",
        ["Model", *map(str, wordings.values.columns), "Largest difference"],
        list(_prompt_rows(wordings, scripted)),
    )


def _prompt_rows(wordings: Wordings, scripted: Collection[str]) -> Iterator[list[str]]:
    for model, values in wordings.values.iterrows():
        yield [
            f"{model}*" if model in scripted else str(model),
            *map(_number, values),
            _number(values.max() - values.min()),
        ]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"
