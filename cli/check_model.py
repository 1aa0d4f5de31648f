"""The check of the model: may it be read, and is all of it here."""

from collections.abc import Sequence
from pathlib import Path

from ..errors import CrystalError
from ..model_adapters.local_files import CONFIG, Weights, damaged
from .check_subject import Check, Subject, hub_revision, offline

#: One of these says that a folder holds an image processor.
PROCESSORS = ("preprocessor_config.json", "processor_config.json", "image_processor_config.json")
#: Names of files that a line shows.
SHOWN = 3


def check_model(subject: Subject) -> Check:
    """Whether the hub gives the model at the revision of the run, and how much of it is on this machine."""
    model, revision = subject.target.model, subject.revision
    if subject.target.is_folder:
        return _folder(Path(model), subject.weights)
    at = f"{model}@{revision}" if revision not in (None, "main") else model
    weights = subject.weights
    bad = damaged(weights)
    if bad:
        raise CrystalError(f"{at}: {_some(bad)} in the hub cache cut short or damaged; delete and fetch it again.")
    if offline():
        return _cached(at, subject.folder is not None, weights)
    commit, problem = hub_revision(model, revision, "model")
    if problem:
        raise CrystalError(
            f"{at}: {problem}. Check the spelling; if it is gated, accept its terms at https://huggingface.co/"
            f"{model} and log in with `hf auth login`."
        )
    if weights.complete:
        here = "cached"
    elif weights.here:
        of = len(weights.here) + len(weights.missing)
        here = f"{len(weights.here)} of {of} weight files are fetched, the run fetches the others"
    else:
        here = "not fetched yet"
    return Check("model", "OK", f"{at} may be read; revision {commit}; {here}")


def _cached(model: str, known: bool, weights: Weights) -> Check:
    if weights.complete:
        return Check("model", "OK", f"{model} is in the hub cache (offline: HF_HUB_OFFLINE is set)")
    if weights.here:
        raise CrystalError(
            f"{model}: the hub cache lacks {_some(weights.missing)}, and HF_HUB_OFFLINE is set; unset it, so that they "
            "are fetched."
        )
    lacking = f"{model}: its weights are" if known else f"{model} is"
    raise CrystalError(f"{lacking} not in the hub cache and HF_HUB_OFFLINE is set; unset it, or fetch it first.")


def _folder(folder: Path, weights: Weights) -> Check:
    if not (folder / CONFIG).is_file():
        raise CrystalError(f"{folder} holds no {CONFIG}; give a folder of save_pretrained.")
    if weights.missing:
        raise CrystalError(f"{folder} lacks {_some(weights.missing)}; copy the whole model.")
    if not weights.here:
        raise CrystalError(f"{folder} holds no weights (*.safetensors); copy the whole model.")
    if bad := damaged(weights):
        raise CrystalError(f"{folder}: {_some(bad)} cut short or damaged; copy the model again.")
    if not any((folder / name).is_file() for name in PROCESSORS):
        raise CrystalError(f"{folder} holds no processor; save the model's processor into it too.")
    return Check("model", "OK", f"{folder} holds configuration, weights and processor")


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
