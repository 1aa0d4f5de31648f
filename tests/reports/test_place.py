"""The folder of a report: what an earlier report left goes, what is somebody else's stays."""

import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.reports import report
from lmms_eval_crystal.reports.figures import registry
from lmms_eval_crystal.reports.report import Options, write_report
from lmms_eval_crystal.reports.study import load_study
from studies import TALKERS, write_study

pytestmark = pytest.mark.usefixtures("few_figures")


@pytest.fixture(scope="module")
def few_figures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "FIGURES", registry.FIGURES[:1])
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return load_study([write_study(tmp_path_factory.mktemp("study"), 12, TALKERS[:2])])


def names(folder) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_a_public_report_leaves_nothing_of_a_private_one_in_its_folder(study, tmp_path):
    write_report(study, tmp_path, Options(items=None))
    old = {"items/0-007.js", "items/3-000.js", "figures/ranks.svg", "figures/2-crystal/order.png"}
    kept = {"items/mine.js", "items/0-1.js", "figures/mine.svg", "figures/mine/ranks.svg", "notes.txt"}
    for name in old | kept:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a question")
    write_report(study, tmp_path, Options(public=True))
    left = names(tmp_path)
    assert not left & {*old, "items/0-000.js"}
    assert kept < left


@pytest.mark.parametrize(
    "name", ["report.html", "report.md", "leaderboard.csv", "leaderboard.tex", "figures/ranks.png", "items/0-000.js"]
)
def test_a_file_of_somebody_else_is_not_replaced(study, tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("my own")
    with pytest.raises(CrystalError, match="name another folder with -o"):
        write_report(study, tmp_path, Options())
    assert names(tmp_path) == {name}
    assert file.read_text() == "my own"


def test_a_report_that_is_interrupted_leaves_no_old_page_beside_new_items_and_can_be_made_again(
    study, tmp_path, monkeypatch
):
    write_report(study, tmp_path, Options(items=None))
    with monkeypatch.context() as patch:
        patch.setattr(report, "render", lambda page: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            write_report(study, tmp_path, Options(items=None))
    assert not (tmp_path / "report.html").exists()
    write_report(study, tmp_path, Options(items=None))
    assert (tmp_path / "report.html").exists()
