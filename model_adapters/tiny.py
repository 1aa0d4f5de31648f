"""Tiny random models of real families, built offline from their config classes: for demos and tests without a hub.

    python -m lmms_eval_crystal.model_adapters.tiny qwen2_5_vl PATH

Such a model has the real architecture and the real processor, and writes noise: it shows that a
whole run works, on a CPU, in seconds.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerFast,
    ProcessorMixin,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
    Qwen3VLVideoProcessor,
)

SEED = 42
# All bytes, a few merges and the markers; a small vocabulary keeps the embedding, most of the weights, small.
VOCABULARY = 512
# Long enough for the longest prompt with the most image tokens that a real processor makes.
CONTEXT_LENGTH = 32768
# What the tokenizer learns its merges from: the words that a response holds.
CORPUS = (
    '{"reasoning_steps": ["The sign is red", "The sign has eight sides"], "answer": "B"}',
    "The chart shows five bars and the tallest bar stands for the third month.",
    "Two angles of the triangle are given, so the third angle follows from their sum.",
    "Answer with one JSON object that holds the reasoning steps and the answer.",
)

QWEN_SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
QWEN_VISION: dict[str, Any] = {
    "depth": 2,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_heads": 2,
    "out_hidden_size": 64,
}
QWEN_TEMPLATE = """\
{%- macro part(content) -%}
  {%- if content.type == "image" -%}
    <|vision_start|><|image_pad|><|vision_end|>
  {%- elif content.type == "video" -%}
    <|vision_start|><|video_pad|><|vision_end|>
  {%- else -%}
    {{- content.text -}}
  {%- endif -%}
{%- endmacro -%}
{%- for message in messages -%}
  {{- "<|im_start|>" + message.role + "\n" -}}
  {%- if message.content is string -%}
    {{- message.content -}}
  {%- else -%}
    {%- for content in message.content -%}{{- part(content) -}}{%- endfor -%}
  {%- endif -%}
  {{- "<|im_end|>\n" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|im_start|>assistant\n" -}}{%- endif -%}
"""


def build_tiny_qwen2_5_vl(path: str | Path) -> Path:
    """A Qwen2.5-VL of 0.2 M random weights at ``path``, the same each time; returns the path.

    It loads as any checkpoint does, for one with the harness's own ``qwen2_5_vl``:
    ``--model qwen2_5_vl --model_args pretrained=PATH,device=cpu,device_map=cpu``.
    """
    tokenizer = _tokenizer(QWEN_SPECIAL, end="<|im_end|>", padding="<|endoftext|>")
    config = Qwen2_5_VLConfig(
        text_config=_qwen_text(tokenizer),
        vision_config=QWEN_VISION | {"fullatt_block_indexes": [1]},
        **_qwen_markers(tokenizer),
    )
    torch.manual_seed(SEED)
    processor = Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=QWEN_TEMPLATE,
    )
    return _save(Qwen2_5_VLForConditionalGeneration(config), processor, path)


def build_tiny_qwen3_vl(path: str | Path) -> Path:
    """A Qwen3-VL of 0.2 M random weights at ``path``, the same each time; returns the path."""
    tokenizer = _tokenizer(QWEN_SPECIAL, end="<|im_end|>", padding="<|endoftext|>")
    config = Qwen3VLConfig(
        text_config=_qwen_text(tokenizer) | {"head_dim": 16},
        # A grid of six by six learned positions, which the model stretches over any picture.
        vision_config=QWEN_VISION | {"num_position_embeddings": 36, "deepstack_visual_indexes": [0]},
        **_qwen_markers(tokenizer),
    )
    torch.manual_seed(SEED)
    processor = Qwen3VLProcessor(
        # Qwen3-VL has patches of 16 pixels where the processor's own default is its forerunner's 14.
        image_processor=Qwen2VLImageProcessor(patch_size=16, image_mean=[0.5] * 3, image_std=[0.5] * 3),
        tokenizer=tokenizer,
        video_processor=Qwen3VLVideoProcessor(),
        chat_template=QWEN_TEMPLATE,
    )
    return _save(Qwen3VLForConditionalGeneration(config), processor, path)


# One function a family, under the name that the harness gives it.
FAMILIES: dict[str, Callable[[str | Path], Path]] = {
    "qwen2_5_vl": build_tiny_qwen2_5_vl,
    "qwen3_vl": build_tiny_qwen3_vl,
}


def _qwen_text(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": CONTEXT_LENGTH,
        # Time, height and width share the eight rotary frequencies of a head of sixteen; in the spelling of
        # transformers 4, which 5 reads as well.
        "rope_theta": 10000.0,
        "rope_scaling": {"rope_type": "default", "mrope_section": [2, 3, 3]},
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def _qwen_markers(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    ids = tokenizer.get_vocab()
    return {
        "image_token_id": ids["<|image_pad|>"],
        "video_token_id": ids["<|video_pad|>"],
        "vision_start_token_id": ids["<|vision_start|>"],
        "vision_end_token_id": ids["<|vision_end|>"],
    }


def _tokenizer(special: tuple[str, ...], end: str, padding: str) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer, which encodes any text without an unknown token."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=end,
        pad_token=padding,
        additional_special_tokens=[token for token in special if token not in (end, padding)],
        model_max_length=CONTEXT_LENGTH,
    )


def _save(model: PreTrainedModel, processor: ProcessorMixin, path: str | Path) -> Path:
    folder = Path(path)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def main() -> None:
    """The command line: a family and a folder."""
    parser = argparse.ArgumentParser(description="Build a tiny random model of a family, offline.")
    parser.add_argument("family", choices=sorted(FAMILIES))
    parser.add_argument("path", type=Path, help="the folder to write, as for save_pretrained")
    arguments = parser.parse_args()
    print(FAMILIES[arguments.family](arguments.path))


if __name__ == "__main__":
    main()
