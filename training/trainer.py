"""trl's GRPO trainer with gradient surgery, a stop where training diverges, and exact resumption.

Surgery needs the gradients of two objectives. The advantages of GRPO are linear in the reward, so those
of the answer's and of the steps' rewards, both over the deviation of the *total* reward, add up to trl's.
Each micro-batch runs one forward pass and two backward passes; each optimiser step projects once, on
gradients summed over its micro-batches and averaged over the processes. While nothing conflicts the
update is trl's own (Section 4 of the paper; Yu et al. 2020 for PCGrad).
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import is_peft_model
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOConfig, GRPOTrainer

from ..errors import CrystalError
from .checkpoints import Rollout, last_checkpoint, load_guard, load_rollout, save_guard, save_rollout
from .surgery import OBJECTIVES, GradientSurgeon, Objective, check_surgery
from .verbosity import VerbosityGuard

#: trl's own guard against a division by zero, here so that the two advantages add up to its.
EPSILON = 1e-4
#: The key under which trl keeps the metrics of training steps.
TRAIN = "train"


class Diverged(CrystalError):
    """A loss, a reward or a gradient is no finite number; the optimiser has not taken the step."""


class CrystalGRPOTrainer(GRPOTrainer):
    """``trl.GRPOTrainer`` with three additions.

    ``gradient_surgery``: the reward functions say by an attribute ``objective``, "answer" or "steps", to which
    gradient they belong. With rewards of one objective only there is nothing to compare, and trl's step is
    taken as it is. What pulls on both objectives, the KL term and a load-balancing loss, is shared equally.
    Where completions are used for more than one step, the clipping of the ratio applies to each objective by
    itself. Logs ``surgery/cosine`` and ``surgery/conflict_share``.

    ``guard``: its state travels with the checkpoints.

    ``phase``: named by ``Diverged``, which is raised on all processes at once, before the optimiser would
    take in a number that is not finite.

    Raises ``CrystalError`` for settings and launchers that surgery cannot work with.
    """

    # Their types in trl and transformers allow for trainers that have none.
    model: Any
    args: Any
    num_generations: Any
    _buffered_inputs: Any

    def __init__(
        self,
        model: Any,
        reward_funcs: Any,
        args: GRPOConfig | None = None,
        *,
        gradient_surgery: bool = False,
        guard: VerbosityGuard | None = None,
        phase: int | None = None,
        **more: Any,
    ) -> None:
        if gradient_surgery:
            check_surgery(args)
        self.guard = guard
        self.phase = phase
        self._surgeon: GradientSurgeon | None = None
        self._rewards: torch.Tensor | None = None
        self._answer_loss: torch.Tensor | None = None
        self._shared_forward: list[Any] | None = None
        self._losses_finite = True
        self._sampler: Any = None
        super().__init__(model, reward_funcs, args, **more)
        if gradient_surgery and self._wants_surgery():
            self._surgeon = GradientSurgeon([p for p in self.model.parameters() if p.requires_grad])

    # --- Two objectives ---

    def _wants_surgery(self) -> bool:
        self._objectives: list[Any] = [getattr(function, "objective", None) for function in self.reward_funcs]
        for name, objective in zip(self.reward_func_names, self._objectives, strict=True):
            if objective not in OBJECTIVES:
                raise CrystalError(
                    f"The reward {name} does not say to which gradient it belongs; give it an attribute objective "
                    '("answer" or "steps") or set gradient_surgery: false.'
                )
        _check_arguments(self.args)
        return len(set(self._objectives)) > 1

    def _calculate_rewards(self, inputs: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
        rewards = super()._calculate_rewards(inputs, *args, **kwargs)
        # The rewards of all processes are here, so that all of them stop.
        finite = torch.isfinite(rewards).all(dim=0).tolist()
        if not all(finite):
            name = self.reward_func_names[finite.index(False)]
            raise self._diverged(f"the reward {name} is no finite number", "mend that reward function")
        self._rewards = rewards
        return rewards

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._surgeon is not None and self.model.training:
            assert self._rewards is not None
            weighted = self._rewards * self.reward_weights.to(self._rewards.device)
            answer, steps = objective_advantages(weighted, self._objectives, self.num_generations)
            own = slice(
                self.accelerator.process_index * len(inputs), (self.accelerator.process_index + 1) * len(inputs)
            )
            # Tensors of this dictionary are shuffled and cut into micro-batches together.
            output |= {"advantages_answer": answer[own], "advantages_steps": steps[own]}
        return output

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> torch.Tensor:
        if self._surgeon is None:
            loss = super().training_step(model, inputs, num_items_in_batch)
        else:
            # The surgeon averages over the processes once, when both gradients are complete.
            with self.accelerator.no_sync(model), self._surgeon.collecting("steps"):
                loss = super().training_step(model, inputs, num_items_in_batch)
            loss = loss + self._answer_loss
            if self.accelerator.sync_gradients:
                comparison = self._surgeon.join()
                self._metrics[TRAIN]["surgery/conflict_share"].append(float(comparison.conflict))
                if comparison.cosine is not None:
                    self._metrics[TRAIN]["surgery/cosine"].append(comparison.cosine)
        self._losses_finite = self._losses_finite and math.isfinite(loss)
        return loss

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        if self._surgeon is None or not self.model.training:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        with self._one_forward(), self._halved():
            answer = self._compute_loss(model, inputs | {"advantages": inputs["advantages_answer"]})
            steps = self._compute_loss(model, inputs | {"advantages": inputs["advantages_steps"]})
        with self._surgeon.collecting("answer"):
            self.accelerator.backward(answer, retain_graph=True)
        self._answer_loss = answer.detach()
        # Backpropagated by the trainer, which is inside collecting("steps").
        return steps

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        if self._shared_forward is None:
            return super()._get_per_token_logps_and_entropies(*args, **kwargs)
        if not self._shared_forward:
            self._shared_forward.append(super()._get_per_token_logps_and_entropies(*args, **kwargs))
        return self._shared_forward[0]

    @contextmanager
    def _one_forward(self) -> Iterator[None]:
        # Beside its cost, a second pass would draw another dropout, and the two losses would not be of one model.
        self._shared_forward = []
        try:
            yield
        finally:
            self._shared_forward = None

    @contextmanager
    def _halved(self) -> Iterator[None]:
        whole = self.beta, self.router_aux_loss_coef
        self.beta, self.router_aux_loss_coef = self.beta / 2, self.router_aux_loss_coef / 2
        try:
            yield
        finally:
            self.beta, self.router_aux_loss_coef = whole

    # --- Divergence ---

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        # The last thing that the trainer does before the optimiser's step.
        norm = super()._get_grad_norm(model, grad_norm)
        # With a loss scale an overflow is daily bread: the scaler leaves that step out by itself.
        fit = True if norm is None or self.accelerator.scaler is not None else math.isfinite(norm)
        faults = torch.tensor([not self._losses_finite, not fit], dtype=torch.float32, device=self.accelerator.device)
        losses, gradients = self.accelerator.reduce(faults, reduction="sum").tolist()
        self._losses_finite = True
        if losses or gradients:
            what = f"the {'loss' if losses else 'gradient'} is no finite number"
            raise self._diverged(what, "lower the learning rate, or raise kl")
        return norm

    def _diverged(self, what: str, advice: str) -> Diverged:
        step = f"step {self.state.global_step + 1}" + ("" if self.phase is None else f" of phase {self.phase}")
        # DeepSpeed's engine steps inside of its backward pass.
        untouched = "" if self.is_deepspeed_enabled else "the optimiser did not take that step, "
        kept = last_checkpoint(self.args.output_dir)
        where = f"{kept} is kept" if kept else "there is no checkpoint yet"
        return Diverged(f"Training diverged at {step}: {what}; {untouched}{where}; {advice}.")

    # --- Checkpoints ---

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        # Before the rest: trl writes the state of the trainer last, which makes the checkpoint complete.
        folder = Path(self._get_output_dir(trial=trial)) / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        if self.guard is not None and self.args.should_save:
            save_guard(folder, self.guard)
        done = self._step % (self.args.steps_per_generation * self.num_iterations) == 0
        rollout = Rollout(self._step, None if done else self._buffered_inputs)
        save_rollout(folder, rollout, self.accelerator.process_index)
        super()._save_checkpoint(model, trial)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        whole: Any = self.model if model is None else model
        if is_peft_model(whole) or self.is_fsdp_enabled or self.is_deepspeed_enabled:
            super()._load_from_checkpoint(resume_from_checkpoint, model)
            return
        # A checkpoint has the names of the published weights, which transformers maps to its own as it loads a model.
        # Its trainer compares the names as they are: of Qwen2.5-VL it would load nothing, and go on with a warning.
        types = {parameter.dtype for parameter in whole.parameters()}
        saved = type(whole).from_pretrained(
            resume_from_checkpoint, dtype=types.pop() if len(types) == 1 else torch.float32
        )
        whole.load_state_dict(saved.state_dict())

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        if self.guard is not None:
            load_guard(checkpoint, self.guard)
        rollout = load_rollout(checkpoint, self.accelerator.process_index, self.accelerator.device)
        if rollout is not None:
            self._step, self._buffered_inputs = rollout.micro_batches, rollout.buffered
        if getattr(self._sampler, "shuffle", False):
            # The sampler draws one order an epoch from a generator of its own, which starts anew with the process.
            for _ in range(int(self.state.epoch)):
                torch.randperm(self._sampler.num_samples, generator=self._sampler.generator)

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        self._sampler = super()._get_train_sampler(dataset)
        return self._sampler


def objective_advantages(
    rewards: torch.Tensor, objectives: Sequence[Objective], group: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """GRPO's advantages taken apart: of the answer and of the steps, each (N,); their sum is trl's advantage.

    ``rewards`` is (N, functions), weighted, with the completions of a prompt in ``group`` rows that follow each
    other. Each objective's reward is centred in its group and divided by the deviation of the *total* reward
    (+ 1e-4). Where the total does not differ within a group, both are 0, as trl learns nothing from it.

    >>> answer, steps = objective_advantages(torch.tensor([[1.0, 0.5], [0.0, 0.5]]), ["answer", "steps"], 2)
    >>> [round(value, 2) for value in answer.tolist()], steps.tolist()
    ([0.71, -0.71], [0.0, 0.0])
    """
    deviation = rewards.sum(dim=1).view(-1, group).std(dim=1, keepdim=True)
    flat = torch.isclose(deviation, torch.zeros_like(deviation))

    def advantages(objective: Objective) -> torch.Tensor:
        members = [index for index, name in enumerate(objectives) if name == objective]
        own = rewards[:, members].sum(dim=1).view(-1, group)
        return ((own - own.mean(dim=1, keepdim=True)) / (deviation + EPSILON)).masked_fill(flat, 0).view(-1)

    return advantages("answer"), advantages("steps")


def _check_arguments(arguments: Any) -> None:
    needed = {
        "scale_rewards": arguments.scale_rewards == "group",
        "multi_objective_aggregation": arguments.multi_objective_aggregation == "sum_then_normalize",
        "num_generations": arguments.num_generations > 1,
        "entropy_coef": not arguments.entropy_coef and not arguments.use_adaptive_entropy,
    }
    for name, fits in needed.items():
        if not fits:
            raise CrystalError(
                f"Gradient surgery cannot take the advantages apart with {name}={getattr(arguments, name)}; it needs "
                "scale_rewards=group, multi_objective_aggregation=sum_then_normalize, two or more candidates a prompt "
                "and no entropy bonus; or set gradient_surgery: false."
            )
