"""The key of a model's own provider reaches its address, and no other key does."""

import pytest
from lmms_eval.models.registry_v2 import ModelRegistryV2
from lmms_eval_crystal.model_adapters.manifests import manifests

KEY, OTHER = "the-key-of-google", "the-key-of-openai"


@pytest.fixture
def openai(monkeypatch):
    """How the harness finds its ``openai`` with the environment as it is: chat or simple."""
    monkeypatch.setenv("OPENAI_API_KEY", OTHER)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.setenv("CRYSTAL_KEY_VARIABLE", "GEMINI_API_KEY")

    def find(simple: bool = False) -> type:
        import importlib

        from lmms_eval.models import MODEL_REGISTRY_V2

        registry = ModelRegistryV2()
        registry.register_manifest(MODEL_REGISTRY_V2.get_manifest("openai"))
        for manifest in manifests():
            registry.register_manifest(manifest, overwrite=True)
        module, _, name = registry.resolve("openai", force_simple=simple).class_path.rpartition(".")
        return getattr(importlib.import_module(module), name)

    return find


@pytest.mark.parametrize("simple", [False, True])
def test_the_client_has_the_key_that_the_environment_names(openai, simple):
    made = openai(simple)(model_version="m", base_url="http://127.0.0.1:1/v1")
    assert made.client.api_key == KEY
    assert made.model_version == "m"
    assert made.is_simple == simple


def test_without_a_name_the_harness_keeps_its_own(openai, monkeypatch):
    monkeypatch.delenv("CRYSTAL_KEY_VARIABLE")
    made = openai()
    assert made.__module__.startswith("lmms_eval.")
    assert made(model_version="m", base_url="http://127.0.0.1:1/v1").client.api_key == OTHER


def test_a_variable_that_is_not_set_is_one_sentence(openai, monkeypatch):
    monkeypatch.delenv("GEMINI_API_KEY")
    with pytest.raises(SystemExit, match="the API key stands in GEMINI_API_KEY, which is not set"):
        openai()(model_version="m", base_url="http://127.0.0.1:1/v1")


def test_it_is_the_harnesss_adapter_by_name_so_that_signatures_stay(openai, monkeypatch):
    name = openai().__name__
    monkeypatch.delenv("CRYSTAL_KEY_VARIABLE")
    assert openai().__name__ == name
