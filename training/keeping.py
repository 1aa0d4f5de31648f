"""Which checkpoints of a phase are whole and which are kept, and how one becomes a folder that any loader takes."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from ..errors import CrystalError, first_line
from ..model_adapters.local_files import Weights, damaged, some, weights_in

#: Written when every process has written its part of a checkpoint, and removed before anything else of it is.
WHOLE = "whole.json"
#: What a checkpoint holds beside the model and its processor: for going on, and the card that trl writes.
STATE = re.compile(
    r"optimizer|scheduler|scaler|rng_state|rollout_|trainer_state|training_args|verbosity|whole\.json|README|latest$"
    r"|zero_to_fp32|global_step"
)
PREFIX = f"{PREFIX_CHECKPOINT_DIR}-"


def mark_whole(checkpoint: Path, processes: int) -> None:
    """Says that the checkpoint is whole, and how many processes wrote it."""
    write_json(checkpoint / WHOLE, {"processes": processes})


def whole_checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """Step and folder of each whole checkpoint of a phase, the newest last."""
    found = [path.parent for path in folder.glob(f"{PREFIX}*/{WHOLE}")]
    return sorted((int(path.name.removeprefix(PREFIX)), path) for path in found)


def check_files(checkpoint: Path) -> None:
    """Raises ``CrystalError`` where a file of a checkpoint is cut short, as when the power failed; reads their ends."""
    bad = damaged(weights_in(checkpoint)) + damaged(Weights(tuple(checkpoint.glob("adapter*.safetensors"))))
    bad += [file.name for file in sorted(checkpoint.glob("*.pt*")) if not zipfile.is_zipfile(file)]
    if bad:
        raise CrystalError(
            f"{checkpoint}: {some(bad)} cut short or damaged; remove that folder to go on from the checkpoint before "
            "it, or begin anew with --fresh."
        )
    read_json(checkpoint / TRAINER_STATE_NAME)


def drop_halves(folder: Path) -> None:
    """Removes what a killed process left half written, so that nothing takes it for a checkpoint."""
    whole = {path for _, path in whole_checkpoints(folder)}
    for path in folder.glob(f"{PREFIX}*"):
        if path not in whole:
            shutil.rmtree(path)


def keep_last(folder: Path, count: int, best: int | None) -> None:
    """Removes all whole checkpoints but the last ``count`` and that of the step ``best``."""
    for step, path in whole_checkpoints(folder)[:-count]:
        if step != best:
            (path / WHOLE).unlink()
            shutil.rmtree(path)


def best_of(checkpoint: Path) -> tuple[int, float]:
    """Step and value of the best validation up to a checkpoint, as the trainer noted them there."""
    file = checkpoint / TRAINER_STATE_NAME
    state = read_json(file)
    try:
        return int(state["best_global_step"]), float(state["best_metric"])
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(file, error) from error


def check_processes(checkpoint: Path, processes: int) -> None:
    """Raises ``CrystalError`` where another number of processes wrote the checkpoint: each draws its own numbers."""
    wrote = read_json(checkpoint / WHOLE).get("processes")
    if wrote != processes:
        raise CrystalError(
            f"{checkpoint} was written by {wrote} process{'es' * (wrote != 1)}, and there "
            f"{'are' if processes > 1 else 'is'} {processes} now; start as many again, or begin anew with --fresh."
        )


def copy_model(checkpoint: Path, target: Path) -> None:
    """The checkpoint's model and processor alone, at ``target``."""
    files = [path for path in sorted(checkpoint.iterdir()) if path.is_file() and not STATE.match(path.name)]

    def copy(part: Path) -> None:
        for file in files:
            shutil.copy2(file, part / file.name)

    written_whole(target, copy)


def merge_adapter(network: Any, processor: Any, checkpoint: Path, target: Path) -> None:
    """The model that the checkpoint's LoRA adapter makes of ``network``, its base, as a whole one at ``target``."""
    from peft import PeftModel

    merged = PeftModel.from_pretrained(network, str(checkpoint)).merge_and_unload()

    def save(part: Path) -> None:
        merged.save_pretrained(part)
        processor.save_pretrained(part)

    written_whole(target, save)


def written_whole(target: Path, write: Callable[[Path], None]) -> None:
    """A folder that gets its name when ``write`` has filled it; a kill leaves none of that name."""
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    write(part)
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)


def read_json(file: Path) -> dict[str, Any]:
    """What ``write_json`` wrote. Raises ``CrystalError``."""
    try:
        content = json.loads(file.read_text("utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it holds no keys")
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from error
    return content


def unreadable(file: Path, error: Exception) -> CrystalError:
    """Of a file of a run that somebody or something has changed."""
    return CrystalError(
        f"{file} cannot be read ({first_line(error)}), so the run cannot go on from it; restore it, or begin anew with "
        "--fresh."
    )


def write_json(file: Path, content: Any) -> None:
    """A JSON file, as ``write_text`` writes it."""
    write_text(file, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_text(file: Path, text: str) -> None:
    """A file that gets its name when it is whole."""
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, "utf-8")
    part.replace(file)
