"""A user's own data, predictions and model, through the plain command line."""

import json

import datasets
import pytest
import synthetic
from harness import metrics, results, run, samples, scripted
from lmms_eval_crystal.crystal_task.data import MINI_FILE

pytestmark = pytest.mark.e2e


def checked(command, folder, **variables):
    done = run(command, folder, **variables)
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout
    return done.stdout


@pytest.mark.parametrize("form", ["parquet", "dataset", "dict"])
def test_crystal_on_a_local_copy(form, tmp_path):
    made = synthetic.dataset(7)
    if form == "parquet":
        made.to_parquet(tmp_path / "copy")
        (tmp_path / "copy").rename(tmp_path / "copy.parquet")
    elif form == "dataset":
        made.save_to_disk(tmp_path / "copy")
    else:
        datasets.DatasetDict({"test": made}).save_to_disk(tmp_path / "copy")
    name = "copy.parquet" if form == "parquet" else "copy"
    checked(["lmms-eval", *scripted("oracle", "crystal")], tmp_path, CRYSTAL_DATASET=name, CRYSTAL_ENCODER="minilm")
    values = metrics(tmp_path, "crystal")
    assert values["match_f1"] == values["accuracy"] == values["match_f1_plotqa"] == 1
    assert len(samples(tmp_path, "crystal")) == 7


def test_crystal_paper_with_a_prompt_of_the_user_parses_as_released(tmp_path):
    synthetic.dataset(3).to_parquet(tmp_path / "copy.parquet")
    (tmp_path / "prompt.txt").write_text("Answer in JSON: {USER_INSTRUCTION}")
    predictions = [
        "{'reasoning_steps': ['A square.'], 'answer': 'green'}",
        '```\n{"reasoning_steps": ["A square."]}\n```',
    ]
    lines = [json.dumps({"doc_id": index, "response": text}) for index, text in enumerate(predictions)]
    (tmp_path / "predictions.jsonl").write_text("\n".join(lines))
    command = ["lmms-eval", "--tasks", "crystal_paper,crystal", "--model", "crystal_replay", "--log_samples"]
    command += ["--model_args", "predictions=predictions.jsonl,model_name=mine", "--output_path", "out"]
    out = checked(
        command,
        tmp_path,
        CRYSTAL_DATASET="copy.parquet",
        CRYSTAL_ENCODER="minilm",
        CRYSTAL_PROMPT_FILE="prompt.txt",
    )
    released, ours = samples(tmp_path, "crystal_paper"), samples(tmp_path, "crystal")
    assert [released[index]["crystal"]["answer"] for index in range(3)] == ["insufficient information"] * 3
    assert [released[index]["steps"] for index in range(3)] == [0, 1, 0]
    assert ours[0]["crystal"]["answer"] == "green"
    assert [ours[index]["crystal"]["status"] for index in range(3)] == ["recovered", "recovered", "empty"]
    assert "|parse:released|" in released[0]["crystal"]["scorer"]
    assert "1 of 3 items have no prediction" in out


def assert_scored_alike(folder):
    """`crystal-eval score` on the same predictions writes what the harness wrote, but for how it came about."""
    score = ["crystal-eval", "score", "predictions", "--references", "crystal_mini", "--name", "mine", "-o", "scored"]
    assert "1 of 50 items have no prediction" in checked(score, folder)
    theirs, ours = samples(folder / "out"), samples(folder / "scored")
    assert list(ours) == list(theirs)
    for index, sample in theirs.items():
        mine = ours[index]
        assert mine.keys() == sample.keys() - {"input"}, "what the model was shown is not known here"
        assert mine["crystal"].pop("generation") == sample["crystal"].pop("generation").replace(
            "CrystalReplay/chat", "unknown"
        )
        assert {**mine, "doc_hash": ""} == {**{key: sample[key] for key in mine}, "doc_hash": ""}
    first, second = results(folder / "out"), results(folder / "scored")
    means = {key: value for key, value in first["results"]["crystal_mini"].items() if key != "crystal_stderr,none"}
    assert second["results"]["crystal_mini"] == pytest.approx(means)
    for part in ("n-samples", "n-shot", "versions", "higher_is_better", "group_subtasks", "model_name_sanitized"):
        assert second[part] == first[part]
    section = second["crystal"]["crystal_mini"]
    assert section["metrics"] == first["crystal"]["crystal_mini"]["metrics"]
    assert section["scorer"] == first["crystal"]["crystal_mini"]["scorer"]


def test_replayed_fields_score_as_the_model_that_wrote_them(tmp_path):
    """A folder as the authors' script writes it, of the shuffled persona, with one item missing."""
    from lmms_eval_crystal.crystal_task.item import Item
    from lmms_eval_crystal.model_adapters.personas import write

    (tmp_path / "predictions").mkdir()
    rows = datasets.Dataset.from_parquet(str(MINI_FILE)).remove_columns("image")
    for index in range(1, len(rows)):
        fields = write("shuffled", Item.from_row(rows[index], index), 42)
        (tmp_path / "predictions" / f"{index}.json").write_text(fields)
    replay = ["lmms-eval", "--tasks", "crystal_mini", "--model", "crystal_replay"]
    replay += ["--model_args", "predictions=predictions,model_name=mine", "--log_samples", "--output_path", "out"]
    out = checked(replay, tmp_path)
    assert "1 of 50 items have no prediction" in out
    values = metrics(tmp_path)
    assert values["match_f1"] == pytest.approx(49 / 50)
    assert values["recall"] == pytest.approx(49 / 50)
    assert samples(tmp_path)[0]["crystal"]["status"] == "empty"
    assert samples(tmp_path)[1]["crystal"]["response"].startswith('{"reasoning_steps"')
    assert_scored_alike(tmp_path)

    stray = tmp_path / "predictions" / "77.json"
    stray.write_text('{"reasoning_steps": [], "answer": "A"}')
    done = run(replay, tmp_path)
    assert done.returncode == 1
    assert "77" in done.stdout.strip().splitlines()[-1]
