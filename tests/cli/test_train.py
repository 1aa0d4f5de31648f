"""``crystal-eval train`` before anything is trained: what it checks, says and refuses."""

import subprocess
import sys
from pathlib import Path

import pytest
import synthetic
import yaml
from lmms_eval_crystal.cli import main as command_line
from lmms_eval_crystal.cli import train as module
from tiny_run import build_without_weights

SHIPPED = sorted(path.name for path in module.SHIPPED.glob("*.yaml"))


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder with items, a stand-in for the benchmark, and a model that could not be loaded."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CRYSTAL_DATASET", "benchmark.parquet")
    synthetic.dataset(40).to_parquet("items.parquet")
    synthetic.dataset(3, question=["Which way?", "How far?", "How long?"]).to_parquet("benchmark.parquet")
    build_without_weights(Path("model"))
    settings = {"model": "model", "output": "out", "encoder": "minilm", "data": {"path": "items.parquet"}}
    Path("run.yaml").write_text(yaml.safe_dump(settings))
    return tmp_path


def crystal_eval(*arguments: str) -> object:
    """The exit code, or the sentence that it ends with."""
    with pytest.raises(SystemExit) as ended:
        command_line.main(list(arguments))
    return ended.value.code


def test_a_check_says_what_would_run_and_writes_nothing(place, capsys):
    before = sorted(place.iterdir())
    assert not crystal_eval("train", "run.yaml", "--check", "--set", "phases.1.steps=170")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "OK    method      cpr-curriculum, all weights, gradient surgery, bfloat16",
        "OK    model       model",
        "OK    data        items.parquet: 34 items to train on, 6 held out",
        "OK    steps       3 to 3 reference steps an item, median 3",
    ]
    assert "OK    phase 2     170 steps of 2 prompts x 5 candidates on 1 process; 10.0 passes over the items" in lines
    assert lines[-1] == "Not checked: whether model and batches fit into memory."
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("method=ppo", "run.yaml: method is 'ppo'"),
        ("model=missing", "there is no folder missing"),
        (
            "data.path=benchmark.parquet",
            "3 of the training items (0, 1, 2) have the question and the image of test items",
        ),
        ("rewards.step_weight=0.5", "rewards.answer_weight 0.65 + rewards.step_weight 0.5 is 1.15"),
    ],
)
def test_a_fault_is_one_sentence_and_exit_code_1(place, setting, sentence):
    ended = crystal_eval("train", "run.yaml", "--check", "--set", setting)
    assert isinstance(ended, str)  # printed to stderr with exit code 1
    assert ended.startswith("crystal-eval: ")
    assert sentence in ended
    assert "\n" not in ended


def test_a_run_that_is_interrupted_says_how_it_goes_on(place, monkeypatch):
    from lmms_eval_crystal.training import run

    def interrupted(*config: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "train", interrupted)
    assert "the same command, without --fresh, goes on from the last checkpoint" in str(
        crystal_eval("train", "run.yaml")
    )


def test_without_the_extra_it_says_how_to_install_it(place, monkeypatch):
    monkeypatch.setattr(module, "EXTRA", ("trl", "no_such_package"))
    assert crystal_eval("train", "run.yaml") == (
        "crystal-eval: Training needs no_such_package, not installed here; `pip install 'lmms-eval-crystal[train]'`."
    )


def test_configurations_that_ship_are_copied_and_never_over_others(place, capsys):
    assert not crystal_eval("train", "--copy-configs", "configs")
    assert sorted(path.name for path in Path("configs").iterdir()) == SHIPPED
    assert len(capsys.readouterr().out.splitlines()) == len(SHIPPED)
    assert "is there already; name another folder" in str(crystal_eval("train", "--copy-configs", "configs"))
    assert "cannot go to run.yaml" in str(crystal_eval("train", "--copy-configs", "run.yaml"))


@pytest.mark.parametrize("name", ["qwen2_5_vl_3b", "internvl3_5_4b.yaml"])
def test_a_configuration_that_ships_is_known_by_its_name(place, name, capsys):
    more = ["--set", "data.path=items.parquet", "--set", "model=model", "--set", "encoder=minilm"]
    assert not crystal_eval("train", name, "--check", *more)
    assert "34 items to train on" in capsys.readouterr().out
    assert "names no data" in str(crystal_eval("train", name, "--check"))


def test_a_file_of_the_users_comes_before_one_that_ships(place):
    Path("qwen2_5_vl_3b").write_text("model: mine")
    assert "qwen2_5_vl_3b names no data" in str(crystal_eval("train", "qwen2_5_vl_3b"))


def test_a_launchers_configuration_is_not_one_of_training(place):
    assert "cannot be read" in str(crystal_eval("train", "accelerate_ddp"))


def test_the_commands_of_the_evaluation_import_nothing_of_training():
    code = (
        "import sys, lmms_eval_crystal.cli.main\n"
        "sys.exit([name for name in sys.modules if name in ('trl', 'peft') or 'crystal.training' in name] or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_it_runs_as_a_module_for_launchers():
    from importlib.util import find_spec

    spec = find_spec("lmms_eval_crystal.__main__")
    assert spec is not None
    assert "main()" in Path(str(spec.origin)).read_text()
