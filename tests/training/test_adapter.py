"""LoRA's arguments against the model that they are for."""

import dataclasses

import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.training.adapter import adapter_of
from lmms_eval_crystal.training.config import TrainConfig
from lmms_eval_crystal.training.skeleton import check_skeleton
from tiny_run import build_model


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    build_model(folder)
    return TrainConfig(model=str(folder))


@pytest.mark.parametrize("lora", [None, {}, {"r": 4}, {"target_modules": ["q_proj"]}])
def test_an_adapter_needs_no_layers_named_and_takes_those_that_are(tiny, lora):
    check_skeleton(dataclasses.replace(tiny, lora=lora))


@pytest.mark.parametrize("layers", [["q_prog"], "nothing.*", ["norm"]])
def test_layers_that_the_model_does_not_have_or_peft_does_not_adapt_are_one_sentence(tiny, layers):
    with pytest.raises(CrystalError, match=r"lora: peft refuses it for this model \(Target module.*\); correct it"):
        check_skeleton(dataclasses.replace(tiny, lora={"target_modules": layers}))


def test_layers_are_added_only_where_none_are_named():
    assert adapter_of(TrainConfig(lora={"target_parameters": ["w"]})).target_modules is None
    assert adapter_of(TrainConfig(lora={"target_modules": ["q_proj"]})).target_modules == {"q_proj"}
