"""What a checkpoint needs beyond trl's own files so that a resumed run goes on exactly as if never stopped.

trl resumes with new completions where it stopped between two generations, and from the second epoch on
with the first one's order of prompts; both would change the run.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import send_to_device
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from ..errors import CrystalError
from .verbosity import VerbosityGuard

#: The running median of the step counts, as the guard against verbosity states it.
VERBOSITY = "verbosity.json"
_NAME = re.compile(rf"{PREFIX_CHECKPOINT_DIR}-(\d+)")


@dataclass(frozen=True)
class Rollout:
    """Where one process stands in its generations: micro-batches done, and completions still to be used."""

    micro_batches: int
    #: trl's list of micro-batches; None where the next one generates anew.
    buffered: list[dict[str, Any]] | None


def last_checkpoint(folder: str | Path) -> Path | None:
    """The newest complete ``checkpoint-N`` in the folder, None where there is none.

    A process that was killed while it saved leaves a folder without its last file, which is passed over.
    """
    found = {
        int(match[1]): path
        for path in Path(folder).glob(f"{PREFIX_CHECKPOINT_DIR}-*")
        if (match := _NAME.fullmatch(path.name)) and _complete(path)
    }
    return found[max(found)] if found else None


def save_guard(checkpoint: str | Path, guard: VerbosityGuard) -> None:
    """Writes the guard's state into the checkpoint's folder."""
    path = Path(checkpoint)
    path.mkdir(parents=True, exist_ok=True)
    (path / VERBOSITY).write_text(json.dumps(guard.state_dict()), "utf-8")


def load_guard(checkpoint: str | Path, guard: VerbosityGuard) -> None:
    """Takes the guard's state from the checkpoint; raises ``CrystalError`` where it has none."""
    path = Path(checkpoint) / VERBOSITY
    try:
        guard.load_state_dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise CrystalError(
            f"{path} cannot be read ({error}), and without the step counts seen so far the run would go on with other "
            "rewards; resume from another checkpoint or start afresh with --fresh."
        ) from error


def save_rollout(checkpoint: str | Path, rollout: Rollout, rank: int) -> None:
    """Writes where this process stands into the checkpoint's folder."""
    path = Path(checkpoint)
    path.mkdir(parents=True, exist_ok=True)
    torch.save({"micro_batches": rollout.micro_batches, "buffered": rollout.buffered}, path / _rollout_name(rank))


def load_rollout(checkpoint: str | Path, rank: int, device: torch.device) -> Rollout | None:
    """Where this process stood; None for a checkpoint that another trainer wrote."""
    path = Path(checkpoint) / _rollout_name(rank)
    if not path.is_file():
        return None
    # By way of the processor: torch does not load to "cpu:0", as a process of several calls its own.
    state = torch.load(path, map_location="cpu", weights_only=True)
    return Rollout(state["micro_batches"], send_to_device(state["buffered"], device))


def _rollout_name(rank: int) -> str:
    return f"rollout_{rank}.pt"


def _complete(checkpoint: Path) -> bool:
    # Written last of all by the trainer.
    try:
        json.loads((checkpoint / TRAINER_STATE_NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return True
