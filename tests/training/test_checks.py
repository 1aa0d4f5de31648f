"""What is checked before a model is loaded, beside the configuration's own rules and the data."""

import dataclasses
import os
import shutil

import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.training import checks
from lmms_eval_crystal.training.checks import CONFIG_FILE, SPLIT_FILE, check_output, differing, prepare
from lmms_eval_crystal.training.data import load_items
from lmms_eval_crystal.training.reading import read
from lmms_eval_crystal.training.records import Records

from .conftest import with_data


def changed(config, **changes):
    return dataclasses.replace(config, **changes)


def test_all_that_a_run_begins_with_is_ready_and_nothing_is_written(config, tmp_path):
    before = sorted(tmp_path.iterdir())
    ready = prepare(config)
    assert len(ready.data.train) == 34
    assert "{question}" in ready.prompt.text
    assert ready.encoder == "minilm"
    assert sorted(tmp_path.iterdir()) == before


class TestOutput:
    @pytest.fixture
    def folder(self, config, tmp_path):
        """The folder of a run that has taken steps with this configuration."""
        folder = tmp_path / "out"
        with Records(folder).alone():
            Records(folder).begin(config, load_items(config), resume=True)
        (folder / "log.jsonl").touch()
        return folder

    def test_a_run_of_the_same_configuration_goes_on(self, config, folder):
        check_output(changed(config, report_to=("wandb",)), resume=True)

    def test_a_run_of_another_one_is_named_by_what_differs_unless_it_begins_anew(self, config, folder):
        phases = (dataclasses.replace(config.phases[0], steps=7), config.phases[1])
        other = with_data(changed(config, phases=phases, kl=0.5), validation=0.2)
        sentence = (
            r"holds a run of another configuration \(it differs in data.validation, phases.0.steps, kl\).*--fresh"
        )
        with pytest.raises(CrystalError, match=sentence):
            check_output(other, resume=True)
        check_output(other, resume=False)

    def test_a_configuration_that_cannot_be_read_any_more_is_said(self, config, folder):
        (folder / CONFIG_FILE).write_text("method: ppo")
        with pytest.raises(CrystalError, match=r"holds the run of another version or program.*--fresh"):
            check_output(config, resume=True)

    @pytest.mark.parametrize("resume", [True, False])
    def test_a_folder_that_holds_something_else_is_never_taken(self, config, folder, resume):
        (folder / SPLIT_FILE).rename(folder / "thesis.txt")
        with pytest.raises(CrystalError, match=r"holds other files than those of a training run; name another output:"):
            check_output(config, resume)

    @pytest.mark.parametrize("content", ["{}", "[1]", "", '{"train": []}'])
    def test_a_split_of_somebody_elses_makes_no_run(self, config, folder, content):
        (folder / SPLIT_FILE).write_text(content)
        with pytest.raises(CrystalError, match=r"holds other files than those of a training run"):
            check_output(config, resume=False)

    def test_a_run_that_ended_before_its_first_step_gives_way_to_another(self, config, folder):
        (folder / "log.jsonl").unlink()
        other = changed(config, kl=0.5)
        check_output(other, resume=True)
        Records(folder).begin(other, load_items(other), resume=True)
        assert read(folder / CONFIG_FILE, ()) == other
        (folder / CONFIG_FILE).unlink()
        (folder / SPLIT_FILE).rename(folder / f"{SPLIT_FILE}.part")
        check_output(config, resume=True)

    def test_a_folder_takes_one_run_at_a_time(self, folder):
        again = Records(folder).alone()
        with Records(folder).alone(), pytest.raises(CrystalError, match=r"Another run is writing to .*; wait until it"):
            again.__enter__()
        with Records(folder).alone():
            pass

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"output": "model/run"}, r"output .*model/run lies in the folder .*model of model"),
            ({"output": "data/run"}, r"output .*data/run lies in the folder .*data of data.path"),
            ({"output": "."}, r"model: .*model lies in the output"),
            ({"output": "a" * 300}, r"output: .* cannot be looked at \(.*File name too long.*\); name another"),
        ],
    )
    def test_a_run_does_not_write_into_its_data_nor_clear_its_model(self, config, tmp_path, changes, sentence):
        (tmp_path / "data").mkdir()
        shutil.copy(config.data.path, tmp_path / "data")
        there = changed(with_data(config, path=str(tmp_path / "data")), output=str(tmp_path / changes["output"]))
        with pytest.raises(CrystalError, match=sentence):
            prepare(there)

    def test_a_file_in_the_way_is_named(self, config, tmp_path):
        (tmp_path / "out").write_text("")
        for output in ("out", "out/run"):
            with pytest.raises(CrystalError, match=r"because .*out cannot be written to; name another output:"):
                check_output(changed(config, output=str(tmp_path / output)), resume=True)

    @pytest.mark.parametrize("mode", [os.W_OK])
    def test_a_place_without_permission_is_named(self, config, tmp_path, monkeypatch, mode):
        # Not by chmod: root may write anywhere.
        monkeypatch.setattr(os, "access", lambda path, wanted: wanted != mode)
        with pytest.raises(CrystalError, match="cannot be written to"):
            check_output(config, resume=True)

    def test_an_empty_folder_is_taken(self, config, tmp_path):
        (tmp_path / "out").mkdir()
        check_output(config, resume=True)

    def test_differences_are_told_by_key_without_those_that_do_not_matter(self, config):
        assert differing(config, changed(config, output="elsewhere", report_to=("wandb",))) == []
        assert differing(config, changed(config, lora={"r": 8}, phases=config.phases[:1])) == ["phases", "lora"]


class TestModel:
    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("./missing", r"there is no folder ./missing, seen from "),
            ("missing", r"there is no folder missing, .* a hub id has the form OWNER/NAME"),
            ("qwen2.5-vl-3b", r"preset of crystal-eval run; write its name on the hub, Qwen/Qwen2.5-VL-3B-Instruct"),
            ("owner/name", r"owner/name is not on this machine and HF_HUB_OFFLINE is set"),
        ],
    )
    def test_a_name_that_means_no_model_is_one_sentence(self, config, name, sentence):
        with pytest.raises(CrystalError, match=sentence):
            prepare(changed(config, model=name))

    @pytest.mark.parametrize(
        ("file", "sentence"),
        [
            ("config.json", "holds no config.json"),
            ("model.safetensors", "holds no weights"),
            ("processor_config.json", "holds no processor"),
        ],
    )
    def test_a_folder_that_lacks_something_is_one_sentence(self, config, checkpoint, file, sentence):
        (checkpoint / file).unlink()
        with pytest.raises(CrystalError, match=sentence):
            prepare(config)

    def test_weights_that_are_cut_short_are_named(self, config, checkpoint):
        (checkpoint / "model.safetensors").write_bytes(b"\x10\0\0")
        with pytest.raises(CrystalError, match=r"model.safetensors cut short or damaged"):
            prepare(config)

    def test_a_model_that_sees_no_pictures_is_one_sentence(self, config, checkpoint):
        (checkpoint / "config.json").write_text('{"model_type": "bert"}')
        with pytest.raises(CrystalError, match=r"none that transformers loads with AutoModelForImageTextToText"):
            prepare(config)

    def test_a_processor_of_texts_alone_is_one_sentence(self, config, checkpoint):
        shutil.copy(checkpoint / "tokenizer_config.json", checkpoint / "processor_config.json")
        with pytest.raises(CrystalError, match=r"has no processor for images and text"):
            prepare(config)


def test_an_encoder_that_does_not_exist_is_one_sentence(config):
    with pytest.raises(CrystalError, match=r"No encoder 'minlm'"):
        prepare(changed(config, encoder="minlm"))


def test_the_encoder_is_the_evaluations_own_where_none_is_named(config, monkeypatch):
    monkeypatch.setenv("CRYSTAL_ENCODER", "minilm")
    assert prepare(changed(config, encoder="")).encoder == "minilm"


def test_a_logger_that_is_not_installed_is_one_sentence(config, monkeypatch):
    monkeypatch.setitem(checks.LOGGERS, "wandb", ("no_such_package",))
    with pytest.raises(CrystalError, match=r"report_to: wandb is not installed; `pip install wandb`"):
        prepare(changed(config, report_to=("wandb",)))


@pytest.mark.parametrize(
    ("lora", "sentence"),
    [
        ({"lora_alfa": 8}, r"lora.lora_alfa is no argument of peft's LoraConfig; did you mean lora_alpha\?"),
        ({"bigness": 8}, r"lora.bigness is no argument of peft's LoraConfig; its documentation lists them"),
        ({"layers_to_transform": [1], "target_modules": "q_.*"}, r"lora: peft refuses these arguments"),
        ({"layers_to_transform": [1]}, r"lora: peft refuses these arguments"),
        ({"r": 0, "target_modules": ["q_proj"]}, r"lora: peft refuses it for this model \(`r` should be a positive"),
        ({"target_modules": ["q_prj"]}, r"for this model \(Target modules {'q_prj'} not found"),
        ({"target_modules": "("}, r"for this model \(missing \)"),
        ({"target_modules": ["q_proj"], "inference_mode": True}, r"lora: nothing would be trained"),
    ],
)
def test_arguments_that_peft_does_not_take_are_one_sentence(config, lora, sentence):
    with pytest.raises(CrystalError, match=sentence):
        prepare(changed(config, lora=lora))
    prepare(changed(config, lora={"r": 8, "lora_alpha": 16, "target_modules": ["q_proj"]}))
    prepare(changed(config, lora={"target_modules": "all-linear", "init_lora_weights": "pissa"}))


def test_gradient_surgery_on_sharded_gradients_is_refused(config, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    with pytest.raises(CrystalError, match=r"DeepSpeed spreads over processes.*or set gradient_surgery: false"):
        prepare(config)
    prepare(changed(config, gradient_surgery=False))


def test_too_few_items_for_one_step_are_one_sentence(config):
    phase = dataclasses.replace(config.phases[0], per_device_batch=100)
    with pytest.raises(CrystalError, match="takes 40 prompts and there are 34 training items"):
        prepare(changed(config, phases=(phase, phase)))


def test_of_several_ranks_the_first_says_what_is_wrong_before_the_others(config, monkeypatch):
    waited = []
    monkeypatch.setattr("time.sleep", waited.append)
    for rank, seconds in (("0", []), ("1", [checks.WAIT_S])):
        monkeypatch.setenv("RANK", rank)
        with pytest.raises(CrystalError, match="there is no folder missing"), checks.said_once():
            prepare(changed(config, model="missing"))
        assert waited == seconds
