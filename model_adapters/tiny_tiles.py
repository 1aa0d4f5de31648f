"""Tiny random models of the families that bring a picture, or tiles cut from it, to squares of one size.

The squares have 56 pixels here, 4 by 4 patches, where the real ones have 336 to 896; all else is as there.
"""

from pathlib import Path
from typing import Any

from transformers import (
    CLIPVisionConfig,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Gemma3ImageProcessor,
    Gemma3Processor,
    GotOcr2ImageProcessor,
    InternVLConfig,
    InternVLForConditionalGeneration,
    InternVLProcessor,
    InternVLVideoProcessor,
    LlavaNextConfig,
    LlavaNextForConditionalGeneration,
    LlavaNextImageProcessor,
    LlavaNextProcessor,
    MistralConfig,
    MllamaConfig,
    MllamaForConditionalGeneration,
    MllamaImageProcessor,
    MllamaProcessor,
    Qwen2Config,
    Qwen2Tokenizer,
)

from .tiny_parts import chat_template, make_tokenizer, save, text_config

SQUARE, PATCH = 56, 14
SQUARE_SIZE = {"height": SQUARE, "width": SQUARE}
CHATML = {
    "turn": r'"<|im_start|>" + message.role + "\n" + parts(message) + "<|im_end|>\n"',
    "answer": r'"<|im_start|>assistant\n"',
}


def build_tiny_internvl(path: str | Path) -> Path:
    """An InternVL3 of 0.2 M random weights at ``path``, the same each time; returns the path."""
    named = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tokenizer = make_tokenizer(
        ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *named.values()),
        end="<|im_end|>",
        padding="<|endoftext|>",
        kind=Qwen2Tokenizer,
        extra_special_tokens=named,
    )
    ids = tokenizer.get_vocab()
    config = InternVLConfig(
        text_config=Qwen2Config(**text_config(tokenizer), tie_word_embeddings=False).to_dict(),
        vision_config=_vision() | {"image_size": [SQUARE, SQUARE], "patch_size": [PATCH, PATCH]},
        image_token_id=ids["<IMG_CONTEXT>"],
        image_seq_length=4,
        tie_word_embeddings=False,
    )
    processor = InternVLProcessor(
        image_processor=GotOcr2ImageProcessor(size=SQUARE_SIZE),
        tokenizer=tokenizer,
        video_processor=InternVLVideoProcessor(size=SQUARE_SIZE),
        image_seq_length=4,
        chat_template=chat_template(**CHATML, image=r"<IMG_CONTEXT>\n", video=r"<video>\n"),
    )
    return save(InternVLForConditionalGeneration, config, processor, path)


def build_tiny_gemma3(path: str | Path) -> Path:
    """A Gemma 3 of 0.2 M random weights at ``path``, the same each time; returns the path."""
    named = {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"}
    tokenizer = make_tokenizer(
        ("<pad>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", *named.values()),
        end="<eos>",
        padding="<pad>",
        bos_token="<bos>",
        extra_special_tokens=named,
    )
    ids = tokenizer.get_vocab()
    config = Gemma3Config(
        text_config=text_config(tokenizer)
        # A window shorter than the prompts and one layer of each kind, so that both are at work.
        | {
            "head_dim": 16,
            "sliding_window": 64,
            "layer_types": ["sliding_attention", "full_attention"],
            "tie_word_embeddings": False,
        },
        vision_config=_vision() | {"image_size": SQUARE, "patch_size": PATCH, "vision_use_head": False},
        mm_tokens_per_image=4,
        image_token_index=ids["<image_soft_token>"],
        boi_token_index=ids["<start_of_image>"],
        eoi_token_index=ids["<end_of_image>"],
        # The real one writes with the embedding that it reads with; a random one would only repeat what it reads.
        tie_word_embeddings=False,
    )
    # Two ends, of the text and of the turn, as in the real one.
    config.eos_token_id = [ids["<eos>"], ids["<end_of_turn>"]]
    processor = Gemma3Processor(
        image_processor=Gemma3ImageProcessor(size=SQUARE_SIZE, image_mean=[0.5] * 3, image_std=[0.5] * 3),
        tokenizer=tokenizer,
        image_seq_length=4,
        chat_template=chat_template(
            begin="<bos>",
            turn=r'"<start_of_turn>" + message.role + "\n" + parts(message) + "<end_of_turn>\n"',
            answer=r'"<start_of_turn>model\n"',
            image="<start_of_image>",
        ),
    )
    return save(Gemma3ForConditionalGeneration, config, processor, path)


def build_tiny_mllama(path: str | Path) -> Path:
    """A Llama 3.2 Vision of 0.3 M random weights at ``path``, the same each time; returns the path."""
    tokenizer = make_tokenizer(
        ("<|begin_of_text|>", "<|eot_id|>", "<|finetune_right_pad_id|>", "<|start_header_id|>", "<|end_header_id|>"),
        end="<|eot_id|>",
        padding="<|finetune_right_pad_id|>",
        bos_token="<|begin_of_text|>",
    )
    words = len(tokenizer)
    # Last of all, since the model can read this token and never writes it.
    tokenizer.add_tokens(["<|image|>"], special_tokens=True)
    config = MllamaConfig(
        text_config=text_config(tokenizer)
        | {
            "vocab_size": words,
            "num_hidden_layers": 3,
            "cross_attention_layers": [1],
            "bos_token_id": tokenizer.bos_token_id,
            # In the spelling of transformers 4, which 5 reads as well.
            "rope_theta": 10000.0,
            "rope_scaling": {"rope_type": "default"},
        },
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "attention_heads": 2,
            "num_hidden_layers": 2,
            "num_global_layers": 1,
            "intermediate_layers_indices": [0],
            "vision_output_dim": 64,
            "image_size": SQUARE,
            "patch_size": PATCH,
        },
        image_token_index=words,
    )
    processor = MllamaProcessor(
        image_processor=MllamaImageProcessor(size=SQUARE_SIZE),
        tokenizer=tokenizer,
        chat_template=chat_template(
            begin="<|begin_of_text|>",
            turn=r'"<|start_header_id|>" + message.role + "<|end_header_id|>\n\n" + parts(message) + "<|eot_id|>"',
            answer=r'"<|start_header_id|>assistant<|end_header_id|>\n\n"',
            image="<|image|>",
        ),
    )
    return save(MllamaForConditionalGeneration, config, processor, path)


def build_tiny_llava_next(path: str | Path) -> Path:
    """A LLaVA-v1.6 (Mistral) of 0.2 M random weights at ``path``, the same each time; returns the path."""
    tokenizer = make_tokenizer(
        ("<unk>", "<s>", "</s>", "<pad>", "<image>"), end="</s>", padding="<pad>", bos_token="<s>"
    )
    grid = [[SQUARE * rows, SQUARE * columns] for rows, columns in ((1, 2), (2, 1), (2, 2), (3, 1), (1, 3))]
    ids = tokenizer.get_vocab()
    config = LlavaNextConfig(
        text_config=MistralConfig(**text_config(tokenizer)).to_dict(),
        vision_config=CLIPVisionConfig(**_vision(), image_size=SQUARE, patch_size=PATCH).to_dict(),
        image_token_index=ids["<image>"],
        image_grid_pinpoints=grid,
        image_seq_length=(SQUARE // PATCH) ** 2,
    )
    processor = LlavaNextProcessor(
        image_processor=LlavaNextImageProcessor(
            size={"shortest_edge": SQUARE}, crop_size=SQUARE_SIZE, image_grid_pinpoints=grid
        ),
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        # No beginning of the text in the template, as in the real one: the tokenizer adds it.
        chat_template=chat_template(
            turn=r'("[INST] " + parts(message) + " [/INST]") if message.role == "user" else (parts(message) + "</s>")',
            answer='""',
            image=r"<image>\n",
        ),
    )
    return save(LlavaNextForConditionalGeneration, config, processor, path)


def _vision() -> dict[str, Any]:
    return {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
