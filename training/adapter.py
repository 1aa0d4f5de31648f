"""LoRA: what peft is asked for, and whether it can do that with a model, told before the model is loaded."""

from __future__ import annotations

import re
from typing import Any

from peft import LoraConfig, get_peft_model

from ..errors import CrystalError, first_line
from .config import TrainConfig

#: What peft raises for arguments that do not fit, of whatever kind it happens to be.
REFUSALS = (ValueError, TypeError, KeyError, AttributeError, NotImplementedError, re.error)
#: Where a configuration does not say which layers: peft has a choice of its own for few vision-language models.
LAYERS = "all-linear"


def adapter_of(config: TrainConfig) -> LoraConfig | None:
    """What peft is asked for; None where all weights are trained.

    >>> adapter_of(TrainConfig(lora={"r": 4})).target_modules
    'all-linear'
    """
    if config.lora is None:
        return None
    named = "target_modules" in config.lora or "target_parameters" in config.lora
    return LoraConfig(**config.lora if named else {**config.lora, "target_modules": LAYERS})


def check_adapter(config: TrainConfig, empty: Any) -> None:
    """Raises ``CrystalError`` where peft cannot put the adapter into the model, as where it has no layers of that name.

    It tries with ``empty``, the model without weights.
    """
    adapter = adapter_of(config)
    if adapter is None:
        return
    try:
        adapted = get_peft_model(empty, adapter)
    except REFUSALS as error:
        raise CrystalError(
            f"lora: peft cannot adapt {config.model} so ({first_line(error)}); correct these arguments."
        ) from error
    except RuntimeError:
        # Some kinds of init_lora_weights compute with the weights, which are not there.
        return
    if not any(parameter.requires_grad for parameter in adapted.parameters()):
        raise CrystalError("lora: nothing would be trained; leave inference_mode out.")
