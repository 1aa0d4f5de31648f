"""Rewards for GRPO in trl's form, ``reward(completions, **columns) -> list[float]``, for any trainer that takes it.

The dataset has the columns ``solution`` (the reference answer) and, for rewards of steps, ``reference_steps`` (a list);
``question`` and ``options`` help to judge answers where they are there. Completions are texts or trl's messages. They
are read and judged as the evaluation does it, and malformed ones count: they get 0.

>>> completions = ['{"reasoning_steps": ["The car is red"], "answer": "red"}'] * 2
>>> CprReward()(completions, solution=["red", "blue"], reference_steps=[["The car is red"]] * 2)
[1.0, 0.105]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, get_args

from ..crystal_task import Response
from ..errors import CrystalError
from ..metrics import Encoder, score_items
from .completions import Chain, are_correct, chain_of, lists_of, overlap_of, read
from .config import AnswerRule, Method, RewardConfig, Similarity
from .surgery import Objective
from .verbosity import VerbosityGuard


class Reward(Protocol):
    """A reward as trl calls it."""

    @property
    def objective(self) -> Objective:
        """Which of the two gradients it belongs to: the answer's (format too) or the steps'."""
        ...

    @property
    def __name__(self) -> str:
        """What trl logs it as."""
        ...

    def __call__(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """One reward for each completion."""
        ...


@dataclass(frozen=True, kw_only=True)
class FormatReward:
    """``weight`` for a valid response, else 0: valid as ``format_valid`` has it, JSON and nothing around it."""

    weight: float = 1.0
    objective: ClassVar[Objective] = "answer"
    __name__ = "format"

    def __call__(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """One reward for each completion; no column is needed."""
        return [self.weight * (response.status == "valid") for response in read(completions)]


@dataclass(frozen=True, kw_only=True)
class _OfAnswers:
    """How answers are judged: ``strict`` for ``accuracy_strict``, ``released`` for the rule in the released CPR."""

    answer_rule: AnswerRule = RewardConfig.answer_rule

    def __post_init__(self) -> None:
        _check_choice("answer_rule", self.answer_rule, get_args(AnswerRule))


@dataclass(frozen=True, kw_only=True)
class _OfSteps:
    """How steps are matched, and what is taken off long chains.

    Steps match one to one where their ``similarity`` exceeds ``threshold``: word overlap, or the cosine of an
    ``encoder`` (the evaluation's threshold for that is 0.35). With a ``guard``, chains that are far too long lose.
    """

    similarity: Similarity = RewardConfig.similarity
    threshold: float = RewardConfig.threshold
    encoder: Encoder | None = None
    guard: VerbosityGuard | None = None

    def __post_init__(self) -> None:
        _check_choice("similarity", self.similarity, get_args(Similarity))
        if not 0 <= self.threshold < 1:
            raise CrystalError(f"threshold is {self.threshold}; a threshold of similarity lies from 0 to below 1.")
        if self.similarity == "encoder" and self.encoder is None:
            raise CrystalError('similarity "encoder" needs an encoder; give one, or choose "overlap".')

    def _step_scores(self, responses: Sequence[Response], columns: dict[str, Any]) -> list[float]:
        """Step F1 of each response, in ``[0, 1]``, less what the guard takes; 0 where there are no steps."""
        references = lists_of(columns, "reference_steps", len(responses))
        pairs = list(zip(map(chain_of, responses), references, strict=True))
        scores = self._step_f1(pairs)
        if self.guard is None:
            return scores
        lengths = [(len(chain), len(reference)) for chain, reference in pairs]
        factors = self.guard.judge(lengths, columns.get("log_metric"))
        return [score * factor for score, factor in zip(scores, factors, strict=True)]

    def _step_f1(self, pairs: list[tuple[Chain, Chain]]) -> list[float]:
        if self.similarity == "overlap" or self.encoder is None:
            return [overlap_of(chain, reference, self.threshold) for chain, reference in pairs]
        scored = score_items(pairs, self.encoder, tau=self.threshold)
        # Two empty chains agree in the evaluation; here, who writes no steps earns nothing by it.
        return [scores.match_f1 if scores.predicted else 0.0 for scores in scored]


@dataclass(frozen=True, kw_only=True)
class AccuracyReward(_OfAnswers):
    """``weight`` for a right answer, else 0."""

    weight: float = 1.0
    objective: ClassVar[Objective] = "answer"
    __name__ = "accuracy"

    def __call__(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """One reward for each completion, from the column ``solution``."""
        return [self.weight * right for right in are_correct(read(completions), columns, self.answer_rule)]


@dataclass(frozen=True, kw_only=True)
class StepF1Reward(_OfSteps):
    """``weight`` times the step F1 against ``reference_steps``, whatever the answer is."""

    weight: float = 1.0
    objective: ClassVar[Objective] = "steps"
    __name__ = "steps"

    def __call__(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """One reward for each completion, from the column ``reference_steps``."""
        return [self.weight * score for score in self._step_scores(read(completions), columns)]


@dataclass(frozen=True, kw_only=True)
class CprAnswerReward(_OfAnswers):
    """The answer's part of CPR: ``answer_weight`` if the answer is right, else 0."""

    answer_weight: float = RewardConfig.answer_weight
    objective: ClassVar[Objective] = "answer"
    __name__ = "cpr_answer"

    def __call__(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """One reward for each completion, from the column ``solution``."""
        return [self.answer_weight * right for right in are_correct(read(completions), columns, self.answer_rule)]


@dataclass(frozen=True, kw_only=True)
class CprStepsReward(_OfSteps, _OfAnswers):
    """The steps' part of CPR: ``step_weight * F1``, times ``wrong_factor`` if the answer is wrong."""

    step_weight: float = RewardConfig.step_weight
    wrong_factor: float = RewardConfig.wrong_factor
    objective: ClassVar[Objective] = "steps"
    __name__ = "cpr_steps"

    def __post_init__(self) -> None:
        _OfSteps.__post_init__(self)
        _OfAnswers.__post_init__(self)

    def __call__(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """One reward for each completion, from the columns ``solution`` and ``reference_steps``."""
        responses = read(completions)
        scores = self._step_scores(responses, columns)
        correct = are_correct(responses, columns, self.answer_rule)
        return [
            self.step_weight * score * (1.0 if right else self.wrong_factor)
            for score, right in zip(scores, correct, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class CprReward(CprStepsReward):
    """The Causal Process Reward (arXiv 2603.13099): answer and steps interact, in one number in ``[0, 1]``.

    ``answer_weight + step_weight * F1`` if the answer is right, ``wrong_factor * step_weight * F1`` if it is wrong.
    ``CprAnswerReward`` and ``CprStepsReward`` are its two summands, for a trainer that tells their gradients apart.
    """

    answer_weight: float = RewardConfig.answer_weight
    objective: ClassVar[Objective] = "answer"
    __name__ = "cpr"

    def __call__(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """One reward for each completion, from the columns ``solution`` and ``reference_steps``."""
        answer = CprAnswerReward(answer_weight=self.answer_weight, answer_rule=self.answer_rule)
        parts = zip(answer(completions, **columns), super().__call__(completions, **columns), strict=True)
        return [of_answer + of_steps for of_answer, of_steps in parts]


def rewards_of(
    method: Method, rewards: RewardConfig, encoder: Encoder | None = None, guard: VerbosityGuard | None = None
) -> list[Reward]:
    """The rewards of a method, weighted already, so that a trainer adds them up as they are.

    Phase 1 of ``cpr-curriculum`` is ``answer-only``, phase 2 ``cpr``, which ``cpr-curriculum`` gives too. A reward that
    only measures, as in validation, gets no ``guard``: it would move with what it sees. Raises ``CrystalError`` where
    the method is unknown or a setting is out of its range.
    """
    _check_choice("method", method, get_args(Method))
    matching: dict[str, Any] = {
        "similarity": rewards.similarity,
        "threshold": rewards.threshold,
        "encoder": encoder,
        "guard": guard,
    }
    if method in ("cpr", "cpr-curriculum"):
        return [
            CprAnswerReward(answer_weight=rewards.answer_weight, answer_rule=rewards.answer_rule),
            CprStepsReward(
                step_weight=rewards.step_weight,
                wrong_factor=rewards.wrong_factor,
                answer_rule=rewards.answer_rule,
                **matching,
            ),
        ]
    answer: list[Reward] = [
        FormatReward(weight=rewards.format),
        AccuracyReward(weight=rewards.accuracy, answer_rule=rewards.answer_rule),
    ]
    return answer if method == "answer-only" else [*answer, StepF1Reward(weight=rewards.steps, **matching)]


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise CrystalError(f"{name} is {value!r}; choose {', '.join(choices[:-1])} or {choices[-1]}.")
