"""What a user can set from outside, read from the environment in one place."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from platformdirs import user_cache_dir, user_data_dir

from ..errors import CrystalError
from ..metrics import ALPHA, TAU

HUB_DATASET = "waybarrios/CRYSTAL"
APP_NAME = "lmms-eval-crystal"
#: A threshold is a cosine, a weight a share.
TAU_RANGE, ALPHA_RANGE = (-1.0, 1.0), (0.0, 1.0)


@dataclass(frozen=True)
class Settings:
    """The ``CRYSTAL_*`` variables; empty where a variable is not set."""

    dataset: str
    revision: str
    encoder: str
    encoder_device: str
    tau: float
    alpha: float
    prompt_file: str
    judge: str

    @classmethod
    def from_environment(cls, tau: float = TAU, alpha: float = ALPHA) -> "Settings":
        """Reads the environment; ``tau`` and ``alpha`` are taken where it does not set them.

        Raises ``CrystalError`` for a threshold or weight out of its range.
        """
        return cls(
            dataset=_text("CRYSTAL_DATASET") or HUB_DATASET,
            revision=_text("CRYSTAL_REVISION"),
            encoder=_text("CRYSTAL_ENCODER"),
            encoder_device=_text("CRYSTAL_ENCODER_DEVICE"),
            tau=_number("CRYSTAL_TAU", tau, *TAU_RANGE),
            alpha=_number("CRYSTAL_ALPHA", alpha, *ALPHA_RANGE),
            prompt_file=_text("CRYSTAL_PROMPT_FILE"),
            judge=_text("CRYSTAL_JUDGE"),
        )

    def with_values(self, tau: float | None, alpha: float | None) -> "Settings":
        """These settings with another threshold and weight, where they are given.

        Raises ``CrystalError`` for one out of its range.
        """
        for name, value, (low, high) in (("tau", tau, TAU_RANGE), ("alpha", alpha, ALPHA_RANGE)):
            if value is not None and not low <= value <= high:
                raise CrystalError(f"{name} is {value}; it must be a number from {low:g} to {high:g}.")
        return replace(self, tau=self.tau if tau is None else tau, alpha=self.alpha if alpha is None else alpha)


def data_folder() -> Path:
    """Where this package keeps what a user gave it, the authors' prompt for one."""
    return Path(user_data_dir(APP_NAME, appauthor=False))


def cache_folder() -> Path:
    """Where this package keeps what it can make again: ``CRYSTAL_CACHE_DIR``, else the user's cache folder."""
    return Path(_text("CRYSTAL_CACHE_DIR") or user_cache_dir(APP_NAME, appauthor=False)).expanduser()


def embeddings_folder() -> Path:
    """Where the embeddings of reference steps are kept, a file an encoder."""
    return cache_folder() / "embeddings"


def _text(variable: str) -> str:
    return os.environ.get(variable, "").strip()


def _number(variable: str, default: float, low: float, high: float) -> float:
    text = _text(variable)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise CrystalError(f"{variable}={text!r} must be a number from {low:g} to {high:g}; unset it for {default:g}.")
    return value
