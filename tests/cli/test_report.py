"""``crystal-eval report``: its options, and what it says where something is wrong."""

from pathlib import Path

import pytest
import typer
from lmms_eval_crystal.cli.main import app
from lmms_eval_crystal.cli.pictures import find_pictures
from lmms_eval_crystal.cli.report import _kin, _licence, _place
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.reports.figures import registry
from studies import TALKERS, Talker, write_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("study"), items=8, talkers=TALKERS[:1])


def report(*arguments: object) -> None:
    app(["report", *map(str, arguments)], standalone_mode=False)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--items", "some"], "neither a number of items nor `all`"),
        (["--items", "²"], "neither a number of items nor `all`"),
        (["--items", "0"], "neither a number of items nor `all`"),
        (["--sound-f1", "2"], "give a number from 0 to 1"),
        (["--scores", "missing.csv"], "missing.csv cannot be read"),
        (["--aliases", "missing.yaml"], "missing.yaml cannot be read"),
        (["--dataset", "./missing"], "./missing: there is no such file or folder.*--dataset"),
    ],
)
def test_a_wrong_option_gets_one_sentence(folder, tmp_path, options, sentence):
    with pytest.raises(CrystalError, match=sentence):
        report(folder, "-o", tmp_path / "out", *options)
    assert not (tmp_path / "out" / "report.html").exists()


def test_the_rule_of_the_diagnosis_is_one_of_two(folder, tmp_path):
    with pytest.raises(typer.BadParameter, match="'both' is not one of 'strict', 'paper'"):
        report(folder, "-o", tmp_path / "out", "--answers", "both")


def test_a_folder_that_is_missing_or_has_no_results_gets_one_sentence(tmp_path):
    with pytest.raises(CrystalError, match="does not exist"):
        report(tmp_path / "missing", "-o", tmp_path / "out")
    with pytest.raises(CrystalError, match="No CRYSTAL results"):
        report(tmp_path, "-o", tmp_path / "out")


def test_a_folder_that_cannot_be_written_gets_one_sentence(folder, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CrystalError, match=r"cannot be written.*name another place with -o"):
        report(folder, "-o", tmp_path / "file" / "out", "--public")


def test_kin_is_told_by_hub_id_and_by_the_papers_name():
    assert "Qwen2.5-VL" in (_kin("Qwen/Qwen2.5-VL-7B-Instruct") or "")
    assert _kin("Qwen2.5-VL-7B") == _kin("qwen/qwen2.5-vl-7b-instruct")
    assert _kin("org/Reasoner-7B") is None


def test_each_task_comes_with_the_licence_of_its_data():
    assert "CC-BY-NC-SA-4.0" in " ".join(_licence({"crystal"}))
    assert "CC-BY-NC-SA-4.0" not in " ".join(_licence({"crystal_mini"}))
    assert len(_licence({"crystal_paper", "crystal_mini"})) == 2
    [own] = _licence({"my_items"})
    assert own.startswith("Questions and reference steps of other tasks are of whoever made them")


def test_names_that_look_like_markup_or_steer_the_terminal_are_printed_as_text(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(registry, "FIGURES", registry.FIGURES[:1])
    write_study(tmp_path / "a", 6, [Talker("[/b]evil")], encoder="x[/b]y@1")
    write_study(tmp_path / "b", 6, [Talker("red\x1b[31m")], encoder="z@1")
    report(tmp_path, "-o", tmp_path / "out", "--public", "--items", "all")
    out = capsys.readouterr().out
    assert "[/b]evil reaches Match F1" in out
    assert "red[31m reaches Match F1" in out
    assert "\x1b" not in out


def test_samples_are_no_dataset_for_thumbnails(folder, tmp_path):
    with pytest.raises(CrystalError, match=r"has no column image.*--dataset"):
        report(folder, "-o", tmp_path / "out", "--dataset", next(folder.rglob("*.jsonl")))


def test_own_items_are_not_looked_for_in_the_benchmark(monkeypatch):
    monkeypatch.delenv("CRYSTAL_DATASET", raising=False)
    pictures, [note] = find_pictures({"my_items", "crystal_mini"}, "")
    assert pictures.keys() == {"crystal_mini"}
    assert note == "No thumbnails for my_items: name the data that has its pictures with --dataset."


def test_a_report_goes_beside_the_results_of_a_single_folder(folder, tmp_path):
    assert _place([folder]) == folder / "report"
    assert _place([folder, tmp_path]) == _place([folder / "results.json"]) == Path("out/report")
