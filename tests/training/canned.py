"""A tiny Qwen2.5-VL that trains on pictures with completions from a list, so that runs of different shape compare.

    torchrun --nproc_per_node 2 tests/training/canned.py MODEL OUT

trains with two processes what ``trained`` does with one, and then lets the second process diverge.
"""

import gc
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import torch
from datasets import Dataset
from lmms_eval_crystal.model_adapters.tiny import build_tiny_qwen2_5_vl
from lmms_eval_crystal.training.trainer import CrystalGRPOTrainer, Diverged
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor
from trl import GRPOConfig, GRPOTrainer

# With matrices this small a second thread costs five times what it saves.
torch.set_num_threads(1)
# accelerate collects garbage for each trainer; what the imports left is none, and looking at it takes most of the time.
gc.freeze()

COLOURS = ("red", "green", "blue", "black", "white", "grey", "brown", "pink")
CANDIDATES = 4
#: All that one optimiser step sees, however it is spread over micro-batches and processes: two groups.
BATCH = 8
COMPLETIONS = ("the sign is red", "it", "a red sign with eight sides", "bars and bars")


class Reward:
    """One number for each of the four completions, for one objective."""

    def __init__(self, objective: str, values: Sequence[float]) -> None:
        self.objective, self.values, self.__name__ = objective, values, f"{objective}_reward"

    def __call__(self, completions: list[Any], **columns: Any) -> list[float]:
        return [self.values[COMPLETIONS.index(completion[0]["content"])] for completion in completions]


ANSWER = Reward("answer", (1.0, 0.0, 1.0, 0.0))
#: Right answers have the worse steps.
AGAINST = Reward("steps", (0.1, 0.6, 0.0, 0.3))
#: They have the better ones.
ALONG = Reward("steps", (0.3, 0.0, 0.6, 0.1))


class Canned:
    """The completions of each prompt come from the list, in its order, over the processes."""

    def _generate_single_turn(self, prompt_ids, images, multimodal_fields, num_generations, *more):
        first = self.accelerator.process_index * len(prompt_ids)
        texts = [COMPLETIONS[(first + row) % num_generations] for row in range(len(prompt_ids))]
        end = self._tokenizer.eos_token_id
        return [[*self._tokenizer(text)["input_ids"], end] for text in texts], None


class CannedTrainer(Canned, CrystalGRPOTrainer):
    pass


class CannedTrl(Canned, GRPOTrainer):
    """trl's own trainer, to compare with."""


@cache
def model_folder() -> Path:
    return build_tiny_qwen2_5_vl(Path(mkdtemp(prefix="canned-")) / "tiny")


def dataset(items: int = len(COLOURS)) -> Dataset:
    pictures = [[Image.new("RGB", (32, 32), colour)] for colour in COLOURS[:items]]
    prompts = [[{"role": "user", "content": f"What colour is picture {index}?"}] for index in range(items)]
    return Dataset.from_dict({"prompt": prompts, "images": pictures})


def settings(output: Path, batch: int = BATCH, accumulation: int = 1, **more: Any) -> GRPOConfig:
    """Two steps of gradient descent, whose update shows the gradient itself."""
    chosen: dict[str, Any] = {
        "max_steps": 2,
        "learning_rate": 0.002,
        "lr_scheduler_type": "constant",
        "optim": "sgd",
        "max_grad_norm": 0.0,
        "beta": 0.04,
        "num_generations": CANDIDATES,
        "per_device_train_batch_size": batch,
        "gradient_accumulation_steps": accumulation,
        "max_completion_length": 16,
        "shuffle_dataset": False,
        "gradient_checkpointing": False,
        "bf16": False,
        "use_cpu": True,
        "save_strategy": "no",
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
    }
    return GRPOConfig(output_dir=str(output), **chosen | more)


def trainer(
    kind: type[GRPOTrainer], arguments: GRPOConfig, rewards: Sequence[Callable], *, dtype=torch.float32, **more: Any
) -> GRPOTrainer:
    folder = more.pop("folder", None) or model_folder()
    return kind(
        AutoModelForImageTextToText.from_pretrained(folder, dtype=dtype),
        list(rewards),
        arguments,
        train_dataset=more.pop("train_dataset", None) or dataset(),
        processing_class=AutoProcessor.from_pretrained(folder),
        **more,
    )


def weights(trained: GRPOTrainer) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in trained.model.named_parameters()}


def trained(kind: type[GRPOTrainer], arguments: GRPOConfig, rewards: Sequence[Callable], **more: Any) -> GRPOTrainer:
    made = trainer(kind, arguments, rewards, **more)
    made.train()
    return made


class DivergesHere(CannedTrainer):
    """The loss of the last process is no number from the second step on."""

    def _compute_loss(self, model, inputs):
        loss = super()._compute_loss(model, inputs)
        last = self.accelerator.process_index == self.accelerator.num_processes - 1
        return loss * float("nan") if last and self.state.global_step == 1 else loss


def main(folder: Path, output: Path) -> None:
    halves = {"two": (BATCH // 2, 1), "two, accumulated": (BATCH // 4, 2)}
    for name, (batch, accumulation) in halves.items():
        made = trained(
            CannedTrainer,
            settings(output, batch, accumulation),
            [ANSWER, AGAINST],
            gradient_surgery=True,
            folder=folder,
        )
        if made.is_world_process_zero():
            torch.save({"weights": weights(made), "log": made.state.log_history}, output / f"{name}.pt")
    made = trainer(
        DivergesHere, settings(output, BATCH // 2), [ANSWER, AGAINST], gradient_surgery=True, phase=2, folder=folder
    )
    try:
        made.train()
    except Diverged as error:
        rank = made.accelerator.process_index
        torch.save({"weights": weights(made), "sentence": str(error)}, output / f"diverged {rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
