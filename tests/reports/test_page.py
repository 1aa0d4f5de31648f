"""The page as a text: what is in it, what is not, and that nothing in it runs but its own script."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import pandas as pd
import pytest
from lmms_eval_crystal.reports.boards import agreed
from lmms_eval_crystal.reports.figures import Exhibit, answers, registry
from lmms_eval_crystal.reports.leaderboard import shown
from lmms_eval_crystal.reports.method import counted_as, method
from lmms_eval_crystal.reports.report import Options, Work, board_names, write_report
from lmms_eval_crystal.reports.study import load_study
from studies import HOSTILE, TALKERS, Talker, write_study

pytestmark = pytest.mark.usefixtures("few_figures")
OTHERS = {
    "org/Reasoner-7B": {"mmmu_val": {"mmmu_acc,none": 0.512}, "my_bench": {"my_accuracy,none": 0.25}},
    "org/Guesser-8B": {"mmmu_val": {"mmmu_acc,none": 0.498}},
}


@pytest.fixture(scope="module")
def few_figures():
    """Two figures instead of all: they have tests of their own, and drawing them takes longer than all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "FIGURES", registry.FIGURES[:3:2])
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory, few_figures):
    """A small study with other benchmarks: the study, its page and the folder."""
    folder = tmp_path_factory.mktemp("report")
    study = load_study([write_study(folder / "in", items=24, others=OTHERS, of=6372)])
    write_report(study, folder / "out", Options(items=10))
    return study, (folder / "out" / "report.html").read_text("utf-8"), folder / "out"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, few_figures):
    folder = tmp_path_factory.mktemp("hostile")
    talkers = [*TALKERS[:1], Talker("</td><script>window.__pwned = 1</script>")]
    write_report(load_study([write_study(folder / "in", 14, talkers, HOSTILE)]), folder / "out", Options())
    return (folder / "out" / "report.html").read_text("utf-8")


def cells(html: str, model: str) -> list[str]:
    """What the cells of a row of the leaderboard export."""
    row = re.search(rf'<th scope="row" data-values="{re.escape(model)}">.*?</tr>', html, re.S)
    return re.findall(r'<td[^>]* data-values="([^"]*)"', row[0])


def items_in(html: str, board: int = 0) -> dict:
    return json.loads(re.search(rf'<script type="application/json" id="items-{board}">(.*?)</script>', html, re.S)[1])


def test_the_table_prints_what_the_results_file_says(made):
    study, html, _ = made
    for run in study.boards[0].runs:
        written = json.loads(run.result.file.read_text("utf-8"))["results"]["crystal"]
        f1, above, accuracy, paired = cells(html, run.label)[:4]
        assert f1.split("|")[0] == shown(written["match_f1,none"], 3)
        assert above == shown(written["f1_above_null,none"], 3)
        assert accuracy.split("|") == [shown(written[f"{name},none"], 3) for name in ("accuracy", "accuracy_strict")]
        assert paired.split("|") == [shown(written[f"{name},none"], 3) for name in ("precision", "recall")]


def test_names_in_headers_break_after_their_own_marks_and_stand_at_both_ends_of_the_rank_chart(made):
    _, html, _ = made
    assert '− <span class="foreign named" dir="auto">org/<wbr>Reasoner-<wbr>7B</span>' in html
    chart = re.search(r'<svg viewBox[^>]*aria-label="Ranks.*?</svg>', html, re.S)[0]
    assert chart.count(">Reasoner-7B</text>") == 2
    assert '<div class="first wide">' in html


def test_the_exported_table_has_shares_as_the_csv_beside_it(made):
    study, html, folder = made
    table = pd.read_csv(folder / "leaderboard.csv").set_index("model")
    for run in study.boards[0].runs:
        ours, row = cells(html, run.label), table.loc[run.label]
        assert f"{row['format_usable']:.3f}|{row['truncated']:.3f}" in ours
        assert f"{row['ordered_f1']:.3f}|{row['lis_multi']:.3f}" in ours
        assert f"{row['lis_multi']:.3f} ({row['lis_multi_items']})" in html


def test_what_an_unreadable_response_counts_as_is_said_by_the_parser():
    ours, released = "crystal|v:1|parse:ours", "crystal|v:1|parse:released"
    assert counted_as([ours]) == "as one step that matches nothing and no answer"
    assert counted_as([released]) == "as no step and no answer"
    assert "or with the released parser" in counted_as([ours, released])
    assert any(counted_as([released]) in text for _, text in method([released]))


def test_verdicts_that_never_differ_get_a_sentence_and_no_empty_figure(made):
    study, _, _ = made
    board = study.boards[0]
    assert agreed(board) == ""
    run = board.runs[0]
    items = run.items.assign(accuracy_strict=run.items["accuracy"])
    alike = replace(board, runs=(replace(run, samples=replace(run.samples, items=items)),))
    assert "agree on every item" in agreed(alike)
    assert answers.draw(Exhibit(alike)) is None


def test_other_benchmarks_have_a_column_that_is_blank_where_they_were_not_run(made):
    _, html, _ = made
    assert cells(html, "org/Reasoner-7B")[-2:] == ["51.2", "25.0"]
    assert cells(html, "org/Guesser-8B")[-2:] == ["49.8", ""]
    assert cells(html, "other/Talker-3B")[-2:] == ["", ""]
    assert "a guess at its main metric" in html


def test_a_part_of_the_data_and_what_differs_from_the_paper_are_said(made):
    _, html, _ = made
    assert "24 of 6,372" in html
    assert "not comparable</span> our parser instead of the released one; another prompt" in html


def test_the_papers_rows_are_there_hidden_and_marked(made):
    _, html, _ = made
    rows = re.findall(r'<tr class="paper" hidden>.*?</tr>', html, re.S)
    assert len(rows) == 20
    assert all("published" in row for row in rows)


def test_the_page_is_the_same_each_time(made, tmp_path):
    study, html, _ = made
    write_report(study, tmp_path, Options(items=10))
    assert (tmp_path / "report.html").read_text("utf-8") == html


def test_figures_are_written_and_their_texts_are_in_the_page(made):
    _, html, folder = made
    assert (folder / "figures" / "match_f1.svg").exists()
    assert (folder / "figures" / "match_f1.png").read_bytes().startswith(b"\x89PNG")
    assert html.count("<figcaption>") == html.count("<figure ")


def test_the_viewer_gets_as_many_items_as_were_asked_for_and_those_that_the_diagnosis_leads_to(made):
    _, html, _ = made
    ids = {row["id"] for row in items_in(html)["rows"]}
    assert len(ids) >= 10
    links = re.findall(r'href="#item=(\d+)&amp;model=', html)
    assert links
    assert set(map(int, links)) <= ids


def test_only_the_pages_own_script_and_style_sheet_are_allowed(made, hostile):
    for html in (made[1], hostile):
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
        assert policy.startswith("default-src 'none'; img-src data:;")
        assert "unsafe" not in policy
        [script] = re.findall(r"<script>(.*?)</script>", html, re.S)
        [style] = re.findall(r"<style>(.*?)</style>", html, re.S)
        for text in (script, style):
            assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
        assert not re.search(r"<[^>]* style=", html)
        assert not re.search(r"<[^>]* on\w+=", html)


def test_no_text_of_a_model_or_dataset_is_markup(hostile):
    outside = re.sub(r'<script type="application/json".*?</script>', "", hostile, flags=re.S)
    assert "window.__pwned" in outside, "the name of a model is shown"
    assert not re.search(r"<script>window|<img", outside)
    inside = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', hostile, re.S)
    assert len(inside) == 2
    assert not [text for text in inside if set("<>&") & set(text)]


def test_hostile_texts_read_back_unchanged(hostile):
    texts = json.dumps(items_in(hostile)["bodies"], ensure_ascii=False)
    assert [text for text in HOSTILE if json.dumps(text, ensure_ascii=False)[1:-1] in texts]


def test_a_public_page_has_numbers_and_no_texts(made, tmp_path):
    study, html, _ = made
    write_report(study, tmp_path, Options(public=True, licence=()))
    public = (tmp_path / "report.html").read_text("utf-8")
    run = study.boards[0].runs[0]
    record = run.samples.record(items_in(html)["rows"][0]["id"])["crystal"]
    private = [record["question"], *record["reference_steps"], *record["predicted_steps"]]
    assert all(text in html for text in private)
    assert not [text for text in private if text in public]
    assert cells(public, run.label) == cells(html, run.label)


def test_a_public_page_tells_neither_folders_nor_contents_of_its_input(tmp_path):
    secret = tmp_path / "my secret folder"
    write_study(secret, items=12)
    no_samples, torn, gone = sorted(secret.rglob("*.jsonl"))
    no_samples.unlink()
    torn.write_text(torn.read_text("utf-8") + '{"torn\n', "utf-8")
    gone.unlink()
    gone.mkdir()
    mean = {"mean": "What is hidden?"}
    (secret / "a_results.json").write_text(json.dumps({"crystal": {"crystal": {"metrics": {"match_f1": mean}}}}))
    (secret / "b_results.json").write_text(json.dumps({"results": {"mmmu_val": {"mmmu_acc,none": "What is hidden?"}}}))
    (secret / "c_results.json").write_text("{}")
    study = load_study([secret])
    assert len(study.notes) >= 6
    for public in (False, True):
        write_report(study, tmp_path / "out", Options(public=public))
        for name in ("report.html", "report.md", "leaderboard.csv", "leaderboard.tex"):
            text = (tmp_path / "out" / name).read_text("utf-8")
            assert not public or not [word for word in ("secret", str(tmp_path), "What is hidden") if word in text]
        page = (tmp_path / "out" / "report.html").read_text("utf-8")
        assert "a_results.json" in page
        assert ("my secret folder" in page and "What is hidden" in page) is not public


def test_all_items_lie_beside_the_page(tmp_path):
    study = load_study([write_study(tmp_path / "in", items=330)])
    written = write_report(study, tmp_path / "out", Options(items=None))
    data = items_in((tmp_path / "out" / "report.html").read_text("utf-8"))
    assert len(data["rows"]) == 330
    assert len(data["bodies"]) == 300
    beside: dict[str, dict] = {}
    for name in data["files"]:
        assert tmp_path / "out" / name in written.files
        script = (tmp_path / "out" / name).read_text("utf-8")
        beside |= json.loads(f"[{script.removeprefix('crystalItems(').removesuffix(');' + chr(10))}]")[1]
    assert len(beside) == 30
    assert not beside.keys() & data["bodies"].keys()


def test_two_ways_of_scoring_get_a_tab_each_named_by_the_difference(tmp_path):
    write_study(tmp_path / "in", items=12, talkers=TALKERS[:1])
    write_study(tmp_path / "in", items=12, talkers=TALKERS[1:2], encoder="other/encoder@main")
    study = load_study([tmp_path / "in"])
    names = board_names(study.boards)
    assert len(set(names)) == 2
    assert all("enc" in name for name in names)
    write_report(study, tmp_path / "out", Options())
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert html.count('<button type="button" role="tab"') == 2
    assert [items_in(html, board)["models"] for board in (0, 1)] == [
        [run.label for run in b.runs] for b in study.boards
    ]
    assert len(list((tmp_path / "out" / "figures").iterdir())) == 2


def test_results_without_samples_still_get_a_page(tmp_path):
    write_study(tmp_path / "in", items=12, talkers=TALKERS[:2])
    for file in (tmp_path / "in").rglob("*_samples_*"):
        file.unlink()
    study = load_study([tmp_path / "in"])
    write_report(study, tmp_path / "out", Options())
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "no samples" in html
    assert 'id="items-0"' not in html


def test_the_figure_of_diagnoses_states_the_thresholds(made):
    _, _, folder = made
    assert "Thresholds: right: accuracy" in (folder / "report.md").read_text("utf-8")


def test_long_work_is_told_of_in_parts_that_add_up(tmp_path):
    class Counted(Work):
        def __init__(self):
            self.totals, self.done = {}, {}

        def start(self, task, total):
            self.task = task
            self.totals[task], self.done[task] = total, 0

        def advance(self, parts=1):
            self.done[self.task] += parts

    work = Counted()
    write_report(load_study([write_study(tmp_path / "in", items=12)]), tmp_path / "out", Options(), work)
    assert work.totals
    assert work.done == work.totals
