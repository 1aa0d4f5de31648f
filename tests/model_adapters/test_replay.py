"""``crystal_replay`` as the harness runs it."""

import json
from pathlib import Path

import pytest
from datasets import Dataset
from lmms_eval_crystal.crystal_task.fields import unpack_fields
from lmms_eval_crystal.model_adapters.replay import CrystalReplay, CrystalReplaySimple

from .conftest import SPLIT, TASK, Ask


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A text for item 0 and fields for item 2; item 1 has no prediction."""
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps({"0": "raw {text}", "2": {"reasoning_steps": ["A step"], "answer": "C"}}))
    return path


def model(rows: Dataset, file: Path, kind: type[CrystalReplay] = CrystalReplay) -> CrystalReplay:
    """The model as the command line makes it, with a task loaded."""
    made = kind.create_from_arg_string(f"predictions={file},model_name=theirs", {"batch_size": 1, "device": "cpu"})
    made.task_dict[TASK] = {SPLIT: rows}
    return made


@pytest.mark.parametrize(("kind", "chat"), [(CrystalReplay, True), (CrystalReplaySimple, False)])
def test_texts_go_to_the_parser_as_they_are_and_fields_past_it(
    rows: Dataset, file: Path, ask: Ask, kind: type[CrystalReplay], chat: bool
) -> None:
    replay = model(rows, file, kind)
    fields, text = replay.generate_until(ask([2, 0], chat=chat))
    assert text == "raw {text}"
    assert unpack_fields(fields) == (["A step"], "C")
    assert (replay.model_name, replay.scripted) == ("theirs", False)


def test_an_item_without_a_prediction_is_a_miss_and_counted_once(
    rows: Dataset, file: Path, ask: Ask, heard: list[str]
) -> None:
    requests = [*ask([0, 1, 1, 2]), *ask([1], padding=True)]
    assert model(rows, file).generate_until(requests)[1] == ""
    assert [message for message in heard if "complete misses: 1." in message and "1 of 3 items" in message]


def test_one_of_several_ranks_says_that_it_speaks_for_its_share(
    rows: Dataset, file: Path, ask: Ask, heard: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    model(rows, file).generate_until(ask([1]))
    assert [message for message in heard if "1 of 1 items" in message and "rank 1 of 2" in message]


def test_items_that_the_run_leaves_out_are_not_missed(rows: Dataset, file: Path, ask: Ask, heard: list[str]) -> None:
    model(rows, file).generate_until(ask([0]))
    assert not [message for message in heard if "complete misses" in message]


def test_a_prediction_for_no_item_stops_the_run_and_is_named(rows: Dataset, tmp_path: Path, ask: Ask) -> None:
    file = tmp_path / "long.json"
    file.write_text(json.dumps({"0": "a", "3": "b", "17": "c"}))
    with pytest.raises(SystemExit) as stop:
        model(rows, file).generate_until(ask([0]))
    assert f"{file}, key 3 is a prediction for item 3" in str(stop.value)
    assert "items are 0 to 2" in str(stop.value)


def test_another_benchmark_in_the_same_run_gets_no_prediction(
    rows: Dataset, file: Path, ask: Ask, heard: list[str]
) -> None:
    mixed = model(rows, file)
    mixed.task_dict["other"] = {SPLIT: rows.remove_columns("reference_steps").select([0])}
    assert mixed.generate_until([*ask([0]), *ask([0], task="other")]) == ["raw {text}", ""]
    assert [message for message in heard if "task other has no reference steps" in message]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "needs --model_args predictions=PATH"),
        ("predictions=/no/such/file", "There is no file or folder /no/such/file"),
        ("predictions=x,temperature=0", "no argument temperature in --model_args; it knows model_name, predictions."),
    ],
)
def test_a_slip_in_the_arguments_stops_the_run_with_one_sentence(arguments: str, sentence: str) -> None:
    with pytest.raises(SystemExit) as stop:
        CrystalReplay.create_from_arg_string(arguments, {"batch_size": 1})
    assert sentence in str(stop.value)
