"""Validation: greedy responses to the held-out items, scored as the evaluation scores them.

Generation is the model adapters' own, scoring the metrics' own, so that a number here is the number that
``crystal_hf`` gets on the same items, with the same limit of tokens. The test set is never opened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ..crystal_task.encoder import move_to_free_device, shared_encoder
from ..crystal_task.item import Item
from ..crystal_task.prompt import Prompt, messages
from ..crystal_task.response import Response, parse_response
from ..crystal_task.settings import Settings
from ..metrics import StepEncoder, StepScores, chain_similarity, compared_steps, judge_answer, score_similarity
from ..model_adapters.batching import Batches
from ..model_adapters.conversation import ChatFormat
from ..model_adapters.generation import Decoding
from ..model_adapters.image_limits import ImageLimits, set_image_limits
from ..model_adapters.pictures import fit
from ..model_adapters.responses import Written, greedily, write_batch
from .config import TrainConfig
from .data import TrainingData, reward_columns
from .plan import reward_of
from .rewards import Reward, rewards_of
from .sharing import joined, main_does, own_share, same_randomness

#: Told how many of how many items are done.
Tell = Callable[[int, int], None]
Metrics = dict[str, float | None]


@dataclass(frozen=True)
class Asking:
    """How items become prompts, in training and in validation alike: processor, wording, and limits of pictures."""

    processor: Any
    prompt: Prompt
    chat: ChatFormat
    limits: ImageLimits

    @classmethod
    def of(cls, config: TrainConfig, prompt: Prompt, processor: Any) -> Asking:
        """Sets on the processor, which keeps them where it is saved, the configuration's limits of pictures, and that
        it pads on the left: trl does so with prompts, and takes from the processor which of their tokens are pictures'.
        """
        processor.tokenizer.padding_side = "left"
        limits = set_image_limits(processor, config.min_pixels, config.max_pixels, config.max_tiles)
        return cls(processor, prompt, ChatFormat(processor), limits)


@dataclass
class Validator:
    """Generates and scores responses to ``data.validated``; ``encoder`` is the name of that of Match F1.

    The reward is the method's own, of the last phase where there are two, so that the lines of both phases compare;
    without the guard against verbosity, whose median is one of the training.
    """

    config: TrainConfig
    data: TrainingData
    asking: Asking
    encoder: str
    batches: Batches = field(init=False)
    rewards: list[Reward] = field(init=False)

    def __post_init__(self) -> None:
        # As many as trl generates at once, which the device has room for.
        first = self.config.phases[0]
        self.batches = Batches(first.per_device_batch * first.accumulation)
        method = reward_of(self.config.method, len(self.config.phases))
        self.rewards = rewards_of(method, self.config.rewards, self.reward_encoder)

    @property
    def reward_encoder(self) -> StepEncoder | None:
        """The encoder that rewards of steps are computed with; None where they are by word overlap."""
        return shared_encoder(self.encoder)[0] if self.config.rewards.similarity == "encoder" else None

    def respond(self, network: Any, dtype: torch.dtype, tell: Tell | None = None) -> list[Written]:
        """One greedy response per item, in order; every process gets all. Collective.

        Neither the network nor the random state of the training is changed by it.
        """
        items = self.data.validated
        share = own_share(len(items))
        # The longest first: little is padded, and what does not fit into memory shows at once.
        order = sorted(share, key=lambda place: -len(items[place].full_question))
        written: dict[int, Written] = {}
        with same_randomness(), greedily(network, self.asking.processor.tokenizer):
            batches = self.batches.run(
                [items[place] for place in order],
                [len(items[place].full_question) for place in order],
                lambda batch: self._write(network, batch, dtype),
                lambda item: f"Item {item.index} of {self.data.name}",
            )
            for made in batches:
                written.update(zip(order[len(written) :], made, strict=False))
                if tell:
                    tell(len(written), len(share))
        return joined([written[place] for place in share], len(items))

    def _write(self, network: Any, items: Sequence[Item], dtype: torch.dtype) -> list[Written]:
        asking = self.asking
        conversations = [
            asking.chat.conversation(
                messages(asking.prompt.fill(item), self.data.open_image(item)),
                lambda image: fit(image, asking.limits.before),
            )
            for item in items
        ]
        decoding = Decoding(max_new_tokens=self.config.max_completion_length)
        return write_batch(network, asking.processor, conversations, decoding, dtype)

    def measure(self, written: Sequence[Written]) -> Metrics:
        """The means over the items; the main process scores for all. Collective."""
        return main_does(lambda: self._measured(written))

    def _measured(self, written: Sequence[Written]) -> Metrics:
        items = self.data.validated
        responses = [parse_response(made.text) for made in written]
        verdicts = [
            judge_answer(response.answer, item.answer, item.question, item.options)
            for response, item in zip(responses, items, strict=True)
        ]
        steps = self._scored(responses)
        rewards = self._rewards(written)
        right = np.array([verdict.strict for verdict in verdicts])
        f1 = np.array([scores.match_f1 for scores in steps])
        limit = self.config.max_completion_length
        means = {
            "accuracy": np.mean([verdict.paper for verdict in verdicts]),
            "accuracy_strict": right.mean(),
            "match_f1": f1.mean(),
            "precision": np.mean([scores.precision for scores in steps]),
            "recall": np.mean([scores.recall for scores in steps]),
            "ordered_f1": np.mean([scores.ordered_f1 for scores in steps]),
            "lis": np.mean([scores.lis for scores in steps]),
            "steps": np.mean([scores.predicted for scores in steps]),
            "format_valid": np.mean([response.status == "valid" for response in responses]),
            "truncated": np.mean(
                [
                    response.truncated or made.output_tokens >= limit
                    for response, made in zip(responses, written, strict=True)
                ]
            ),
            "reward": rewards.mean(),
        }
        plain: Metrics = {name: float(mean) for name, mean in means.items()}
        return plain | {"discrimination": discrimination(rewards, right), "reward_f1_pearson": pearson(rewards, f1)}

    def _scored(self, responses: Sequence[Response]) -> list[StepScores]:
        settings = Settings.from_environment()
        encoder, table = shared_encoder(self.encoder)
        items = self.data.validated
        table.progress = False
        move_to_free_device(encoder, settings.encoder_device)
        table.add((step for item in items for step in item.reference_steps), keep=True)
        table.add(
            step for response in responses if not response.is_placeholder for step in compared_steps(response.steps)
        )
        if self.reward_encoder is None:
            encoder.to("cpu")  # training goes on with the whole GPU
        scores = [
            StepScores.of_pairs([], len(response.steps), len(item.reference_steps), settings.alpha)
            if response.is_placeholder
            else score_similarity(
                chain_similarity(table, response.steps, item.reference_steps), settings.tau, settings.alpha
            )
            for response, item in zip(responses, items, strict=True)
        ]
        table.forget_passing()
        return scores

    def _rewards(self, written: Sequence[Written]) -> np.ndarray:
        """The whole reward of each response, shape ``(items,)``."""
        columns = reward_columns(self.data.validated)
        texts = [made.text for made in written]
        return np.sum([reward(texts, **columns) for reward in self.rewards], axis=0)


def discrimination(rewards: np.ndarray, right: np.ndarray) -> float | None:
    """Mean reward of right answers minus that of wrong ones (Table 6); None where there are none of either.

    >>> discrimination(np.array([1.0, 0.5, 0.1]), np.array([True, True, False]))
    0.65
    """
    if right.all() or not right.any():
        return None
    return float(rewards[right].mean() - rewards[~right].mean())


def pearson(first: np.ndarray, second: np.ndarray) -> float | None:
    """Pearson's r; None where one of the two does not vary.

    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.5])), 3)
    0.998
    """
    if len(first) < 2 or math.isclose(first.std(), 0) or math.isclose(second.std(), 0):
        return None
    return float(np.corrcoef(first, second)[0, 1])
