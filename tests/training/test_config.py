"""What a configuration file may say, and the sentence that each slip in it gets."""

import dataclasses
from itertools import pairwise
from pathlib import Path

import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.training.config import PhaseConfig, TrainConfig, read_config
from lmms_eval_crystal.training.rules import check_rules

SHIPPED = Path(__file__).parents[2] / "configs" / "training"
BASE = "model: owner/name\ndata: {path: items.jsonl}\n"
#: Nine lists, each of nine of the one before.
ALIASES = "[&a [x, x], " + ", ".join(f"&{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in pairwise("abcdefghij")) + "]"
#: Table S1 of the paper: steps, learning rate, batch a device, candidates, accumulation; phase 1 and phase 2.
TABLE_S1 = {
    "qwen2_5_vl_3b": [(1400, 3e-6, 4, 2, 2), (2800, 5e-6, 5, 5, 2)],
    "internvl3_5_4b": [(200, 5e-6, 5, 5, 2), (200, 5e-6, 5, 5, 2)],
}


def read(folder: Path, text: str, *overrides: str) -> TrainConfig:
    (folder / "run.yaml").write_text(text)
    return read_config(folder / "run.yaml", overrides)


SLIPS = {
    "unknown key": (BASE + "penalty: 1", r"unknown key penalty; known here are model, revision"),
    "unknown key of a block": (BASE + "rewards: {acuracy: 1}", r"unknown key rewards.acuracy; did you mean accuracy\?"),
    "key of another block": (
        BASE + "learning_rate: 1",
        r"unknown key learning_rate; learning_rate stands below phases:",
    ),
    "key of a phase": (BASE + "phases: [{stps: 1}, {}]", r"unknown key phases.0.stps; did you mean steps\?"),
    "unknown method": (BASE + "method: cpr-curriculm", r"method is 'cpr-curriculm'.*did you mean cpr-curriculum\?"),
    "unknown reward": (BASE + "rewards: {similarity: cosine}", r"similarity is 'cosine'; it should be 'overlap' or"),
    "a text for a number": (BASE + "kl: low", r"kl is 'low'; it should be a number\."),
    "a truth for a number": (BASE + "validate_every: yes", r"validate_every is True; it should be a whole number\."),
    "a number for a text": (BASE + "revision: 12345", r"revision is 12345; it should be a text .* stands in quotes"),
    "a number for a block": (BASE + "lora: 8", r"lora is 8; it should be a block of keys\."),
    "an empty block": (BASE + "rewards:", r"rewards is empty; it should be a block of keys\."),
    "a block for a list": (BASE + "phases: {steps: 1}", r"phases is {'steps': 1}; it should be a list\."),
    "no number": (BASE + "kl: .nan", r"kl is nan; it should be a finite number\."),
    "a share above 1": (
        BASE + "rewards: {format: 1.5}",
        r"rewards.format is 1.5; it should be less than or equal to 1",
    ),
    "one candidate": (
        BASE + "phases: [{candidates: 1}, {}]",
        r"phases.0.candidates is 1; it should be greater than or eq",
    ),
    "weights of CPR": (
        BASE + "rewards: {answer_weight: 0.8}",
        r"0\.8 \+ rewards.step_weight 0\.35 is 1\.15, and the.* 1\.",
    ),
    "weights of composite": (
        BASE + "method: composite\nrewards: {steps: 0.5}",
        r"0\.1 \+ rewards.accuracy 0\.5 \+ rewards.steps 0\.5 is 1\.1.* of the reward composite",
    ),
    "weights of answer-only": (
        BASE + "method: answer-only\nrewards: {accuracy: 0.7}",
        r"0\.1 \+ rewards.accuracy 0\.7 is 0\.8, and the weights of answer-only sum to 1, alone or with steps",
    ),
    "weights of phase 1": (BASE + "rewards: {format: 0.3}", r"is 0\.8, and the weights of phase 1 sum to 1"),
    "no weight on the answer": (
        BASE + "rewards: {format: 1.0, accuracy: 0.0, steps: 0.0}",
        r"rewards.accuracy is 0, so nothing in phase 1 rewards the answer",
    ),
    "a phase too few": (BASE + "phases: [{}]", r"has 1 phase and cpr-curriculum has 2; list 2 under phases:"),
    "a phase too many": (BASE + "method: cpr\nphases: [{}, {}]", r"has 2 phases and cpr has 1; list 1 under phases:"),
    "groups that do not fit": (
        BASE + "phases: [{}, {candidates: 4}]",
        r"phases.1 generates per_device_batch 5 x accumulation 2 x 1 process = 10 responses a step, .* candidates 4",
    ),
    "surgery on one objective": (
        BASE + "method: answer-only\ngradient_surgery: true",
        r"gradient_surgery, which needs two objectives, and answer-only has one",
    ),
    "a threshold that nothing exceeds": (
        BASE + "rewards: {threshold: 1.0}",
        r"rewards.threshold is 1.0; .* less than 1",
    ),
    "a guard against the usual length": (
        BASE + "verbosity: {factor: 0.5}",
        r"verbosity.factor is 0\.5, .* or 0 for no",
    ),
    "limits that exclude each other": (BASE + "min_pixels: 9\nmax_pixels: 4", r"min_pixels is more than max_pixels"),
    "no model": ("data: {path: x}", r"names no model; write model: with a hub id"),
    "no data": ("model: owner/name", r"names no data; write path: below data:"),
    "a key that stands twice": (BASE + "data: {path: y}", r"the key data stands twice in one block in line 3"),
    "a key that is no text": (BASE + "3: x", r"the key 3 is no text in line 3"),
    "a torn file": (BASE + "data: [", r"is no YAML: .* in line 3"),
    "a key that stands twice in a block of a list": (
        BASE + "phases: [{steps: 1, steps: 2}, {}]",
        r"the key steps stands",
    ),
    "a key that is a list": (BASE + "? [a]\n: 1", r"the key there is no text in line 3"),
    "aliases that multiply": (BASE + f"lora: {ALIASES}", r"is no YAML: it is far too large for a configuration\."),
    "a block that holds itself": (BASE + "lora: &a {r: *a}", r"is no YAML: it is far too large for a configuration\."),
    "brackets without end": (BASE + "lora: " + "[" * 20_000, r"is no YAML: it is nested too deeply\."),
    "an object of Python": (
        BASE + "encoder: !!python/name:os.system x",
        r"python/name:os.system is no type of a config",
    ),
    "bytes": (BASE + "lora: {r: !!binary aGVsbG8=}", r"binary is no type of a configuration in line 3"),
    "a value that is not what its tag says": (BASE + "kl: !!float low", r"is no YAML: a value does not fit its tag"),
    "a NUL": (BASE + 'output: "a\\0b"', r"a text holds a character that no file's name can hold in line 3"),
    "a seed that does not fit": (BASE + "seed: 4294967296", r"seed is 4294967296; it should be less than or equal"),
    "steps without end": (
        BASE + "phases: [{steps: 2000000}, {}]",
        r"steps is 2000000; it should be less than or equal",
    ),
    "a blank output": (BASE + "output: ' '", r"output is blank; name the folder"),
    "a guard that punishes the median": (BASE + "verbosity: {factor: 0.5}", r"verbosity.factor is 0\.5, which would"),
    "a temperature near zero": (
        BASE + "temperature: 1e-30",
        r"temperature is 1e-30; it should be greater than or equal",
    ),
    "an empty file": ("", r"holds no keys; a configuration has at least model:"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_one_sentence_that_names_the_key(slip, tmp_path):
    text, sentence = SLIPS[slip]
    with pytest.raises(CrystalError, match=sentence) as error:
        read(tmp_path, text)
    assert "run.yaml" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("kl", r"--set kl is not of the form key=value"),
        ("=1", r"--set =1 is not of the form key=value"),
        ("phases.2.steps=1", r"phases has 2 entries, counted from 0, and no 2"),
        ("model.name=x", r"there is nothing below model"),
        ("kll=1", r"unknown key kll; did you mean kl\?"),
        ("phases.0.steps=many", r"phases.0.steps is 'many'; it should be a whole number"),
    ],
)
def test_a_slip_in_an_override_is_one_sentence(override, sentence, tmp_path):
    with pytest.raises(CrystalError, match=sentence):
        read(tmp_path, BASE, override)


def test_a_file_that_is_not_there_says_where_to_get_one(tmp_path):
    with pytest.raises(CrystalError, match=r"missing\.yaml cannot be read .*--copy-configs"):
        read_config(tmp_path / "missing.yaml")


def test_a_short_file_is_filled_with_defaults_and_as_many_phases_as_the_method_has(tmp_path):
    assert read(tmp_path, BASE).phases == (PhaseConfig(), PhaseConfig())
    assert read(tmp_path, BASE + "method: cpr").phases == (PhaseConfig(),)
    assert read(tmp_path, BASE, "method=composite").phases == (PhaseConfig(),)


def test_the_whole_configuration_is_written_as_it_is_read(tmp_path):
    config = read(tmp_path, BASE + "lora: {r: 8, target_modules: [q_proj]}\nreport_to: [wandb]\nmax_tiles: 6")
    assert read(tmp_path, config.as_yaml()) == config


def test_anchors_and_merged_blocks_serve_and_a_date_is_a_text(tmp_path):
    text = "model: owner/name\ndata: {path: x, revision: 2026-03-01}\n"
    merged = text + "phases:\n- &first {steps: 7, warmup: 0.1}\n- {<<: *first, steps: 9}\n"
    config = read(tmp_path, merged)
    assert config.phases == (PhaseConfig(steps=7, warmup=0.1), PhaseConfig(steps=9, warmup=0.1))
    assert config.data.revision == "2026-03-01"
    assert read(tmp_path, config.as_yaml()) == config


def test_overrides_reach_blocks_and_phases_and_numbers_need_no_point(tmp_path):
    config = read(tmp_path, BASE, "kl=1e-2", "phases.1.learning_rate=3e-6", "lora.r=4", "data.path=[a")
    assert (config.kl, config.phases[1].learning_rate, config.lora) == (0.01, 3e-6, {"r": 4})
    assert config.data.path == "[a"


def test_a_batch_counts_over_all_processes(tmp_path, monkeypatch):
    text = BASE + "method: cpr\nphases: [{per_device_batch: 2, accumulation: 1, candidates: 8}]"
    with pytest.raises(CrystalError, match="2 x accumulation 1 x 1 process = 2 responses"):
        read(tmp_path, text)
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert read(tmp_path, text).phases[0].prompts_per_step(4) == 1
    monkeypatch.setenv("WORLD_SIZE", "6")
    with pytest.raises(CrystalError, match="x 6 processes = 12 responses a step"):
        read(tmp_path, text)


def test_gradient_surgery_is_on_where_the_paper_has_it_unless_the_file_says_otherwise():
    assert [TrainConfig(method=method).surgery for method in ("answer-only", "composite", "cpr", "cpr-curriculum")] == [
        False,
        False,
        True,
        True,
    ]
    assert TrainConfig(method="composite", gradient_surgery=True).surgery
    assert not TrainConfig(method="cpr", gradient_surgery=False).surgery


def test_the_fingerprint_moves_with_what_decides_the_weights_and_with_nothing_else():
    config = TrainConfig()
    same = dataclasses.replace(config, output="elsewhere", report_to=("wandb",), keep_checkpoints=9)
    assert same.fingerprint == config.fingerprint
    for changes in ({"seed": 1}, {"phases": (PhaseConfig(warmup=0.1),)}, {"model": "other"}):
        assert dataclasses.replace(config, **changes).fingerprint != config.fingerprint


@pytest.mark.parametrize("name", TABLE_S1)
def test_the_papers_settings_ship(name):
    config = read_config(SHIPPED / f"{name}.yaml", ["data.path=items.jsonl"])
    phases = [
        (phase.steps, phase.learning_rate, phase.per_device_batch, phase.candidates, phase.accumulation)
        for phase in config.phases
    ]
    assert phases == TABLE_S1[name]
    assert (config.kl, config.clip, config.temperature, config.top_p, config.top_k) == (0.04, 0.2, 0.9, 1.0, 50)
    assert (config.method, config.surgery, config.seed, config.dtype) == ("cpr-curriculum", True, 42, "bfloat16")
    assert (config.rewards.answer_weight, config.rewards.step_weight) == (0.65, 0.35)
    for method in ("answer-only", "composite"):
        one = dataclasses.replace(config, method=method, phases=config.phases[1:], gradient_surgery=None)
        check_rules(one, name)


@pytest.mark.parametrize("name", ["accelerate_ddp", "accelerate_zero2", "accelerate_zero3"])
def test_a_launchers_configuration_is_one_that_accelerate_reads(name):
    from accelerate.commands.config.config_args import load_config_from_file

    read = load_config_from_file(str(SHIPPED / f"{name}.yaml"))
    assert read.num_processes == 4
    stage = int(name[-1]) if "zero" in name else None
    assert (getattr(read, "deepspeed_config", None) or {}).get("zero_stage") == stage
