"""The lines that a run writes, and which of them a rerun keeps."""

import json
import math

import pytest
from lmms_eval_crystal.reports.training import places as places_of_reports
from lmms_eval_crystal.training import records as module
from lmms_eval_crystal.training.checks import CONFIG_FILE, SPLIT_FILE
from lmms_eval_crystal.training.records import Records


@pytest.fixture
def records(tmp_path) -> Records:
    made = Records(tmp_path)
    for phase, step in ((1, 1), (1, 2), (1, 3), (2, 1)):
        made.log({"phase": phase, "step": step, "loss": 0.5})
        made.validated({"phase": phase, "step": step, "reward": 0.1 * step})
    return made


def places(lines) -> list[tuple[int, int]]:
    return [(line["phase"], line["step"]) for line in lines]


def test_a_rerun_forgets_what_lies_beyond_its_checkpoint(records):
    records.forget_after(1, 2)
    assert places(records.logged()) == places(records.validations()) == [(1, 1), (1, 2)]


def test_a_phase_that_begins_anew_keeps_the_one_before(records):
    records.forget_after(2, 0)
    assert places(records.logged()) == [(1, 1), (1, 2), (1, 3)]


def test_a_line_that_a_kill_cut_off_is_none(records):
    with (records.folder / "log.jsonl").open("a") as log:
        log.write('{"phase": 2, "step": 2, "lo')
    assert places(records.logged())[-1] == (2, 1)
    records.forget_after(2, 1)
    records.log({"phase": 2, "step": 2, "loss": 1.0})
    assert places(records.logged())[-2:] == [(2, 1), (2, 2)]


def test_the_chosen_validation_of_a_phase_is_marked(records):
    records.choose(1, 2)
    assert [line.get("chosen") for line in records.validations()] == [False, True, False, None]


def test_numbers_that_json_does_not_know_are_null(records):
    records.log({"phase": 2, "step": 2, "loss": math.nan, "kl": math.inf})
    assert records.logged()[-1] == {"phase": 2, "step": 2, "loss": None, "kl": None}
    records.summarise({"diagnostics": {"kl_max": math.nan}, "phases": [{"value": -math.inf}]})
    content = (records.folder / "training.json").read_text()
    assert json.loads(content, parse_constant=pytest.fail) == {
        "diagnostics": {"kl_max": None},
        "phases": [{"value": None}],
    }


def test_a_folder_without_lines_has_none(tmp_path):
    assert Records(tmp_path).logged() == []
    assert Records(tmp_path).summary() is None


def test_a_report_finds_the_files_of_a_run_by_the_names_that_it_gives_them():
    for name in ("LOG", "VALIDATION", "SUMMARY", "RESULTS", "BEFORE", "AFTER"):
        assert getattr(places_of_reports, name) == getattr(module, name)
    assert (places_of_reports.CONFIG, places_of_reports.SPLIT) == (CONFIG_FILE, SPLIT_FILE)
