"""The check of the model: may it be read, and is all of it here."""

from pathlib import Path

from ..errors import CrystalError
from ..model_adapters.local_files import Weights, check_folder, damaged, some
from .check_subject import Check, Subject, hub_revision, offline


def check_model(subject: Subject) -> Check:
    """Whether the hub gives the model at the revision of the run, and how much of it is on this machine."""
    model, revision = subject.target.model, subject.revision
    if subject.target.is_folder:
        return _folder(Path(model), subject.weights)
    at = f"{model}@{revision}" if revision not in (None, "main") else model
    weights = subject.weights
    bad = damaged(weights)
    if bad:
        raise CrystalError(f"{at}: {some(bad)} in the hub cache cut short or damaged; delete and fetch it again.")
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
            f"{model}: the hub cache lacks {some(weights.missing)}, and HF_HUB_OFFLINE is set; unset it, so that they "
            "are fetched."
        )
    lacking = f"{model}: its weights are" if known else f"{model} is"
    raise CrystalError(f"{lacking} not in the hub cache and HF_HUB_OFFLINE is set; unset it, or fetch it first.")


def _folder(folder: Path, weights: Weights) -> Check:
    check_folder(folder, weights)
    return Check("model", "OK", f"{folder} holds configuration, weights and processor")
