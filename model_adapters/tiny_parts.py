"""What the tiny random models share: a tokenizer learned from four lines, chat templates, weights, and saving."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast, ProcessorMixin

SEED = 42
# All bytes, a few merges and the markers; a small vocabulary keeps the embedding, most of the weights, small.
VOCABULARY = 512
# Long enough for the longest prompt with the most image tokens that a real processor makes.
CONTEXT_LENGTH = 32768
# Spread of a layer's output over that of its input. At 1 and below a stack of random layers forgets the
# picture and repeats one token; from 2 on the texts of different pictures differ.
GAIN = 2.0
# The same of the embedding: less, or the last word outweighs all that the layers make of the rest.
EMBEDDING_GAIN = 0.5
# How far Llama 3.2 Vision opens the gates to its picture. A fresh one has them shut; wide open they drown the question.
GATE = 0.3
# What the tokenizer learns its merges from: the words that a response holds.
CORPUS = (
    '{"reasoning_steps": ["The sign is red", "The sign has eight sides"], "answer": "B"}',
    "The chart shows five bars and the tallest bar stands for the third month.",
    "Two angles of the triangle are given, so the third angle follows from their sum.",
    "Answer with one JSON object that holds the reasoning steps and the answer.",
)
# Between the markers of a turn: the parts of a message in their order, each picture as its marker.
PARTS = """\
{%%- macro parts(message) -%%}
  {%%- if message.content is string -%%}
    {{- message.content -}}
  {%%- else -%%}
    {%%- for content in message.content -%%}
      {%%- if content.type == "image" -%%}
        {{- "%(image)s" -}}
      {%%- elif content.type == "video" -%%}
        {{- "%(video)s" -}}
      {%%- else -%%}
        {{- content.text -}}
      {%%- endif -%%}
    {%%- endfor -%%}
  {%%- endif -%%}
{%%- endmacro -%%}
"""


def chat_template(turn: str, answer: str, image: str, video: str = "", begin: str = "") -> str:
    """A chat template: ``begin``, then ``turn`` for each message (role and parts filled in), then ``answer``.

    ``turn`` and ``answer`` are inner pieces of a Jinja expression, so that they can name the role.
    """
    return (
        PARTS % {"image": image, "video": video}
        + '{{- "'
        + begin
        + '" -}}\n{%- for message in messages -%}{{- '
        + turn
        + " -}}{%- endfor -%}\n{%- if add_generation_prompt -%}{{- "
        + answer
        + " -}}{%- endif -%}\n"
    )


def make_tokenizer(
    special: Sequence[str],
    end: str,
    padding: str,
    kind: type[PreTrainedTokenizerFast] = PreTrainedTokenizerFast,
    **more: Any,
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer, which encodes any text without an unknown token.

    ``kind`` is the class that the processors of some families insist on. ``more`` goes to that
    class: the beginning of a text, or the names that a processor looks its markers up by
    (``extra_special_tokens``).
    """
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
    named = {end, padding, more.get("bos_token"), *more.get("extra_special_tokens", {}).values()}
    tokenizer = kind(
        tokenizer_object=bpe,
        eos_token=end,
        pad_token=padding,
        model_max_length=CONTEXT_LENGTH,
        # As real checkpoints state it; transformers 4 adds token types otherwise, which no text model takes.
        model_input_names=["input_ids", "attention_mask"],
        **more,
    )
    tokenizer.add_tokens([token for token in special if token not in named], special_tokens=True)
    return tokenizer


def text_config(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    """What the text models of all families have in common: two layers of 64, with the tokenizer's words."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": CONTEXT_LENGTH,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def save(kind: type[PreTrainedModel], config: PretrainedConfig, processor: ProcessorMixin, path: str | Path) -> Path:
    """Writes a model of that kind with random weights, the same each time, and its processor; returns the folder.

    It never ends a text by itself, so that every run of it is as long as it is allowed to be.
    """
    folder = Path(path)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(SEED)
        model = kind(config)
        for name, weights in model.named_parameters():
            if weights.ndim > 1:
                gain = EMBEDDING_GAIN if "embed_tokens" in name else GAIN
                weights.normal_(std=gain * weights[0].numel() ** -0.5)
            elif "gate" in name:
                weights.fill_(GATE)
        # A score of zero, far below the best of hundreds of random ones.
        model.get_output_embeddings().weight[model.generation_config.eos_token_id] = 0
        model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
