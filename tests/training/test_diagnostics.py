"""The diagnostics of Table 6, from lines whose numbers are known."""

import math

import pytest
from lmms_eval_crystal.training.diagnostics import KL_LIMIT, diagnose

AFTER = {"accuracy_strict": 0.8, "match_f1": 0.7, "recall": 0.6, "discrimination": 0.5, "reward_f1_pearson": 0.4}


def log(steps: int, phase: int = 1, **columns) -> list[dict]:
    return [
        {"phase": phase, "step": step, **{name.replace("__", "/"): value(step) for name, value in columns.items()}}
        for step in range(1, steps + 1)
    ]


def test_what_was_measured_comes_from_the_chosen_checkpoint():
    found = diagnose([], AFTER, stopped=False)
    assert found["val_accuracy"] == 0.8
    assert [found[name] for name in ("val_match_f1", "val_recall", "discrimination", "reward_f1_pearson")] == [
        0.7,
        0.6,
        0.5,
        0.4,
    ]


def test_gradient_norms_are_those_of_the_last_phase():
    lines = log(10, grad_norm=lambda step: 100.0) + log(40, phase=2, grad_norm=lambda step: 1 + step / 100)
    found = diagnose(lines, AFTER, stopped=False)
    assert found["grad_norm_first"] == pytest.approx(1.025)
    assert found["grad_norm_last"] == pytest.approx(1.385)
    assert found["grad_norm_trend"] == pytest.approx(1.0)


def test_a_single_peak_does_not_bend_the_trend():
    found = diagnose(log(50, grad_norm=lambda step: 1e6 if step == 49 else 2.0), AFTER, stopped=False)
    assert found["grad_norm_trend"] == 0


def test_a_long_phase_has_a_trend_too():
    found = diagnose(log(9000, grad_norm=lambda step: step / 50), AFTER, stopped=False)
    assert found["grad_norm_trend"] == pytest.approx(2.0)


def test_surgery_is_averaged_over_the_steps_that_have_it():
    lines = log(4, surgery__conflict_share=lambda step: float(step % 2), surgery__cosine=lambda step: step / 10)
    found = diagnose(log(3, loss=lambda step: 1.0) + lines, AFTER, stopped=False)
    assert found["conflict_share"] == 0.5
    assert found["cosine_mean"] == pytest.approx(0.25)


@pytest.mark.parametrize(("kl", "stopped", "stable"), [(0.4, False, True), (1.3, False, False), (0.4, True, False)])
def test_a_run_is_stable_if_it_ended_and_its_kl_stayed_small(kl, stopped, stable):
    lines = log(3, kl=lambda step: kl if step == 2 else 0.01)
    found = diagnose(lines, AFTER, stopped)
    assert found["kl_max"] == kl
    assert found["stable"] is stable


def test_the_limit_lies_between_the_paper_s_stable_and_unstable_runs():
    assert 0.456 < KL_LIMIT < 1.218


def test_what_cannot_be_told_is_none_and_never_nan():
    found = diagnose(log(1, grad_norm=lambda step: None, kl=lambda step: math.nan), None, stopped=True)
    assert found.pop("stable") is False
    assert set(found.values()) == {None}
