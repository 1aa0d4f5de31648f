"""LoRA's arguments against the model that they are for."""

import dataclasses

import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters.loading import Checkpoint
from lmms_eval_crystal.training.adapter import adapter_of, check_adapter
from lmms_eval_crystal.training.config import TrainConfig
from tiny_run import build_without_weights


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return TrainConfig(model=str(build_without_weights(tmp_path_factory.mktemp("model"))))


def check(tiny: TrainConfig, lora: dict | None) -> None:
    check_adapter(dataclasses.replace(tiny, lora=lora), Checkpoint(tiny.model).empty_network())


@pytest.mark.parametrize(
    "lora", [None, {}, {"r": 4}, {"target_modules": ["q_proj"]}, {"use_dora": True}, {"init_lora_weights": "pissa"}]
)
def test_an_adapter_needs_no_layers_named_and_takes_those_that_are(tiny, lora):
    check(tiny, lora)


@pytest.mark.parametrize("layers", [["q_prog"], "nothing.*", ["norm"]])
def test_layers_that_the_model_does_not_have_or_peft_does_not_adapt_are_one_sentence(tiny, layers):
    with pytest.raises(CrystalError, match=r"lora: peft cannot adapt .* so \(Target module.*\); correct these"):
        check(tiny, {"target_modules": layers})


@pytest.mark.parametrize(
    "lora",
    [{"r": 0}, {"r": "8"}, {"bias": "nope"}, {"lora_dropout": 2}, {"target_modules": "("}, {"init_lora_weights": "no"}],
)
def test_what_peft_refuses_in_whatever_way_is_one_sentence(tiny, lora):
    with pytest.raises(CrystalError, match=r"lora: peft cannot adapt .* so \(.*\); correct these arguments"):
        check(tiny, lora)


def test_an_adapter_that_is_not_trained_is_refused(tiny):
    with pytest.raises(CrystalError, match="nothing would be trained; leave inference_mode out"):
        check(tiny, {"inference_mode": True})


def test_layers_are_added_only_where_none_are_named():
    assert adapter_of(TrainConfig(lora={"target_parameters": ["w"]})).target_modules is None
    assert adapter_of(TrainConfig(lora={"target_modules": ["q_proj"]})).target_modules == {"q_proj"}
