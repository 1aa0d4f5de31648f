"""Libraries kept off the terminal, where a run has one bar and a line for each validation."""

from __future__ import annotations

import logging
import warnings

import datasets
import transformers
from loguru import logger

#: Their remarks are about their own settings, which a user of this package does not make.
TALKATIVE = ("accelerate", "datasets", "peft", "torch", "transformers", "trl")


def quiet_libraries() -> None:
    """Only errors of trl and what it stands on are shown, and no bars of theirs."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    datasets.disable_progress_bars()
    logger.disable("lmms_eval")
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", module=rf"{name}(\.|$)")
