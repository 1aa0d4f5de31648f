"""Which process of a run this is, as the harness counts them: torchrun and accelerate set these variables."""

import os


def rank() -> int:
    """Number of this process among all of the run, from 0."""
    return int(os.environ.get("RANK") or 0)


def world_size() -> int:
    """Number of processes of the run."""
    return int(os.environ.get("WORLD_SIZE") or 1)


def local_rank() -> int:
    """Number of this process on its machine, from 0; the GPU that belongs to it."""
    return int(os.environ.get("LOCAL_RANK") or 0)


def on_several_machines() -> bool:
    """Whether processes of the run are, or may be, on other machines; launchers count those on this one."""
    return world_size() > int(os.environ.get("LOCAL_WORLD_SIZE") or 1)


def is_main() -> bool:
    """Whether this process speaks for the run: its bars and summaries are shown."""
    return rank() == 0
