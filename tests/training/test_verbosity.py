"""The guard against verbosity: its limit follows what was written lately, on all ranks alike, and through a restart."""

import json
import math
import subprocess
import sys

import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.training.rewards import StepF1Reward
from lmms_eval_crystal.training.verbosity import WARM_UP, VerbosityGuard


def guard_after(*counts: int, factor: float = 2.0, window: int = 512) -> VerbosityGuard:
    guard = VerbosityGuard(factor, window)
    guard.observe(counts)
    return guard


def test_a_chain_beyond_the_limit_loses_in_proportion():
    guard = guard_after(*[5] * WARM_UP)
    assert guard.limit == 10
    assert [guard.factor_for(count) for count in (0, 5, 10, 20, 100)] == [1, 1, 1, 0.5, 0.1]


def test_a_chain_as_long_as_its_reference_loses_nothing():
    guard = guard_after(*[5] * WARM_UP)
    assert guard.factor_for(18, reference=18) == 1
    assert guard.factor_for(20, reference=16) == 0.8


def test_a_few_completions_set_no_limit():
    guard = guard_after(*[1] * (WARM_UP - 1))
    assert guard.limit == math.inf
    assert guard.factor_for(10_000) == 1
    assert guard_after(1, 1, window=2).limit == 2, "a full window is enough, however short"


def test_the_limit_follows_the_window():
    guard = guard_after(*[4] * 40, window=40)
    assert guard.limit == 8
    guard.observe([9] * 25)
    assert guard.limit == 18


def test_completions_without_steps_do_not_lower_the_limit():
    assert guard_after(*[0] * 500, *[6] * WARM_UP).limit == 12


def test_a_factor_of_0_turns_it_off():
    assert guard_after(*[5] * 100, factor=0).factor_for(1_000) == 1


def test_a_batch_is_judged_by_those_before_it():
    guard = guard_after(*[5] * WARM_UP)
    assert guard.judge([(100, 5)] * 100) == [0.1] * 100
    assert guard.limit == 200


def test_the_limit_in_the_log_is_the_one_that_judged():
    guard = guard_after(*[5] * WARM_UP)
    logged: dict[str, float] = {}
    guard.judge([(100, 5)] * 100, logged.__setitem__)
    assert logged == {"verbosity/median": 5, "verbosity/limit": 10, "verbosity/share_over": 1}


def test_a_resumed_guard_goes_on_where_it_was():
    guard = guard_after(*range(1, 60), window=50)
    resumed = VerbosityGuard(2.0, 50)
    resumed.load_state_dict(json.loads(json.dumps(guard.state_dict())))
    for each in (guard, resumed):
        each.observe([30, 2, 7])
    assert resumed.state_dict() == guard.state_dict()
    assert resumed.limit == guard.limit


@pytest.mark.parametrize(("factor", "window"), [(0.5, 10), (1, 10), (-1, 10), (math.nan, 10), (math.inf, 10), (2, 0)])
def test_settings_that_make_no_sense_are_refused(factor, window):
    with pytest.raises(CrystalError, match="verbosity"):
        VerbosityGuard(factor, window)


def test_a_long_chain_earns_less_step_reward_and_the_log_says_so():
    reference = [f"step number {name}" for name in ("one", "two")]
    text = json.dumps({"reasoning_steps": [*reference, *(f"filler {number}" for number in range(18))], "answer": "B"})
    short = json.dumps({"reasoning_steps": reference, "answer": "B"})
    guard = guard_after(*[5] * WARM_UP)
    logged: dict[str, float] = {}
    columns = {"reference_steps": [reference] * 2, "log_metric": logged.__setitem__}
    guarded = StepF1Reward(guard=guard)([text, short], **columns)
    plain = StepF1Reward()([text, short], **columns)
    assert guarded == [plain[0] / 2, plain[1]]
    assert logged == {"verbosity/median": 5, "verbosity/limit": 10, "verbosity/share_over": 0.5}


ON_A_RANK = """
import json, sys
from torch import distributed
from lmms_eval_crystal.training.verbosity import VerbosityGuard
rank, folder = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", f"file://{folder}/meeting", world_size=2, rank=rank)
guard = VerbosityGuard(2.0, 4)
guard.observe([[1, 2, 3], [10]][rank])
guard.observe([[4], [40]][rank])
print(json.dumps(guard.state_dict()))
distributed.destroy_process_group()
"""


def test_all_ranks_hold_the_same_counts(tmp_path):
    ranks = [
        subprocess.Popen([sys.executable, "-c", ON_A_RANK, str(rank), str(tmp_path)], stdout=subprocess.PIPE)
        for rank in range(2)
    ]
    states = [json.loads(process.communicate(timeout=120)[0]) for process in ranks]
    assert states == [{"counts": [3, 10, 4, 40]}] * 2
