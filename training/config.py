"""The configuration of a training run: what ``crystal-eval train CONFIG.yaml`` reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Method = Literal["answer-only", "composite", "cpr", "cpr-curriculum"]


@dataclass(frozen=True)
class DataConfig:
    """Where the training items come from; ``path`` is a hub id, a folder or files, as CRYSTAL_DATASET takes them."""

    path: str = ""
    split: str = "train"
    revision: str = ""
    #: Share of the items that is held out for validation (the paper's 15 %), drawn with ``seed``.
    validation: float = 0.15
    #: At most so many of the held-out items are generated for at each validation (0: all).
    validation_items: int = 0
    allow_test_items: bool = False


@dataclass(frozen=True)
class RewardConfig:
    """Weights and rules of the reward; the paper's CPR weights by default."""

    answer_weight: float = 0.65
    step_weight: float = 0.35
    wrong_factor: float = 0.3
    #: Of composite and answer-only rewards and of phase 1; composite needs format + accuracy + steps = 1.
    format: float = 0.1
    accuracy: float = 0.5
    steps: float = 0.4
    similarity: Literal["overlap", "encoder"] = "overlap"
    threshold: float = 0.3
    answer_rule: Literal["strict", "released"] = "strict"


@dataclass(frozen=True)
class VerbosityConfig:
    """Chains of more than ``factor`` times the running median of step counts lose step reward; 0 turns it off."""

    factor: float = 2.0
    window: int = 512


@dataclass(frozen=True)
class PhaseConfig:
    """One phase of optimisation: Table S1's columns."""

    steps: int = 100
    learning_rate: float = 5e-6
    per_device_batch: int = 5
    candidates: int = 5
    accumulation: int = 2
    warmup: float = 0.0


@dataclass(frozen=True)
class TrainConfig:
    """Everything that decides a training run."""

    model: str = ""
    revision: str = ""
    output: str = "out/train"
    method: Method = "cpr-curriculum"
    data: DataConfig = field(default_factory=DataConfig)
    rewards: RewardConfig = field(default_factory=RewardConfig)
    verbosity: VerbosityConfig = field(default_factory=VerbosityConfig)
    #: cpr-curriculum has two phases, the other methods one.
    phases: tuple[PhaseConfig, ...] = (PhaseConfig(),)
    #: None: on for cpr and cpr-curriculum, as in the paper.
    gradient_surgery: bool | None = None
    lora: dict[str, Any] | None = None
    encoder: str = ""
    kl: float = 0.04
    clip: float = 0.2
    temperature: float = 0.9
    top_p: float = 1.0
    top_k: int = 50
    max_completion_length: int = 1024
    min_pixels: int | None = None
    max_pixels: int | None = None
    dtype: str = "bfloat16"
    gradient_checkpointing: bool = True
    #: Optimiser steps between validations, each with a checkpoint.
    validate_every: int = 100
    keep_checkpoints: int = 2
    report_to: tuple[str, ...] = ()
    seed: int = 42
