"""Which runs of an ablation are ranked against each other: over settings, over measures of order, over prompts."""

from dataclasses import dataclass

import pandas as pd

from .measure import Ablation
from .stability import Stability, in_words, rank_stability

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Ranking:
    """A stability, what is ranked and over what, and the sentences that say what it comes to."""

    stability: Stability
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Wordings:
    """Match F1 of models under several prompts at the reference setting.

    ``values`` has a row a model that ran with two prompts or more and a column a prompt (8 hexadecimal digits of its
    SHA-256), NaN where it did not run; ``ranking`` is over the models that ran with all prompts that they share.
    """

    values: pd.DataFrame
    ranking: Ranking | None


def over_settings(ablation: Ablation) -> Ranking | None:
    """The ranking of models by Match F1 over all encoders and thresholds; None with one model or one setting."""
    chosen = _ranked(ablation)
    values = ablation.by_setting("match_f1").loc[chosen]
    stability = rank_stability(values, (ablation.reference.encoder, ablation.reference.tau))
    if stability is None:
        return None
    sentences = in_words(stability, f"{stability.settings} settings")
    left = len(ablation.cohort.runs) - len(chosen)
    if left:
        sentences.append(
            f"{left} runs are not ranked: scripted stand-ins beside models, or further runs of a model that is ranked."
        )
    return Ranking(stability, tuple(sentences))


def over_settings_above_null(ablation: Ablation) -> list[str]:
    """The same by Match F1 above null, in sentences; none with one model or one setting, or where there is no null."""
    values = ablation.by_setting("f1_above_null").loc[_ranked(ablation)].dropna()
    stability = rank_stability(values, (ablation.reference.encoder, ablation.reference.tau))
    return in_words(stability, "the same settings, by Match F1 above null,") if stability else []


def by_both_orders(ablation: Ablation) -> str | None:
    """Whether LIS and Kendall's tau put the models in the same order, in a sentence; None with fewer than two."""
    both = ablation.at_reference.loc[_ranked(ablation), ["lis_multi", "kendall_multi"]].dropna()
    stability = rank_stability(both, "lis_multi")
    if stability is None:
        return None
    still = stability.pairs - len(stability.swaps)
    return (
        f"Of the {stability.pairs} pairs of models that differ in LIS {still} stand in the same order by Kendall's tau "
        "or tie there."
    )


def over_prompts(ablation: Ablation) -> Wordings | None:
    """Models under several wordings of the prompt; None where no model has two runs with known, different ones."""
    rows = ablation.at_reference
    known = rows[rows["prompt"] != UNKNOWN]
    # Of two runs that differ in something else the first one counts, which stands higher on the board.
    table = known.drop_duplicates(["model", "prompt"]).pivot(index="model", columns="prompt", values="match_f1")
    table = table.loc[list(dict.fromkeys(known["model"]))]
    models = [model for model, runs in table.notna().sum(axis=1).items() if runs > 1]
    if not models:
        return None
    values = table.loc[models].dropna(axis=1, how="all")
    # The prompt that most models ran with first: the reference of the others.
    spread = values.notna().sum().to_dict()
    values = values[sorted(values.columns, key=lambda prompt: (-spread[prompt], prompt))]
    shared = values.dropna(axis=1, thresh=min(2, len(values))).dropna()
    stability = rank_stability(shared, shared.columns[0]) if shared.shape[1] else None
    ranking = None
    if stability is not None:
        ranking = Ranking(stability, tuple(in_words(stability, f"{stability.settings} wordings of the prompt")))
    return Wordings(values, ranking)


def _ranked(ablation: Ablation) -> list[str]:
    """Labels of the runs that are ranked: one a model, and no stand-ins beside two models or more."""
    rows = ablation.at_reference
    models = rows[~rows["scripted"]]
    if models["model"].nunique() > 1:
        rows = models
    common = rows["prompt"].value_counts()
    # The run with the prompt that most runs have; else the one that stands highest.
    order = sorted(range(len(rows)), key=lambda place: (-int(common[rows["prompt"].iloc[place]]), place))
    first = rows.iloc[order].drop_duplicates("model").index
    return [label for label in rows.index if label in set(first)]
