"""What is secret is told by its name, and by its look."""

import pytest
from lmms_eval_crystal.redaction import holds_secret, names_secret, secret_values, shown

SECRET = """OPENAI_API_KEY GEMINI_API_KEY OPENAI_API_KEY_2 AWS_SECRET_ACCESS_KEY AWS_BEARER_TOKEN_BEDROCK HF_TOKEN
MY_PASSWORD api_key apikey x-api-key key hf_token token passwd client_secret extra_headers Authorization auth
credentials"""
PUBLIC = """TOKENIZERS_PARALLELISM HF_TOKEN_PATH CRYSTAL_KEY_VARIABLE OPENAI_API_KEY_FILE AWS_ACCESS_KEY_ID
max_new_tokens max_tokens tokens image_token_id prefix_hash_chars monkey keyframes author"""


@pytest.mark.parametrize("name", SECRET.split())
def test_a_name_that_says_so_is_secret(name):
    assert names_secret(name)


@pytest.mark.parametrize("name", PUBLIC.split())
def test_any_other_name_is_not(name):
    assert not names_secret(name)


def test_keys_and_tokens_are_known_by_their_look():
    for secret in ("hf_" + "a" * 20, "sk-" + "a" * 20, "AIza" + "a" * 20):
        assert holds_secret(f"note={secret}")
    assert not holds_secret("task-skill hf_hub sk-1")


def test_a_message_is_shown_without_the_secrets_of_the_environment(monkeypatch):
    monkeypatch.setenv("MY_SERVER_API_KEY", "0f1e2d3c4b5a")
    assert shown("HTTP 401: 0f1e2d3c4b5a is no key of \ud800 mine") == "HTTP 401: *** is no key of \ud800 mine"


def test_secrets_are_told_by_the_names_of_their_variables():
    environment = {
        "OPENAI_API_KEY": "value-number-1",
        "HF_TOKEN": "value-number-2",
        "WANDB_API_KEY": "value-number-3",
        "MY_PASSWORD": "value-number-4",
        "HF_TOKEN_PATH": "/home/me/token",
        "TOKENIZERS_PARALLELISM": "false-or-true",
        "SHORT_KEY": "1",
        "HOME": "/home/me",
    }
    assert sorted(secret_values(environment)) == [f"value-number-{number}".encode() for number in range(1, 5)]
