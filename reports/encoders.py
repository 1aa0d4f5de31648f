"""The encoders with which runs are scored again: loaded before any work, and never downloaded unasked."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ..errors import CrystalError
from ..metrics import EmbeddingTable, StepEncoder, compared_steps
from ..metrics.chains import NOT_COMPARED
from ..metrics.chains import chain_similarity as steps_similarity
from ..metrics.encoder import check_encoder, encoder_presets
from .chains import Chain, Cohort
from .load import Result
from .study import fields


def open_encoders(
    names: Sequence[str], device: str = "cpu", download: bool = False, option: str = "--encoders"
) -> list[StepEncoder]:
    """Loads encoders, given as presets, hub ids or folders, each once.

    Raises ``CrystalError`` where one cannot be loaded, and where one would have to be downloaded and ``download`` is
    False; ``option`` is what the user gave the names in.
    """
    for name in names:
        check_encoder(name, option, download)
    return [StepEncoder(name, device) for name in names]


def embed_chains(
    encoder: StepEncoder, chains: Sequence[Sequence[Chain]], cache_folder: Path | None = None, progress: bool = False
) -> EmbeddingTable:
    """All steps of some runs, each different text once; reference steps come from the cache on disk, if there is one.

    Predictions of a full run take about 0.1 GB of memory.
    """
    table = EmbeddingTable(encoder, cache_folder)
    with tqdm(total=0, desc=f"Embedding, {encoder.id}", unit="step", disable=not progress) as table.bar:
        _add(table, chains)
    table.bar = None
    return table


def _add(table: EmbeddingTable, chains: Sequence[Sequence[Chain]]) -> None:
    table.add((text for run in chains for chain in run for text in chain.reference), keep=True)
    table.add(text for run in chains for chain in run for text in compared_steps(chain.encoded))


def chain_similarity(table: EmbeddingTable, chain: Chain) -> np.ndarray:
    """Cosines of an item's predicted with its reference steps, ``(P, R)``; below any where nothing can match."""
    if not chain.usable:
        return np.full((len(chain.predicted), len(chain.reference)), NOT_COMPARED, dtype=np.float32)
    return steps_similarity(table, chain.encoded, chain.reference)


def common_encoder(results: Iterable[Result]) -> list[str]:
    """The one encoder that all results were scored with, as a name that can be loaded; empty where there are several.

    Raises as ``own_encoder`` does.
    """
    scorers = [result.scorer for result in results]
    return [_loadable(scorers)] if len({encoder_id(scorer) for scorer in scorers}) == 1 else []


def own_encoder(cohort: Cohort) -> str:
    """The encoder that most runs of a cohort were scored with, as a name that can be loaded.

    Raises ``CrystalError`` where their signature names a folder, of which it keeps the last name only.
    """
    return _loadable([run.result.scorer for run in cohort.runs])


def _loadable(scorers: Sequence[str]) -> str:
    ids = [encoder_id(scorer) for scorer in scorers]
    most = max(ids, key=ids.count)
    for name, preset in encoder_presets().items():
        if most in (preset.get("id"), preset.get("model")):
            return name
    if most.count("/") == 1:
        return most
    raise CrystalError(
        f"The runs were scored with the encoder {most!r}, a folder that their signature does not tell the place of; "
        "name the folder yourself."
    )


def encoder_id(scorer: str) -> str:
    """Id of the encoder in a scorer signature, without its revision.

    >>> encoder_id("crystal|v:1|enc:sentence-transformers/all-MiniLM-L6-v2@0.1.0|tau:0.35")
    'sentence-transformers/all-MiniLM-L6-v2'
    """
    return fields(scorer).get("enc", "unknown").rpartition("@")[0]
