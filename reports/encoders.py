"""The encoders with which runs are scored again: loaded before any work, and never downloaded unasked."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from huggingface_hub import try_to_load_from_cache
from tqdm import tqdm

from ..errors import CrystalError
from ..metrics import EmbeddingTable, StepEncoder, similarity_of
from ..metrics.encoder import EncoderSource, encoder_presets, resolve_encoder
from .chains import Chain, Cohort
from .study import fields

#: One of these is in every folder that sentence-transformers can load.
_CONFIGS = ("modules.json", "config.json")


def open_encoders(
    names: Sequence[str], device: str = "cpu", download: bool = False, option: str = "--encoders"
) -> list[StepEncoder]:
    """Loads encoders, given as presets, hub ids or folders, each once.

    Raises ``CrystalError`` where one cannot be loaded, and where one would have to be downloaded and ``download`` is
    False; ``option`` is what the user gave the names in.
    """
    for name in names:
        source = resolve_encoder(name)
        if not download and not _is_here(source):
            raise CrystalError(
                f"The encoder {name!r} is not on this machine: fetch it with `hf download {source.location}` or add "
                f"--download, or give {option} a folder that holds it."
            )
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
    table.add(text for run in chains for chain in run for text in chain.encoded)


def chain_similarity(table: EmbeddingTable, chain: Chain) -> np.ndarray:
    """Cosines of an item's predicted with its reference steps, ``(P, R)``; below any where nothing can match."""
    if not chain.usable:
        return np.full((len(chain.predicted), len(chain.reference)), -2, dtype=np.float32)
    return similarity_of(table.rows(chain.encoded), table.rows(chain.reference))


def own_encoder(cohort: Cohort) -> str:
    """The encoder that most runs of a cohort were scored with, as a name that can be loaded.

    Raises ``CrystalError`` where their signature names a folder, of which it keeps the last name only.
    """
    ids = [encoder_id(run.result.scorer) for run in cohort.runs]
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


def _is_here(source: EncoderSource) -> bool:
    """Whether an encoder is a folder, or lies in the hub's cache."""
    if Path(source.location).is_dir():
        return True
    return any(isinstance(try_to_load_from_cache(source.location, name), str) for name in _CONFIGS)
