"""A study of agreement as tables and sentences, as JSON and as Markdown, with the paper's own beside it."""

import csv
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...jsonable import finite
from ...metrics.encoder import default_encoder, encoder_presets
from ..gfm import bullets
from ..grid import Grid
from .draw import ACCEPTED, BAND
from .files import Annotator, Key
from .measures import Agreement, Band, Kappa, Share, kappa_of_counts

TABLE3 = Path(__file__).parents[2] / "configs" / "paper_table3.csv"
#: What the paper prints; its counts give another number.
PRINTED_KAPPA = 0.534
#: The paper's threshold, at which its table parts matches from the rest.
PAPER_TAU = 0.35
#: Cosine from which two sentences are one to the encoder, whatever the rounding.
EQUAL = 1 - 1e-5
METHOD = (
    "Bands, agreement, precision, recall and kappa are over the pairs drawn by band, where the matcher says same above "
    "its threshold; pairs near it are far more frequent there than in a run, so these are not the shares of a run. "
    "Precision of accepted pairs is over a draw among those that the matcher took, weighted to all of them. Intervals "
    "are 95 %: Wilson's for shares (with Kish's effective number where pairs have weights), a bootstrap that draws "
    "items for kappa."
)


def grids(agreement: Agreement) -> list[Grid]:
    """The tables: agreement by band, the matcher against each annotator, and annotators against each other."""
    matcher = agreement.matcher
    found = [
        Grid(
            "Agreement with the matcher by similarity",
            ["Similarity", *(heading for one in matcher for heading in (one.annotator, "95 % int.", "Pairs"))],
            [
                [_stretch(bands[0]), *(text for band in bands for text in _cells(band.agreement))]
                for bands in zip(*(one.bands for one in matcher), strict=True)
            ],
        ),
        Grid(
            "The matcher, measured by people",
            ["Measure", *(heading for one in matcher for heading in (one.annotator, "95 % int.", "Pairs"))],
            [
                [title, *(text for one in matcher for text in _cells(getattr(one, name)))]
                for name, title in (
                    ("agreement", "agreement"),
                    ("precision", "precision above the threshold"),
                    ("recall", "recall within the sample"),
                    ("kappa", "Cohen's kappa"),
                    ("accepted_precision", "precision of accepted pairs"),
                )
            ],
        ),
    ]
    if agreement.between:
        rows = [
            [f"{one.first}, {one.second}", *_cells(one.agreement)[:2], *_cells(one.kappa)] for one in agreement.between
        ]
        headings = ["Annotators", "Agreement", "95 % int.", "Cohen's kappa", "95 % int.", "Pairs"]
        found.append(Grid("Between annotators", headings, rows))
    return found


def sentences(key: Key, annotators: Sequence[Annotator], agreement: Agreement) -> list[str]:
    """What has to be known beside the tables."""
    rows = {name for name, _ in key.draws}
    counts = {kind: sum(draw.kind == kind for _, draw in key.draws) for kind in (BAND, ACCEPTED)}
    models = len({draw.model for _, draw in key.draws})
    said = [
        f"{key.task}: {len(rows)} rows hold {counts[BAND]} pairs drawn by band and {counts[ACCEPTED]} accepted ones, "
        f"of {models} models and {key.items:,} of {key.of:,} items. Matcher: {key.encoder} at {key.tau:g}."
    ]
    said += _easy(key)
    for annotator, one in zip(annotators, agreement.matcher, strict=True):
        said.append(
            f"{annotator.name} labelled {len(annotator.labels)} of {len(rows)} rows; by band the matcher accepts "
            f"{_count(one.false_positives, 'pair')} that the annotator refuses, and refuses "
            f"{_count(one.false_negatives, 'pair')} that the annotator accepts."
        )
        if one.kappa.value is None and one.kappa.pairs:
            said.append(f"Kappa against {annotator.name} is not defined: one side gives the same label throughout.")
    if not agreement.between:
        said.append("One annotator: how far people agree with each other is not known.")
    return [*said, METHOD, paper_sentence(), *_beside_the_paper(key)]


def _easy(key: Key) -> Iterator[str]:
    """Where the pairs flatter the matcher: models that copy the reference, and sentences that are equal."""
    drawn = {draw.model for _, draw in key.draws}
    if stand_ins := [model for model in key.scripted if model in drawn]:
        yield (
            f"{len(stand_ins)} of the {len(drawn)} models are scripted stand-ins with a known behaviour, most "
            "of whose sentences are some item's own reference steps: nothing found on them carries over to models."
        )
    taken = [draw for _, draw in key.draws if draw.kind == ACCEPTED]
    equal = sum(draw.similarity >= EQUAL for draw in taken)
    if equal:
        yield (
            f"{equal} of the {len(taken)} accepted pairs are two sentences that the encoder cannot tell apart, which "
            "any matcher accepts."
        )


def _beside_the_paper(key: Key) -> Iterator[str]:
    """In what the matcher is another than that of the paper's study."""
    encoder = key.encoder.rpartition("@")[0]
    others = [
        *([f"encoder {encoder}"] if encoder != encoder_presets()[default_encoder()]["model"] else []),
        *([f"threshold {key.tau:g}"] if key.tau != PAPER_TAU else []),
    ]
    if others:
        yield f"Not comparable with it: {' and '.join(others)} instead of the paper's."


def paper_sentence() -> str:
    """The paper's own study in a sentence, with the kappa that its counts give."""
    paper = paper_study()
    return (
        f"The paper's study (its Table 3, one blinded annotator, {paper['pairs']} pairs): agreement "
        f"{paper['agreement']:.1%}, {paper['false_positives']} matches refused and {paper['false_negatives']} missed. "
        f"Its counts give Cohen's kappa {paper['kappa']:.3f}, not the {PRINTED_KAPPA} that it prints."
    )


@cache
def paper_study() -> dict[str, Any]:
    """Counts of the paper's Table 3 and what follows from them."""
    rows = [row for row in csv.DictReader(TABLE3.open(encoding="utf-8")) if row["cosine_low"] or row["cosine_high"]]
    counts = np.zeros(4, dtype=int)
    for row in rows:
        pairs = int(row["pairs"])
        agreed = round(pairs * float(row["agreement_pct"]) / 100)
        is_match = float(row["cosine_low"] or -1) >= PAPER_TAU
        # Neither, annotator only, matcher only, both: as kappa_of_counts takes them.
        counts += [0, 0, pairs - agreed, agreed] if is_match else [agreed, pairs - agreed, 0, 0]
    return {
        "pairs": int(counts.sum()),
        "agreement": float(counts[[0, 3]].sum() / counts.sum()),
        "false_positives": int(counts[2]),
        "false_negatives": int(counts[1]),
        "kappa": float(kappa_of_counts(counts[None])[0]),
        "kappa_printed": PRINTED_KAPPA,
    }


def to_json(key: Key, annotators: Sequence[Annotator], agreement: Agreement) -> str:
    """All numbers to full precision, with what made them; infinite ends of bands are null."""
    stated = {name: value for name, value in asdict(key).items() if name != "draws"}
    labels = {annotator.name: len(annotator.labels) for annotator in annotators}
    content = {**stated, "labelled": labels, **asdict(agreement), "paper": paper_study(), "method": METHOD}
    return json.dumps(finite(content), indent=1, ensure_ascii=False) + "\n"


def to_markdown(key: Key, annotators: Sequence[Annotator], agreement: Agreement) -> str:
    """A page with the tables and what has to be known."""
    said = [*sentences(key, annotators, agreement), *(f"Scored by the runs with {scorer}" for scorer in key.scorers)]
    parts = ["# Agreement of people with the matcher", *(grid.to_markdown() for grid in grids(agreement))]
    return "\n\n".join([*parts, bullets(said)]) + "\n"


def _stretch(band: Band) -> str:
    if band.low == -math.inf:
        return f"below {band.high:.2f}"
    return f"{band.low:.2f} and more" if band.high == math.inf else f"{band.low:.2f} to {band.high:.2f}"


def _cells(value: Share | Kappa) -> list[str]:
    """A number, its interval, and the pairs behind it."""
    middle = value.mean if isinstance(value, Share) else value.value
    if middle is None:
        return ["", "", str(value.pairs)]
    return [f"{middle:.3f}", f"{value.low:.3f} to {value.high:.3f}", str(value.pairs)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
