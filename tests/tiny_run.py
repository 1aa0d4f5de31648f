"""A run that takes seconds and learns: a tiny Qwen2.5-VL whose words are whole responses, and items with pictures.

A random model writes noise, which no reward tells apart, so that its weights would not move. This one writes one
word, and its words are responses of different worth: right and wrong answers, one step, two, none.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import torch
from lmms_eval_crystal.model_adapters.tiny_qwen import build_tiny_qwen2_5_vl
from lmms_eval_crystal.training.config import DataConfig, PhaseConfig, RewardConfig, TrainConfig
from PIL import Image
from safetensors.numpy import save_file
from transformers import AutoModelForImageTextToText, AutoProcessor

COLOURS = ("red", "green", "blue")
STEPS = tuple(f"The square is {colour}" for colour in COLOURS)
RESPONSES = tuple(
    json.dumps({"reasoning_steps": [*chain], "answer": answer})
    for answer in COLOURS
    for chain in ((), STEPS[:1], STEPS[1:2], STEPS[:2], ("The picture shows one square", STEPS[2]))
)
NO_RESPONSE = "I cannot say"
ITEMS = 20
#: How far the scores of the words lie above those of all other tokens, and how far they spread.
WEIGHT, SPREAD = 30.0, 1.0


def make_items(folder: Path, count: int = ITEMS) -> Path:
    """Squares of three colours, with one to three reference steps."""
    rows = []
    for number in range(count):
        colour = COLOURS[number % len(COLOURS)]
        steps = ["The picture shows one square", f"The square is {colour}", "Nothing else is in it"]
        rows.append(
            {
                "image": Image.new("RGB", (28, 28), colour),
                "question": f"Which colour has square {number}?",
                "answer": colour,
                "reference_steps": steps[: 1 + number % 3],
            }
        )
    datasets.Dataset.from_list(rows).save_to_disk(folder)
    return folder


def build_model(folder: Path) -> Path:
    """The model, whose words outweigh all else that a tokenizer has."""
    build_tiny_qwen2_5_vl(folder)
    processor = AutoProcessor.from_pretrained(folder)
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32)
    tokenizer = processor.tokenizer
    tokenizer.add_tokens([*RESPONSES, NO_RESPONSE])
    words = tokenizer.convert_tokens_to_ids([*RESPONSES, NO_RESPONSE])
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    text = processor.apply_chat_template([{"role": "user", "content": "Look"}], add_generation_prompt=True)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        asked = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
        towards = asked.hidden_states[-1][0, -1]
        head = model.get_output_embeddings().weight
        head.zero_()
        head[words] = (
            WEIGHT * towards / towards.norm() ** 2
            + SPREAD * torch.randn(len(words), head.shape[1], generator=generator) / towards.norm()
        )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def build_without_weights(folder: Path) -> Path:
    """A folder with all that can be checked of a model, which could not be loaded."""
    build_tiny_qwen2_5_vl(folder)
    save_file({}, folder / "model.safetensors")
    return folder


def tiny_config(root: Path, **more: Any) -> TrainConfig:
    """Two phases of three steps each, validated after each, over the items and the model that lie in ``root``."""
    phase = PhaseConfig(steps=3, per_device_batch=4, candidates=4, accumulation=2, learning_rate=1e-3)
    config = TrainConfig(
        model=str(root / "model"),
        output=str(root / "out"),
        data=DataConfig(path=str(root / "items"), validation=0.4, allow_test_items=True),
        rewards=RewardConfig(),
        phases=(phase, phase),
        encoder="minilm",
        top_k=len(RESPONSES) + 1,
        max_completion_length=1,
        dtype="float32",
        gradient_checkpointing=False,
        validate_every=1,
        keep_checkpoints=1,
    )
    return replace(config, **more)
