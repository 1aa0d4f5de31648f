"""What the rewards pay for, and that no completion, whatever its form or text, stops a training run."""

import doctest
import importlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.crystal_task import parse_response
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.metrics import judge_answer, score_steps
from lmms_eval_crystal.training import completions as reading
from lmms_eval_crystal.training.config import RewardConfig
from lmms_eval_crystal.training.rewards import (
    AccuracyReward,
    CprReward,
    CprStepsReward,
    FormatReward,
    StepF1Reward,
    rewards_of,
)
from lmms_eval_crystal.training.verbosity import VerbosityGuard

STEPS = ["Two dogs run on the grass", "The left dog is brown"]
ALL = (FormatReward(), AccuracyReward(), StepF1Reward(), CprReward(), CprReward(answer_rule="released"))


def text_of(steps: list[str], answer: str) -> str:
    return json.dumps({"reasoning_steps": steps, "answer": answer})


def columns(count: int, **more: object) -> dict[str, object]:
    return {"solution": ["brown"] * count, "reference_steps": [STEPS] * count} | more


class Letters:
    """Texts are as similar as they have the same letters."""

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.encoded += texts
        return np.array([[text.lower().count(letter) for letter in "abcdefghijklmnoprst"] for text in texts]) + 0.01


@pytest.mark.parametrize("module", ["completions", "overlap", "released_rule", "rewards", "verbosity"])
def test_examples_hold(module):
    found = importlib.import_module(f"lmms_eval_crystal.training.{module}")
    assert doctest.testmod(found).failed == 0


def test_cpr_pays_for_steps_less_where_the_answer_is_wrong():
    completions = [text_of(STEPS, "brown"), text_of(STEPS[:1], "brown"), text_of(STEPS, "black"), text_of([], "brown")]
    assert CprReward()(completions, **columns(4)) == pytest.approx([1.0, 0.65 + 0.35 * 2 / 3, 0.3 * 0.35, 0.65])


@pytest.mark.parametrize(
    "text", ["", "  ", "I see two dogs.", "{", "[LMMS_EVAL_REQUEST_FAILED]", "<think>Two dogs run on"]
)
def test_malformed_completions_count_with_0(text):
    good = text_of(STEPS, "brown")
    for reward in ALL:
        assert reward([text, good], **columns(2)) == [0.0, 1.0]


def test_what_the_evaluation_mends_pays_for_its_content_but_not_for_its_form():
    completion = f"Here you are:\n```json\n{text_of(STEPS, 'brown')}\n```"
    assert [reward([completion], **columns(1)) for reward in ALL] == [[0.0], [1.0], [1.0], [1.0], [1.0]]


@pytest.mark.parametrize(
    "completion",
    [
        text_of(STEPS, "brown"),
        [{"role": "assistant", "content": text_of(STEPS, "brown")}],
        [{"role": "assistant", "content": [{"type": "text", "text": text_of(STEPS, "brown")}]}],
        [{"role": "tool", "content": "42"}, {"role": "assistant", "content": text_of(STEPS, "brown")}],
    ],
    ids=["text", "message", "message of parts", "last of several messages"],
)
def test_completions_come_as_text_or_as_messages(completion):
    assert CprReward()([completion], **columns(1)) == [1.0]


@given(
    st.lists(
        st.one_of(
            st.text(),
            st.none(),
            st.integers(),
            st.lists(st.fixed_dictionaries({"content": st.one_of(st.none(), st.text(), st.lists(st.none()))})),
            st.builds(text_of, st.lists(st.text(), max_size=3), st.text()),
        ),
        max_size=4,
    ),
    st.text(),
    st.lists(st.text(), max_size=3),
)
def test_no_text_makes_a_reward_raise_or_leave_its_range(completions, solution, steps):
    count = len(completions)
    given_columns = {"solution": [solution] * count, "reference_steps": [steps] * count, "options": [steps] * count}
    for reward in ALL:
        values = reward(completions, **given_columns)
        assert len(values) == count
        assert all(0 <= value <= 1 for value in values)


@pytest.mark.parametrize(
    "text",
    [
        '"' * 20_000,
        "[" * 20_000,
        "\ud800" * 1_000,
        text_of(["a"] * 5_000, "9" * 5_000),
        text_of(["a " * 20_000], "^" * 500),
    ],
    ids=["quotes", "brackets", "surrogates", "a flood of steps", "one endless step"],
)
def test_hostile_texts_are_paid_too(text):
    for reward in ALL:
        assert 0 <= reward([text], **columns(1))[0] <= 1


def test_answers_are_judged_with_the_question_and_its_options():
    completions = [text_of(STEPS, "B"), text_of(STEPS, "A")]
    more = {"question": ["Which colour?"] * 2, "options": [["black", "brown"]] * 2}
    assert AccuracyReward()(completions, **columns(2, **more)) == [1.0, 0.0]
    assert AccuracyReward()(completions, **columns(2)) == [0.0, 0.0]
    assert AccuracyReward()(completions, **columns(2, question=None, options=[None, []])) == [0.0, 0.0]


def test_the_encoder_matches_as_the_evaluation_does():
    encoder = Letters()
    predicted = [["Dogs on green grass", "zzz", "brown dog, left"], [], ["The left dog is brown"]]
    completions = [text_of(steps, "brown") for steps in predicted]
    rewards = StepF1Reward(similarity="encoder", threshold=0.7, encoder=encoder)(completions, **columns(3))
    assert rewards == [score_steps(steps, STEPS, Letters(), tau=0.7).match_f1 for steps in predicted]
    assert rewards[0] > 0
    assert len(encoder.encoded) == len(set(encoder.encoded)), "each text is encoded once"
    without = StepF1Reward(similarity="encoder", threshold=0.7, encoder=encoder)
    assert without([text_of([], "brown"), ""], **columns(2, reference_steps=[[], []])) == [0.0, 0.0]


def test_a_completion_is_read_and_judged_once_for_all_rewards(monkeypatch):
    calls: list[str] = []

    def counted(name, function):
        return reading.lru_cache(reading.KEPT)(lambda *given: (calls.append(name), function(*given))[1])

    monkeypatch.setattr(reading, "_parse", counted("parse", parse_response))
    monkeypatch.setattr(reading, "_judge", counted("judge", judge_answer))
    completions = [text_of(STEPS, answer) for answer in ("brown", "black", "grey")]
    for reward in rewards_of("composite", RewardConfig()) + rewards_of("cpr", RewardConfig()):
        reward(completions, **columns(3))
    assert sorted(calls) == ["judge"] * 3 + ["parse"] * 3


@pytest.mark.parametrize(
    ("method", "names", "objectives", "best"),
    [
        ("answer-only", ["format", "accuracy"], ["answer", "answer"], 0.6),
        ("composite", ["format", "accuracy", "steps"], ["answer", "answer", "steps"], 1.0),
        ("cpr", ["cpr_answer", "cpr_steps"], ["answer", "steps"], 1.0),
        ("cpr-curriculum", ["cpr_answer", "cpr_steps"], ["answer", "steps"], 1.0),
    ],
)
def test_the_rewards_of_a_method_are_weighted(method, names, objectives, best):
    rewards = rewards_of(method, RewardConfig(format=0.1, accuracy=0.5, steps=0.4))
    assert [reward.__name__ for reward in rewards] == names
    assert [reward.objective for reward in rewards] == objectives
    assert sum(reward([text_of(STEPS, "brown")], **columns(1))[0] for reward in rewards) == pytest.approx(best)


def test_the_configuration_reaches_the_rewards():
    encoder, guard = Letters(), VerbosityGuard()
    config = RewardConfig(0.5, 0.5, 0.2, similarity="encoder", threshold=0.6, answer_rule="released")
    answer, steps = rewards_of("cpr", config, encoder=encoder, guard=guard)
    assert (answer.answer_weight, answer.answer_rule) == (0.5, "released")
    assert steps == CprStepsReward(
        step_weight=0.5,
        wrong_factor=0.2,
        answer_rule="released",
        similarity="encoder",
        threshold=0.6,
        encoder=encoder,
        guard=guard,
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: StepF1Reward(similarity="cosine"), "similarity is 'cosine'; choose overlap or encoder"),
        (lambda: StepF1Reward(similarity="encoder"), "needs an encoder"),
        (lambda: StepF1Reward(threshold=1.0), "threshold is 1.0"),
        (lambda: CprReward(answer_rule="paper"), "choose strict or released"),
        (lambda: CprReward(threshold=-0.1), "threshold is -0.1"),
        (lambda: AccuracyReward(answer_rule="lenient"), "answer_rule is 'lenient'"),
        (lambda: rewards_of("ppo", RewardConfig()), "choose answer-only, composite, cpr or cpr-curriculum"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, said):
    with pytest.raises(CrystalError, match=said):
        make()


@pytest.mark.parametrize(
    ("given_columns", "said"),
    [
        ({"reference_steps": [STEPS]}, "no column 'solution'"),
        ({"solution": ["brown"]}, "no column 'reference_steps'"),
        ({"solution": "b", "reference_steps": [STEPS]}, "'solution'"),
        ({"solution": ["brown"] * 2, "reference_steps": [STEPS]}, "1 completions"),
        ({"solution": ["brown"], "reference_steps": ["Two dogs run"]}, "needs a list of texts"),
    ],
)
def test_a_column_that_is_missing_or_of_another_shape_is_named(given_columns, said):
    with pytest.raises(CrystalError, match=said):
        CprReward()([text_of(STEPS, "brown")], **given_columns)
