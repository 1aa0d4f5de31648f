"""The texts of one batch, written by any network with a processor: for ``crystal_hf``, and to validate a training."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from .conversation import Conversation, model_inputs
from .generation import Decoding, UnpaddedPenalty, end_tokens, greedy_config, written


@dataclass(frozen=True)
class Written:
    """One response with its counts of tokens; an end token is not counted."""

    text: str
    input_tokens: int
    output_tokens: int


@contextmanager
def greedily(network: Any, tokenizer: Any) -> Iterator[None]:
    """Inside, the network writes with ``greedy_config`` and in evaluation mode; what it was set to comes back after."""
    # An adapter hands its settings through, but does not take others.
    base = network.get_base_model() if hasattr(network, "get_base_model") else network
    config, training = base.generation_config, network.training
    base.generation_config = greedy_config(base, tokenizer)
    network.eval()
    try:
        yield
    finally:
        base.generation_config = config
        network.train(training)


def write_batch(
    network: Any, processor: Any, conversations: Sequence[Conversation], decoding: Decoding, dtype: torch.dtype
) -> list[Written]:
    """One response per conversation, all of which hold the same number of pictures, as tensors of ``dtype``.

    ``network.generation_config`` is one of ``greedy_config``.
    """
    config = network.generation_config
    inputs = model_inputs(processor, conversations).to(network.device, dtype)
    read = inputs["attention_mask"].sum(dim=1).tolist()
    arguments = decoding.arguments()
    # Passed as 1, which is none, since generate would add its own to ours.
    penalty = arguments.pop("repetition_penalty", config.repetition_penalty) or 1.0
    if penalty != 1.0:
        padding = (inputs["attention_mask"] == 0).sum(dim=1)
        arguments |= {"repetition_penalty": 1.0, "logits_processor": [UnpaddedPenalty(float(penalty), padding)]}
    # Not inference mode, whose tensors a network that is being trained must not keep.
    with torch.no_grad():
        tokens = network.generate(**inputs, **arguments)
    rows = written(tokens[:, inputs["input_ids"].shape[1] :], end_tokens(config))
    decode = processor.tokenizer.decode
    texts = [decode(row, skip_special_tokens=True, clean_up_tokenization_spaces=False) for row in rows]
    return [Written(decoding.cut(text), count, len(row)) for text, row, count in zip(texts, rows, read, strict=True)]
