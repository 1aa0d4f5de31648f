"""The encoders of this process: which one a task uses, one table for all that use it, and the device it runs on."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from loguru import logger

from .. import ranks
from ..errors import CrystalError, first_line
from ..metrics import EmbeddingTable, StepEncoder
from ..metrics.encoder import default_encoder
from .plugin import MINI
from .settings import embeddings_folder


def encoder_of(task: str) -> str:
    """The encoder of a task where ``CRYSTAL_ENCODER`` names none: the paper's, and for the shipped set one of PyPI."""
    return "minilm" if task == MINI else default_encoder()


def shared_encoder(name: str) -> tuple[StepEncoder, EmbeddingTable]:
    """One encoder and one table of embeddings for all tasks and runs of this process that ask for it.

    The table is of the folder that ``CRYSTAL_CACHE_DIR`` names now.
    """
    encoder = _loaded(name)
    return encoder, _table(encoder, embeddings_folder())


@cache
def _loaded(name: str) -> StepEncoder:
    return StepEncoder(name)


@cache
def _table(encoder: StepEncoder, folder: Path) -> EmbeddingTable:
    return EmbeddingTable(encoder, folder)


def check_device(device: str) -> None:
    """Raises ``CrystalError`` where the device that was asked for cannot be used."""
    if not device:
        return
    import torch

    try:
        torch.zeros(1, device=device).item()
    except Exception as error:  # torch raises RuntimeError, AssertionError and others for what it lacks
        raise CrystalError(
            f"CRYSTAL_ENCODER_DEVICE={device} cannot be used here ({first_line(error)}); set it to cpu or "
            "cuda:0, or unset it for this rank's GPU."
        ) from error


def move_to_free_device(encoder: StepEncoder, wanted: str) -> None:
    """Moves the encoder to the device that is set, or to this rank's GPU, which generation has left free by now."""
    import torch

    own_gpu = f"cuda:{ranks.local_rank() % torch.cuda.device_count()}" if torch.cuda.is_available() else "cpu"
    device = wanted or own_gpu
    try:
        encoder.to(device)
    except RuntimeError as error:  # torch reports a full or a broken GPU with it
        logger.warning(f"The encoder does not fit on {device} ({error}); it runs on the CPU, with the same scores.")
        encoder.to("cpu")
