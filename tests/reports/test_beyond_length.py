"""What a report says of the question whether Match F1 is more than a step count."""

import json

import pytest
from lmms_eval_crystal.reports.beyond_length import HEADS, length_rows, length_sentences
from lmms_eval_crystal.reports.statistics import compare_models, compared_metrics
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


def sentences(folder, runs=None):
    board = load_study([folder]).boards[0]
    items = {run.label: run.items for run in board.sampled}
    return length_sentences(board, compare_models(items, compared_metrics(items)))


def rewrite(folder, model, **means):
    """Other means, with their intervals, for a run that was written."""
    for file in folder.rglob("*_results.json"):
        results = json.loads(file.read_text())
        section = results["crystal"]["crystal"]
        if section["model"] == model:
            for name, mean in means.items():
                section["metrics"][name] |= {"mean": mean, "low": mean - 0.02, "high": mean + 0.02}
            file.write_text(json.dumps(results))


def test_the_question_is_answered_in_sentences_above_the_table(folder):
    above, order, steps, assigned = sentences(folder)
    assert above == f"All {len(TALKERS)} rows are above the null by more than the 95 % interval."
    assert "none turn round above the null" in order
    assert "too few for a rank correlation" in steps if len(TALKERS) < 6 else "Spearman" in steps
    assert assigned.startswith("The best possible assignment")


def test_a_model_that_leads_by_length_alone_is_named(folder):
    first = load_study([folder]).boards[0].runs[0].label
    rewrite(folder, first, f1_above_null=0.01)
    above, order, *_ = sentences(folder)
    assert f"not shown to be: {first}." in above
    assert f"{first} is ahead of" in order
    assert "behind by" in order


def test_pairs_are_compared_by_what_they_have_above_the_null_where_there_is_one(folder):
    items = {run.label: run.items for run in load_study([folder]).boards[0].sampled}
    assert compared_metrics(items) == ["match_f1", "f1_above_null", "accuracy", "accuracy_strict"]
    without = {label: run.assign(f1_above_null=float("nan")) for label, run in items.items()}
    assert "f1_above_null" not in set(compare_models(without, compared_metrics(without))["metric"])
