"""Results files of the harness, whole, damaged and of other tasks."""

import json

import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.reports.load import find_results, load_results
from studies import TALKERS, write_study


@pytest.fixture
def out(tmp_path):
    """An output folder with one run of one model."""
    return write_study(tmp_path / "out", items=8, talkers=TALKERS[:1])


def results_file(out):
    return next(out.rglob("*_results.json"))


def rewrite(out, function):
    file = results_file(out)
    written = json.loads(file.read_text())
    function(written)
    file.write_text(json.dumps(written))


def test_means_are_the_numbers_of_the_file(out):
    [result] = load_results([out]).results
    written = json.loads(results_file(out).read_text())
    assert result.metrics["match_f1"].mean == written["results"]["crystal"]["match_f1,none"]
    assert (result.model, result.task, result.items, result.of) == ("org/Reasoner-7B", "crystal", 8, 8)
    assert not result.scripted
    assert result.samples_file.exists()


def test_a_folder_with_nothing_usable_is_said_with_what_to_do(tmp_path):
    with pytest.raises(CrystalError, match=r"No CRYSTAL results under .*--output_path"):
        load_results([tmp_path])


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CrystalError, match="nowhere does not exist"):
        find_results([tmp_path / "nowhere"])


JUNK = {
    "binary": bytes(range(256)),
    "empty": b"",
    "cut off": b'{"crystal": {"crystal": {"model": "m"',
    "a list": b"[]",
    "null for our section": b'{"crystal": null}',
    "a section without signatures": b'{"crystal": {"crystal": {"metrics": {"match_f1": {"mean": 1}}}}}',
    "nesting without end": b"[" * 200_000,
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
def test_a_results_file_that_cannot_be_read_is_named_and_the_rest_counts(out, junk):
    (out / "20260101_results.json").write_bytes(junk)
    found = load_results([out])
    assert [result.model for result in found.results] == ["org/Reasoner-7B"]
    [problem] = found.problems
    assert "20260101_results.json is no results file of lmms-eval" in problem
    assert len(problem) < 400


def test_a_folder_called_as_a_results_file_is_named_and_the_rest_counts(out):
    (out / "20260101_results.json").mkdir()
    found = load_results([out])
    assert len(found.results) == 1
    assert "20260101_results.json" in found.problems[0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_a_mean_that_is_no_number_is_missing(out, value):
    def spoil(written):
        written["crystal"]["crystal"]["metrics"]["recall"].update(mean=value)
        written["crystal"]["crystal"]["metrics"]["precision"].update(low=value)

    rewrite(out, spoil)
    [result] = load_results([out]).results
    assert "recall" not in result.metrics
    assert result.metrics["precision"].low is None


def test_results_whose_match_f1_is_no_number_are_a_problem(out):
    rewrite(out, lambda written: written["crystal"]["crystal"]["metrics"]["match_f1"].update(mean=None))
    with pytest.raises(CrystalError, match="match_f1 is no number"):
        load_results([out])


@pytest.mark.parametrize(("key", "value"), [("items", 0), ("items", "many"), ("of", None), ("metrics", 7)])
def test_a_section_of_another_shape_is_a_problem_and_no_traceback(out, key, value):
    rewrite(out, lambda written: written["crystal"]["crystal"].update({key: value}))
    with pytest.raises(CrystalError, match="is no results file of lmms-eval"):
        load_results([out])


def test_a_huge_integer_as_a_mean_is_a_problem_and_no_traceback(out):
    rewrite(out, lambda written: written["crystal"]["crystal"]["metrics"]["match_f1"].update(mean=10**400))
    with pytest.raises(CrystalError, match="OverflowError"):
        load_results([out])


def test_keys_that_a_later_version_may_add_do_no_harm(out):
    rewrite(out, lambda written: written["crystal"]["crystal"]["metrics"]["match_f1"].update(median=0.5))
    assert len(load_results([out]).results) == 1


def test_of_two_runs_in_one_folder_the_newer_counts_and_this_is_said(out):
    first = results_file(out)
    again = json.loads(first.read_text())
    again["crystal"]["crystal"]["metrics"]["match_f1"]["mean"] = 0.25
    first.with_name("20261231_235959_results.json").write_text(json.dumps(again))
    found = load_results([out])
    assert [result.metrics["match_f1"].mean for result in found.results] == [0.25]
    assert "20261231_235959_results.json counts" in found.problems[0]


def test_a_folder_that_is_given_twice_is_one_run(out, monkeypatch):
    monkeypatch.chdir(out.parent)
    found = load_results([out, out / "org__Reasoner-7B", type(out)("out")])
    assert len(found.results) == 1
    assert found.problems == []


def test_runs_scored_alike_stand_together_and_the_best_first(tmp_path):
    write_study(tmp_path / "a", items=40)
    write_study(tmp_path / "b", items=8, talkers=TALKERS[:1])
    results = load_results([tmp_path]).results
    assert [result.items for result in results] == [40, 40, 40, 8]
    means = [result.metrics["match_f1"].mean for result in results[:3]]
    assert means == sorted(means, reverse=True)


def test_a_run_that_only_generated_is_named(out):
    (out / "20260101_results.json").write_text(json.dumps({"results": {}, "crystal": {}}))
    assert "holds no metrics" in load_results([out]).problems[0]


def test_results_of_other_tasks_are_found_with_their_model(out):
    def add(written):
        written["results"]["mmstar"] = {"average,none": 0.5, "average_stderr,none": 0.1, "alias": "mmstar"}
        written["results"]["new"] = {"broken,none": float("nan"), "yes,none": True, "speed,none": 12.0}
        written["higher_is_better"] = {"new": {"speed": False}}

    rewrite(out, add)
    others = {other.score.task: other for other in load_results([out]).others}
    assert others.keys() == {"mmstar", "new"}
    assert {other.model for other in others.values()} == {"org/Reasoner-7B"}
    assert others["mmstar"].score.raw == 0.5
    assert (others["new"].score.metric, others["new"].score.higher_is_better) == ("speed", False)


@pytest.mark.parametrize("results", [{"mmstar": {"average,none": 10**400}}, ["mmstar"]], ids=["huge", "list"])
def test_results_of_other_tasks_that_cannot_be_read_cost_only_themselves(out, results):
    rewrite(out, lambda written: written.update(results=results))
    found = load_results([out])
    assert len(found.results) == 1
    assert found.others == []
    assert "The results of other tasks" in found.problems[0]


@pytest.mark.parametrize(
    ("name", "model"),
    [("org/model-7B", "org/model-7B"), ("/data/checkpoints/step-500", "step-500"), ("", "qwen2_5_vl")],
)
def test_a_file_without_crystal_goes_by_its_hub_id_or_its_folder(tmp_path, name, model):
    written = {"results": {"mmstar": {"average,none": 0.5}}, "model_name": name, "config": {"model": "qwen2_5_vl"}}
    (tmp_path / "1_results.json").write_text(json.dumps(written))
    [other] = find_results([tmp_path]).others
    assert other.model == model
