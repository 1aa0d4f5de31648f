"""The configuration of a training run: what ``crystal-eval train CONFIG.yaml`` reads.

The dataclasses are the shape of the file. pydantic, which the harness brings, reads YAML into them: it
checks types, ranges and names, and says where in the file a slip is. Rules between keys are in ``rules``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import Field

Method = Literal["answer-only", "composite", "cpr", "cpr-curriculum"]
Similarity = Literal["overlap", "encoder"]
AnswerRule = Literal["strict", "released"]
Logger = Literal["wandb", "tensorboard"]

#: What fits into 32 bits: numpy takes no larger seed, and torch no larger count.
LARGEST = 2**31 - 1
#: The prompts of a whole phase are laid out before it begins.
MOST_STEPS = 1_000_000
# Strict: pydantic would else take true for 1.
Count = Annotated[int, Field(ge=1, le=LARGEST, strict=True)]
CountOrZero = Annotated[int, Field(ge=0, le=LARGEST, strict=True)]
Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Positive = Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)]
PositiveOrZero = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]

#: Keys that move no weight, so a run may be resumed with other values of them.
FREE_KEYS = ("output", "report_to", "keep_checkpoints")


class _NoOtherKeys:
    """Makes pydantic refuse keys that a dataclass does not have."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}


@dataclass(frozen=True)
class DataConfig(_NoOtherKeys):
    """Where the training items come from; ``path`` is a hub id, a folder or files, as CRYSTAL_DATASET takes them."""

    path: str = ""
    split: Annotated[str, Field(min_length=1)] = "train"
    revision: str = ""
    #: Share of the items that is held out for validation (the paper's 15 %), drawn with ``seed``.
    validation: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.15
    #: At most so many of the held-out items are generated for at each validation (0: all).
    validation_items: CountOrZero = 0
    allow_test_items: bool = False


@dataclass(frozen=True)
class RewardConfig(_NoOtherKeys):
    """Weights and rules of the reward; the defaults are those of single rewards too."""

    #: The paper's weights of CPR; the released code's defaults are 0.6 and 0.4.
    answer_weight: Share = 0.65
    step_weight: Share = 0.35
    #: Part of the step reward that is left where the answer is wrong (the released code's value).
    wrong_factor: Share = 0.3
    #: Of composite and answer-only rewards and of phase 1; composite needs format + accuracy + steps = 1.
    format: Share = 0.1
    accuracy: Share = 0.5
    steps: Share = 0.4
    similarity: Similarity = "overlap"
    #: That a pair must exceed to match: of the released CPR. Their stand-alone step reward takes 0.45.
    threshold: Annotated[float, Field(ge=0, lt=1, strict=True)] = 0.3
    answer_rule: AnswerRule = "strict"


@dataclass(frozen=True)
class VerbosityConfig(_NoOtherKeys):
    """Chains of more than ``factor`` times the running median of step counts lose step reward; 0 turns it off."""

    factor: PositiveOrZero = 2.0
    window: Count = 512


@dataclass(frozen=True)
class PhaseConfig(_NoOtherKeys):
    """One phase of optimisation: Table S1's columns."""

    steps: Annotated[int, Field(ge=1, le=MOST_STEPS, strict=True)] = 100
    learning_rate: Positive = 5e-6
    per_device_batch: Count = 5
    candidates: Annotated[int, Field(ge=2, le=LARGEST, strict=True)] = 5
    accumulation: Count = 2
    #: Share of the steps over which the learning rate rises from 0.
    warmup: Share = 0.0

    def responses_per_step(self, processes: int = 1) -> int:
        """Responses that are generated for one optimiser step, all processes together."""
        return self.per_device_batch * self.accumulation * processes

    def prompts_per_step(self, processes: int = 1) -> int:
        """Prompts that one optimiser step answers, each ``candidates`` times."""
        return self.responses_per_step(processes) // self.candidates


@dataclass(frozen=True)
class TrainConfig(_NoOtherKeys):
    """Everything that decides a training run."""

    model: str = ""
    revision: str = ""
    output: Annotated[str, Field(min_length=1)] = "out/train"
    method: Method = "cpr-curriculum"
    data: DataConfig = field(default_factory=DataConfig)
    rewards: RewardConfig = field(default_factory=RewardConfig)
    verbosity: VerbosityConfig = field(default_factory=VerbosityConfig)
    #: cpr-curriculum has two phases, the other methods one.
    phases: tuple[PhaseConfig, ...] = (PhaseConfig(),)
    #: None: on for cpr and cpr-curriculum, as in the paper.
    gradient_surgery: bool | None = None
    #: Arguments of peft's LoraConfig; None trains all weights.
    lora: dict[str, Any] | None = None
    #: Of validation, and of the reward with similarity ``encoder``; empty: the evaluation's own.
    encoder: str = ""
    kl: PositiveOrZero = 0.04
    clip: Positive = 0.2
    temperature: Annotated[float, Field(ge=0.01, le=100, strict=True)] = 0.9
    top_p: Annotated[float, Field(gt=0, le=1, strict=True)] = 1.0
    #: 0: no limit.
    top_k: CountOrZero = 50
    max_completion_length: Count = 1024
    min_pixels: Count | None = None
    max_pixels: Count | None = None
    #: Tiles of a picture, for the families that cut any number of them (InternVL).
    max_tiles: Count | None = None
    dtype: Literal["bfloat16", "float32"] = "bfloat16"
    gradient_checkpointing: bool = True
    #: Optimiser steps between validations, each with a checkpoint.
    validate_every: Count = 100
    keep_checkpoints: Count = 2
    report_to: tuple[Logger, ...] = ()
    seed: CountOrZero = 42

    @property
    def surgery(self) -> bool:
        """Whether the gradients of answer and steps are projected: as asked for, else as in the paper."""
        if self.gradient_surgery is None:
            return self.method in ("cpr", "cpr-curriculum")
        return self.gradient_surgery

    @property
    def fingerprint(self) -> str:
        """First 16 hexadecimal digits of a hash of all that decides the trained weights; where it differs, a run
        cannot go on from the checkpoints of another."""
        deciding = {key: value for key, value in asdict(self).items() if key not in FREE_KEYS}
        return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:16]

    def as_yaml(self) -> str:
        """The whole configuration, defaults and all, in the form that ``read_config`` takes."""
        # By way of JSON: YAML has a tag of its own for tuples.
        return yaml.safe_dump(json.loads(json.dumps(asdict(self))), sort_keys=False, allow_unicode=True)


def phases_of(method: Method) -> int:
    """How many phases a method has."""
    return 2 if method == "cpr-curriculum" else 1


def read_config(path: str | Path, overrides: Sequence[str] = ()) -> TrainConfig:
    """The configuration in a YAML file; ``overrides`` are texts like ``data.path=items.jsonl``, ``phases.0.steps=10``.

    Raises ``CrystalError`` that names the key: unknown, of another type, out of range, or at odds with another.
    """
    from .reading import read
    from .rules import check_rules

    config = read(Path(path), overrides)
    check_rules(config, Path(path).name)
    return config
