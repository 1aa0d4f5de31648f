"""The trainer steps as trl does where nothing conflicts, the same however a batch is spread, and resumes exactly."""

import random
import subprocess

import numpy as np
import pytest
import torch
from harness import BIN, environment
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.training.checkpoints import Rollout, last_checkpoint, load_rollout, save_rollout
from lmms_eval_crystal.training.trainer import CrystalGRPOTrainer, Diverged, objective_advantages
from peft import LoraConfig
from transformers import TrainerCallback
from trl import GRPOTrainer

from .canned import (
    AGAINST,
    ALONG,
    ANSWER,
    BATCH,
    CannedTrainer,
    CannedTrl,
    Reward,
    dataset,
    model_folder,
    settings,
    trained,
    trainer,
    weights,
)


def distance(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    """The largest difference of any weight."""
    assert one.keys() == other.keys()
    return max((one[name] - other[name]).abs().max().item() for name in one)


def logged(made: GRPOTrainer, name: str) -> list[float]:
    return [line[name] for line in made.state.log_history if name in line]


@pytest.fixture(scope="module")
def operated(tmp_path_factory) -> GRPOTrainer:
    """Two steps of conflicting objectives, in one batch on one process."""
    return trained(
        CannedTrainer, settings(tmp_path_factory.mktemp("operated")), [ANSWER, AGAINST], gradient_surgery=True
    )


def test_without_a_conflict_the_update_is_that_of_trl(tmp_path):
    plain = trained(CannedTrl, settings(tmp_path), [ANSWER, ALONG])
    ours = trained(CannedTrainer, settings(tmp_path), [ANSWER, ALONG], gradient_surgery=True)
    assert logged(ours, "surgery/conflict_share") == [0, 0]
    assert distance(weights(ours), weights(plain)) < 1e-6
    assert logged(ours, "loss") == pytest.approx(logged(plain, "loss"), abs=1e-5)


def test_with_one_objective_the_update_is_that_of_trl(tmp_path):
    rewards = [ANSWER, Reward("answer", AGAINST.values)]
    plain = trained(CannedTrl, settings(tmp_path), rewards)
    ours = trained(CannedTrainer, settings(tmp_path), rewards, gradient_surgery=True)
    assert distance(weights(ours), weights(plain)) == 0
    assert logged(ours, "surgery/cosine") == []


def test_a_conflict_changes_the_update_and_is_logged(tmp_path, operated):
    plain = trained(CannedTrl, settings(tmp_path), [ANSWER, AGAINST])
    assert logged(operated, "surgery/conflict_share") == [1, 1]
    assert all(-1 <= cosine < 0 for cosine in logged(operated, "surgery/cosine"))
    assert distance(weights(operated), weights(plain)) > 1e-3


def test_accumulation_gives_the_update_of_the_whole_batch(tmp_path, operated):
    parts = trained(CannedTrainer, settings(tmp_path, BATCH // 4, 4), [ANSWER, AGAINST], gradient_surgery=True)
    assert distance(weights(parts), weights(operated)) < 1e-5
    assert logged(parts, "surgery/cosine") == pytest.approx(logged(operated, "surgery/cosine"), abs=1e-5)


def test_gradient_checkpointing_gives_the_same_update(tmp_path, operated):
    arguments = settings(tmp_path, gradient_checkpointing=True)
    recomputed = trained(CannedTrainer, arguments, [ANSWER, AGAINST], gradient_surgery=True)
    assert distance(weights(recomputed), weights(operated)) < 1e-6


def test_an_adapter_is_trained_with_dropout_as_trl_trains_it_and_the_frozen_weights_stay(tmp_path):
    def adapter() -> LoraConfig:
        return LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.3, init_lora_weights=False)

    # beta is 0, since two halves of the penalty and the whole differ in their rounding alone.
    arguments = settings(tmp_path, beta=0.0, seed=3)
    before = weights(trainer(CannedTrainer, arguments, [ANSWER, ALONG], peft_config=adapter()))
    plain = trained(CannedTrl, arguments, [ANSWER, ALONG], peft_config=adapter())
    ours = trained(CannedTrainer, arguments, [ANSWER, ALONG], gradient_surgery=True, peft_config=adapter())
    assert distance(weights(ours), weights(plain)) < 1e-6
    moved = {name for name, weight in weights(ours).items() if not torch.equal(weight, before[name])}
    assert moved
    assert all("lora_" in name for name in moved)


def test_weights_of_16_bits_are_operated_on(tmp_path, operated):
    made = trained(CannedTrainer, settings(tmp_path), [ANSWER, AGAINST], dtype=torch.bfloat16, gradient_surgery=True)
    assert {weight.dtype for weight in weights(made).values()} == {torch.bfloat16}
    assert logged(made, "surgery/cosine")[0] == pytest.approx(logged(operated, "surgery/cosine")[0], abs=0.05)


def test_the_two_advantages_add_up_to_that_of_trl(tmp_path):
    seen = []

    class Looking(CannedTrainer):
        def _generate_and_score_completions(self, inputs):
            seen.append(super()._generate_and_score_completions(inputs))
            return seen[-1]

    arguments = settings(tmp_path, max_steps=1, reward_weights=[2.0, 0.5])
    trained(Looking, arguments, [ANSWER, AGAINST], gradient_surgery=True)
    total = seen[0]["advantages_answer"] + seen[0]["advantages_steps"]
    assert total.tolist() == pytest.approx(seen[0]["advantages"].tolist(), abs=1e-5)
    assert seen[0]["advantages_steps"].abs().min() > 0


def test_a_group_whose_total_reward_does_not_differ_teaches_nothing():
    rewards = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [0.0, 0.5]])
    answer, steps = objective_advantages(rewards, ["answer", "steps"], 2)
    assert answer[:2].tolist() == steps[:2].tolist() == steps[2:].tolist() == [0, 0]
    assert answer[2:].tolist() == pytest.approx([2**-0.5, -(2**-0.5)], abs=1e-3)


# --- Refusals ---


def test_sharding_is_refused_before_the_model_is_loaded(tmp_path, monkeypatch):
    arguments = settings(tmp_path)
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    with pytest.raises(CrystalError, match="DeepSpeed"):
        CrystalGRPOTrainer("no/such-model", [ANSWER], arguments, gradient_surgery=True)


@pytest.mark.parametrize(
    "setting",
    [
        {"scale_rewards": "batch"},
        {"multi_objective_aggregation": "normalize_then_sum"},
        {"entropy_coef": 0.1},
    ],
)
def test_settings_whose_advantages_cannot_be_taken_apart_are_refused(tmp_path, setting):
    with pytest.raises(CrystalError, match=next(iter(setting))):
        trainer(CannedTrainer, settings(tmp_path, **setting), [ANSWER, AGAINST], gradient_surgery=True)


def test_a_reward_without_an_objective_is_refused(tmp_path):
    def anonymous(completions, **columns):
        return [0.0] * len(completions)

    with pytest.raises(CrystalError, match="anonymous does not say to which gradient"):
        trainer(CannedTrainer, settings(tmp_path), [ANSWER, anonymous], gradient_surgery=True)
    trainer(CannedTrainer, settings(tmp_path), [ANSWER, anonymous])


# --- Divergence ---


class Diverging(CannedTrainer):
    """The loss of the third step is no number."""

    def _compute_loss(self, model, inputs):
        return super()._compute_loss(model, inputs) * (float("nan") if self.state.global_step == 2 else 1)


class Exploding(CannedTrainer):
    """The loss of the third step is a number, and its gradient is none."""

    def _compute_loss(self, model, inputs):
        loss = super()._compute_loss(model, inputs)
        if self.state.global_step == 2:
            loss.register_hook(lambda gradient: gradient * float("inf"))
        return loss


class NoReward(Reward):
    """A reward that fails from the third step on."""

    def __call__(self, completions, trainer_state, **columns):
        rewards = super().__call__(completions)
        return rewards if trainer_state.global_step < 2 else [float("nan"), *rewards[1:]]


@pytest.mark.parametrize(
    ("surgery", "kind", "steps", "what"),
    [
        (True, Diverging, AGAINST, "the loss is no finite number"),
        (False, Diverging, AGAINST, "the loss is no finite number"),
        (True, Exploding, AGAINST, "the gradient is no finite number"),
        (True, CannedTrainer, NoReward("steps", AGAINST.values), "the reward steps_reward is no finite number"),
    ],
)
def test_what_is_no_number_stops_the_run_before_the_step(tmp_path, operated, surgery, kind, steps, what):
    arguments = settings(tmp_path, max_steps=4, save_strategy="steps", save_steps=1, save_only_model=True)
    made = trainer(kind, arguments, [ANSWER, steps], gradient_surgery=surgery, phase=2)
    with pytest.raises(Diverged, match=f"diverged at step 3 of phase 2: {what}; the optimiser did not.*checkpoint-2"):
        made.train()
    if surgery:
        assert distance(weights(made), weights(operated)) == 0


# --- Checkpoints ---


class Counting:
    """A guard, and a reward that hangs on its state."""

    objective, __name__ = "steps", "counting"

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, completions, **columns):
        self.seen += len(completions)
        return [self.seen % 7 + len(set(completion[0]["content"])) / 20 for completion in completions]

    def state_dict(self):
        return {"seen": self.seen}

    def load_state_dict(self, state):
        self.seen = state["seen"]


def lengths(completions, **columns):
    return [len(completion[0]["content"]) / 20 for completion in completions]


lengths.objective = "answer"


class StopAt(TrainerCallback):
    """Ends the run after a step, as a kill between two steps would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args, state, control, **more):
        control.should_training_stop = control.should_save = state.global_step == self.step


# A step takes two of the four prompts, so that the third opens the second epoch.
@pytest.mark.parametrize(
    ("stop", "generation", "adapter"),
    [(2, {}, False), (3, {}, False), (3, {}, True), (3, {"steps_per_generation": 4}, False)],
    ids=["after an epoch", "within the second epoch", "with an adapter", "between two generations"],
)
def test_a_resumed_run_reaches_the_same_weights_bit_for_bit(tmp_path, stop, generation, adapter):
    def made(folder: str, *callbacks: TrainerCallback) -> GRPOTrainer:
        guard = Counting()
        lora = LoraConfig(r=4, target_modules=["q_proj"], lora_dropout=0.1) if adapter else None
        sampled = settings(
            tmp_path / folder,
            BATCH // 2,
            2,
            optim="adamw_torch",
            learning_rate=1e-3,
            lr_scheduler_type="linear",
            max_steps=5,
            max_completion_length=4,
            shuffle_dataset=True,
            **generation,
        )
        surgery = {"gradient_surgery": True, "guard": guard}
        return trainer(
            CrystalGRPOTrainer,
            sampled,
            [lengths, guard],
            train_dataset=dataset(4),
            peft_config=lora,
            callbacks=[*callbacks],
            **surgery,
        )

    whole = made("whole")
    whole.train()
    made("parts", StopAt(stop)).train()
    for scramble in (random.seed, np.random.seed, torch.manual_seed):
        scramble(99)
    resumed = made("parts")
    resumed.train(resume_from_checkpoint=str(last_checkpoint(tmp_path / "parts")))
    assert resumed.guard.seen == whole.guard.seen
    assert logged(resumed, "loss") == logged(whole, "loss")
    assert distance(weights(resumed), weights(whole)) == 0


def test_a_checkpoint_without_the_guards_state_is_refused(tmp_path):
    arguments = settings(tmp_path, max_steps=1, save_strategy="steps", save_steps=1)
    trained(CannedTrainer, arguments, [ANSWER])
    with pytest.raises(CrystalError, match=r"verbosity\.json.*--fresh"):
        trainer(CannedTrainer, arguments, [ANSWER], guard=Counting()).train(
            resume_from_checkpoint=str(tmp_path / "checkpoint-1")
        )


def test_the_last_checkpoint_is_the_newest_that_was_written_to_its_end(tmp_path):
    assert last_checkpoint(tmp_path) is None
    for step in (9, 10, 11):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text("{}" if step < 11 else '{"epo', "utf-8")
    (tmp_path / "checkpoint-12").mkdir()
    (tmp_path / "checkpoint-99-copy").mkdir()
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_completions_to_be_used_are_kept_for_each_process(tmp_path, device):
    for rank, buffered in enumerate(([{"ids": torch.tensor([[1, 2]]), "num_images": [1]}], None)):
        save_rollout(tmp_path / "checkpoint-3", Rollout(6, buffered), rank)
    kept = load_rollout(tmp_path / "checkpoint-3", 0, torch.device(device))
    assert kept.micro_batches == 6
    assert [(batch["ids"].tolist(), batch["num_images"]) for batch in kept.buffered] == [([[1, 2]], [1])]
    assert load_rollout(tmp_path / "checkpoint-3", 1, torch.device(device)) == Rollout(6, None)
    assert load_rollout(tmp_path / "checkpoint-3", 2, torch.device(device)) is None


# --- Two processes ---


@pytest.mark.e2e
def test_two_processes_give_the_update_of_one_and_stop_together(tmp_path, operated):
    script = __file__.replace("test_trainer.py", "canned.py")
    command = [BIN / "torchrun", "--standalone", "--nproc_per_node", "2", script, model_folder(), tmp_path]
    done = subprocess.run(command, env=environment(OMP_NUM_THREADS="1"), capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    for name in ("two", "two, accumulated"):
        two = torch.load(tmp_path / f"{name}.pt")
        assert distance(two["weights"], weights(operated)) < 1e-5
        cosines = [line["surgery/cosine"] for line in two["log"] if "surgery/cosine" in line]
        assert cosines == pytest.approx(logged(operated, "surgery/cosine"), abs=1e-5)
    first, second = (torch.load(tmp_path / f"diverged {rank}.pt") for rank in (0, 1))
    assert first["sentence"] == second["sentence"]
    assert "step 2 of phase 2: the loss" in first["sentence"]
    assert distance(first["weights"], second["weights"]) == 0
