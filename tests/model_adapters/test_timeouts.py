"""A time limit that the user states reaches the client of the harness's API adapter."""

import pytest
from lmms_eval_crystal.model_adapters.timeouts import keep_to_timeout


@pytest.fixture
def adapter(monkeypatch):
    from lmms_eval.models import get_model

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return get_model("openai")(model_version="m", base_url="http://127.0.0.1:1/v1", timeout=7)


def test_the_adapter_itself_forgets_its_limit(adapter):
    assert adapter.timeout == 7
    assert adapter.client.timeout != 7


def test_a_stated_limit_is_the_clients(adapter):
    keep_to_timeout(adapter, "model_version=m,timeout=7")
    assert adapter.client.timeout == 7


@pytest.mark.parametrize("stated", ["model_version=m", "model_version=m,my_timeout=7", None])
def test_the_adapters_default_of_ten_seconds_is_never_imposed(adapter, stated):
    before = adapter.client
    keep_to_timeout(adapter, stated)
    assert adapter.client is before


def test_a_model_without_a_client_is_left_alone():
    keep_to_timeout(object(), "timeout=7")
