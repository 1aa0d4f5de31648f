"""``crystal-eval score``: predictions in all their forms, against references in all theirs, without the harness."""

import csv
import json
import os
import signal
from pathlib import Path

import datasets
import pytest
import synthetic
from harness import results, samples
from lmms_eval_crystal.cli.main import main
from lmms_eval_crystal.crystal_task import offline
from lmms_eval_crystal.crystal_task.data import MINI_FILE
from lmms_eval_crystal.crystal_task.item import Item
from lmms_eval_crystal.metrics.encoder import resolve_encoder
from lmms_eval_crystal.model_adapters.personas import write
from lmms_eval_crystal.model_adapters.prediction_sets import find_sets
from lmms_eval_crystal.reports.load import load_results

PERSONAS = ("shuffled", "cherry_picker", "verbose", "lucky", "oracle", "wrong")
STEPS = ["A red square fills the picture.", "Its sides have the same length.", "So the answer is a square."]


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Each test in a folder of its own, without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("CRYSTAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "160")


def score(*arguments) -> None:
    """The command in this process; typer ends it with SystemExit(0)."""
    with pytest.raises(SystemExit) as end:
        main(["score", *map(str, arguments)])
    assert end.value.code in (0, None), end.value.code


def refusal(*arguments) -> str:
    """The one sentence with which the command ends."""
    with pytest.raises(SystemExit) as end:
        main(["score", *map(str, arguments)])
    sentence = str(end.value.code)
    assert sentence.startswith("crystal-eval: ")
    assert "\n" not in sentence
    return sentence


def dump(path: str, content) -> Path:
    """Writes JSON; of a list of objects JSON Lines."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        content = "\n".join(json.dumps(line) for line in content)
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return file


def mini_items() -> list[Item]:
    rows = datasets.Dataset.from_parquet(str(MINI_FILE)).remove_columns("image")
    return [Item.from_row(row, index) for index, row in enumerate(rows)]


@pytest.fixture(scope="module")
def authors():
    """Predictions and references as the authors' scripts hold them, of half of crystal_mini, one prediction missing.

    Every third comes without a question, and letters stand beside texts of options, which only a question tells apart.
    """
    predictions, references = {}, {}
    for place, item in enumerate(mini_items()[::2]):
        fields = json.loads(write(PERSONAS[place % len(PERSONAS)], item, 42))
        letter = "ABCDEFGH".find(fields["answer"])
        if item.options and 0 <= letter < len(item.options) and place % 2:
            fields["answer"] = item.options[letter]
        question = {} if place % 3 == 0 else {"question": item.full_question}
        predictions[str(item.index)] = question | fields
        references[str(item.index)] = {"reference_steps": list(item.reference_steps), "answer": item.answer}
    del predictions["14"]
    return predictions, references


@pytest.fixture(scope="module")
def theirs(authors, tmp_path_factory):
    """What ``crystal-metrics evaluate`` says of them, on the same MiniLM: its summary, and its rows by item."""
    from crystal_metrics import AccuracyCalculator
    from crystal_metrics.cli import main as evaluate

    folder = tmp_path_factory.mktemp("theirs")
    for name, content in zip(("predictions", "references"), authors, strict=True):
        (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")
    command = ["evaluate", str(folder / "predictions.json"), str(folder / "references.json")]
    command += ["--model", resolve_encoder("minilm").location, "--threshold", "0.35", "--alpha", "0.3"]
    evaluate([*command, "--order-metric", "lis", "--output", str(folder / "rows.csv")])
    summary = json.loads((folder / "rows_summary.json").read_text("utf-8"))
    with (folder / "rows.csv").open(encoding="utf-8") as lines:
        rows = {row["sample_idx"]: row for row in csv.DictReader(lines)}
    details = AccuracyCalculator(use_llm_grader=False).evaluate_dataset(*authors)["detailed_results"]
    return summary, rows, {row["sample_idx"]: row["is_correct"] for row in details}


@pytest.mark.parametrize("form", ["folder", "one file"])
def test_the_authors_formats_give_the_numbers_of_their_own_command(authors, theirs, form, capsys):
    predictions, references = authors
    dump("references.json", references)
    if form == "folder":
        for name, fields in predictions.items():
            dump(f"theirs/{name}.json", fields)
        dump("theirs/errors.log", "[idx=7] API error")
        score("theirs", "--references", "references.json", "--encoder", "minilm", "-o", "out")
    else:
        dump("theirs.json", predictions)
        score("theirs.json", "--references", "references.json", "--encoder", "minilm", "-o", "out")
    summary, rows, correct = theirs
    section = results(Path("out"))["crystal"]["references"]
    assert section["model"] == "theirs"
    for ours, name in (("match_f1", "match_f1"), ("precision", "precision"), ("recall", "recall")):
        assert section["metrics"][ours]["mean"] == pytest.approx(summary[name], abs=1e-6)
    assert section["metrics"]["ordered_f1"]["mean"] == pytest.approx(summary["ordered_match_f1"], abs=1e-6)
    assert section["metrics"]["accuracy"]["mean"] == pytest.approx(summary["accuracy"], abs=1e-6)
    assert 0 < summary["accuracy"] < 1
    lines = samples(Path("out"), "references")
    assert len(lines) == len(references) == summary["samples"]
    for name, row in rows.items():
        ours = lines[int(name)]
        assert ours["match_f1"] == pytest.approx(float(row["match_f1"]), abs=1e-6)
        assert ours["ordered_f1"] == pytest.approx(float(row["ordered_match_f1"]), abs=1e-6)
        assert ours["lis"] == pytest.approx(float(row["lis_ratio"]), abs=1e-6)
        assert ours["accuracy"] == float(correct.get(name, False))
        if name in predictions:
            assert ours["crystal"]["predicted_steps"] == predictions[name]["reasoning_steps"]
            assert ours["crystal"]["answer"] == predictions[name]["answer"]
    assert [lines[index]["crystal"]["question_from"] for index in (0, 2, 14)] == ["none", "predictions", "none"]
    assert section["scorer"].endswith("|question:predictions")
    assert section["questions"] == {"none": 10, "predictions": 15}
    printed = capsys.readouterr().out
    assert "1 of 25 items have no prediction" in printed
    assert "judged with the prediction's own for 15 items, and without one for 10." in printed
    assert "theirs" in printed.split("macro means over items")[1]
    assert printed.splitlines()[-1] == "Results and samples: out/theirs"


def test_a_question_of_the_references_comes_before_that_of_a_prediction():
    entry = {"reference_steps": STEPS, "answer": "B", "question": "Which shape?", "options": ["disc", "square"]}
    dump("references.json", {"q_1": entry, "q_2": entry})
    fields = {"reasoning_steps": STEPS, "answer": "square"}
    dump("a.json", {"q_1": fields, "q_2": {"question": "Which colour? A) red", **fields}})
    score("a.json", "--references", "references.json", "--encoder", "minilm", "-o", "out")
    lines = samples(Path("out"), "references")
    assert [lines[index]["accuracy"] for index in (0, 1)] == [1, 1]
    assert {line["crystal"]["question_from"] for line in lines.values()} == {"references"}
    assert [lines[index]["id"] for index in (0, 1)] == ["q_1", "q_2"]
    assert "question:" not in lines[0]["crystal"]["scorer"]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """An output folder of two models over four items of crystal_mini, and what the harness leaves beside them."""
    folder = tmp_path_factory.mktemp("runs")
    items = mini_items()[:4]
    references = {str(item.index): {**item.__dict__, "reference_steps": list(item.reference_steps)} for item in items}
    references = {name: entry | {"options": list(entry["options"])} for name, entry in references.items()}
    (folder / "references.json").write_text(json.dumps(references), "utf-8")
    for persona in ("shuffled", "lucky"):
        lines = [{"doc_id": item.index, "response": write(persona, item, 42)} for item in items]
        (folder / f"{persona}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
        made = [folder / f"{persona}.jsonl", "--references", folder / "references.json", "-o", folder / "out"]
        score(*made, "--encoder", "minilm")
    generation = (
        "prompt:0f|system:none|model:a/lucky@1|adapter:X/chat|dtype:b|tokens:20|temperature:0|pixels:p|scripted:no"
    )
    for file in (folder / "out" / "lucky").glob("*_samples_*.jsonl"):
        made = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        for line in made:
            line["crystal"] |= {"model": "a/lucky", "generation": generation, "output_tokens": 20}
        file.write_text("\n".join(map(json.dumps, made)), "utf-8")
    other = folder / "out" / "lucky" / "20260101_000000_samples_mmmu_val.jsonl"
    other.write_text(json.dumps({"doc_id": 0, "filtered_resps": ["A"]}), "utf-8")
    return folder / "out", generation


def test_a_folder_of_runs_is_scored_anew_with_names_signatures_and_all_else_kept(run_folder, heard, capsys):
    out, generation = run_folder
    score(out, "--tau", "0.9", "-o", "again")
    assert any("mmmu_val" in message for message in heard)
    first = {result.model: result for result in load_results([out]).results}
    again = {result.model: result for result in load_results([Path("again")]).results}
    assert again.keys() == {"shuffled", "a/lucky"}
    assert again["a/lucky"].generation == generation
    assert again["shuffled"].generation == first["shuffled"].generation
    assert again["shuffled"].scorer == first["shuffled"].scorer.replace("tau:0.35", "tau:0.9")
    assert Path("again/a__lucky").is_dir()
    before, after = samples(out / "shuffled", "references"), samples(Path("again/shuffled"), "references")
    for index, line in after.items():
        kept = {key: value for key, value in line["crystal"].items() if key not in ("pairs", "scorer")}
        assert kept == {key: before[index]["crystal"][key] for key in kept}
        assert line["filtered_resps"] == before[index]["filtered_resps"]
    lucky = samples(Path("again/a__lucky"), "references")[0]
    assert (lucky["crystal"]["output_tokens"], lucky["truncated"]) == (20, 1)


def test_what_lies_in_the_output_folder_is_not_scored_again(run_folder):
    out, _ = run_folder
    score(out, "--alpha", "0.1", "-o", out / "rescored")
    score(out, "--alpha", "0.1", "-o", out / "rescored")
    assert len(list((out / "rescored").rglob("*_results.json"))) == 4
    assert len(load_results([out / "rescored"]).results) == 2


def test_samples_against_other_references_count_the_items_that_the_run_covered(run_folder):
    score(run_folder[0] / "shuffled", "--references", "crystal_mini", "--encoder", "minilm", "-o", "out")
    [result] = load_results([Path("out")]).results
    assert (result.items, result.of, result.task) == (4, 50, "references")
    assert samples(Path("out"), "references")[0]["crystal"]["image_sha256"] != "unknown"


@pytest.mark.parametrize("dataset", ["waybarrios/CRYSTAL", "parquet"])
def test_samples_know_their_dataset_by_the_results_beside_them(run_folder, dataset):
    file = next((run_folder[0] / "shuffled").glob("*_samples_references.jsonl"))
    dump(f"run/{file.name}", file.read_text("utf-8"))
    beside = {"crystal": {"references": {"of": 6372}}, "configs": {"references": {"dataset_path": dataset}}}
    dump(f"run/{file.name}".replace("samples_references.jsonl", "results.json"), beside)
    [found] = find_sets([Path("run")])
    assert (found.references.of, len(found.references.items)) == (6372, 4)
    assert (found.references.name == dataset) == (dataset == "waybarrios/CRYSTAL")


def test_a_signature_that_was_changed_by_hand_is_named(run_folder):
    file = next((run_folder[0] / "shuffled").glob("*_samples_references.jsonl"))
    dump(f"run/{file.name}", file.read_text("utf-8").replace("|tau:0.35|", "|tau:low|"))
    assert "has a scorer signature that cannot be read" in refusal("run")


def test_texts_are_parsed_by_ours_or_as_released():
    dump("references.json", {"0": {"reference_steps": STEPS, "answer": "square"}})
    dump("a.jsonl", [{"doc_id": 0, "response": "{'reasoning_steps': ['A red square.'], 'answer': 'square'}"}])
    score("a.jsonl", "--references", "references.json", "--encoder", "minilm", "-o", "ours")
    score("a.jsonl", "--references", "references.json", "--encoder", "minilm", "--parse", "released", "-o", "released")
    ours, released = (samples(Path(folder), "references")[0] for folder in ("ours", "released"))
    assert (ours["crystal"]["answer"], ours["crystal"]["status"]) == ("square", "recovered")
    assert released["crystal"]["answer"] == "insufficient information"
    assert "|parse:released|" in released["crystal"]["scorer"]


@pytest.mark.parametrize("form", ["folder", "jsonl without images"])
def test_a_local_copy_of_the_dataset_is_the_reference(form):
    made = synthetic.dataset(3)
    if form == "folder":
        made.save_to_disk("copy")
    else:
        made.remove_columns("image").to_json("copy")
        Path("copy").rename("copy.jsonl")
    rows = synthetic.rows(3)
    dump(
        "a.json",
        {str(at): {"reasoning_steps": row["reference_steps"], "answer": row["answer"]} for at, row in enumerate(rows)},
    )
    copy = "copy" if form == "folder" else "copy.jsonl"
    score("a.json", "--references", copy, "--encoder", "minilm", "-o", "out")
    values = results(Path("out"))["results"]["copy"]
    assert values["match_f1,none"] == values["accuracy,none"] == 1
    assert (samples(Path("out"), "copy")[0]["crystal"]["image_sha256"] == "unknown") == (form != "folder")


def test_ids_in_all_spellings_mean_one_item_and_junk_in_a_folder_is_left_out():
    """Also Unicode names, spaces, a byte order mark and Windows line ends."""
    entry = {"reference_steps": STEPS, "answer": "square"}
    dump("meine références.json", "\ufeff" + json.dumps({"7": entry, "00012.json": entry, "q_12": entry}))
    fields = {"reasoning_steps": STEPS, "answer": "square"}
    lines = [{"id": "q_12", **fields}, {"id": 12, **fields}, {"id": 7.0, **fields}]
    Path("läufe 1.jsonl").write_bytes("\r\n\r\n".join(map(json.dumps, lines)).encode("utf-8-sig"))
    for name in ("00012.json", "q_12.json", "007.json"):
        dump(f"模型 一/{name}", fields)
    dump("模型 一/summary.json", "no prediction")
    dump("模型 一/.DS_Store", "")
    Path("模型 一/8.json").mkdir()
    score(
        "läufe 1.jsonl", "模型 一", "--references", "meine références.json", "--encoder", "minilm", "-o", "mein ordner"
    )
    for model in ("läufe 1", "模型 一"):
        values = results(Path("mein ordner") / model)["results"]["meine_references"]
        assert values["match_f1,none"] == values["accuracy,none"] == 1


ENTRY = {"reference_steps": STEPS, "answer": "square"}
FIELDS = {"reasoning_steps": STEPS, "answer": "square"}
RIGHT = {"0": FIELDS}
NO_TEXTS = "reference_steps that are no list of texts (0)"


@pytest.mark.parametrize(
    ("predictions", "references", "sentence"),
    [
        ({"0": FIELDS, "9": FIELDS}, {"0": ENTRY}, "1 of 2 ids do not occur in references.json"),
        ({"q_0": FIELDS}, {"0": ENTRY}, "none of its ids occurs in references.json. Ids of the predictions"),
        ({"q_0": FIELDS}, {"0": ENTRY}, "that are not there: q_0; ids there: 0."),
        (RIGHT, {"0": ENTRY, "1": {"answer": "a"}}, "1 of 2 references have no reference_steps (1)"),
        (RIGHT, {"0": {"reference_steps": [], "answer": "a"}}, "1 of 1 references have no reference_steps (0)"),
        (RIGHT, {"0": {"reference_steps": ["a", None], "answer": "a"}}, NO_TEXTS),
        (RIGHT, {"0": {"reference_steps": [["a"]], "answer": "a"}}, NO_TEXTS),
        (RIGHT, {"0": {"reference_steps": "a", "answer": "a"}}, NO_TEXTS),
        (RIGHT, {"0": {"reference_steps": [" "], "answer": "a"}}, "only blank reference_steps (0)"),
        (RIGHT, {"0": {"reference_steps": STEPS}}, "have no answer (0)"),
        (RIGHT, '{"0": {"reference_steps": ["a"], "answer": NaN}}', "have no answer (0)"),
        (RIGHT, {"0": {**ENTRY, "options": {"A": "red"}}}, "choices or options that are no list of texts (0)"),
        (RIGHT, {"0": 5}, "1 of 1 references are no objects (0)"),
        (RIGHT, {"0": ENTRY, "00": ENTRY}, "has item 0 twice"),
        (RIGHT, '{"0": 1, "0": 2}', "the key 0 stands twice"),
        (RIGHT, '{"0": {"reference_steps": ["a', "references.json is no complete JSON"),
        (RIGHT, "{}", "references.json holds no references"),
        (RIGHT, "", "references.json is no complete JSON"),
        ("", {"0": ENTRY}, "is empty"),
        ('{"0": "a", "0": "b"}', {"0": ENTRY}, "the key 0 stands twice"),
        ({"0": FIELDS, "00": {**FIELDS, "answer": "b"}}, {"0": ENTRY}, "Item 0 has two different predictions"),
        ('{"doc_id": 0, "text": "a"}\n{"doc_id": 1, "te', {"0": ENTRY}, "line 2 is no complete JSON"),
        ({"0": {**FIELDS, "reasoning_steps": [["a"]]}}, {"0": ENTRY}, "reasoning_steps should be a list of texts"),
        ({"0": {**FIELDS, "reasoning_steps": [None]}}, {"0": ENTRY}, "reasoning_steps should be a list of texts"),
    ],
)
def test_bad_input_gets_one_sentence(predictions, references, sentence):
    dump("predictions.json", predictions)
    dump("references.json", references)
    assert sentence in refusal("predictions.json", "--references", "references.json", "-o", "out")
    assert not Path("out").exists()


def test_steps_and_answers_that_were_not_given_are_misses():
    dump("references.json", {"0": ENTRY, "1": ENTRY})
    dump("a.json", '{"0": {"reasoning_steps": null, "answer": null}, "1": {"reasoning_steps": [], "answer": NaN}}')
    score("a.json", "--references", "references.json", "--encoder", "minilm", "-o", "out")
    values = results(Path("out"))["results"]["references"]
    assert values["match_f1,none"] == values["accuracy,none"] == values["steps,none"] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["gone.json"], "There is no file or folder gone.json"),
        (["a.json"], "does not say what its predictions are scored against (item 0); give --references"),
        (["empty"], "The folder empty holds no predictions"),
        (["a.json", "--references", "gone.parquet"], "there is no such file or folder"),
        (["a.json", "--references", "r.json", "--tau", "nan"], "tau is nan; it must be a number from -1 to 1"),
        (["a.json", "--references", "r.json", "--alpha", "1.5"], "alpha is 1.5; it must be a number from 0 to 1"),
        (["a.json", "--references", "r.json", "--encoder", "x"], "No encoder 'x'"),
        (["a.json", "--references", "r.json", "-o", "a.json"], "The results cannot go to a.json"),
        (["a.json", "b/a.json", "--references", "r.json"], "a.json and b/a.json would both be the model a"),
        (["a.json", "c.json", "--references", "r.json", "--name", "x"], "--name names one model"),
        (["x_results.json"], "holds means, no predictions"),
    ],
)
def test_arguments_that_cannot_work_get_one_sentence(arguments, sentence):
    for name in ("a.json", "b/a.json", "c.json", "x_results.json"):
        dump(name, {"0": FIELDS})
    dump("r.json", {"0": ENTRY})
    Path("empty").mkdir()
    if "-o" not in arguments:
        arguments = [*arguments, "-o", "out"]
    assert sentence in refusal(*arguments)
    assert not Path("out").exists()


def test_questions_of_other_items_are_noticed(capsys):
    dump("r.json", {str(at): {**ENTRY, "question": f"What is shape {at}?"} for at in range(3)})
    dump("a.json", {str(at): {**FIELDS, "question": f"What is shape {at + 1}?"} for at in range(3)})
    score("a.json", "--references", "r.json", "--encoder", "minilm", "-o", "out")
    assert "beside 3 of 3 predictions are not those of the references (0, 1, 2)" in capsys.readouterr().out


def test_a_run_that_is_interrupted_leaves_no_file_that_looks_whole(monkeypatch):
    dump("r.json", {str(at): ENTRY for at in range(3)})
    dump("a.json", {str(at): FIELDS for at in range(3)})
    record = offline.LoadedTask.record

    def interrupted(self, index, text):
        if index == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return record(self, index, text)

    monkeypatch.setattr(offline.LoadedTask, "record", interrupted)
    with pytest.raises(SystemExit) as end:
        main(["score", "a.json", "--references", "r.json", "--encoder", "minilm", "-o", "out"])
    assert end.value.code
    assert not Path("out").exists()


def test_many_items_in_parts_score_as_in_one_pass(monkeypatch):
    items = mini_items()[:6]
    dump("r.json", {str(item.index): {"reference_steps": list(item.reference_steps), "answer": "x"} for item in items})
    dump("a.jsonl", [{"doc_id": item.index, "response": write("verbose", item, 42)} for item in items])
    score("a.jsonl", "--references", "r.json", "--encoder", "minilm", "-o", "whole")
    monkeypatch.setattr(offline, "AT_ONCE", 4)
    score("a.jsonl", "--references", "r.json", "--encoder", "minilm", "-o", "parts")
    whole, parts = (results(Path(folder))["crystal"]["r"] for folder in ("whole", "parts"))
    assert parts == whole
