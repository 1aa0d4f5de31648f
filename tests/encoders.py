"""Encoders for tests, built offline as folders that sentence-transformers loads: one of words, one a tiny BERT."""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

WIDTH, SEED = 64, 42


def build_word_encoder(folder: Path, texts: Iterable[str]) -> Path:
    """Adds up a random direction for each word: texts are as similar as they share words."""
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    words = sorted({word for text in texts for word in re.findall(r"\w+", text.lower())})
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(["[UNK]", *words])}, "[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    weights = np.random.default_rng(SEED).normal(size=(len(words) + 1, WIDTH)).astype(np.float32)
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu").save(str(folder))
    return folder


def build_tiny_bert(folder: Path) -> Path:
    """A BERT of two layers with random weights, which reads single letters."""
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    base = folder.with_name(f"{folder.name}-base")
    base.mkdir(parents=True)
    signs = [chr(code) for code in range(33, 127)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *signs, *(f"##{sign}" for sign in signs)]
    (base / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    BertTokenizerFast(str(base / "vocab.txt"), model_max_length=64).save_pretrained(base)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        config = BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
        )
        BertModel(config).save_pretrained(base)
    transformer = Transformer(str(base))
    SentenceTransformer(modules=[transformer, Pooling(32)], device="cpu").save(str(folder))
    return folder
