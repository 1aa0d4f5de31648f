"""How ``crystal_hf`` generates: greedily unless a request asks otherwise, with its tokens counted."""

from pathlib import Path

import pytest
import torch
import transformers
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters.generation import DEFAULT_NEW_TOKENS, Decoding, UnpaddedPenalty

from .hf_cases import LIMIT, altered, checkpoint, load, requests, texts, written

SAMPLING = {"do_sample": True, "temperature": 0.7, "top_p": 0.8, "top_k": 20, "min_p": 0.1, "typical_p": 0.9}


def test_the_sampling_of_a_checkpoint_is_dropped_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    transformers.logging.enable_propagation()
    folder = altered("qwen2_5_vl", tmp_path, "generation_config.json", **SAMPLING)
    sampler = load(folder, 4)
    first = sampler.generate_until(requests(range(4)))
    assert (
        first
        == sampler.generate_until(requests(range(4)))
        == load(checkpoint("qwen2_5_vl")).generate_until(requests(range(4)))
    )
    transformers.logging.disable_propagation()
    assert not [record.message for record in caplog.records if record.levelname == "WARNING"]


def test_end_tokens_and_repetition_penalty_of_a_checkpoint_are_kept(tmp_path: Path) -> None:
    folder = altered(
        "gemma3", tmp_path, "generation_config.json", eos_token_id=[5, 7], repetition_penalty=5.0, **SAMPLING
    )
    model = load(folder)
    config = model._model.generation_config
    assert (config.eos_token_id, config.repetition_penalty, config.do_sample) == ([5, 7], 5.0, False)
    assert texts(model.generate_until(requests([1]))) != texts(load(checkpoint("gemma3")).generate_until(requests([1])))


def test_the_repetition_penalty_takes_no_padding_for_a_word() -> None:
    padding, beyond = 0, 6
    tokens = torch.tensor([[padding, padding, 3, 4, 3], [1, padding, 3, 4, beyond]])
    scores = torch.tensor([[8.0, 8.0, 8.0, 8.0, -8.0]]).repeat(4, 1)
    penalised = UnpaddedPenalty(2.0, padding=torch.tensor([2, 0]))(tokens, scores[:2])
    assert penalised.tolist() == [[8, 8, 8, 4, -16], [4, 4, 8, 4, -16]]
    beams = UnpaddedPenalty(2.0, padding=torch.tensor([2, 0]))(tokens.repeat_interleave(2, dim=0), scores)
    assert beams.tolist() == [row for row in penalised.tolist() for _ in range(2)]


def test_a_user_who_asks_for_a_temperature_gets_one() -> None:
    model = load(checkpoint("internvl"))
    torch.manual_seed(1)
    warm = {text for _ in range(4) for text in texts(model.generate_until(requests([0], temperature=2.0)))}
    assert len(warm) > 1


def test_a_text_that_reaches_the_limit_counts_it_and_an_end_is_not_counted(tmp_path: Path) -> None:
    [full] = load(checkpoint("internvl")).generate_until(requests([0]))
    assert full.token_counts.output_tokens == LIMIT
    # An end in the very last place: the text is whole, and its count stays below the limit.
    folder = altered("internvl", tmp_path, "generation_config.json", eos_token_id=list(range(399)))
    [ended] = load(folder).generate_until(requests([0], max_new_tokens=1))
    assert (ended.text, ended.token_counts.output_tokens) == ("", 0)


def test_a_text_is_cut_at_until_by_the_rule_of_the_harness() -> None:
    model = load(checkpoint("internvl"))
    [whole] = texts(model.generate_until(requests([0])))
    end = whole[3]
    assert texts(model.generate_until(requests([0], until=[end, ""]))) == [whole.split(end)[0]]
    assert texts(model.generate_until(requests([0], until=end))) == [whole.split(end)[0]]


def test_settings_of_a_request_are_read_as_elsewhere_in_the_harness() -> None:
    greedy = {"do_sample": False, "num_beams": 1, "max_new_tokens": 16}
    assert Decoding.of_request({"max_new_tokens": 16, "temperature": 0, "top_p": 0.5}).arguments() == greedy
    assert Decoding.of_request({"max_new_tokens": 16, "do_sample": True, "temperature": 0}).arguments() == greedy
    assert Decoding.of_request({"until": None, "image_aspect_ratio": "pad"}).max_new_tokens == DEFAULT_NEW_TOKENS
    assert Decoding.of_request({"do_sample": True}).arguments()["temperature"] == 1.0
    warm = Decoding.of_request({"temperature": 0.7, "do_sample": False}).arguments()
    assert (warm["do_sample"], warm["temperature"], warm["top_p"], warm["top_k"]) == (True, 0.7, 1.0, 0)


@pytest.mark.parametrize("settings", [{"max_new_tokens": -1}, {"temperature": "warm"}, {"temperature": -0.5}])
def test_settings_that_make_no_sense_are_refused(settings: dict) -> None:
    with pytest.raises(CrystalError, match="correct --gen_kwargs"):
        Decoding.of_request(settings)


def test_tokens_of_a_batch_are_counted_without_padding() -> None:
    results = load(checkpoint("mllama"), 8).generate_until(requests())
    assert [result.token_counts.input_tokens for result in results] == [
        result.token_counts.input_tokens for result in load(checkpoint("mllama")).generate_until(requests())
    ]
    assert max(written(results)) <= LIMIT
