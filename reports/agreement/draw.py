"""Which pairs of steps people are to label: some by band of similarity, some as the matcher accepts them.

The population are all pairs of a predicted step with a reference step of the same item, over all runs. Two
draws are made from it, each spread evenly over the cells of model and source:

- ``band``: a third each of pairs with similarity below 0.20, from 0.20 to 0.50, and above, as in the paper's
  study. It looks hard at where the matcher may fail; its shares are not those of a run.
- ``accepted``: pairs that the matcher took. Each stands for ``weight`` accepted pairs of its cell, the number
  of them over the expected number of draws, so that weighted shares are those of all accepted pairs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ...metrics import StepEncoder, match_steps
from ..chains import Chain, Cohort
from ..encoders import chain_similarity, embed_chains

#: Where the paper's study parts low, middle and high similarity.
BANDS = ((-math.inf, 0.20), (0.20, 0.50), (0.50, math.inf))
BAND, ACCEPTED = "band", "accepted"


@dataclass(frozen=True)
class Draw:
    """One drawn pair: its texts, where it comes from, and what the matcher makes of it.

    ``weight`` is the number of pairs of the same kind (of its band, or accepted) that it stands for.
    """

    kind: str
    model: str
    source: str
    doc_id: int
    question: str
    predicted: str
    reference: str
    similarity: float
    accepted: bool
    weight: float


@dataclass(frozen=True)
class Population:
    """All pairs, as arrays of one length.

    Places of the run and of its chain, a number for the source, places of both steps, similarity, and whether the
    matcher accepted the pair.
    """

    runs: np.ndarray
    chains: np.ndarray
    sources: np.ndarray
    predicted: np.ndarray
    reference: np.ndarray
    similarity: np.ndarray
    accepted: np.ndarray


def populate(
    chains: Sequence[Sequence[Chain]],
    encoder: StepEncoder,
    tau: float,
    cache_folder: Path | None = None,
    progress: bool = False,
) -> Population:
    """All pairs of the given chains, a list a run, with what the matcher makes of them at ``tau``."""
    table = embed_chains(encoder, chains, cache_folder, progress)
    sources = sorted({chain.source for run in chains for chain in run})
    parts = []
    with tqdm(total=sum(map(len, chains)), desc="Matching", unit="item", disable=not progress) as bar:
        for run, run_chains in enumerate(chains):
            for place, chain in enumerate(run_chains):
                if chain.encoded and chain.reference:
                    similarity = chain_similarity(table, chain)
                    parts.append(_pairs((run, place, sources.index(chain.source)), similarity, tau))
                bar.update()
    columns = zip(*parts, strict=True) if parts else [[np.empty(0, dtype=int)]] * 7
    return Population(*(np.concatenate(list(column)) for column in columns))


def _pairs(where: tuple[int, int, int], similarity: np.ndarray, tau: float) -> tuple[np.ndarray, ...]:
    predicted, reference = (places.ravel() for places in np.indices(similarity.shape))
    accepted = np.zeros(similarity.shape, dtype=bool)
    for row, column, _ in match_steps(similarity, tau):
        accepted[row, column] = True
    places = (np.full(similarity.size, place, dtype=np.int32) for place in where)
    return *places, predicted, reference, similarity.ravel(), accepted.ravel()


def draw_pairs(
    cohort: Cohort,
    chains: Sequence[Sequence[Chain]],
    population: Population,
    banded: int,
    accepted: int,
    seed: int,
) -> list[Draw]:
    """Draws ``banded`` pairs by band and ``accepted`` ones among the accepted; fewer where there are not as many."""
    rng = np.random.default_rng(seed)
    draws: list[Draw] = []
    for place, (low, high) in enumerate(BANDS):
        inside = np.flatnonzero((population.similarity >= low) & (population.similarity < high))
        # What does not divide by three goes to the later bands, where the matcher has more to decide.
        quota = (banded + place) // len(BANDS)
        draws += _drawn(cohort, chains, population, inside, quota, BAND, rng)
    taken = np.flatnonzero(population.accepted)
    draws += _drawn(cohort, chains, population, taken, accepted, ACCEPTED, rng)
    return draws


def _drawn(
    cohort: Cohort,
    chains: Sequence[Sequence[Chain]],
    population: Population,
    among: np.ndarray,
    total: int,
    kind: str,
    rng: np.random.Generator,
) -> Iterator[Draw]:
    """Pairs among some, spread evenly over models and sources, without replacement."""
    if not len(among):
        return
    # A number for each cell of run and source.
    keys = population.runs[among].astype(np.int64) * (int(population.sources.max()) + 1) + population.sources[among]
    members = [among[keys == key] for key in np.unique(keys)]
    counts, expected = spread([len(member) for member in members], total, rng)
    for member, count, mean in zip(members, counts, expected, strict=True):
        for index in rng.choice(member, count, replace=False).tolist():
            run = cohort.runs[population.runs[index]]
            chain = chains[population.runs[index]][population.chains[index]]
            yield Draw(
                kind=kind,
                model=run.label,
                source=chain.source,
                doc_id=chain.doc_id,
                question=chain.question,
                predicted=chain.encoded[population.predicted[index]],
                reference=chain.reference[population.reference[index]],
                similarity=float(population.similarity[index]),
                accepted=bool(population.accepted[index]),
                weight=len(member) / mean,
            )


def spread(sizes: Sequence[int], total: int, rng: np.random.Generator) -> tuple[list[int], list[float]]:
    """How many to draw from each cell, as evenly as their sizes allow, and how many that is on average over seeds.

    Each round gives one to every cell that has more; where fewer are left than such cells, chance decides.

    >>> spread([1, 5, 5], 7, np.random.default_rng(0))
    ([1, 3, 3], [1.0, 3.0, 3.0])
    """
    counts, expected = [0] * len(sizes), [0.0] * len(sizes)
    left = total
    while left:
        room = [cell for cell, size in enumerate(sizes) if counts[cell] < size]
        if not room:
            break
        given = room if left >= len(room) else rng.choice(room, left, replace=False).tolist()
        for cell in room:
            expected[cell] += len(given) / len(room)
        for cell in given:
            counts[cell] += 1
        left -= len(given)
    return counts, expected
