"""What commands over several runs share: reading them with a bar, the device of an encoder, and showing tables."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tqdm import tqdm

from ..reports.grid import Grid
from ..reports.study import Study, load_study
from .console import open_console, say

#: Holds the tables where the output is no terminal.
PLAIN_WIDTH = 120


def read_study(paths: Sequence[Path]) -> Study:
    """Reads results and samples, with a bar over the bytes of the samples."""
    with tqdm(desc="Reading samples", unit="B", unit_scale=True) as bar:

        def announce(size: int) -> None:
            bar.reset(total=size)

        return load_study(paths, advance=bar.update, announce=announce)


def encoder_device(wanted: str) -> str:
    """The device that is asked for, by option or ``CRYSTAL_ENCODER_DEVICE``; else a GPU where there is one."""
    import torch

    named = wanted or os.environ.get("CRYSTAL_ENCODER_DEVICE", "").strip()
    return named or ("cuda" if torch.cuda.is_available() else "cpu")


def show(grids: Iterable[Grid], sentences: Iterable[str]) -> None:
    """Prints tables, then sentences."""
    console = open_console(PLAIN_WIDTH)
    for grid in grids:
        say(console, grid.title)
        console.print(grid.to_rich())
    for sentence in sentences:
        say(console, sentence)
