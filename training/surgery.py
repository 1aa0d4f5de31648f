"""Gradient surgery (PCGrad) for two objectives: where their gradients conflict, each is projected before they add up.

The paper's CPR has an objective for the answer and one for the steps. With a, s their gradients and d = a . s,

    d >= 0:  a + s
    d < 0:   (a - d / |s|^2 s) + (s - d / |a|^2 a)

both projected on the *original* other, so that the order of the objectives does not matter.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

from ..errors import CrystalError

Objective = Literal["answer", "steps"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
Gradients = Sequence[torch.Tensor | None]
#: Gradients of 16 bits are compared in 32; so many elements at a time bound the copies to 128 MB.
CHUNK = 2**24
#: What launchers set for schemes that spread one gradient over processes, by the name that a user knows.
SHARDING: Mapping[str, str] = {
    "ACCELERATE_USE_DEEPSPEED": "DeepSpeed",
    "ACCELERATE_USE_FSDP": "FSDP",
    "ACCELERATE_USE_MEGATRON_LM": "Megatron-LM",
}
#: accelerate's sizes of the parallel groups that hold a part of a model each.
SHARD_SIZES: Mapping[str, str] = {
    "PARALLELISM_CONFIG_DP_SHARD_SIZE": "sharded data parallelism",
    "PARALLELISM_CONFIG_TP_SIZE": "tensor parallelism",
    "PARALLELISM_CONFIG_CP_SIZE": "context parallelism",
    "PARALLELISM_CONFIG_SP_SIZE": "sequence parallelism",
}


@dataclass(frozen=True)
class Comparison:
    """How the two gradients of one optimiser step stood to each other."""

    #: In [-1, 1]; None where one of them is zero or not finite.
    cosine: float | None
    #: Whether they were projected.
    conflict: bool


def check_surgery(arguments: Any = None) -> None:
    """Refuses what shards gradients; cheap, so that it can run before a model is loaded.

    ``arguments`` are trl's or the trainer's training arguments, where they exist already; launchers are
    known by the environment that they set. Raises ``CrystalError`` with what to use instead.
    """
    names = [name for variable, name in SHARDING.items() if os.environ.get(variable, "").lower() in ("1", "true")]
    names += [name for variable, name in SHARD_SIZES.items() if int(os.environ.get(variable) or 1) > 1]
    names += ["DeepSpeed"] if getattr(arguments, "deepspeed", None) else []
    names += ["FSDP"] if getattr(arguments, "fsdp", None) else []
    if names:
        raise _refusal(names[0])


def project(answer: Gradients, steps: Gradients) -> tuple[list[torch.Tensor | None], Comparison]:
    """The gradient to step along, from those of the two objectives, parameter by parameter.

    None stands for a gradient of zero; a parameter that has none in either list gets none. One dot product
    over all parameters decides. Works in place: the result takes the memory of the arguments, which must
    not be used afterwards.

    >>> a, s = [torch.tensor([1.0, 0.0])], [torch.tensor([-1.0, 1.0])]
    >>> joined, comparison = project(a, s)
    >>> joined[0].tolist(), comparison.conflict
    ([0.5, 1.5], True)
    """
    dot, answer_square, steps_square = _products(answer, steps)
    conflict = dot < 0
    answer_share = 1 - dot / answer_square if conflict else 1.0
    steps_share = 1 - dot / steps_square if conflict else 1.0
    joined = [_weighted_sum(a, answer_share, s, steps_share) for a, s in zip(answer, steps, strict=True)]
    scale = math.sqrt(answer_square) * math.sqrt(steps_square)
    cosine = dot / scale if scale > 0 and math.isfinite(scale) else None
    return joined, Comparison(cosine, conflict)


class GradientSurgeon:
    """Keeps the gradients of both objectives apart over the micro-batches of one optimiser step, then joins them.

    Holds two gradients of the trainable parameters, in their own type, and no third: each backward pass
    accumulates into the objective's own. Raises ``CrystalError`` for parameters that are sharded.
    """

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        if any(isinstance(parameter, DTensor) for parameter in parameters):
            raise _refusal("a model sharded as it is loaded")
        self.parameters = list(parameters)
        self._kept: dict[Objective, list[torch.Tensor | None]] = {}
        self._forget()

    @contextmanager
    def collecting(self, objective: Objective) -> Iterator[None]:
        """What is backpropagated inside adds to this objective's gradient alone; may be nested."""
        outside = [parameter.grad for parameter in self.parameters]
        self._hang(self._kept[objective])
        try:
            yield
        finally:
            self._kept[objective] = [parameter.grad for parameter in self.parameters]
            self._hang(outside)

    def join(self) -> Comparison:
        """Averages both gradients over the processes, projects, and leaves the result as ``.grad``.

        A collective call: every process must make it, after the last micro-batch of an optimiser step.
        """
        self._average()
        joined, comparison = project(self._kept["answer"], self._kept["steps"])
        self._hang(joined)
        self._forget()
        return comparison

    def _average(self) -> None:
        # What plain data parallelism does in its own backward pass, which must not run for each objective by itself.
        if not (dist.is_available() and dist.is_initialized() and (processes := dist.get_world_size()) > 1):
            return
        kept = [gradient for objective in OBJECTIVES for gradient in self._kept[objective]]
        # A process whose batch left out a parameter must still take part in that parameter's mean.
        present = torch.tensor([g is not None for g in kept], dtype=torch.uint8, device=self.parameters[0].device)
        dist.all_reduce(present, op=dist.ReduceOp.MAX)
        filled = [
            gradient if gradient is not None or not anywhere else torch.zeros_like(parameter)
            for gradient, parameter, anywhere in zip(kept, self.parameters * 2, present.tolist(), strict=True)
        ]
        handles = [dist.all_reduce(g.div_(processes), async_op=True) for g in filled if g is not None]
        for handle in handles:
            handle.wait()
        self._kept = {"answer": filled[: len(self.parameters)], "steps": filled[len(self.parameters) :]}

    def _hang(self, gradients: Gradients) -> None:
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient

    def _forget(self) -> None:
        self._kept = {objective: [None] * len(self.parameters) for objective in OBJECTIVES}


def _products(answer: Gradients, steps: Gradients) -> tuple[float, float, float]:
    # Summed over the parameters in double precision, so that their number and order do not show.
    dot = answer_square = steps_square = 0.0
    for a, s in zip(answer, steps, strict=True):
        answer_square += _dot(a, a)
        steps_square += _dot(s, s)
        dot += _dot(a, s)
    return dot, answer_square, steps_square


def _dot(left: torch.Tensor | None, right: torch.Tensor | None) -> float:
    if left is None or right is None:
        return 0.0
    pairs = zip(left.reshape(-1).split(CHUNK), right.reshape(-1).split(CHUNK), strict=True)
    return sum(torch.dot(x.float(), y.float()).item() for x, y in pairs)


def _weighted_sum(
    left: torch.Tensor | None, left_share: float, right: torch.Tensor | None, right_share: float
) -> torch.Tensor | None:
    if left is None or right is None:
        only, share = (right, right_share) if left is None else (left, left_share)
        return None if only is None else only.mul_(share)
    return left.mul_(left_share).add_(right, alpha=right_share)


def _refusal(name: str) -> CrystalError:
    return CrystalError(
        f"Gradient surgery compares whole gradients, which {name} spreads over processes; train with plain data "
        "parallelism (configs/training/accelerate_ddp.yaml) or set gradient_surgery: false."
    )
