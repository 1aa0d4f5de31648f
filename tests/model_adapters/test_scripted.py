"""``crystal_scripted`` as the harness runs it."""

import json

import pytest
from datasets import Dataset
from lmms_eval.models.registry_v2 import ModelRegistryV2
from lmms_eval_crystal.model_adapters.hf import CrystalHF
from lmms_eval_crystal.model_adapters.manifests import manifests
from lmms_eval_crystal.model_adapters.scripted import CrystalScripted, CrystalScriptedSimple

from .conftest import ANSWERS, SPLIT, STEPS, TASK, Ask


def model(
    rows: Dataset, arguments: str = "persona=oracle", kind: type[CrystalScripted] = CrystalScripted
) -> CrystalScripted:
    """The model as the command line makes it, with a task loaded."""
    made = kind.create_from_arg_string(arguments, {"batch_size": 1, "max_batch_size": None, "device": "cpu"})
    made.task_dict[TASK] = {SPLIT: rows}
    return made


@pytest.mark.parametrize(("kind", "chat"), [(CrystalScripted, True), (CrystalScriptedSimple, False)])
def test_it_answers_the_item_of_each_request_without_decoding_its_image(
    rows: Dataset, ask: Ask, kind: type[CrystalScripted], chat: bool
) -> None:
    responses = model(rows, kind=kind).generate_until(ask([2, 0, 2], chat=chat))
    contents = [json.loads(response) for response in responses]
    assert [content["reasoning_steps"] for content in contents] == [STEPS[2], STEPS[0], STEPS[2]]
    assert [content["answer"] for content in contents] == [ANSWERS[2], ANSWERS[0], ANSWERS[2]]


def test_the_wrong_persona_sees_the_options_of_the_row(rows: Dataset, ask: Ask) -> None:
    [response] = model(rows, "persona=wrong").generate_until(ask([2]))
    assert json.loads(response)["answer"] == "A"


def test_it_says_that_it_is_no_model(rows: Dataset, heard: list[str]) -> None:
    assert model(rows).scripted
    assert sum("no model" in message for message in heard) == 1


def test_the_model_name_is_the_users_or_tells_the_persona(rows: Dataset) -> None:
    assert model(rows).model_name == "crystal_scripted-oracle"
    assert model(rows, "persona=oracle,model_name=42").model_name == "42"


def test_a_seed_changes_the_shuffle(rows: Dataset, ask: Ask) -> None:
    [default], [same], [other] = (
        model(rows, f"persona=shuffled{seed}").generate_until(ask([2])) for seed in ("", ",seed=42", ",seed=1")
    )
    assert default == same != other


def test_another_benchmark_gets_an_honest_sentence_and_one_warning(rows: Dataset, ask: Ask, heard: list[str]) -> None:
    mixed = model(rows)
    mixed.task_dict["other"] = {SPLIT: rows.remove_columns("reference_steps")}
    own, *others = mixed.generate_until([*ask([0]), *ask([0, 1], task="other")])
    assert json.loads(own)["answer"] == ANSWERS[0]
    assert others == [CrystalScripted.elsewhere] * 2
    assert "no model" in others[0]
    assert sum("task other has no reference steps" in message for message in heard) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("persona=genius", "no persona genius; choose persona= from oracle, cherry_picker, shuffled, verbose,"),
        ("persona=oracle,colour=red", "no argument colour in --model_args; it knows model_name, persona, seed."),
        ("persona=oracle,seed=soon", "takes a whole number as seed=, not soon."),
        ("persona=oracle,seed=true", "takes a whole number as seed=, not True."),
    ],
)
def test_a_slip_in_the_arguments_stops_the_run_with_one_sentence(rows: Dataset, arguments: str, sentence: str) -> None:
    with pytest.raises(SystemExit) as stop:
        model(rows, arguments)
    assert sentence in str(stop.value)
    assert "\n" not in str(stop.value)


@pytest.mark.parametrize("method", ["loglikelihood", "generate_until_multi_round"])
def test_a_task_that_asks_for_more_than_a_text_stops_the_run(rows: Dataset, method: str) -> None:
    with pytest.raises(SystemExit, match="one text per item"):
        getattr(model(rows), method)([])


def test_the_ranks_are_the_launchers(rows: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (model(rows).rank, model(rows).world_size) == (0, 1)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert (model(rows).rank, model(rows).world_size) == (1, 2)


@pytest.mark.parametrize("model_id", ["crystal_scripted", "crystal_replay"])
@pytest.mark.parametrize("simple", [True, False])
def test_the_harness_finds_a_class_for_chat_and_for_simple_tasks(model_id: str, simple: bool) -> None:
    registry = ModelRegistryV2()
    for manifest in manifests():
        registry.register_manifest(manifest)
    assert registry.get_model_class(model_id, force_simple=simple).is_simple is simple


@pytest.mark.parametrize("kind", [CrystalHF, CrystalScripted])
def test_other_kinds_of_requests_stop_the_run_in_one_sentence(kind: type) -> None:
    lm = kind.__new__(kind)
    for method, what in (("loglikelihood", "likelihoods"), ("generate_until_multi_round", "several rounds")):
        with pytest.raises(SystemExit, match=rf"^CRYSTAL: {lm.model_id} writes one text per item; .* {what}\.$"):
            getattr(lm, method)([])
