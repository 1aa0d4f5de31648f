"""``crystal-eval check``: each check by itself, with a hub and an API on 127.0.0.1."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lmms_eval_crystal.cli import check as module
from lmms_eval_crystal.cli import check_item
from lmms_eval_crystal.cli.check import checks
from lmms_eval_crystal.cli.check_item import text_problem
from lmms_eval_crystal.cli.check_model import check_model
from lmms_eval_crystal.cli.check_subject import Check, Subject
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters.commands import Wishes
from lmms_eval_crystal.model_adapters.hardware import Gpu
from lmms_eval_crystal.model_adapters.targets import find_target
from loopback import GATED, hub
from safetensors.numpy import save_file

KEY = "sk-0123456789"


@pytest.fixture(autouse=True)
def settings(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("CRYSTAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def subject(name: str, gpus: tuple[Gpu, ...] = (), **wishes: object) -> Subject:
    given = Wishes(**{"tasks": "crystal_mini", **wishes})
    return Subject(find_target(name, given.backend), given, gpus, full=False)


def found(name: str, **more: object) -> dict[str, Check]:
    return {check.name: check for check in checks(subject(name, **more))}


def model_check(name: str, **wishes: object) -> Check:
    return module.outcome("model", check_model, subject(name, **wishes))


def fill(folder: Path, *weights: str) -> Path:
    """A folder with the files of a checkpoint."""
    folder.mkdir(parents=True)
    for name in ("config.json", "preprocessor_config.json"):
        (folder / name).write_text("{}")
    for name in weights:
        save_file({"weight": np.zeros(4, "float32")}, folder / name)
    return folder


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    return fill(tmp_path / "model", "model.safetensors")


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """The hub's cache with a model ``owner/model``: of its branch ``main`` all weights, of ``old`` one part of two."""
    root = tmp_path / "hub" / "models--owner--model"
    fill(root / "snapshots" / "aaa", "model.safetensors")
    fill(root / "snapshots" / "bbb", "model-00001-of-00002.safetensors")
    (root / "refs").mkdir()
    for branch, commit in (("main", "aaa"), ("old", "bbb")):
        (root / "refs" / branch).write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return root / "snapshots"


def test_a_folder_with_all_its_parts_is_fine(checkpoint):
    assert model_check(str(checkpoint)).state == "OK"


def test_a_folder_that_lacks_a_part_of_its_weights_fails(tmp_path):
    folder = fill(tmp_path / "model", "model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors")
    check = model_check(str(folder))
    assert check.state == "FAIL"
    assert "lacks model-00002-of-00003.safetensors; copy the whole model" in check.message


def test_a_folder_that_lacks_what_its_index_lists_fails(checkpoint):
    index = {"weight_map": {"a": "model.safetensors", "b": "vision.safetensors"}}
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "lacks vision.safetensors" in model_check(str(checkpoint)).message


def test_weights_that_are_cut_short_fail(checkpoint):
    file = checkpoint / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    check = model_check(str(checkpoint))
    assert check.state == "FAIL"
    assert "model.safetensors cut short or damaged" in check.message


def test_a_model_is_cached_when_its_weights_are(cache):
    assert model_check("owner/model").state == "OK"
    (cache / "aaa" / "model.safetensors").unlink()
    check = model_check("owner/model")
    assert check.state == "FAIL"
    assert "its weights are not in the hub cache" in check.message


def test_the_revision_that_is_asked_for_is_the_one_that_is_looked_at(cache):
    assert model_check("owner/model", model_args="revision=main").state == "OK"
    part = model_check("owner/model", model_args="revision=old")
    assert part.state == "FAIL"
    assert "owner/model@old: the hub cache lacks model-00002-of-00002.safetensors" in part.message
    none = model_check("owner/model", model_args="revision=new")
    assert "owner/model@new is not in the hub cache" in none.message


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("config.json", "no config.json"),
        ("model.safetensors", "no weights"),
        ("preprocessor_config.json", "no processor"),
    ],
)
def test_a_folder_without_one_of_its_parts_fails(checkpoint, missing, says):
    (checkpoint / missing).unlink()
    check = model_check(str(checkpoint))
    assert check.state == "FAIL"
    assert says in check.message


def test_offline_a_model_that_is_not_cached_fails_and_nothing_is_run():
    result = found("qwen3-vl-2b")
    assert result["model"].state == "FAIL"
    assert "HF_HUB_OFFLINE is set" in result["model"].message
    assert result["one item"] == Check("one item", "WARN", "not run, since something above fails")
    assert result["encoder"].state == result["dataset"].state == "OK"


def test_the_dataset_of_the_hub_fails_with_what_to_do():
    with pytest.raises(CrystalError, match="accept its terms"):
        module._dataset(subject("qwen3-vl-2b", tasks="crystal"))


def test_an_encoder_that_does_not_exist_fails(monkeypatch):
    monkeypatch.setenv("CRYSTAL_ENCODER", "minlm")
    assert found("qwen3-vl-2b")["encoder"].state == "FAIL"


@pytest.mark.parametrize(
    ("tasks", "loaded"),
    [
        ("crystal_mini", ["minilm"]),
        ("crystal_mini,mmmu_val", ["minilm"]),
        ("crystal,crystal_mini", ["distilroberta", "minilm"]),
        ("mmmu_val", []),
    ],
)
def test_the_encoder_of_each_task_is_loaded_and_no_other(tasks, loaded, monkeypatch):
    names = []

    class Loaded:
        def __init__(self, name: str) -> None:
            names.append(name)

        def encode(self, texts: list[str]) -> None:
            """Takes them."""

    monkeypatch.setattr(module, "StepEncoder", Loaded)
    assert module._encoder(subject("gemma3-4b", tasks=tasks)).state == "OK"
    assert names == loaded


@pytest.mark.parametrize(
    ("free", "state", "says"),
    [(80.0, "OK", "about 24 GB are needed"), (20.0, "WARN", "about 24 GB"), (10.0, "FAIL", "free the GPUs first")],
)
def test_the_free_memory_of_the_gpus_is_held_against_the_preset(free, state, says):
    check = module._gpu(subject("qwen2.5-vl-7b", (Gpu("GPU", free, 80.0),)))
    assert check.state == state
    assert says in check.message


def test_a_machine_without_a_gpu_is_a_warning():
    assert module._gpu(subject("qwen2.5-vl-7b")).state == "WARN"


def test_gpus_that_do_not_suffice_fail():
    check = found("qwen2.5-vl-32b", gpus=(Gpu("GPU", 80.0, 80.0),))["command"]
    assert check.state == "FAIL"
    assert "needs about 84 GB" in check.message


MODELS = {"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "me"}]}


@pytest.mark.parametrize(
    ("model", "answer", "state", "says"),
    [
        ("m", (200, {}, MODELS), "OK", "answers and knows m"),
        ("n", (200, {}, MODELS), "WARN", "does not list n"),
        ("m", (401, {}, {"error": {"message": f"wrong key {KEY}"}}), "FAIL", "refuses the key in OPENAI_API_KEY"),
        ("m", (500, {}, {"error": {"message": f"broken for {KEY}"}}), "FAIL", "does not answer"),
        ("m", (404, {}, {}), "WARN", "does not list its models"),
    ],
)
def test_the_api_is_asked_for_its_models(model, answer, state, says):
    with hub({"/v1/models": answer}) as address:
        check = module._api(subject(model, backend="api", model_args=f"base_url={address}/v1"))
    assert check.state == state
    assert says in check.message
    assert KEY not in check.message


def test_an_api_that_is_not_there_fails():
    check = module._api(subject("m", backend="api", model_args="base_url=http://127.0.0.1:9/v1"))
    assert check.state == "FAIL"
    assert "does not answer" in check.message


def test_an_api_model_without_a_key_fails(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    result = found("gpt-5")
    assert result["command"].state == "FAIL"
    assert "OPENAI_API_KEY is not set" in result["command"].message
    assert result["api"].state == "WARN"


def test_the_hub_says_who_may_read_what_and_at_which_commit(tmp_path):
    """Online, in a process of its own: the hub's address is read once."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    info = {"id": "owner/open", "sha": commit, "siblings": [], "private": False, "tags": [], "downloads": 0, "likes": 0}
    answers = {
        "/api/models/owner/open/auth-check": (200, {}, {}),
        "/api/models/owner/open": (200, {}, info),
        "/api/models/owner/gated/auth-check": GATED,
    }
    program = """
from test_check import *
for name in ("owner/open", "owner/gated", "owner/missing"):
    check = model_check(name)
    print(check.state, check.message)
"""
    with hub(answers) as address:
        environment = {
            **os.environ,
            "HF_ENDPOINT": address,
            "HF_HUB_OFFLINE": "0",
            "HF_HOME": str(tmp_path),
            "HF_TOKEN": "hf_none",
            "PYTHONPATH": os.pathsep.join(str(folder) for folder in Path(__file__).parents[:2]),
        }
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True
        )
    opened, gated, missing = done.stdout.splitlines()
    assert opened.startswith(f"OK owner/open may be read; revision {commit[:12]}; not fetched yet")
    assert gated.startswith("FAIL owner/gated: GatedRepoError")
    assert "accept its terms at https://huggingface.co/owner/gated" in gated
    assert missing.startswith("FAIL owner/missing: RepositoryNotFoundError")


@pytest.mark.parametrize("text", ["!" * 16, " the" * 8, "0 0 0 0 0 0 0 0", "\n\n!!!!!!!!\n"])
def test_one_token_over_and_over_is_the_sign_of_numbers_that_overflow(text):
    assert "one token over and over" in text_problem(text, "malformed", is_api=False)
    assert "dtype=bfloat16" in text_problem(text, "malformed", is_api=False)


@pytest.mark.parametrize("text", ['{"reasoning_steps": ["The sign is red', "1, 2, 3, 4, 5, 6, 7, 8", "No", "000"])
def test_other_texts_are_no_such_sign(text):
    assert not text_problem(text, "malformed", is_api=False)


def test_no_text_at_all_is_a_problem_whose_remedy_depends_on_the_model():
    assert "dtype=bfloat16" in text_problem(" ", "empty", is_api=False)
    assert "max_new_tokens" in text_problem("", "empty", is_api=True)


def test_a_call_that_failed_is_a_problem():
    assert "refused" in text_problem("[LMMS_EVAL_REQUEST_FAILED after 5 retries] refused", "failed", is_api=True)


def one_item(monkeypatch, checkpoint: Path, samples: str | None) -> Check:
    """The check of one item, where the run leaves these samples; a real one is in tests/e2e/test_run.py."""

    def run_harness(command: object, out: Path, *more: object, **named: object) -> None:
        if samples is not None:
            (out / "1_samples_crystal_mini.jsonl").write_text(samples)

    monkeypatch.setattr(check_item, "run_harness", run_harness)
    return check_item.check_one_item(subject(str(checkpoint)))


def sample(text: str) -> str:
    return json.dumps({"doc_id": 0, "filtered_resps": [text], "crystal": {"response": text, "status": "malformed"}})


def test_an_item_whose_text_reads_as_one_is_fine(monkeypatch, checkpoint):
    assert one_item(monkeypatch, checkpoint, sample("The sign is red.") + "\n").state == "OK"


@pytest.mark.parametrize(
    ("samples", "says"),
    [
        (None, "no samples were written"),
        ("", "holds no item"),
        (sample("The sign is red.")[:-9], "is cut short"),
        ("[]\n", "is cut short"),
        (sample("!!!!!!!!!!!!!!!!"), "one token over and over ('!!!!"),
    ],
)
def test_an_item_whose_samples_are_not_as_they_should_be_fails(samples, says, monkeypatch, checkpoint):
    check = one_item(monkeypatch, checkpoint, samples)
    assert check.state == "FAIL"
    assert says in check.message
