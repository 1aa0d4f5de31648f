"""Runs on boards whose rows may be compared, and what a reader is told of the input."""

import json

import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.reports.load import find_results
from lmms_eval_crystal.reports.study import fields, load_study, row_names
from studies import TALKERS, Talker, write_study


def test_runs_scored_alike_are_one_board_with_their_samples(tmp_path):
    study = load_study([write_study(tmp_path, items=20)])
    [board] = study.boards
    assert (board.task, board.items, board.of) == ("crystal", 20, 20)
    assert {run.label for run in board.runs} == {talker.model for talker in TALKERS}
    means = [run.result.metrics["match_f1"].mean for run in board.runs]
    assert means == sorted(means, reverse=True)
    assert all(len(run.items) == 20 for run in board.sampled)
    assert study.notes == ()


def test_another_signature_makes_another_board_and_its_difference_is_said(tmp_path):
    write_study(tmp_path / "a", items=20)
    write_study(tmp_path / "b", items=20, talkers=[Talker("org/New-7B")], encoder="minilm@0.1.0")
    study = load_study([tmp_path])
    assert len(study.boards) == 2
    [note] = study.notes
    assert "enc minilm@0.1.0 instead of sentence-transformers/all-distilroberta-v1@main" in note or (
        "enc sentence-transformers/all-distilroberta-v1@main instead of minilm@0.1.0" in note
    )
    assert "not comparable with the rows of the first table" in note


def test_part_of_the_data_is_a_board_of_its_own_after_the_whole(tmp_path):
    write_study(tmp_path / "a", items=8, talkers=TALKERS[:1], of=20)
    write_study(tmp_path / "b", items=20)
    study = load_study([tmp_path])
    assert [(board.items, board.of) for board in study.boards] == [(20, 20), (8, 20)]
    assert "n 8 instead of 20" in study.notes[0]


def test_another_task_is_a_board_without_a_warning(tmp_path):
    write_study(tmp_path / "a", items=20)
    write_study(tmp_path / "b", items=8, task="crystal_mini")
    study = load_study([tmp_path])
    assert [board.task for board in study.boards] == ["crystal", "crystal_mini"]
    assert study.notes == ()


def test_results_without_samples_keep_their_row_and_this_is_said(tmp_path):
    write_study(tmp_path, items=8)
    next((tmp_path / "org__Guesser-8B").glob("*.jsonl")).unlink()
    study = load_study([tmp_path])
    [board] = study.boards
    assert len(board.runs) == 3
    assert [run.label for run in board.sampled] == ["org/Reasoner-7B", "other/Talker-3B"]
    assert "org/Guesser-8B has results of crystal and no samples" in study.notes[0]
    assert "--log_samples" in study.notes[0]


def test_a_samples_file_that_cannot_be_opened_leaves_the_means(tmp_path):
    write_study(tmp_path, items=8, talkers=TALKERS[:1])
    samples = next(tmp_path.rglob("*.jsonl"))
    samples.unlink()
    samples.mkdir()
    study = load_study([tmp_path])
    assert study.boards[0].sampled == ()
    assert "cannot be read" in study.notes[0]


def test_torn_lines_are_said_and_so_is_that_figures_cover_less_than_the_table(tmp_path):
    write_study(tmp_path, items=8, talkers=TALKERS[:1])
    samples = next(tmp_path.rglob("*.jsonl"))
    samples.write_bytes(samples.read_bytes()[:-200])
    study = load_study([tmp_path])
    assert len(study.boards[0].runs[0].items) == 7
    assert "1 of its lines is torn (line 8)" in study.notes[0]
    assert "has 7 usable items, and the results beside it are means over 8" in study.notes[1]


def test_samples_that_are_all_junk_leave_the_means(tmp_path):
    write_study(tmp_path, items=8, talkers=TALKERS[:1])
    next(tmp_path.rglob("*.jsonl")).write_bytes(bytes(range(256)) * 40)
    study = load_study([tmp_path])
    assert study.boards[0].runs[0].items is None
    assert "0 usable items" in study.notes[-1]


def test_samples_of_another_way_of_scoring_are_not_taken_for_these(tmp_path):
    write_study(tmp_path, items=8, talkers=TALKERS[:1])
    samples = next(tmp_path.rglob("*.jsonl"))
    lines = samples.read_text().splitlines()
    samples.write_text("\n".join([*lines[:4], *(line.replace("tau:0.35", "tau:0.5") for line in lines[4:])]))
    study = load_study([tmp_path])
    assert len(study.boards[0].runs[0].items) == 4
    assert "scored in another way than the results say (line 5, 6, 7, 8)" in study.notes[0]


def test_other_benchmarks_reach_their_run_by_its_alias(tmp_path):
    write_study(tmp_path, items=8, talkers=TALKERS[:2])
    for model in ("Reasoner", "Stranger"):
        written = {"results": {"mmstar": {"average,none": 0.5}}, "model_name": model}
        (tmp_path / f"{model}_results.json").write_text(json.dumps(written))
    study = load_study([tmp_path], {"reasoner": "org/Reasoner-7B"})
    assert {run.label: [score.task for score in run.others] for run in study.boards[0].runs} == {
        "org/Reasoner-7B": ["mmstar"],
        "org/Guesser-8B": [],
    }
    [note] = study.notes
    assert "Stranger has results of other benchmarks and none of CRYSTAL" in note


def test_progress_is_announced_in_bytes_and_reached(tmp_path):
    write_study(tmp_path, items=8)
    announced, read = [], []
    load_study([tmp_path], advance=read.append, announce=announced.append)
    assert sum(read) == sum(announced) > 0


def test_a_study_of_nothing_says_so(tmp_path):
    with pytest.raises(CrystalError, match="No CRYSTAL results"):
        load_study([tmp_path])


@pytest.mark.parametrize(
    ("models", "names"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a"], ["a (1)", "a (2)"]),
        (["a (1)", "a", "a"], ["a (1)", "a (2)", "a (3)"]),
        (["a", "a", "a (2)"], ["a (1)", "a (3)", "a (2)"]),
    ],
)
def test_rows_of_a_board_have_names_of_their_own(tmp_path, models, names):
    write_study(tmp_path, items=8, talkers=[Talker(model) for model in set(models)])
    results = {result.model: result for result in find_results([tmp_path]).results}
    assert row_names([results[model] for model in models]) == names


def test_fields_of_a_signature_by_name():
    assert fields("crystal|v:1|enc:a/b@main|tau:0.35") == {"v": "1", "enc": "a/b@main", "tau": "0.35"}


def test_means_that_the_samples_do_not_have_are_said(tmp_path):
    write_study(tmp_path, items=20, talkers=TALKERS[:1])
    results = next(tmp_path.rglob("*_results.json"))
    written = json.loads(results.read_text("utf-8"))
    written["crystal"]["crystal"]["metrics"]["match_f1"]["mean"] += 2e-6
    results.write_text(json.dumps(written), "utf-8")
    [note] = load_study([tmp_path]).notes
    assert "has other means than the results beside it say (match_f1)" in note
