"""What each phase of a run is: its reward, the prompts that it takes in order, and trl's settings for it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import torch
from trl import GRPOConfig

from ..crystal_task.item import Item
from .config import Method, PhaseConfig, TrainConfig
from .sharing import PATIENCE

Criterion = Literal["accuracy_strict", "reward"]


def reward_of(method: Method, phase: int) -> Method:
    """The method whose reward a phase has: of the curriculum first the answer's alone, then CPR.

    >>> reward_of("cpr-curriculum", 1), reward_of("cpr-curriculum", 2), reward_of("composite", 1)
    ('answer-only', 'cpr', 'composite')
    """
    if method != "cpr-curriculum":
        return method
    return "answer-only" if phase == 1 else "cpr"


def criterion(method: Method, phase: int) -> Criterion:
    """What a phase's checkpoint is chosen by, on the validation items; of equals the earlier one is taken.

    The curriculum's first phase has the answers for its goal, any other its own reward. The earlier has moved less
    from where the phase began.
    """
    return "accuracy_strict" if method == "cpr-curriculum" and phase == 1 else "reward"


def prompts(config: TrainConfig, items: Sequence[Item], phase: int, processes: int) -> list[Item]:
    """The items of a whole phase in the order in which they are asked, one for each group of candidates.

    Passes over all items, each shuffled anew; the curriculum's second phase puts those of the whole phase in order,
    from few reference steps to many; what is left of a pass is a random part, so that a short phase gets to the hardest
    as well. In one list, so that a resumed run need not know which pass it is in.
    """
    settings = config.phases[phase - 1]
    needed = settings.steps * settings.prompts_per_step(processes)
    drawn: list[Item] = []
    generator = random.Random(f"{config.seed} {phase}")
    while len(drawn) < needed:
        drawn += generator.sample(list(items), min(len(items), needed - len(drawn)))
    if config.method == "cpr-curriculum" and phase > 1:
        # Items of equally many steps stay shuffled.
        drawn.sort(key=lambda item: len(item.reference_steps))
    return drawn


def arguments(config: TrainConfig, phase: int, folder: Path) -> GRPOConfig:
    """trl's settings for a phase that writes to ``folder``."""
    settings: PhaseConfig = config.phases[phase - 1]
    return GRPOConfig(
        output_dir=str(folder),
        run_name=f"{Path(config.output).name}-phase{phase}",
        seed=config.seed,
        # Optimisation
        max_steps=settings.steps,
        learning_rate=settings.learning_rate,
        warmup_steps=_warmup(settings),
        per_device_train_batch_size=settings.per_device_batch,
        gradient_accumulation_steps=settings.accumulation,
        gradient_checkpointing=config.gradient_checkpointing,
        # Of a trained model in 16 bits small updates vanish, so its weights are in 32 and computed with in 16.
        bf16=config.dtype == "bfloat16",
        # GRPO: the loss as it was published, a mean over each response and then over responses.
        loss_type="grpo",
        beta=config.kl,
        epsilon=config.clip,
        scale_rewards="group",
        num_generations=settings.candidates,
        max_completion_length=config.max_completion_length,
        temperature=config.temperature,
        top_p=config.top_p,
        top_k=config.top_k,
        # Sampling from logits that are no numbers any more would end a process, on a GPU without a word. So the loss,
        # on which all processes look together, is the first to show it.
        generation_kwargs={"remove_invalid_values": True},
        # The order is that of ``prompts``.
        shuffle_dataset=False,
        # Checkpoints; which are kept is decided in ``keeping``.
        save_strategy="steps",
        save_steps=config.validate_every,
        save_total_limit=None,
        metric_for_best_model=criterion(config.method, phase),
        greater_is_better=True,
        # What is told, and to whom
        logging_steps=1,
        report_to=list(config.report_to) or "none",
        disable_tqdm=True,
        # A loss that is none must be seen, not averaged away.
        logging_nan_inf_filter=False,
        use_cpu=not torch.cuda.is_available(),
        ddp_timeout=int(PATIENCE.total_seconds()),
        # Of a hub model the reference model is loaded by its name, and has to be of the same revision.
        model_init_kwargs={"revision": config.revision} if config.revision and phase == 1 else None,
    )


def _warmup(settings: PhaseConfig) -> int:
    # A share of 1 would read as one step.
    return round(settings.warmup * settings.steps)
