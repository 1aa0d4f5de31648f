"""What the terminal shows of a run."""

import time

import pytest
from lmms_eval_crystal.training.callbacks import Bar, hints


def test_the_time_left_counts_only_steps_of_this_start():
    with Bar(100) as bar:
        bar.at(90, "Phase 2 of 2")
        time.sleep(0.05)
        bar.advance("reward 1")
        shown = bar._bar.format_dict
    assert shown["n"] == 91
    assert shown["initial"] == 90
    assert shown["elapsed"] >= 0.05


def test_a_phase_that_follows_another_in_one_start_keeps_its_pace():
    with Bar(4) as bar:
        bar.at(0, "Phase 1 of 2")
        bar.advance("")
        bar.advance("")
        bar.at(2, "Phase 2 of 2")
        assert bar._bar.format_dict["initial"] == 0


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({"truncated": 0.1, "reward": 0.2}, []),
        ({"truncated": 0.5, "reward": 0.2}, ["50% of these responses are cut off at max_completion_length 24"]),
        ({"truncated": 0.0, "reward": 0.0}, ["none of these responses earns any reward"]),
        ({"truncated": 1.0, "reward": 0.0}, ["100% of these", "none of these"]),
    ],
)
def test_what_makes_training_come_to_nothing_is_said_before_it(metrics, said):
    lines = hints(metrics, 24)
    assert len(lines) == len(said)
    assert all(part in line for part, line in zip(said, lines, strict=True))
