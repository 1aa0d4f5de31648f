"""How ``crystal_hf`` is set up: its arguments, presets and devices, and one sentence for what cannot work."""

from pathlib import Path

import pytest
import torch
from lmms_eval.models.registry_v2 import ModelRegistryV2
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters import presets
from lmms_eval_crystal.model_adapters.hf import AUTO_BATCH_SIZE, CrystalHF
from lmms_eval_crystal.model_adapters.loading import choose_dtype
from lmms_eval_crystal.model_adapters.manifests import manifests

from .hf_cases import altered, checkpoint, load, requests

CPU, GPU = torch.device("cpu"), torch.device("meta")


def stopped(**arguments: object) -> str:
    """The sentence that the model stops with."""
    with pytest.raises(SystemExit) as stop:
        CrystalHF(**arguments)
    sentence = str(stop.value)
    assert "\n" not in sentence
    return sentence


def test_the_harness_makes_it_from_its_command_line() -> None:
    registry = ModelRegistryV2()
    for manifest in manifests():
        registry.register_manifest(manifest)
    # There is no other class for --force_simple, which then makes no difference.
    assert registry.get_model_class("crystal_hf", force_simple=True) is CrystalHF
    given = {"batch_size": "2", "max_batch_size": None, "device": "cpu"}
    model = CrystalHF.create_from_arg_string(f"pretrained={checkpoint('internvl')},model_name=mine", given)
    assert (model.batch_size, model.model_name, model.rank, model.world_size) == (2, "mine", 0, 1)
    assert model._model.dtype == torch.float32
    model.clean()
    assert not hasattr(model, "_model")


def test_ranks_are_the_launchers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    model = load(checkpoint("internvl"))
    assert (model.rank, model.world_size) == (1, 2)
    sentence = stopped(pretrained=str(checkpoint("internvl")), device_map="auto")
    assert "device_map=auto spreads the model over the GPUs of one process, and there are 2 processes" in sentence


def test_a_device_map_is_taken_in_a_single_process() -> None:
    model = load(checkpoint("internvl"), device_map="cpu")
    assert len(model.generate_until(requests([0]))) == 1


def test_a_preset_fills_the_gaps_that_the_user_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(checkpoint("qwen2_5_vl"))
    preset = presets.Preset(
        *("mine", "Mine", "hub", folder, "crystal_hf", 4096), dtype="float16", min_pixels=784, max_pixels=78400
    )
    monkeypatch.setattr(presets, "load_presets", lambda: {"mine": preset})
    model = CrystalHF(preset="mine", max_pixels=7840)
    assert (model.pretrained, model.min_pixels, model.max_pixels) == (folder, "784", "7840")
    assert model._model.dtype == torch.float32  # the preset's type is one for GPUs
    assert CrystalHF(preset="mine", dtype="float16")._model.dtype == torch.float16
    assert CrystalHF(preset="mine", pretrained=str(checkpoint("internvl"))).pretrained.endswith("internvl")


def test_the_type_of_the_weights_is_the_users_then_the_devices() -> None:
    assert choose_dtype(None, "float16", CPU) == choose_dtype("auto", None, CPU) == torch.float32
    assert choose_dtype(None, "float16", GPU) == torch.float16
    assert choose_dtype(None, None, GPU) == choose_dtype("auto", "auto", GPU) == torch.bfloat16
    assert choose_dtype("bf16", "float16", CPU) == torch.bfloat16
    with pytest.raises(CrystalError, match="There is no dtype=int3; take auto,"):
        choose_dtype("int3", None, CPU)


def test_batch_size_auto_starts_high() -> None:
    assert load(checkpoint("internvl"), "auto:4").batch_size == AUTO_BATCH_SIZE


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "needs pretrained=HUB_ID|FOLDER or preset=NAME"),
        ({"preset": "gemma3-4"}, "There is no preset 'gemma3-4'; did you mean gemma3-4b?"),
        ({"preset": "gpt-5"}, "The preset gpt-5 runs through openai, another adapter of the harness"),
        ({"pretrained": "./nowhere"}, "There is no folder ./nowhere (pretrained=), seen from"),
        ({"pretrained": "some-owner/some-model"}, "is not on this machine and the hub is out of reach"),
        ({"pretrained": "what is this"}, "neither a folder"),
        ({"pretrained": "a/b", "colour": "red"}, "crystal_hf has no argument colour in --model_args; it knows"),
        ({"pretrained": "a/b", "batch_size": "many"}, "--batch_size takes a number from 1 on or auto, not many."),
        ({"pretrained": "a/b", "max_pixels": "lots"}, "takes a whole number from 1 on as max_pixels=, not lots."),
        ({"pretrained": "a/b", "revision": 1234567}, "revision=1234567 reached crystal_hf as a number"),
        ({"pretrained": "a/b", "trust_remote_code": "maybe"}, "takes True or False as trust_remote_code=, not maybe."),
    ],
)
def test_a_slip_in_the_arguments_stops_the_run_with_one_sentence(arguments: dict, sentence: str) -> None:
    assert sentence in stopped(**arguments)


def broken(tmp_path: Path, *missing: str, config: dict | None = None) -> str:
    folder = altered("internvl", tmp_path, "config.json", **(config or {}))
    for name in missing:
        (folder / name).unlink()
    return str(folder)


def test_a_folder_that_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    assert "holds no config.json, so it is no checkpoint" in stopped(pretrained=str(tmp_path))


def test_a_checkpoint_without_a_chat_template_cannot_be_asked(tmp_path: Path) -> None:
    assert "has no chat template" in stopped(pretrained=broken(tmp_path, "chat_template.jinja"))


def test_a_checkpoint_without_a_processor_cannot_see(tmp_path: Path) -> None:
    files = [file.name for file in checkpoint("internvl").glob("*processor*.json")]
    sentence = stopped(pretrained=broken(tmp_path, *files, config={"model_type": "qwen2", "vision_config": None}))
    assert "has no processor for images and text" in sentence


def test_a_checkpoint_without_weights_is_named(tmp_path: Path) -> None:
    sentence = stopped(pretrained=broken(tmp_path, "model.safetensors"))
    assert "cannot be loaded" in sentence
    assert "model.safetensors" in sentence


def test_a_model_that_does_not_look_at_pictures_is_refused(tmp_path: Path) -> None:
    sentence = stopped(pretrained=broken(tmp_path, config={"model_type": "qwen2"}))
    assert "none that transformers loads with AutoModelForImageTextToText" in sentence


def test_an_unknown_architecture_is_refused(tmp_path: Path) -> None:
    sentence = stopped(pretrained=broken(tmp_path, config={"model_type": "brand_new"}))
    assert "none that transformers loads with AutoModelForImageTextToText" in sentence


def test_code_of_a_repository_is_not_run_unless_it_is_trusted(tmp_path: Path) -> None:
    code = {"auto_map": {"AutoConfig": "own.OwnConfig"}, "model_type": "own"}
    folder = broken(tmp_path, config=code)
    Path(folder, "own.py").write_text("raise SystemError('this ran')")
    assert "add trust_remote_code=True to --model_args if you trust it" in stopped(pretrained=folder)


def test_an_attention_that_is_not_installed_is_named(tmp_path: Path) -> None:
    sentence = stopped(pretrained=str(checkpoint("internvl")), attn_implementation="flash_attention_2")
    assert "needs a package that is not installed" in sentence


@pytest.mark.parametrize("method", ["loglikelihood", "generate_until_multi_round"])
def test_a_task_that_asks_for_more_than_a_text_stops_the_run(method: str) -> None:
    with pytest.raises(SystemExit, match="one text per item"):
        getattr(load(checkpoint("internvl")), method)([])
