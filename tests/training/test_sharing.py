"""What is shared among processes, here by the only one."""

import random

import numpy as np
import pytest
import torch
from harness import run
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.training.sharing import joined, main_does, own_share, same_randomness


def draw() -> list[float]:
    return [random.random(), float(np.random.rand()), float(torch.rand(1))]


def test_what_is_drawn_inside_does_not_show_outside():
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    expected = draw()
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    with same_randomness():
        draw()
        torch.manual_seed(99)
    assert draw() == expected


def test_randomness_comes_back_after_an_error():
    random.seed(1)
    expected = random.random()
    random.seed(1)
    with pytest.raises(ZeroDivisionError), same_randomness():
        draw()[5 // 0]
    assert random.random() == expected


def test_the_only_process_does_all_and_has_all():
    assert main_does(lambda: 3) == 3
    assert joined([place * place for place in own_share(4)], 4) == [0, 1, 4, 9]


def test_an_error_of_the_user_stays_one():
    def fail() -> None:
        raise CrystalError("Nothing there.")

    with pytest.raises(CrystalError, match="Nothing there"):
        main_does(fail)


SCRIPT = """
import sys
from pathlib import Path
from accelerate import PartialState
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.training.sharing import joined, main_does, own_share, processes


def fail():
    raise CrystalError("Nothing there.")


with processes():
    rank = PartialState().process_index
    shares = joined([f"{place} by {rank}" for place in own_share(3)], 3)
    done = main_does(lambda: f"by {rank}")
    try:
        main_does(fail)
    except CrystalError as error:
        done += f", {error}"
    Path(sys.argv[1], str(rank)).write_text(f"{shares}, {done}")
"""


@pytest.mark.e2e
def test_two_processes_share_their_work_and_their_errors(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = run(["torchrun", "--standalone", "--nproc_per_node", "2", "script.py", "."], tmp_path, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stdout
    expected = "['0 by 0', '1 by 1', '2 by 0'], by 0, Nothing there."
    assert [(tmp_path / rank).read_text() for rank in "01"] == [expected] * 2
