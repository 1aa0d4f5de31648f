"""Tiny random models of the Qwen-VL families, whose picture tokens grow with the picture."""

from pathlib import Path
from typing import Any

from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2Tokenizer,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
    Qwen3VLVideoProcessor,
)

from .tiny_parts import chat_template, make_tokenizer, save, text_config

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
VISION: dict[str, Any] = {
    "depth": 2,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_heads": 2,
    "out_hidden_size": 64,
}
TEMPLATE = chat_template(
    turn=r'"<|im_start|>" + message.role + "\n" + parts(message) + "<|im_end|>\n"',
    answer=r'"<|im_start|>assistant\n"',
    image="<|vision_start|><|image_pad|><|vision_end|>",
    video="<|vision_start|><|video_pad|><|vision_end|>",
)


def build_tiny_qwen2_5_vl(path: str | Path) -> Path:
    """A Qwen2.5-VL of 0.2 M random weights at ``path``, the same each time; returns the path.

    It loads as any checkpoint does, for one with the harness's own ``qwen2_5_vl``:
    ``--model qwen2_5_vl --model_args pretrained=PATH,device=cpu,device_map=cpu``.
    """
    tokenizer = make_tokenizer(SPECIAL, end="<|im_end|>", padding="<|endoftext|>", kind=Qwen2Tokenizer)
    config = Qwen2_5_VLConfig(
        text_config=_text(tokenizer),
        vision_config=VISION | {"fullatt_block_indexes": [1]},
        **_markers(tokenizer),
    )
    processor = Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=TEMPLATE,
    )
    return save(Qwen2_5_VLForConditionalGeneration, config, processor, path)


def build_tiny_qwen3_vl(path: str | Path) -> Path:
    """A Qwen3-VL of 0.2 M random weights at ``path``, the same each time; returns the path."""
    tokenizer = make_tokenizer(SPECIAL, end="<|im_end|>", padding="<|endoftext|>", kind=Qwen2Tokenizer)
    config = Qwen3VLConfig(
        text_config=_text(tokenizer) | {"head_dim": 16},
        # A grid of six by six learned positions, which the model stretches over any picture.
        vision_config=VISION | {"num_position_embeddings": 36, "deepstack_visual_indexes": [0]},
        **_markers(tokenizer),
    )
    processor = Qwen3VLProcessor(
        # Qwen3-VL has patches of 16 pixels where the processor's own default is its forerunner's 14.
        image_processor=Qwen2VLImageProcessor(patch_size=16, image_mean=[0.5] * 3, image_std=[0.5] * 3),
        tokenizer=tokenizer,
        video_processor=Qwen3VLVideoProcessor(),
        chat_template=TEMPLATE,
    )
    return save(Qwen3VLForConditionalGeneration, config, processor, path)


def _text(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    # Time, height and width share the eight rotary frequencies of a head of sixteen; in the spelling of transformers 4,
    # which 5 reads as well.
    rotary = {"rope_theta": 10000.0, "rope_scaling": {"rope_type": "default", "mrope_section": [2, 3, 3]}}
    return text_config(tokenizer) | rotary | {"bos_token_id": None}


def _markers(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    ids = tokenizer.get_vocab()
    return {
        "image_token_id": ids["<|image_pad|>"],
        "video_token_id": ids["<|video_pad|>"],
        "vision_start_token_id": ids["<|vision_start|>"],
        "vision_end_token_id": ids["<|vision_end|>"],
    }
