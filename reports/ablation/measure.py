"""Step scores of runs under every pair of encoder and threshold; each text is embedded once an encoder."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from tqdm import tqdm

from ...errors import CrystalError
from ...metrics import ALPHA, TAU, StepEncoder, StepScores, macro_mean
from ...metrics.sweep import PAPER_TAUS, score_thresholds
from ...metrics.validity import null_partners
from ..chains import Chain, Cohort, draw_items, read_cohort, signed_number
from ..encoders import chain_similarity, embed_chains
from ..study import Run, fields

#: What each setting is measured by, over all items.
OVERALL = ("match_f1", "precision", "recall", "ordered_f1")
#: The same over the items with two matches or more: with fewer both measures of order are 1.
ORDER = ("lis", "kendall_tau")
#: Items on which both have to be known before their correlation is worth a number.
LEAST_ITEMS = 10
#: Scores of one encoder on two kinds of device differ by less, unless a similarity lies at the threshold.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Setting:
    """An encoder, by its signature, and a threshold."""

    encoder: str
    tau: float


@dataclass(frozen=True)
class Ablation:
    """What came out for one cohort.

    ``table`` has a row a run, encoder and threshold: ``label``, ``model``, ``scripted``, ``prompt``, ``encoder``
    (signature), ``tau``, ``own`` (whether the run was scored so), ``items``, the means of ``OVERALL``, ``order_items``
    ``null_f1`` and ``f1_above_null`` (NaN where there is one item only), ``order_items`` (with two matches or more) and
    over those ``lis_multi``, ``kendall_multi`` and ``order_agreement`` (Spearman's rank
    correlation of the two over items). ``reference`` is the setting that all others are compared with.
    """

    cohort: Cohort
    table: pd.DataFrame
    reference: Setting
    items: int
    checks: tuple[str, ...]

    @property
    def encoders(self) -> list[str]:
        """Signatures of the encoders, in the order in which they were given."""
        return list(dict.fromkeys(self.table["encoder"]))

    @property
    def taus(self) -> list[float]:
        """The thresholds, the lowest first."""
        return sorted(set(self.table["tau"]))

    @property
    def at_reference(self) -> pd.DataFrame:
        """The rows of the reference setting, by label, in the order of the runs."""
        is_reference = (self.table["encoder"] == self.reference.encoder) & (self.table["tau"] == self.reference.tau)
        return self.table[is_reference].set_index("label")

    def by_setting(self, metric: str) -> pd.DataFrame:
        """A metric with a row a run and a column ``(encoder, tau)`` a setting, both in their order."""
        columns = pd.MultiIndex.from_product([self.encoders, self.taus], names=["encoder", "tau"])
        wide = self.table.pivot(index="label", columns=["encoder", "tau"], values=metric)
        return wide.reindex(index=[run.label for run in self.cohort.runs], columns=columns)


def ablate(
    cohort: Cohort,
    encoders: Sequence[StepEncoder],
    taus: Sequence[float] = PAPER_TAUS,
    limit: int | None = None,
    cache_folder: Path | None = None,
    progress: bool = False,
) -> Ablation:
    """Scores the runs of a cohort with each encoder at each threshold, on the items that all of them have.

    ``limit`` is a number of items; fewer are drawn from these. Raises ``CrystalError`` where they share none.
    ``cache_folder`` is where embeddings of reference steps are kept; None keeps none.
    """
    if not cohort.shared:
        raise CrystalError(
            f"The runs of {cohort.task} share no item, so they cannot be ranked: "
            f"{', '.join(run.label for run in cohort.runs)}; give runs over the same items."
        )
    doc_ids = draw_items(cohort.shared, limit)
    chains = read_cohort(cohort, doc_ids, progress)
    rows: list[dict[str, object]] = []
    checks: list[_Check] = []
    # One encoder may be given by two names: with a slash at its end, or by a link.
    for encoder in {encoder.signature: encoder for encoder in encoders}.values():
        table = embed_chains(encoder, chains, cache_folder, progress)
        total = sum(map(len, chains))
        with tqdm(total=total, desc=f"Matching, {encoder.id}", unit="item", disable=not progress) as bar:
            for run, run_chains in zip(cohort.runs, chains, strict=True):
                scores, nulls = [], []
                for chain, against in zip(run_chains, _nulls(run_chains), strict=True):
                    scores.append(score_thresholds(chain_similarity(table, chain), taus, _alpha(run)))
                    if against:
                        nulls.append(score_thresholds(chain_similarity(table, against), taus, _alpha(run)))
                    bar.update()
                rows += _rows(run, encoder.signature, taus, scores, nulls)
                checks += _checks(run, encoder.signature, taus, run_chains, scores)
    frame = pd.DataFrame(rows)
    return Ablation(cohort, frame, _reference(frame), len(doc_ids), tuple(_verdict(checks)))


def _nulls(chains: Sequence[Chain]) -> list[Chain | None]:
    """Each chain with the reference steps of the item that is its null; None where there is no other item."""
    partners = null_partners((chain.source, chain.question, chain.reference) for chain in chains)
    return [
        None if place is None else replace(chain, reference=chains[place].reference)
        for chain, place in zip(chains, partners, strict=True)
    ]


def _alpha(run: Run) -> float:
    return signed_number(run, "alpha", ALPHA)


def _rows(
    run: Run,
    encoder: str,
    taus: Sequence[float],
    scores: Sequence[Sequence[StepScores]],
    nulls: Sequence[Sequence[StepScores]],
) -> Iterator[dict[str, object]]:
    for place, tau in enumerate(taus):
        at_tau = [of_item[place] for of_item in scores]
        ordered = [one for one in at_tau if len(one.pairs) >= 2]
        order = {name: [getattr(one, name) for one in ordered] for name in ORDER}
        means = {name: macro_mean([getattr(one, name) for one in at_tau], name) for name in OVERALL}
        # All items have another one, or there is only one.
        null = macro_mean([of_item[place].match_f1 for of_item in nulls], "null_f1") if nulls else math.nan
        yield {
            "label": run.label,
            "model": run.result.model,
            "scripted": run.result.scripted,
            "prompt": fields(run.result.generation).get("prompt", "unknown"),
            "encoder": encoder,
            "tau": tau,
            "own": _is_own(run, encoder, tau),
            "items": len(at_tau),
            **means,
            "null_f1": null,
            "f1_above_null": means["match_f1"] - null,
            "order_items": len(ordered),
            "lis_multi": macro_mean(order["lis"]) if ordered else math.nan,
            "kendall_multi": macro_mean(order["kendall_tau"]) if ordered else math.nan,
            "order_agreement": _rank_correlation(order["lis"], order["kendall_tau"]),
        }


def _rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's, over items; NaN where one of them is the same everywhere, or where there are few."""
    if len(x) < LEAST_ITEMS or len(set(x)) == 1 or len(set(y)) == 1:
        return math.nan
    return float(stats.spearmanr(x, y).statistic)


def _is_own(run: Run, encoder: str, tau: float) -> bool:
    parts = fields(run.result.scorer)
    return parts.get("enc") == encoder and math.isclose(signed_number(run, "tau", math.nan), tau)


def _reference(table: pd.DataFrame) -> Setting:
    """The setting that most runs were scored with; else the first encoder with the threshold nearest to the paper's."""
    own = table[table["own"]]
    settings = [Setting(str(encoder), float(tau)) for encoder, tau in zip(own["encoder"], own["tau"], strict=True)]
    if settings:
        return max(settings, key=settings.count)
    first = str(table["encoder"].iloc[0])
    return Setting(first, min(set(table["tau"]), key=lambda tau: (abs(tau - TAU), tau)))


@dataclass(frozen=True)
class _Check:
    """How a run's own setting came out again: values that differ from what it wrote, and the largest difference.

    ``of_mean`` marks the mean in its results file; else the values are those of its items.
    """

    label: str
    values: int
    differing: int
    largest: float
    of_mean: bool = False


def _checks(
    run: Run, encoder: str, taus: Sequence[float], chains: Sequence[Chain], scores: Sequence[Sequence[StepScores]]
) -> Iterator[_Check]:
    items = run.items
    assert items is not None
    for place, tau in enumerate(taus):
        if _is_own(run, encoder, tau):
            metrics = [*OVERALL, *ORDER]
            again = np.array([[getattr(one[place], name) for name in metrics] for one in scores])
            written = items.loc[[chain.doc_id for chain in chains], metrics].to_numpy(float)
            # What a run did not write cannot differ.
            apart = np.nan_to_num(np.abs(again - written)).max(axis=1)
            yield _Check(run.label, len(apart), int((apart > TOLERANCE).sum()), float(apart.max()))
            if len(apart) == run.result.items:
                apart_mean = abs(float(again[:, 0].mean()) - run.result.metrics["match_f1"].mean)
                yield _Check(run.label, 1, int(apart_mean > TOLERANCE), apart_mean, of_mean=True)


def _verdict(checks: Sequence[_Check]) -> Iterator[str]:
    """Whether the numbers that the runs wrote came out again, in sentences."""
    if not checks:
        yield (
            "Not checked against the results files: no run was scored with one of these encoders at one of these "
            "thresholds."
        )
        return
    wrong = [check for check in checks if check.differing]
    if not wrong:
        means = sum(check.of_mean for check in checks)
        and_means = f", and {means} the means of their results files" if means else ""
        yield (
            f"Checked: with their own encoder and threshold {len(checks) - means} runs have the scores that they "
            f"wrote, item by item{and_means} (largest difference {max(check.largest for check in checks):.1e})."
        )
    for check in wrong:
        name = f"{check.label} (mean)" if check.of_mean else check.label
        yield (
            f"{name}: with its own encoder and threshold {check.differing} of {check.values} values differ from what "
            f"the run wrote, by up to {check.largest:.3f}; another device, or other weights under the same name."
        )
