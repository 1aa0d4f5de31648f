"""``crystal-eval run`` and ``crystal-eval check`` as processes, on tiny models and a hub on 127.0.0.1."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import metrics, run, samples
from lmms_eval_crystal.model_adapters.tiny import FAMILIES
from loopback import GATED, hub

pytestmark = pytest.mark.e2e

SHORT = ["--tasks", "crystal_mini", "--limit", "3", "--gen-kwargs", "max_new_tokens=8"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return FAMILIES["qwen2_5_vl"](tmp_path_factory.mktemp("models") / "tiny-qwen")


@pytest.fixture(scope="module")
def online() -> Iterator[str]:
    """A hub with one gated model and no other."""
    with hub({"/owner/gated": GATED, "/api/models/owner/gated": GATED}) as address:
        yield address


def test_a_run_in_two_processes_prints_its_command_and_ends_with_its_table(tiny, tmp_path):
    done = run(["crystal-eval", "run", str(tiny), "--nproc", "2", "--batch-size", "2", *SHORT], tmp_path)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.strip().splitlines()
    assert "torchrun --standalone --nproc_per_node 2 -m lmms_eval --model crystal_hf" in lines[0]
    assert f"pretrained={tiny}" in lines[0]
    assert "--tasks crystal_mini --batch_size 2 --gen_kwargs max_new_tokens=8 --limit 3" in lines[0]
    assert any(line.split()[:2] == [tiny.name, "3/50"] for line in lines)
    assert lines[-1].startswith(f"Results and samples: out/{tiny.parent.name}__{tiny.name}/")
    assert sorted(samples(tmp_path)) == [0, 1, 2]
    assert metrics(tmp_path)["truncated"] == 1.0


def test_a_run_that_the_harness_calls_a_success_fails_where_it_wrote_nothing(tiny, tmp_path):
    """Even beside the results of an earlier run."""
    old = tmp_path / f"out/{tiny.parent.name}__{tiny.name}/model/20200101_000000_results.json"
    old.parent.mkdir(parents=True)
    old.write_text('{"results": {"crystal_mini": {}}}')
    model = ["--backend", "qwen2_5_vl", "--model-args", "device=cpu,device_map=cpu,nonsense=1"]
    done = run(["crystal-eval", "run", str(tiny), *model, *SHORT], tmp_path)
    assert done.returncode == 1
    assert "Traceback" in done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith(
        f"crystal-eval: The run wrote no results for crystal_mini under out/{tiny.parent.name}__{tiny.name}"
    )


@pytest.mark.parametrize(
    ("model", "says"), [("owner/gated", "is gated: accept its terms"), ("owner/missing", "The hub has no model")]
)
def test_a_model_that_the_hub_does_not_give_is_one_sentence(model, says, online, tmp_path):
    settings = {"HF_ENDPOINT": online, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "home")}
    done = run(["crystal-eval", "run", model, *SHORT], tmp_path, **settings)
    assert done.returncode == 1, done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("crystal-eval: ")
    assert says in last
    assert "Traceback" not in done.stdout


def test_a_check_runs_one_item_end_to_end(tiny, tmp_path):
    done = run(["crystal-eval", "check", str(tiny), "--tasks", "crystal_mini"], tmp_path)
    assert done.returncode == 0, done.stdout
    states = {name.strip(): state for state, name in re.findall(r"^(OK|WARN|FAIL) +(\w[\w ]{7}) ", done.stdout, re.M)}
    passed = ("command", "dataset", "model", "encoder", "disk", "one item")
    assert all(states[name] == "OK" for name in passed), done.stdout
    assert not (tmp_path / "out").exists()


def test_a_check_that_fails_says_what_to_do_and_exits_with_1(tmp_path):
    done = run(["crystal-eval", "check", "gemma3-4b", "--tasks", "crystal_mini"], tmp_path)
    assert done.returncode == 1
    assert "FAIL  model     google/gemma-3-4b-it is not in the hub cache" in done.stdout
    assert "Traceback" not in done.stdout
