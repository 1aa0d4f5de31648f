"""The presets are the paper's twenty models, and their commands are such that the harness takes them."""

import inspect
import json
import re
import shlex

import pytest
from lmms_eval_crystal.arguments import split_arguments
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters.commands import (
    GEMINI_KEY_VARIABLE,
    GEMINI_URL,
    Wishes,
    build_command,
)
from lmms_eval_crystal.model_adapters.hardware import Gpu
from lmms_eval_crystal.model_adapters.presets import load_preset, load_presets
from lmms_eval_crystal.model_adapters.targets import Target, find_target
from lmms_eval_crystal.reports.paper import paper_figures

PRESETS = list(load_presets())
HUB = [name for name in PRESETS if not load_preset(name).is_api]
#: What the harness's vLLM adapter hands on to the engine, which is not installed here.
ENGINE_ARGUMENTS = {"dtype", "max_model_len", "revision"}


def gpus(count: int, gigabytes: float = 80.0) -> tuple[Gpu, ...]:
    return (Gpu("GPU", gigabytes, gigabytes),) * count


def command(name: str, machine: tuple[Gpu, ...] = (), **wishes: object):
    return build_command(find_target(name, wishes.get("backend")), Wishes(**wishes), machine)


def option(arguments: tuple[str, ...], name: str) -> str:
    return arguments[arguments.index(name) + 1]


def model_args(arguments: tuple[str, ...]) -> dict[str, str]:
    return split_arguments(option(arguments, "--model_args"))


def known_arguments(adapter: type) -> set[str]:
    """Every argument that a class of the harness names, its parents' included; no instance is made."""
    signatures = [inspect.signature(base.__init__) for base in adapter.__mro__ if "__init__" in vars(base)]
    return {name for signature in signatures for name in signature.parameters}


def test_the_presets_are_the_rows_of_the_papers_table():
    assert len(PRESETS) == len(paper_figures()) == 20
    assert {preset.paper_name for preset in load_presets().values()} == set(paper_figures())


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_what_a_run_needs_to_know(name):
    preset = load_preset(name)
    assert preset.name == name == name.lower()
    assert preset.tried
    if preset.is_api:
        # Hidden reasoning spends the budget too.
        assert preset.tokens >= 16384
    else:
        assert preset.model.count("/") == 1
        assert preset.revision
        assert preset.dtype == ("bfloat16" if name.startswith(("gemma", "qwen2.5")) else "float16")
        assert preset.tokens == 4096
        assert preset.gpus >= 1
        assert preset.gpus == preset.gpus_needed(80.0)


def test_a_size_in_the_name_is_the_size_of_the_weights():
    for name in HUB:
        said = float(re.findall(r"([\d.]+)b", name)[-1])
        assert load_preset(name).params_b == pytest.approx(said, rel=0.2, abs=0.8), name


def test_kin_are_the_families_that_helped_to_write_the_references():
    kin = {name: preset.kin for name, preset in load_presets().items() if preset.kin}
    assert set(kin.values()) == {"Qwen2.5-VL", "InternVL3", "Gemma3", "Llama 4"}
    assert not {"gpt-5", "llava1.6-7b"} & set(kin)


def test_only_the_model_that_needs_it_may_run_its_own_code():
    assert [name for name in PRESETS if load_preset(name).trust_remote_code] == ["minicpm-v2.6-8b"]


@pytest.mark.parametrize(
    ("typed", "meant"), [("qwen2.5-vl-8b", "qwen2.5-vl-7b"), ("gemma-4b", "gemma3-4b"), ("gpt5", "gpt-5")]
)
def test_a_name_that_does_not_exist_is_answered_with_the_nearest(typed, meant):
    for find in (load_preset, find_target):
        with pytest.raises(CrystalError, match=rf"did you mean {re.escape(meant)}\?.*crystal-eval models"):
            find(typed)


def test_a_name_like_no_other_is_answered_with_where_names_stand():
    with pytest.raises(CrystalError, match="crystal-eval models"):
        load_preset("zzzzzz")


def test_the_hub_id_of_a_preset_is_the_preset_and_any_other_is_itself(tmp_path):
    assert find_target("google/gemma-3-4b-it") == find_target("gemma3-4b") == find_target("Gemma3-4B")
    assert find_target("owner/model") == Target("owner/model")
    assert find_target(str(tmp_path)) == Target(str(tmp_path))
    with pytest.raises(CrystalError, match="no folder"):
        find_target(str(tmp_path / "missing" / "model"))


@pytest.mark.parametrize("name", PRESETS)
def test_the_harness_knows_the_model_id_and_every_argument_of_a_preset(name):
    from lmms_eval import models

    made = command(name)
    preset = load_preset(name)
    assert f"={preset.model}," in f"{option(made.arguments, '--model_args')},"
    assert "--tasks crystal " in made.text
    assert option(made.arguments, "--model") == preset.adapter == made.adapter
    known = known_arguments(models.get_model(made.adapter))
    allowed = known | ENGINE_ARGUMENTS if made.adapter == "vllm" else known
    assert set(model_args(made.arguments)) <= allowed


@pytest.mark.parametrize("name", PRESETS)
def test_the_harness_parses_the_command_of_a_preset(name, monkeypatch):
    from lmms_eval.__main__ import parse_eval_args
    from lmms_eval.utils import simple_parse_args_string

    made = command(name, limit=8, extra=["--offset", "3"])
    monkeypatch.setattr("sys.argv", ["lmms-eval", *made.arguments[made.arguments.index("lmms_eval") + 1 :]])
    _, options = parse_eval_args()
    assert (options.tasks, options.limit, options.offset, options.log_samples) == ("crystal", 8, 3, True)
    assert set(simple_parse_args_string(options.model_args)) == set(model_args(made.arguments))


@pytest.mark.parametrize("name", HUB)
def test_a_hub_model_runs_on_vllm_where_vllm_has_it(name):
    if not load_preset(name).vllm:
        with pytest.raises(CrystalError, match="vLLM no longer runs"):
            command(name, backend="vllm")
        return
    made = command(name, backend="vllm")
    arguments = model_args(made.arguments)
    assert arguments["model"] == load_preset(name).model
    assert arguments["dtype"] == load_preset(name).dtype
    assert int(option(made.arguments, "--batch_size")) >= 256
    assert arguments["tensor_parallel_size"] == str(load_preset(name).gpus)
    assert arguments["trust_remote_code"] == str(load_preset(name).trust_remote_code)


def test_gemini_goes_to_the_compatible_address_with_its_own_key():
    made = command("gemini-2.5-flash")
    assert model_args(made.arguments)["base_url"] == GEMINI_URL
    assert made.key_variable == GEMINI_KEY_VARIABLE
    assert f"CRYSTAL_KEY_VARIABLE={GEMINI_KEY_VARIABLE} " in made.text


def test_a_key_of_openai_is_named_only_where_another_is_named_in_the_environment(monkeypatch):
    assert "CRYSTAL_KEY_VARIABLE" not in command("gpt-5").text
    monkeypatch.setenv("CRYSTAL_KEY_VARIABLE", "ELSEWHERE_API_KEY")
    assert "CRYSTAL_KEY_VARIABLE=OPENAI_API_KEY " in command("gpt-5").text
    assert command("any/model", backend="api").key_variable == "ELSEWHERE_API_KEY"


def test_the_window_of_vllm_is_never_longer_than_the_models_own(tmp_path):
    assert "max_model_len" not in command("owner/model", backend="vllm").model_args
    for config, length in (
        ({"text_config": {"max_position_embeddings": 4096}, "max_position_embeddings": 1}, "4096"),
        ({"max_position_embeddings": 8192}, "8192"),
        ({"text_config": {"max_position_embeddings": 262144}}, "32768"),
        ({"text_config": {}}, None),
        ([], None),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert command(str(tmp_path), backend="vllm").model_args.get("max_model_len") == length


def test_a_name_that_could_mean_two_models_says_which_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_target("gemma3-4b").note == ""
    for folder in ("gemma3-4b", "google/gemma-3-12b-it", "owner/model"):
        (tmp_path / folder).mkdir(parents=True)
    assert find_target("gemma3-4b").preset == load_preset("gemma3-4b")
    assert command("gemma3-4b").notes[0] == "gemma3-4b is the preset, not the folder here; ./gemma3-4b is the folder."
    assert find_target("./gemma3-4b") == Target("gemma3-4b")
    assert "the folder google/gemma-3-12b-it here is loaded" in find_target("gemma3-12b").note
    for name in ("owner/model", "google/gemma-3-12b-it"):
        assert find_target(name).preset is None
        assert command(name).notes == (f"{name} is the folder here, not the hub's model of that name.",)


def test_checkpoints_of_the_same_name_get_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for run in ("a", "b"):
        (tmp_path / run / "checkpoint").mkdir(parents=True)
    assert [find_target(f"{run}/checkpoint").name for run in ("a", "b")] == ["a__checkpoint", "b__checkpoint"]
    assert find_target(str(tmp_path / "a" / "checkpoint")).name == "a__checkpoint"
    monkeypatch.chdir(tmp_path / "a" / "checkpoint")
    assert find_target(".").name == "a__checkpoint"


def test_one_process_a_gpu_where_a_copy_fits_on_one():
    made = command("qwen2.5-vl-7b", gpus(8))
    assert shlex.join(made.arguments[1:6]) == "--standalone --nproc_per_node 8 -m lmms_eval"
    assert made.arguments[0].endswith("torchrun")
    assert "device_map" not in model_args(made.arguments)


def test_a_large_model_is_spread_over_the_gpus_of_one_process():
    made = command("qwen2.5-vl-32b", gpus(4))
    assert made.arguments[1:3] == ("-m", "lmms_eval")
    assert model_args(made.arguments)["device_map"] == "auto"


def test_a_large_gpu_takes_a_large_model_whole():
    made = command("qwen2.5-vl-32b", gpus(2, 141.0))
    assert "--nproc_per_node 2" in made.text
    assert "device_map" not in model_args(made.arguments)


def test_a_model_that_the_user_spreads_runs_in_one_process():
    made = command("owner/model", gpus(8), model_args="device_map=auto")
    assert "torchrun" not in made.text
    with pytest.raises(CrystalError, match="--nproc 2 does not fit"):
        command("owner/model", gpus(8), model_args="device_map=auto", nproc=2)


def test_vllm_shares_one_copy_among_its_gpus_and_several_among_processes():
    alone = model_args(command("qwen3-vl-32b", gpus(8), backend="vllm").arguments)
    assert alone["tensor_parallel_size"] == "2"
    assert "data_parallel_size" not in alone
    several = command("qwen3-vl-32b", gpus(8), backend="vllm", nproc=8)
    assert model_args(several.arguments)["data_parallel_size"] == "4"
    assert "--nproc_per_node 8" in several.text


@pytest.mark.parametrize(
    ("name", "machine", "wishes", "says"),
    [
        ("qwen2.5-vl-32b", gpus(1), {}, "needs about 84 GB of GPU memory, which is 2 GPUs like the 1 here"),
        ("qwen2.5-vl-7b", gpus(2), {"nproc": 4}, "This takes 4 GPUs and 2 can be seen"),
        ("qwen2.5-vl-32b", gpus(4), {"nproc": 2}, "takes 2 GPUs in one process"),
        ("qwen2.5-vl-32b", (), {"nproc": 2}, "takes 2 GPUs in one process"),
        ("qwen2.5-vl-32b", gpus(4), {"nproc": 3, "backend": "vllm"}, "must be a multiple of 2"),
        ("qwen2.5-vl-7b", (), {"nproc": 0}, "--nproc 0 must be 1 or more"),
        ("qwen2.5-vl-7b", (), {"batch_size": 0}, "--batch-size 0 must be 1 or more"),
        ("qwen2.5-vl-7b", (), {"limit": 1.5}, "--limit 1.5 must be a number of items"),
        ("qwen2.5-vl-7b", (), {"limit": -1}, "--limit -1 must be a number of items"),
        ("qwen2.5-vl-7b", (), {"limit": 0}, "--limit 0 must be a number of items"),
        ("qwen2.5-vl-7b", (), {"limit": float("nan")}, "--limit nan must be a number of items"),
        ("qwen2.5-vl-7b", (), {"limit": float("inf")}, "--limit inf must be a number of items"),
        ("qwen2.5-vl-7b", (), {"tasks": ""}, "--tasks names no task"),
        ("qwen2.5-vl-7b", (), {"gen_kwargs": "api_key=sk-1"}, "A secret does not belong into --gen-kwargs"),
        ("qwen2.5-vl-7b", (), {"extra": ["--hf_hub_log_args", "token=hf_1"]}, "A secret does not belong"),
        ("qwen2.5-vl-7b", (), {"extra": ["--output_pa", "x"]}, "--output_pa is set by crystal-eval run itself"),
        ("", (), {}, "The name of the model is empty"),
        ("../x", (), {}, "There is no folder ../x"),
        ("gpt-5", (), {"nproc": 2}, "API models run in one process"),
        ("gpt-5", (), {"backend": "vllm"}, "is an API model"),
        ("minicpm-v2.6-8b", (), {"backend": "hf"}, "use --backend vllm"),
        ("qwen2.5-vl-7b", (), {"backend": "vlm"}, "the harness; did you mean vllm? Leave it out"),
        ("qwen2.5-vl-7b", (), {"backend": "qwen2.5_vl"}, "did you mean qwen2_5_vl?"),
        ("qwen2.5-vl-7b", (), {"backend": "!"}, "of the harness; leave it out"),
        ("qwen2.5-vl-7b", (), {"model_args": "pretrained=a/b"}, "is another model than Qwen/Qwen2.5-VL-7B-Instruct"),
        ("owner/model", (), {"backend": "vllm", "model_args": "model=a/b"}, "is another model than owner/model"),
        ("gpt-5", (), {"model_args": f"note=sk-{'a' * 20}"}, "A secret does not belong into --model-args"),
        ("gpt-5", (), {"model_args": "api_key=sk-1"}, "A secret does not belong into --model-args"),
        ("gpt-5", (), {"model_args": "base_url=http://me:word@host/v1"}, "A secret does not belong into --model-args"),
        ("gpt-5", (), {"model_args": "base_url=http://host/v1?key=1"}, "A secret does not belong into --model-args"),
        ("gpt-5", (), {"model_args": "timeout"}, "not of the form name=value"),
        ("gpt-5", (), {"extra": ["--tasks", "mmmu_val"]}, "--tasks is set by crystal-eval run itself"),
        ("gpt-5", (), {"extra": ["mmmu_val"]}, "Options for lmms-eval go after `--`"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(name, machine, wishes, says):
    with pytest.raises(CrystalError, match=re.escape(says)) as caught:
        command(name, machine, **wishes)
    assert "\n" not in str(caught.value)


def test_what_the_user_says_wins_over_the_preset():
    made = command(
        "gpt-5", model_args="timeout=30,base_url=http://127.0.0.1:1/v1", gen_kwargs="max_new_tokens=64", batch_size=3
    )
    arguments = model_args(made.arguments)
    assert (arguments["timeout"], arguments["base_url"]) == ("30", "http://127.0.0.1:1/v1")
    assert arguments["num_concurrent"] == "3"
    assert option(made.arguments, "--gen_kwargs") == "max_new_tokens=64"


def test_any_model_of_the_harness_may_run_a_checkpoint(tmp_path):
    made = command(str(tmp_path), backend="qwen2_5_vl", model_args="device=cpu,device_map=cpu")
    assert made.adapter == "qwen2_5_vl"
    assert model_args(made.arguments) == {"pretrained": str(tmp_path), "device": "cpu", "device_map": "cpu"}


def test_a_large_model_on_cpus_is_warned_of_and_a_small_one_is_not(tmp_path):
    assert any("take days" in note for note in command("qwen2.5-vl-7b").notes)
    assert not any("take days" in note for note in command("qwen2.5-vl-7b", gpus(1)).notes)
    assert not command(str(tmp_path)).notes


def test_the_printed_command_is_the_one_that_runs_and_a_shell_takes_it(tmp_path):
    folder = tmp_path / "my results"
    made = command("gemma3-4b", out=folder, journal=str(folder / "journal"))
    words = shlex.split(made.text)
    assert words[0] == f"CRYSTAL_JOURNAL={folder / 'journal'}"
    assert tuple(words[1:]) == made.arguments
