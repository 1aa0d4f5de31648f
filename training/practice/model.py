"""A tiny Qwen2.5-VL to practise on: the real architecture and processor, with a token for each word it needs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2Tokenizer,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

from ...crystal_task.prompt import PLACES, PROMPT_FILE
from ...model_adapters.tiny_parts import VOCABULARY
from ...model_adapters.tiny_qwen import SPECIAL, TEMPLATE
from .questions import draw_questions, response

#: Pieces of a response that are one token each, so that its form costs few of them.
JSON_PARTS = ('{"reasoning_steps": ["', '{"reasoning_steps": [', '", "', '"], "answer": "', '], "answer": "', '"}')
#: Questions whose texts hold all words of all questions.
CORPUS_QUESTIONS = 2000
CONTEXT_LENGTH = 4096
#: Spread of the fresh weights and of the embedding. transformers' own 0.02 is meant for layers that are ten times as
#: wide; with it this model needs several times as many steps until it finds what a question asks for.
SPREAD, EMBEDDING_SPREAD = 0.1, 0.5

WIDTH, LAYERS, HEADS = 96, 4, 3
TEXT: dict[str, Any] = {
    "hidden_size": WIDTH,
    "intermediate_size": 2 * WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "max_position_embeddings": CONTEXT_LENGTH,
    "tie_word_embeddings": True,
    "rope_theta": 10000.0,
    # Time, height and width share the sixteen rotary frequencies of a head of thirty-two.
    "rope_scaling": {"rope_type": "default", "mrope_section": [4, 6, 6]},
    "initializer_range": SPREAD,
}
VISION: dict[str, Any] = {
    "depth": 2,
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_heads": 2,
    "out_hidden_size": WIDTH,
    "fullatt_block_indexes": [1],
    "initializer_range": SPREAD,
}


def build_model(folder: str | Path, seed: int) -> Path:
    """Writes the model with random weights and its processor to ``folder``, as ``save_pretrained`` does."""
    tokenizer = _tokenizer()
    ids = tokenizer.get_vocab()
    config = Qwen2_5_VLConfig(
        text_config=TEXT
        | {
            "vocab_size": len(tokenizer),
            "bos_token_id": None,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config=VISION,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=True,
    )
    processor = Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=TEMPLATE,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2_5_VLForConditionalGeneration(config)
        embeddings = model.get_input_embeddings()
        assert isinstance(embeddings, torch.nn.Embedding)
        torch.nn.init.normal_(embeddings.weight, std=EMBEDDING_SPREAD)
        model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return Path(folder)


def _tokenizer() -> Qwen2Tokenizer:
    """Qwen's byte-level BPE, learned until each word of the questions and their chains is one token.

    The wording around the question is one token as well: it is the same in every prompt, so a model learns
    nothing from it, and read in full it would make up three quarters of what each step computes.
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2 * VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(_corpus(), trainer)
    tokenizer = Qwen2Tokenizer(
        tokenizer_object=bpe,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=CONTEXT_LENGTH,
        model_input_names=["input_ids", "attention_mask"],
    )
    tokenizer.add_tokens([token for token in SPECIAL if token not in tokenizer.all_special_tokens], special_tokens=True)
    wording = PROMPT_FILE.read_text("utf-8").strip().partition(PLACES[0])[0]
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in (wording, *JSON_PARTS)])
    return tokenizer


def _corpus() -> Iterable[str]:
    yield from ["user\n", "assistant\n"]
    for question in draw_questions(CORPUS_QUESTIONS, "corpus"):
        yield question.text
        yield from question.reference_steps
        yield response(question.reference_steps, question.answer)
