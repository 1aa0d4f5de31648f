"""Checkpoints: which count, which stay, and what of them goes into a plain model folder."""

import json

import pytest
import torch
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.training.keeping import (
    WHOLE,
    best_of,
    check_files,
    check_processes,
    copy_model,
    drop_halves,
    keep_last,
    mark_whole,
    whole_checkpoints,
    written_whole,
)
from safetensors.torch import save_file


@pytest.fixture
def phase(tmp_path):
    """Checkpoints of the steps 5, 10 and 100, and one of step 110 that is half written."""
    for step in (5, 10, 100, 110):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "model.safetensors").write_text(str(step))
        if step < 110:
            mark_whole(folder, 2)
    return tmp_path


def steps(folder) -> list[int]:
    return [step for step, _ in whole_checkpoints(folder)]


def test_a_checkpoint_counts_when_it_is_whole_in_the_order_of_steps(phase):
    assert steps(phase) == [5, 10, 100]


def test_what_is_half_written_goes(phase):
    drop_halves(phase)
    assert steps(phase) == [5, 10, 100]
    assert not (phase / "checkpoint-110").exists()


@pytest.mark.parametrize(("count", "best", "kept"), [(1, 5, [5, 100]), (1, 100, [100]), (2, 5, [5, 10, 100])])
def test_the_last_ones_and_the_best_are_kept(phase, count, best, kept):
    keep_last(phase, count, best)
    assert steps(phase) == kept


def test_a_checkpoint_that_is_being_removed_does_not_count(phase, monkeypatch):
    monkeypatch.setattr("shutil.rmtree", lambda path: None)
    keep_last(phase, 1, None)
    assert steps(phase) == [100]
    assert (phase / "checkpoint-5" / "model.safetensors").is_file()


def test_the_best_is_what_the_trainer_noted(phase):
    state = {"best_global_step": 10, "best_metric": 0.5, "global_step": 100}
    (phase / "checkpoint-100" / "trainer_state.json").write_text(json.dumps(state))
    assert best_of(phase / "checkpoint-100") == (10, 0.5)


def test_another_number_of_processes_is_refused(phase):
    check_processes(phase / "checkpoint-5", 2)
    with pytest.raises(CrystalError, match="written by 2 processes, and there is 1 now; start as many again"):
        check_processes(phase / "checkpoint-5", 1)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt", "rng_state.pth", "trainer_state.json"])
def test_a_file_of_a_checkpoint_that_is_cut_short_is_named(tmp_path, name):
    save_file({"weight": torch.zeros(9)}, tmp_path / "model.safetensors")
    for file in ("optimizer.pt", "rng_state.pth"):
        torch.save({"state": torch.zeros(9)}, tmp_path / file)
    (tmp_path / "trainer_state.json").write_text('{"best_global_step": 10, "best_metric": 0.5}')
    check_files(tmp_path)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-9])
    with pytest.raises(CrystalError, match=rf"{name} .*--fresh"):
        check_files(tmp_path)


def test_a_plain_folder_has_the_model_and_nothing_of_the_training(phase, tmp_path):
    checkpoint = phase / "checkpoint-100"
    model = ("config.json", "generation_config.json", "tokenizer.json", "model.safetensors", "chat_template.jinja")
    state = ("optimizer.pt", "scheduler.pt", "rng_state_0.pth", "rollout_0.pt", "trainer_state.json", "verbosity.json")
    for name in (*model, *state, "training_args.bin", "README.md", "latest", "zero_to_fp32.py"):
        (checkpoint / name).write_text(name)
    (checkpoint / "global_step100").mkdir()
    copy_model(checkpoint, tmp_path / "best")
    assert {path.name for path in (tmp_path / "best").iterdir()} == set(model)
    assert (checkpoint / WHOLE).is_file()


def test_a_folder_gets_its_name_when_it_is_whole(tmp_path):
    target = tmp_path / "best"

    def break_off(part):
        (part / "a").write_text("1")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written_whole(target, break_off)
    assert not target.exists()
    written_whole(target, lambda part: (part / "b").write_text("2"))
    assert [path.name for path in target.iterdir()] == ["b"]
    assert not (tmp_path / "best.part").exists()
