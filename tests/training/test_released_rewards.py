"""The rewards beside the released ones: equal on the same steps and verdict, other than where the README says."""

import json
import random
import re
from pathlib import Path

import lmms_eval_crystal
import pytest
from crystal_metrics.rewards import (
    accuracy_reward,
    causal_process_reward,
    check_answer_match,
    format_reward,
    word_overlap_reasoning_reward,
)
from lmms_eval_crystal.metrics import judge_answer
from lmms_eval_crystal.training.released_rule import released_verdict
from lmms_eval_crystal.training.rewards import (
    AccuracyReward,
    CprAnswerReward,
    CprReward,
    CprStepsReward,
    FormatReward,
    StepF1Reward,
)

README = Path(lmms_eval_crystal.__path__[0], "training", "README.md").read_text("utf-8")
WORDS = ("the", "The", "car", "cars,", "is", "red", "RED.", "3.5", "don't", "so", "(left)", "東京", "?", "two", "of")
ANSWERS = ("A", "B", "b)", "yes", "No", "true", "10", "10.05", "11", "red car", "a red car", "the red car is here", "0")
REFERENCE = ["two dogs run"]


def generated(rng: random.Random) -> tuple[list[str], str]:
    """A chain with none to many steps, of one to many words, and an answer."""
    lengths = [rng.choice((1, 1, 3, 6, 12, 40)) for _ in range(rng.choice((0, 1, 2, 4, 8, 16)))]
    return [" ".join(rng.choices(WORDS, k=length)) for length in lengths], rng.choice(ANSWERS)


@pytest.fixture(scope="module")
def batch() -> tuple[list[list[dict[str, str]]], list[str], list[list[str]]]:
    """1,000 completions, their reference answers and their reference steps."""
    rng = random.Random(42)
    completions, solutions, references = [], [], []
    for _ in range(1_000):
        steps, answer = generated(rng)
        text = json.dumps({"reasoning_steps": steps, "answer": answer}, ensure_ascii=rng.random() < 0.5)
        completions.append([{"role": "assistant", "content": text}])
        # Half of the references are near the chain, so that all counts of matches occur.
        near = rng.sample(steps, k=rng.randint(0, len(steps)))
        references.append([*near, *(generated(rng)[0] if rng.random() < 0.5 or not near else [])])
        solutions.append(rng.choice((answer, rng.choice(ANSWERS))))
    return completions, solutions, references


@pytest.mark.parametrize("threshold", [0.3, 0.45])
def test_step_f1_is_the_released_one(batch, threshold):
    completions, _, references = batch
    released = word_overlap_reasoning_reward(completions, reference_steps=references, threshold=threshold)
    assert len({round(reward, 3) for reward in released}) > 50
    assert StepF1Reward(threshold=threshold)(completions, reference_steps=references) == pytest.approx(
        released, abs=1e-9
    )


@pytest.mark.parametrize("weights", [(0.65, 0.35), (0.6, 0.4), (0.2, 0.8)])
def test_cpr_is_the_released_one(batch, weights):
    completions, solutions, references = batch
    columns = {"solution": solutions, "reference_steps": references}
    released = causal_process_reward(completions, solutions, references, *weights)
    reward = CprReward(answer_weight=weights[0], step_weight=weights[1], answer_rule="released")
    assert reward(completions, **columns) == pytest.approx(released, abs=1e-9)
    assert 200 < sum(value >= weights[0] for value in released) < 900


def test_the_two_parts_of_cpr_add_up_to_it(batch):
    completions, solutions, references = batch
    columns = {"solution": solutions, "reference_steps": references}
    parts = (CprAnswerReward()(completions, **columns), CprStepsReward()(completions, **columns))
    assert [sum(pair) for pair in zip(*parts, strict=True)] == CprReward()(completions, **columns)


def rows(heading: str) -> list[list[str]]:
    """The cells of the README's table below the paragraph that begins with ``heading``, code without its marks."""
    table = README.split(f"\n{heading}.")[1].split("\n| --- ")[1].split("\n\n")[0]
    lines = [re.split(r" \| ", line.strip("| ")) for line in table.splitlines()[1:]]
    return [[re.sub(r"^(`+) ?(.*?) ?\1$", r"\2", cell).replace("⏎", "\n") for cell in line] for line in lines]


RELEASED = {
    "format": lambda given: format_reward(given),
    "accuracy": lambda given: accuracy_reward(given, ["B"]),
    "steps": lambda given: word_overlap_reasoning_reward(given, [REFERENCE], threshold=0.3),
    "cpr": lambda given: causal_process_reward(given, ["B"], [REFERENCE], 0.65, 0.35),
}
OURS = {"format": FormatReward(), "accuracy": AccuracyReward(), "steps": StepF1Reward(), "cpr": CprReward()}


@pytest.mark.parametrize("row", rows("Reading"), ids=lambda row: f"{row[0]}: {row[4]}")
def test_completions_are_read_otherwise_where_the_readme_says(row):
    name, text, released, ours, _ = row
    given = [[{"content": text}]]
    if released == "raises":
        with pytest.raises(AttributeError):
            RELEASED[name](given)
    else:
        assert RELEASED[name](given)[0] == pytest.approx(float(released), abs=5e-4)
    assert OURS[name](given, solution=["B"], reference_steps=[REFERENCE])[0] == pytest.approx(float(ours), abs=5e-4)


@pytest.mark.parametrize("row", rows("Answers"), ids=lambda row: f"{row[0]} for {row[1]}")
def test_answers_are_judged_otherwise_where_the_readme_says(row):
    answer, solution, confidence, by_cpr, ours = row
    given = [[{"content": json.dumps({"reasoning_steps": REFERENCE, "answer": answer})}]]
    assert accuracy_reward(given, [solution])[0] == pytest.approx(float(confidence))
    assert check_answer_match(answer, solution) == (by_cpr == "right") == released_verdict(answer, solution)
    assert AccuracyReward(answer_rule="released")(given, solution=[solution]) == [float(by_cpr == "right")]
    assert AccuracyReward()(given, solution=[solution]) == [float(ours == "right")]
    # Their accuracy reward is above 0 just where the evaluation's accuracy is 1.
    assert judge_answer(answer, solution).paper == (float(confidence) > 0)


def test_both_tables_of_the_readme_are_read():
    assert len(rows("Reading")) == 23
    assert len(rows("Answers")) == 14
