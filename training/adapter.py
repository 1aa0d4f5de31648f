"""LoRA: what peft is asked for, and whether it can do that with a model, told before the model is loaded."""

from __future__ import annotations

from peft import LoraConfig, get_peft_model

from ..errors import CrystalError, first_line
from ..model_adapters.loading import Checkpoint
from .config import TrainConfig

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


def check_adapter(config: TrainConfig) -> None:
    """Raises ``CrystalError`` where peft cannot put the adapter into the model, as where it has no layers of that name.

    It tries with a model without weights.
    """
    adapter = adapter_of(config)
    if adapter is None:
        return
    empty = Checkpoint(config.model, config.revision or None).empty_network()
    try:
        get_peft_model(empty, adapter)
    except (ValueError, TypeError) as error:
        raise CrystalError(
            f"lora: peft cannot adapt {config.model} so ({first_line(error)}); correct these arguments."
        ) from error
