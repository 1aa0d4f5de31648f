"""``crystal-eval run`` before anything runs: what it prints, and what it refuses."""

import pytest
from lmms_eval_crystal.cli import main as command_line
from lmms_eval_crystal.cli import run as module
from lmms_eval_crystal.model_adapters.hardware import Gpu
from lmms_eval_crystal.model_adapters.presets import load_presets


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """A machine without GPUs, keys and results; a list to put GPUs into, which cannot be had here."""
    gpus: list[Gpu] = []
    monkeypatch.setattr(module, "visible_gpus", lambda: tuple(gpus))
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "HF_TOKEN", "CRYSTAL_JOURNAL", "CRYSTAL_KEY_VARIABLE"):
        monkeypatch.delenv(name, raising=False)
    return gpus


def crystal_eval(*arguments: str) -> None:
    command_line.main(list(arguments))


def finishes(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        crystal_eval(*arguments)
    assert not ended.value.code


def refuses(*arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        crystal_eval(*arguments)
    sentence = str(ended.value.code)
    assert sentence.startswith("crystal-eval: ")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("name", load_presets())
def test_a_dry_run_prints_the_command_and_needs_no_gpu_hub_or_key(name, capsys, tmp_path):
    finishes("run", name, "--dry-run")
    command = capsys.readouterr().out.splitlines()[-1]
    assert load_presets()[name].model in command
    assert "--tasks crystal " in command
    assert f"--output_path out/{name}" in command
    assert f"CRYSTAL_JOURNAL=out/{name}/journal " in command
    assert not list(tmp_path.iterdir())


def test_a_dry_run_explains_what_looks_odd_in_its_command(capsys):
    finishes("run", "qwen3-vl-8b", "--backend", "vllm", "--dry-run")
    notes = capsys.readouterr().out
    assert "max_new_tokens=1" in notes.splitlines()[-1]
    assert "Note: max_new_tokens=1 is no limit" in notes
    assert "weights published in bfloat16, run in FP16" in notes
    assert "billion weights take days" in notes


def test_options_reach_the_command(capsys):
    finishes(
        *("run", "owner/model", "--dry-run", "--tasks", "crystal,mmmu_val", "--limit", "0.5", "--nproc", "2"),
        *("--out", "here", "--no-journal", "--", "--offset", "3", "--seed", "42"),
    )
    command = capsys.readouterr().out.strip()
    assert command.startswith("CRYSTAL_JOURNAL=off ")
    for part in ("--nproc_per_node 2", "--tasks crystal,mmmu_val", "--limit 0.5", "--output_path here", "--seed 42"):
        assert part in command


def test_processes_are_as_many_as_gpus(machine, capsys):
    machine += [Gpu("GPU", 80, 80)] * 4
    finishes("run", "gemma3-4b", "--dry-run")
    assert "torchrun --standalone --nproc_per_node 4 " in capsys.readouterr().out


def test_a_gpu_count_that_does_not_fit_is_refused_before_the_start(machine):
    machine += [Gpu("GPU", 80, 80)] * 2
    assert "This takes 3 GPUs and 2 can be seen" in refuses("run", "gemma3-4b", "--nproc", "3")
    assert "so --nproc 2 does not fit" in refuses("run", "qwen2.5-vl-32b", "--nproc", "2")
    del machine[1]
    assert "needs about 84 GB of GPU memory" in refuses("run", "qwen2.5-vl-32b")


def test_a_preset_that_does_not_exist_is_answered_with_the_nearest():
    assert "did you mean qwen2.5-vl-7b?" in refuses("run", "qwen2.5-vl-7")


@pytest.mark.parametrize(("name", "variable"), [("gpt-5", "OPENAI_API_KEY"), ("gemini-2.5-flash", "GEMINI_API_KEY")])
def test_an_api_model_without_its_key_is_refused(name, variable):
    assert f"{variable} is not set" in refuses("run", name)


def test_vllm_that_is_not_installed_is_one_sentence():
    assert "`pip install vllm`, no other adapter here runs this model" in refuses("run", "minicpm-v2.6-8b")
    assert "or leave out --backend vllm" in refuses("run", "gemma3-4b", "--backend", "vllm")
