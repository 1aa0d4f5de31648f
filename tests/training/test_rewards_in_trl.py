"""The rewards in a plain GRPO trainer of trl, with none of our trainer: they get its columns and reach its log."""

import json

import pytest
from datasets import Dataset
from lmms_eval_crystal.model_adapters.tiny_qwen import build_tiny_qwen2_5_vl
from lmms_eval_crystal.training.rewards import CprAnswerReward, CprReward, CprStepsReward, FormatReward
from lmms_eval_crystal.training.verbosity import VerbosityGuard
from PIL import Image
from trl import GRPOConfig, GRPOTrainer

pytestmark = pytest.mark.filterwarnings("ignore")
STEPS = ["The square is red", "It stands alone"]
TRAINED = json.dumps({"reasoning_steps": STEPS, "answer": "red"})


class AsTrained:
    """A reward of what a trained model would write to the first question, in place of what this one does."""

    def __init__(self, reward) -> None:
        self.reward = reward
        self.__name__ = f"trained_{reward.__name__}"

    def __call__(self, completions, **columns) -> list[float]:
        return self.reward([[message | {"content": TRAINED} for message in each] for each in completions], **columns)


def test_two_steps_of_plain_grpo(tmp_path):
    shared = {"image": Image.new("RGB", (28, 28), "red"), "options": []}
    questions = [("Which colour?", "red", STEPS), ("How many squares?", "1", ["There is one square"])]
    rows = [
        {"prompt": [{"role": "user", "content": question}], "question": question, "solution": answer, **shared}
        | {"reference_steps": steps}
        for question, answer, steps in questions
    ]
    plain = [FormatReward(), CprReward(), CprAnswerReward(), CprStepsReward()]
    trained = [FormatReward(weight=0.1), CprAnswerReward(), CprStepsReward(guard=VerbosityGuard())]
    trainer = GRPOTrainer(
        model=str(build_tiny_qwen2_5_vl(tmp_path / "model")),
        reward_funcs=[*plain, *map(AsTrained, trained)],
        args=GRPOConfig(
            output_dir=str(tmp_path / "out"),
            # Both questions are in each batch, twice.
            per_device_train_batch_size=4,
            num_generations=2,
            max_completion_length=8,
            max_steps=2,
            logging_steps=1,
            use_cpu=True,
            bf16=False,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list(rows),
    )
    trainer.train()
    logged = [line for line in trainer.state.log_history if "reward" in line]
    assert len(logged) == 2
    for line in logged:
        means = {name.split("/")[1]: value for name, value in line.items() if name.endswith("/mean")}
        # A model of random weights writes nothing that is usable.
        assert [means[reward.__name__] for reward in plain] == [0.0] * 4
        assert means["trained_format"] == pytest.approx(0.1)
        assert means["trained_cpr_answer"] == pytest.approx(0.65 / 2)
        # Of the other question's one reference step, "the square is red" has two of four words.
        wrong = 0.3 * 0.35 * 2 / 3
        assert means["trained_cpr_steps"] == pytest.approx((0.35 + wrong) / 2)
    assert "verbosity/median" not in logged[0]
    assert (logged[1]["verbosity/median"], logged[1]["verbosity/share_over"]) == (2, 0)
