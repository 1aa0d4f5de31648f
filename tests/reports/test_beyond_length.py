"""What a report says of the question whether Match F1 is more than a step count."""

import json

import pytest
from lmms_eval_crystal.reports.beyond_length import HEADS, length_rows
from lmms_eval_crystal.reports.study import load_study
from studies import TALKERS, write_study

NAMES = [head.name for head in HEADS]


@pytest.fixture
def folder(tmp_path):
    return write_study(tmp_path, items=30)


def cells(folder):
    return {row.label: dict(zip(NAMES, row.cells, strict=True)) for row in length_rows(load_study([folder]).boards[0])}


def test_each_model_has_its_null_first_steps_optimum_and_conflicts(folder):
    found = cells(folder)
    assert set(found) == {talker.model for talker in TALKERS}
    for row in found.values():
        assert float(row["f1_above_null"]) == pytest.approx(float(row["match_f1"]) - float(row["null_f1"]), abs=2e-3)
        assert (
            float(row["first_f1_1"]) < float(row["first_f1_3"]) < float(row["first_f1_6"]) <= float(row["optimal_f1"])
        )
        assert float(row["conflict_number"]) > float(row["conflict_negation"]) == 0


def test_results_of_before_leave_blanks_and_without_any_null_there_is_no_table(folder):
    files = list(folder.rglob("*_results.json"))
    for file in files:
        results = json.loads(file.read_text())
        del results["crystal"]["crystal"]["validity"]
        file.write_text(json.dumps(results))
    assert all(row["optimal_f1"] == "" and row["null_f1"] for row in cells(folder).values())
    for file in files:
        results = json.loads(file.read_text())
        del results["crystal"]["crystal"]["metrics"]["null_f1"]
        file.write_text(json.dumps(results))
    assert cells(folder) == {}
