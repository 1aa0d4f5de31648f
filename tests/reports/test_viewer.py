"""Which items a page shows, and what it is given of each."""

import json

import pytest
from lmms_eval_crystal.reports.diagnosis import diagnose
from lmms_eval_crystal.reports.inline import inline_json
from lmms_eval_crystal.reports.study import load_study
from lmms_eval_crystal.reports.viewer import ItemReader, choose_items, known_items, show_items
from studies import HOSTILE, TALKERS, write_study


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    return load_study([write_study(tmp_path_factory.mktemp("study"), items=90)]).boards[0]


@pytest.fixture(scope="module")
def diagnoses(board):
    return {run.label: diagnose(run.items) for run in board.runs}


def test_every_source_and_every_diagnosis_of_every_model_is_among_the_chosen(board, diagnoses):
    chosen = choose_items(board, diagnoses, 40)
    assert len(chosen) == len(set(chosen)) == 40
    assert set(known_items(board).loc[chosen, "source"]) == set(known_items(board)["source"])
    for found in diagnoses.values():
        assert set(found[chosen]) == set(found)


def test_wanted_items_come_first_and_unknown_ones_do_not_count(board, diagnoses):
    assert choose_items(board, diagnoses, 5, first=[77, 3, 9999])[:2] == [77, 3]


def test_fewer_items_than_asked_for_are_all_shown(board, diagnoses):
    assert sorted(choose_items(board, diagnoses, 1000)) == list(range(90))


def test_the_choice_does_not_depend_on_the_order_of_runs(board, diagnoses):
    turned = dict(reversed(diagnoses.items()))
    assert choose_items(board, turned, 30) == choose_items(board, diagnoses, 30)


def test_a_body_has_the_texts_and_the_matches_of_the_record(board, diagnoses):
    reader = ItemReader(board, diagnoses)
    body, run = reader.body(4), board.runs[0]
    record = run.samples.record(4)["crystal"]
    assert body["question"] == record["question"]
    assert body["runs"][0]["steps"] == record["predicted_steps"]
    assert [pair[:3] for pair in body["runs"][0]["pairs"]] == record["pairs"]
    assert body["runs"][0]["scores"]["match_f1"] == pytest.approx(run.items.at[4, "match_f1"], abs=1e-4)


def test_as_many_pairs_stand_in_order_as_the_score_says(board, diagnoses):
    reader = ItemReader(board, diagnoses)
    for place, run in enumerate(board.runs):
        for doc_id in range(90):
            pairs = reader.body(doc_id)["runs"][place]["pairs"]
            if pairs:
                assert sum(pair[3] for pair in pairs) / len(pairs) == pytest.approx(run.items.at[doc_id, "lis"])


def test_a_row_has_both_verdicts_the_diagnosis_the_status_and_the_score(board, diagnoses):
    row, run = ItemReader(board, diagnoses).row(4), board.runs[1]
    strict, paper, diagnosis, status, f1 = row["runs"][1]
    numbers = run.items.loc[4]
    assert (strict, paper) == (numbers["accuracy_strict"], numbers["accuracy"])
    assert (diagnosis, status) == (diagnoses[run.label][4], numbers["status"])
    assert f1 == pytest.approx(numbers["match_f1"], abs=1e-4)


def test_a_public_page_gets_numbers_and_no_text(board, diagnoses):
    reader = ItemReader(board, diagnoses, public=True)
    record = board.runs[0].samples.record(4)["crystal"]
    given = json.dumps([reader.row(4), reader.body(4)])
    private = [*record["predicted_steps"], *record["reference_steps"], record["question"], record["response"]]
    assert not [text for text in private if text in given]
    assert reader.body(4)["runs"][0]["steps"] == len(record["predicted_steps"])
    assert reader.body(4)["reference"] == len(record["reference_steps"])


def test_texts_past_the_budget_are_left_out_and_counted(board, diagnoses):
    reader = ItemReader(board, diagnoses)
    shown = show_items(reader, range(90), budget=100_000)
    assert 0 < len(shown.rows) < 90
    assert len(shown.rows) + shown.left_out == shown.total == 90
    assert set(shown.bodies) == {row["id"] for row in shown.rows}


def test_a_model_without_an_item_has_a_gap_there(tmp_path):
    write_study(tmp_path, items=6, talkers=TALKERS[:1])
    write_study(tmp_path, items=9, talkers=TALKERS[1:2])
    study = load_study([tmp_path])
    assert [board.items for board in study.boards] == [9, 6]


@pytest.mark.parametrize(
    "text", [*HOSTILE[:5], HOSTILE[6], "\u2028\u2029", "lone \ud800 surrogate", "</ScRiPt >", "<!--<script>"]
)
def test_json_in_a_page_cannot_end_its_script_and_reads_back_the_same(text):
    made = inline_json({"text": text})
    assert not set("<>&\u2028\u2029") & set(made)
    assert json.loads(made)["text"] == text.replace("\ud800", "?")
    made.encode("utf-8")


def test_nan_does_not_become_json():
    with pytest.raises(ValueError, match="JSON"):
        inline_json(float("nan"))
