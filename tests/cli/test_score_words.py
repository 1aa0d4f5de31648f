"""What ``crystal-eval score`` says while it works, and before it does."""

import json
import re
from pathlib import Path

import pytest
from lmms_eval_crystal.cli.main import main
from lmms_eval_crystal.crystal_task import offline
from lmms_eval_crystal.reports.load import load_results

STEPS = ["A red square fills the picture.", "So the answer is a square."]
ENTRY = {"reference_steps": STEPS, "answer": "square"}
FIELDS = {"reasoning_steps": STEPS, "answer": "square"}


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Each test in a folder of its own, without an encoder from outside."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CRYSTAL_ENCODER", raising=False)


def ended(*arguments: str) -> str:
    """What the command ends with; empty where it is done."""
    with pytest.raises(SystemExit) as end:
        main(["score", *arguments])
    return str(end.value.code or "")


def dump(name: str, content: object) -> None:
    Path(name).write_text(json.dumps(content), "utf-8")


def test_an_encoder_that_cannot_be_had_is_said_first_of_all_with_the_option_that_helps(monkeypatch):
    arguments = ["gone.json", "--references", "gone.parquet"]
    expected = "The encoder 'owner/encoder' is not on this machine and the Hugging Face hub does not give it"
    said = ended(*arguments, "--encoder", "owner/encoder")
    assert expected in said
    assert "take `--encoder minilm`" in said
    monkeypatch.setenv("CRYSTAL_ENCODER", "owner/encoder")
    assert expected in ended(*arguments)
    # Without one that is named it hangs on the predictions.
    monkeypatch.delenv("CRYSTAL_ENCODER")
    monkeypatch.setattr(offline, "encoder_of", lambda task: "owner/encoder")
    dump("a.json", {"0": FIELDS})
    dump("r.json", {"0": ENTRY})
    assert expected in ended("a.json", "--references", "r.json")


def test_several_models_share_a_bar_for_embedding_and_one_for_scoring(capsys, tmp_path, monkeypatch):
    # What other tests have left in the cache would be told in the bar.
    monkeypatch.setenv("CRYSTAL_CACHE_DIR", str(tmp_path / "cache"))
    dump("my items.json", {str(at): ENTRY for at in range(3)})
    for model in "abc":
        dump(f"{model}.json", {str(at): {**FIELDS, "reasoning_steps": [f"{model} {at}"]} for at in range(3)})
    assert not ended(
        *(f"{model}.json" for model in "abc"), "--references", "my items.json", "--encoder", "minilm", "-o", "out"
    )
    said = capsys.readouterr().err
    assert said.count("Scoring:   0%| ") == 1
    assert said.count("Embedding: 0step") == 1
    assert "9/9" in said
    assert not re.search("Loading weights|Generating|DEBUG", said)
    # Own items are not the benchmark, whoever's parser reads the texts.
    assert {result.task for result in load_results([Path("out")]).results} == {"my_items"}
