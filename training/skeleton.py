"""A model without its weights: whether it sees pictures and has a processor, and whether LoRA finds its place in it."""

from __future__ import annotations

import re
from typing import Any

from ..errors import CrystalError, first_line
from ..model_adapters.loading import Checkpoint
from .config import TrainConfig

#: What peft raises for arguments that do not fit, of whatever kind it happens to be.
REFUSALS = (ValueError, TypeError, KeyError, AttributeError, NotImplementedError, re.error)


def check_skeleton(config: TrainConfig) -> Any:
    """The processor of the checkpoint. Raises ``CrystalError`` where it has none, is no vision-language model, or where
    ``lora`` does not fit; of a hub model only the small files are fetched."""
    checkpoint = Checkpoint(config.model, config.revision or None)
    processor = checkpoint.load_processor()
    network = checkpoint.load_skeleton()
    if config.lora is not None:
        from .adapter import adapter_of

        _check_lora(network, adapter_of(config))
    return processor


def _check_lora(network: Any, adapter: Any) -> None:
    from peft import get_peft_model

    try:
        adapted = get_peft_model(network, adapter)
    except REFUSALS as error:
        raise CrystalError(f"lora: peft refuses it for this model ({first_line(error)}); correct it.") from error
    except RuntimeError:
        # Some kinds of init_lora_weights compute with the weights, which are not there.
        return
    if not any(parameter.requires_grad for parameter in adapted.parameters()):
        raise CrystalError("lora: nothing would be trained; leave inference_mode out.")
