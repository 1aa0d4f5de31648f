"""What each phase asks, in which order, and what it is chosen by."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from lmms_eval_crystal.crystal_task.item import Item
from lmms_eval_crystal.training.config import PhaseConfig, TrainConfig
from lmms_eval_crystal.training.plan import arguments, criterion, prompts, reward_of

ITEMS = [Item(index, f"Question {index}?", "x", ("step",) * (1 + index % 5)) for index in range(10)]
#: Two prompts a step.
PHASE = PhaseConfig(steps=12, per_device_batch=4, candidates=4, accumulation=2)
CURRICULUM = TrainConfig(model="m", method="cpr-curriculum", phases=(PHASE, PHASE))


def test_a_phase_asks_as_many_prompts_as_its_steps_take_on_all_processes():
    assert len(prompts(CURRICULUM, ITEMS, 1, processes=1)) == 24
    assert len(prompts(CURRICULUM, ITEMS, 1, processes=3)) == 72


def test_no_item_is_asked_again_before_all_were_asked():
    asked = [item.index for item in prompts(CURRICULUM, ITEMS, 1, processes=1)]
    assert sorted(asked[:10]) == sorted(asked[10:20]) == list(range(10))
    assert asked[:10] != asked[10:20]
    assert len(set(asked[20:])) == 4


def test_the_second_phase_of_the_curriculum_goes_once_from_few_steps_to_many():
    asked = prompts(CURRICULUM, ITEMS, 2, processes=1)
    lengths = [len(item.reference_steps) for item in asked]
    assert lengths == sorted(lengths)
    assert lengths[0] == 1
    assert lengths[-1] == 5
    assert set(Counter(item.index for item in asked).values()) == {2, 3}


def test_a_short_second_phase_gets_to_the_hardest_as_well():
    items = [Item(index, f"Question {index}?", "x", ("step",) * (1 + index)) for index in range(100)]
    lengths = [len(item.reference_steps) for item in prompts(CURRICULUM, items, 2, processes=1)]
    assert lengths == sorted(lengths)
    assert lengths[0] < 20
    assert lengths[-1] > 80


def test_items_of_equally_many_steps_are_shuffled():
    items = [Item(index, f"Question {index}?", "x", ("step",)) for index in range(24)]
    asked = [item.index for item in prompts(CURRICULUM, items, 2, processes=1)]
    assert asked != list(range(24)) == sorted(asked)


@pytest.mark.parametrize("method", ["answer-only", "composite", "cpr"])
def test_other_methods_are_not_in_order(method):
    lengths = [len(item.reference_steps) for item in prompts(replace(CURRICULUM, method=method), ITEMS, 1, 1)]
    assert lengths != sorted(lengths)


def test_the_order_is_the_seed_s():
    assert prompts(CURRICULUM, ITEMS, 1, 1) == prompts(CURRICULUM, ITEMS, 1, 1)
    assert prompts(CURRICULUM, ITEMS, 1, 1) != prompts(replace(CURRICULUM, seed=7), ITEMS, 1, 1)


def test_only_the_curriculum_s_first_phase_is_chosen_by_its_answers():
    assert criterion("cpr-curriculum", 1) == "accuracy_strict"
    assert {criterion("cpr-curriculum", 2), criterion("answer-only", 1), criterion("cpr", 1)} == {"reward"}
    assert reward_of("answer-only", 1) == "answer-only"


def test_trl_gets_the_settings_of_the_phase(tmp_path):
    config = replace(CURRICULUM, phases=(PHASE, replace(PHASE, learning_rate=1e-6, warmup=0.5)), kl=0.1, revision="abc")
    settings = arguments(config, 2, tmp_path)
    assert (settings.max_steps, settings.learning_rate, settings.warmup_steps) == (12, 1e-6, 6)
    assert (settings.num_generations, settings.generation_batch_size, settings.beta) == (4, 8, 0.1)
    assert settings.bf16
    assert not settings.shuffle_dataset
    # The second phase begins with a folder of this run, whatever revision the first was of.
    assert settings.model_init_kwargs is None
    assert arguments(config, 1, tmp_path).model_init_kwargs == {"revision": "abc"}
    assert Path(settings.output_dir) == tmp_path
