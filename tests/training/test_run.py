"""A whole run in this process: what it writes, that it goes on where it was killed, and what it keeps."""

import dataclasses
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import metrics
from lmms_eval_crystal.crystal_task.prompt import messages
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters.conversation import model_inputs
from lmms_eval_crystal.model_adapters.loading import Checkpoint
from lmms_eval_crystal.model_adapters.pictures import fit
from lmms_eval_crystal.training import callbacks, phases, run
from lmms_eval_crystal.training.config import TrainConfig
from lmms_eval_crystal.training.keeping import WHOLE, mark_whole, whole_checkpoints
from lmms_eval_crystal.training.records import Records
from lmms_eval_crystal.training.rewards import rewards_of
from lmms_eval_crystal.training.run import train
from lmms_eval_crystal.training.trainer import Diverged
from lmms_eval_crystal.training.validation import Validator
from safetensors.torch import load_file
from tiny_run import build_model, make_items, tiny_config
from wandb.proto.wandb_internal_pb2 import Record
from wandb.sdk.internal.datastore import DataStore

pytestmark = pytest.mark.e2e

#: Differ from run to run.
TIMES = ("seconds", "step_time")


class Killed(BaseException):
    """Ends a run as a kill does: nothing of the run may catch it."""


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("training")
    (folder / "prompt.txt").write_text("Look: {question}")
    build_model(folder / "model")
    make_items(folder / "items")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRYSTAL_PROMPT_FILE", str(folder / "prompt.txt"))
        yield folder


@pytest.fixture(scope="module")
def undisturbed(root: Path) -> Records:
    return Records(train(tiny_config(root)))


def short(root: Path, name: str, **more: Any) -> TrainConfig:
    """One phase."""
    config = tiny_config(root)
    settings = {"method": "cpr", "phases": config.phases[:1], "output": str(root / name)} | more
    return dataclasses.replace(config, **settings)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def assert_same_weights(one: Path, other: Path) -> None:
    left, right = weights(one), weights(other)
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


def timeless(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key not in TIMES} for line in lines]


def test_training_moves_the_weights(root, undisturbed):
    before, after = weights(root / "model"), weights(undisturbed.best)
    assert any(not torch.equal(before[name], after[name]) for name in before)


def test_each_step_and_each_validation_has_its_line(undisturbed):
    steps = [(line["phase"], line["step"]) for line in undisturbed.logged()]
    assert steps == [(phase, step) for phase in (1, 2) for step in (1, 2, 3)]
    validated = [(line["phase"], line["step"]) for line in undisturbed.validations()]
    assert validated == [(0, 0), *steps]
    assert {"loss", "reward", "kl", "grad_norm", "rewards/accuracy/mean"} <= undisturbed.logged()[0].keys()
    assert {"surgery/cosine", "surgery/conflict_share", "verbosity/median"} <= undisturbed.logged()[-1].keys()


def test_a_phase_ends_with_its_best_checkpoint_the_first_by_answers_the_second_by_its_reward(undisturbed):
    summary = undisturbed.summary()
    for phase, measure in ((1, "accuracy_strict"), (2, "reward")):
        lines = [line for line in undisturbed.validations() if line["phase"] == phase]
        best = max(lines, key=lambda line: (line[measure], -line["step"]))
        assert [line for line in lines if line["chosen"]] == [best]
        assert summary["phases"][phase - 1]["chosen"] == best["step"]
        checkpoint = undisturbed.phase(phase) / f"checkpoint-{best['step']}"
        assert_same_weights(checkpoint, undisturbed.best if phase == 2 else undisturbed.phase(1) / "best")


def test_what_a_validation_measures_is_what_the_evaluation_measures(undisturbed):
    """Before, after, and the checkpoint that was chosen: the same numbers from the record of each item."""
    summary = undisturbed.summary()
    chosen = next(line for line in undisturbed.validations() if line.get("chosen") and line["phase"] == 2)
    for when in ("before", "after"):
        evaluated = metrics(undisturbed.results / f"model-{when}", "items")
        shared = evaluated.keys() & summary[when].keys()
        assert len(shared) >= 10
        assert {name: summary[when][name] for name in shared} == pytest.approx(
            {name: evaluated[name] for name in shared}
        )
    assert {name: chosen[name] for name in summary["after"]} == summary["after"]


def test_the_summary_has_the_diagnostics(undisturbed):
    summary = undisturbed.summary()
    assert summary["stopped"] is None
    assert summary["best"] == "best"
    diagnostics = summary["diagnostics"]
    assert diagnostics["val_match_f1"] == summary["after"]["match_f1"]
    assert diagnostics["kl_max"] == max(line["kl"] for line in undisturbed.logged())
    assert all(value is not None for value in diagnostics.values())


def test_best_is_a_model_that_writes_what_was_validated(root, undisturbed):
    config = tiny_config(root)
    checkpoint = Checkpoint(str(undisturbed.best))
    ready = run.prepare(config)
    asking = run.Asking.of(config, ready.prompt, checkpoint.load_processor())
    validator = Validator(config, ready.data, asking, ready.encoder)
    network = checkpoint.load_network(torch.float32, "cpu")
    measured = validator.measure(validator.respond(network, torch.float32))
    assert measured == {name: value for name, value in undisturbed.summary()["after"].items() if name != "n"}


def test_a_finished_run_is_not_trained_again(root, undisturbed, capsys):
    before = undisturbed.logged()
    assert train(tiny_config(root)) == undisturbed.folder
    assert "finished" in capsys.readouterr().out
    assert undisturbed.logged() == before


def kill_on(patch: pytest.MonkeyPatch, owner: Any, name: str, when: Callable[..., bool] = lambda *_: True) -> None:
    """The first call of a function for which ``when`` holds ends the run, before it does anything."""
    function = getattr(owner, name)

    def called(*args: Any, **kwargs: Any) -> Any:
        if when(*args):
            raise Killed
        return function(*args, **kwargs)

    patch.setattr(owner, name, called)


def is_at(phase: int, step: int) -> Callable[[Records, dict[str, Any]], bool]:
    return lambda _, line: (line["phase"], line["step"]) == (phase, step)


def half_written(checkpoint: Path, processes: int) -> None:
    """A kill in the middle of a checkpoint: a file is cut off, another is not there yet."""
    (checkpoint / "trainer_state.json").unlink()
    optimizer = checkpoint / "optimizer.pt"
    optimizer.write_bytes(optimizer.read_bytes()[:100])
    raise Killed


def is_old(path: Path, *_: Any) -> bool:
    return path.name.startswith("checkpoint-")


#: The places of a run, in their order, each of which the run passes only once the kill before it is over.
KILLS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "before training": lambda patch: kill_on(patch, run, "write_scored"),
    "before any checkpoint": lambda patch: kill_on(patch, Records, "log", is_at(1, 1)),
    "during the first validation": lambda patch: kill_on(patch, Validator, "measure"),
    "after a checkpoint": lambda patch: kill_on(patch, Records, "log", is_at(1, 2)),
    "while a checkpoint is written": lambda patch: patch.setattr(callbacks, "mark_whole", half_written),
    "while an old checkpoint is removed": lambda patch: kill_on(patch, shutil, "rmtree", is_old),
    "while the best is copied": lambda patch: kill_on(patch, shutil, "copy2"),
    "between the phases": lambda patch: kill_on(patch, phases, "_train"),
    "in phase 2": lambda patch: kill_on(patch, Records, "log", is_at(2, 2)),
    "during a validation of phase 2": lambda patch: kill_on(patch, Validator, "measure"),
    "after training": lambda patch: kill_on(patch, run, "write_scored"),
}


def test_a_run_that_is_killed_again_and_again_reaches_the_weights_of_an_undisturbed_one(root, undisturbed):
    config = tiny_config(root, output=str(root / "killed"))
    for place, kill in KILLS.items():
        with pytest.MonkeyPatch.context() as patch:
            kill(patch)
            with pytest.raises(Killed):
                train(config)
            print(place)
    killed = Records(train(config))
    assert_same_weights(killed.best, undisturbed.best)
    assert_same_weights(killed.phase(1) / "best", undisturbed.phase(1) / "best")
    assert timeless(killed.logged()) == timeless(undisturbed.logged())
    assert timeless(killed.validations()) == timeless(undisturbed.validations())


@pytest.fixture(scope="module")
def once(root: Path) -> Records:
    """Validated at the end of each phase only, and told to W&B."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_SILENT", "true")
        patch.setenv("WANDB_DIR", str(root))
        return Records(train(tiny_config(root, output=str(root / "once"), validate_every=3, report_to=("wandb",))))


def test_validation_leaves_no_trace_in_the_training(once, undisturbed):
    """The last weights are the same however often there was a validation on the way."""
    assert [line["step"] for line in once.validations() if line["phase"] == 1] == [3]
    assert_same_weights(once.phase(1) / "checkpoint-3", undisturbed.phase(1) / "checkpoint-3")


def test_wandb_hears_of_each_phase_as_a_run_of_its_own(root, once):
    logged = [wandb_keys(file) for file in sorted(root.glob("wandb/offline-run-*/*.wandb"))]
    assert len(logged) == 2
    for keys in logged:
        assert {"train/loss", "train/reward", "train/kl", "eval/accuracy_strict", "eval/match_f1"} <= keys


def wandb_keys(file: Path) -> set[str]:
    store = DataStore()
    store.open_for_scan(str(file))
    keys = set()
    while (data := store.scan_data()) is not None:
        record = Record()
        record.ParseFromString(data)
        keys |= {item.key or "/".join(item.nested_key) for item in record.history.item}
    return keys


def test_training_and_validation_ask_with_the_same_tokens(root, monkeypatch):
    config = short(root, "asked")
    asked = {}

    def tokenize(trainer: Any, prompts: list[Any]) -> None:
        ids, *_ = original(trainer, prompts)
        asked.update(zip((prompt[0]["content"][0]["text"] for prompt in prompts), ids, strict=True))
        raise Killed

    original = phases.PhaseTrainer._tokenize_prompts
    monkeypatch.setattr(phases.PhaseTrainer, "_tokenize_prompts", tokenize)
    with pytest.raises(Killed):
        train(config)
    ready = run.prepare(config)
    asking = run.Asking.of(config, ready.prompt, Checkpoint(config.model).load_processor())
    texts = {ready.prompt.fill(item): item for item in ready.data.train}
    assert asked
    for text, ids in asked.items():
        turn = messages(text, ready.data.open_image(texts[text]))
        conversation = asking.chat.conversation(turn, lambda image: fit(image, asking.limits.before))
        assert model_inputs(asking.processor, [conversation])["input_ids"][0].tolist() == list(ids)


def test_the_best_checkpoint_and_the_last_ones_are_kept(undisturbed):
    for phase in (1, 2):
        chosen = undisturbed.summary()["phases"][phase - 1]["chosen"]
        assert [step for step, _ in whole_checkpoints(undisturbed.phase(phase))] == sorted({chosen, 3})


def not_finite_at(call: int) -> Callable[..., list[Any]]:
    """A reward that works so many times, and then gives NaN."""

    def rewards(*args: Any) -> list[Any]:
        made = rewards_of(*args)
        calls = iter(range(call))

        def reward(completions: list[Any], **columns: Any) -> list[float]:
            return (
                made[0](completions, **columns) if next(calls, None) is not None else [float("nan")] * len(completions)
            )

        reward.objective = "answer"  # type: ignore[attr-defined]
        return [reward, *made[1:]]

    return rewards


def test_a_training_that_diverges_keeps_its_last_good_checkpoint_and_says_so(root, monkeypatch):
    config = short(root, "diverged")
    with monkeypatch.context() as patch:
        patch.setattr(phases, "rewards_of", not_finite_at(2))
        with pytest.raises(Diverged, match="step 3 of phase 1"):
            train(config)
    records = Records(root / "diverged")
    summary = records.summary()
    assert "step 3 of phase 1" in summary["stopped"]
    assert not summary["diagnostics"]["stable"]
    assert summary["after"] is None
    assert [step for step, _ in whole_checkpoints(records.phase(1))][-1] == 2
    assert (records.folder / summary["best"] / WHOLE).is_file()
    again = Records(train(config)).summary()
    assert again["stopped"] is None
    assert again["phases"][0]["steps"] == 3


def test_weights_that_explode_are_a_divergence_too(root):
    """Whatever such a model would write, the sentence comes before the libraries' own errors."""
    phase = dataclasses.replace(tiny_config(root).phases[0], learning_rate=1e20)
    with pytest.raises(Diverged, match="step 2 of phase 1: the loss is no finite number"):
        train(short(root, "exploded", phases=(phase,)))


def test_memory_that_runs_out_is_one_sentence_that_says_what_to_lower(root, monkeypatch):
    def full(*arguments: Any, **columns: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")

    with monkeypatch.context() as patch:
        patch.setattr(phases.PhaseTrainer, "training_step", full)
        with pytest.raises(CrystalError, match=r"Memory ran out in phase 1 .*; lower per_device_batch and raise"):
            train(short(root, "full"))


def test_a_run_does_not_go_on_with_other_items(root):
    config = short(root, "other")
    with Records(root / "other").alone():
        Records(root / "other").begin(config, run.prepare(config).data, resume=True)
    (root / "other" / "log.jsonl").touch()
    shutil.move(root / "items", root / "kept")
    try:
        make_items(root / "items", 21)
        with pytest.raises(CrystalError, match="holds a run on other items"):
            train(config)
    finally:
        shutil.rmtree(root / "items")
        shutil.move(root / "kept", root / "items")


def test_a_run_does_not_go_on_with_another_number_of_processes(root, undisturbed):
    folder = root / "processes"
    shutil.copytree(undisturbed.folder, folder)
    for path in (folder / "training.json", folder / "best"):
        path.unlink() if path.is_file() else shutil.rmtree(path)
    mark_whole(folder / "phase2" / "checkpoint-3", 2)
    with pytest.raises(CrystalError, match="written by 2 processes, and there is 1 now"):
        train(tiny_config(root, output=str(folder)))


def test_afresh_everything_of_an_earlier_run_goes(root, undisturbed):
    folder = root / "fresh"
    shutil.copytree(undisturbed.folder, folder)
    config = tiny_config(root, output=str(folder))
    Records(folder).begin(config, run.prepare(config).data, resume=False)
    assert {path.name: path.stat().st_size > 0 for path in folder.iterdir()} == {
        "config.yaml": True,
        "split.json": True,
        "log.jsonl": False,
        "validation.jsonl": False,
    }


def test_an_adapter_ends_merged_into_a_model_that_any_loader_takes(root):
    lora = {"r": 4, "target_modules": ["q_proj", "v_proj", "gate_proj"]}
    config = tiny_config(root, output=str(root / "lora"), lora=lora, validate_every=3)
    records = Records(train(config))
    assert not list(records.best.glob("adapter*"))
    assert weights(records.best).keys() == weights(root / "model").keys()
    changed = [
        name for name, value in weights(records.best).items() if not torch.equal(value, weights(root / "model")[name])
    ]
    assert changed
    assert all("proj" in name for name in changed)
    chosen = records.validations()[-1]
    after = records.summary()["after"]
    assert after == pytest.approx({name: chosen[name] for name in after}, abs=1e-6)
