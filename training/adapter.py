"""LoRA: what peft is asked for."""

from __future__ import annotations

from peft import LoraConfig

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
