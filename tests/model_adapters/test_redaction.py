"""What is secret is told by its name, and by its look."""

import pytest
from lmms_eval_crystal.model_adapters.redaction import VALUE, names_secret

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
        assert VALUE.search(f"note={secret}")
    assert not VALUE.search("task-skill hf_hub sk-1")
