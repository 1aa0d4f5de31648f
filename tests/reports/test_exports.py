"""Exports of a report: CSV, LaTeX and Markdown, read back by what they are for."""

import io
import json
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from lmms_eval_crystal.reports.benchmarks import Score
from lmms_eval_crystal.reports.boards import matrices, p_printed
from lmms_eval_crystal.reports.diagnosis import diagnose
from lmms_eval_crystal.reports.elsewhere import elsewhere
from lmms_eval_crystal.reports.exports import leaderboard_table, write_exports
from lmms_eval_crystal.reports.figures import FIGURES, Exhibit, draw_figures
from lmms_eval_crystal.reports.finding import Finding
from lmms_eval_crystal.reports.latex import to_latex
from lmms_eval_crystal.reports.leaderboard import flags, headline
from lmms_eval_crystal.reports.markdown import PAIRS, to_markdown
from lmms_eval_crystal.reports.statistics import compare_models
from lmms_eval_crystal.reports.study import load_study
from markdown_it import MarkdownIt
from studies import TALKERS, Talker, write_study

NAMES = (
    r"a_b%c&d#e$f{g}h\i^j~k|l<m>n",
    "--dashes `quotes' \"and\" ''more'' ?`!`",
    "Ünïcödé-Ångström-Łódź–ß…",
    "模型-7B 🦙 α≤β \u202eright to left\u202c",
    "a name\nof two lines",
    "=cmd()|' /C calc'!A0",
    "x" * 90,
    "</td><script>alert(1)</script>",
    "[link](javascript:alert(1)) ![](http://example.org/x.png) http://example.org @user *b* `c` $m$",
)


def find_out(folder) -> Finding:
    [board, *_] = load_study([folder]).boards
    comparisons = compare_models({run.label: run.items for run in board.sampled})
    diagnoses = {run.label: diagnose(run.items) for run in board.sampled}
    others = elsewhere(board, {}, comparisons)
    return Finding(
        board,
        board.task,
        headline(board, comparisons),
        flags(board),
        comparisons,
        diagnoses,
        scores={},
        elsewhere=others,
    )


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """Runs whose models have names that every format has a use for."""
    folder = write_study(
        tmp_path_factory.mktemp("named"),
        items=12,
        of=6372,
        talkers=[Talker(f"n{place}") for place in range(len(NAMES))],
    )
    for place, name in enumerate(NAMES):
        file = next((folder / f"n{place}").glob("*_results.json"))
        written = json.loads(file.read_text())
        section = written["crystal"]["crystal"]
        section["model"] = name
        section["generation"] = section["generation"].replace(f"model:n{place}", f"model:{name}")
        file.write_text(json.dumps(written))
    return find_out(folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return find_out(write_study(tmp_path_factory.mktemp("plain"), items=40))


def read_back(findings) -> pd.DataFrame:
    written = leaderboard_table(findings).to_csv(index=False)
    return pd.read_csv(io.StringIO(written), float_precision="round_trip")


def test_the_csv_comes_back_through_pandas_to_the_last_digit(plain):
    table = read_back([plain]).set_index("model")
    for run in plain.board.runs:
        row, metrics = table.loc[run.label], run.result.metrics
        for metric in ("accuracy", "accuracy_strict", "match_f1", "precision", "recall", "lis_multi", "steps"):
            expected = (metrics[metric].mean, metrics[metric].low, metrics[metric].high)
            assert tuple(row[[metric, f"{metric}_low", f"{metric}_high"]]) == expected
        assert row["match_f1_plotqa"] == metrics["match_f1_plotqa"].mean
        assert row["lis_multi_items"] == metrics["lis_multi"].items
        assert np.isnan(row["accuracy_judged"])
        assert (row["scorer"], row["generation"]) == (run.result.scorer, run.result.generation)
        assert (row["items"], row["of"], row["scripted"]) == (40, 40, False)


def test_every_name_comes_back_from_the_csv_as_it_is(named):
    assert set(read_back([named])["model"]) == set(NAMES)


def test_other_benchmarks_and_boards_share_the_csv(plain, named):
    scores = {plain.board.runs[0].label: [Score("mmmu_val", "MMMU", "mmmu_acc", 0.5, 1.0)]}
    with_scores = replace(plain, name="first", scores=scores)
    table = read_back([with_scores, named])
    assert list(table["board"]) == ["first"] * 3 + ["crystal"] * len(NAMES)
    assert table["mmmu_val:mmmu_acc"].dropna().tolist() == [0.5]
    assert list(table.columns[-4:]) == ["differs_from_paper", "scorer", "generation", "results_file"]


def test_files_are_written_whole_and_hold_no_text_of_the_dataset(tmp_path):
    made = find_out(write_study(tmp_path / "out", items=12, texts=("SECRET QUESTION",)))
    files = write_exports([made], tmp_path / "report")
    assert [file.name for file in files] == ["leaderboard.csv", "leaderboard.tex", "report.md"]
    assert sorted(file.name for file in (tmp_path / "report").iterdir()) == sorted(file.name for file in files)
    assert not any("SECRET" in file.read_text("utf-8") for file in files)


@pytest.fixture(scope="module")
def printed(named, tmp_path_factory):
    """The LaTeX table of the named runs as pdfLaTeX sets it: its log."""
    folder = tmp_path_factory.mktemp("tex")
    (folder / "leaderboard.tex").write_text(to_latex([named]), "utf-8")
    (folder / "paper.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs,graphicx}\\begin{document}\\input{leaderboard}\\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-2000:]
    return log


def test_the_latex_table_compiles_whatever_the_models_are_called(printed):
    assert "Output written on paper.pdf (1 page" in printed
    assert "Overfull" not in printed
    assert "Missing character" not in printed


def test_latex_has_the_best_in_bold_only_where_higher_is_better(plain):
    made = to_latex([plain])
    lines = [line for line in made.splitlines() if line.startswith("\\raggedright")]
    head = next(line for line in made.splitlines() if line.startswith("Model")).removesuffix(" \\\\").split(" & ")
    bold = {head[place] for line in lines for place, cell in enumerate(line.split(" & ")) if "textbf" in cell}
    assert {"Accuracy", "Match F1", "Recall"} <= bold
    assert not bold & {"Model", "Precision", "LIS 2+", "Steps", "Usable"}


def test_the_latex_caption_says_items_signature_and_what_is_comparable(named, plain):
    caption = next(line for line in to_latex([named]).splitlines() if line.startswith("\\caption"))
    assert "12 items of 6,372: not the benchmark's score" in caption
    assert "Not comparable with the paper's table: our parser instead of the released one; another prompt" in caption
    assert "tau:0.35" in caption.replace(r"\allowbreak{}", "")
    made = to_latex([named, plain])
    assert made.count("\\begin{table*}") == 2
    assert made.count("\\label{tab:crystal-1}") == made.count("\\label{tab:crystal-2}") == 1
    # A name of several lines must not leave its comment.
    assert all(line[0] in "%\\M" or line.startswith("\\raggedright") for line in made.splitlines() if line)


class Cells(HTMLParser):
    """Rows of the tables of a page, and its tags."""

    def __init__(self):
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.inside = False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def rendered(markdown: str) -> Cells:
    cells = Cells()
    cells.feed(MarkdownIt("commonmark").enable("table").render(markdown))
    return cells


def test_the_markdown_table_shows_every_name_and_number(named):
    page = rendered(to_markdown([named]))
    head = page.rows[0]
    rows = {row[0]: row for row in page.rows[1 : len(NAMES) + 1]}
    assert set(rows) == {" ".join(name.translate({0x202E: None, 0x202C: None}).split()) for name in NAMES}
    assert all(len(row) == len(head) for row in rows.values())
    for run in named.board.runs:
        row = next(row for name, row in rows.items() if name[:9] == " ".join(run.label.split())[:9])
        mean = run.result.metrics["match_f1"]
        assert row[head.index("Match F1")] == f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]"
        assert row[head.index("Steps")] == f"{run.result.metrics['steps'].mean:.1f}"


def test_names_make_no_tags_and_no_links_in_markdown(named):
    page = rendered(to_markdown([named], notes=["/a/path: <b>torn</b> | line\n# 3 http://example.org"]))
    assert not {"script", "a", "img", "b"} & set(page.tags)
    assert page.links == []
    assert "h1" in page.tags
    assert page.tags.count("h1") == 1


def test_markdown_shows_figures_by_relative_paths_with_their_captions(plain):
    drawn = draw_figures(Exhibit(plain.board))
    with_figures = replace(plain, figures=drawn, folder="figures/1-crystal")
    markdown = to_markdown([with_figures])
    expected = [f"figures/1-crystal/{one.name}.svg" for one in drawn]
    assert rendered(markdown).links == expected
    assert len(expected) >= len(FIGURES) - 1
    assert "40 items, 3 models" in markdown


def test_markdown_holds_comparisons_signatures_flags_and_notes(plain, named):
    markdown = to_markdown([plain, named], notes=["Something was torn."])
    assert "- Something was torn." in markdown
    assert markdown.count("### Signatures") == 2
    assert plain.board.scorer in markdown
    assert plain.board.runs[0].result.generation in markdown
    assert "**Part of the data**: 12 of 6,372 items" in markdown
    first = plain.comparisons.iloc[0]
    row = next(row for row in rendered(markdown).rows if row[:2] == [first["first"], first["second"]])
    assert row[2] == f"{first['difference']:+.3f}"
    assert row[4] == p_printed(first["p_holm"])


def test_of_very_many_pairs_markdown_shows_the_neighbours(tmp_path):
    talkers = [Talker(f"m{place}", recall=0.4 + 0.03 * place) for place in range(11)]
    made = find_out(write_study(tmp_path, items=10, talkers=talkers))
    assert (made.comparisons["metric"] == "match_f1").sum() > PAIRS
    markdown = to_markdown([made])
    section = markdown[markdown.index("#### Match F1") : markdown.index("#### Match F1 above null")]
    assert section.count("\n| m") == 10
    assert "Neighbours in the ranking" in section


def test_a_board_without_samples_or_with_one_model_has_no_comparison(tmp_path):
    made = find_out(write_study(tmp_path, items=10, talkers=TALKERS[:1]))
    assert "### Comparison" not in to_markdown([made])
    assert "reaches Match F1" in to_markdown([made])
    assert len(read_back([made])) == 1


def test_an_interval_without_ends_is_said_in_words(tmp_path):
    finding = find_out(write_study(tmp_path, items=4, talkers=TALKERS[:2]))
    text = to_markdown([finding])
    assert "| too few images |" in text
    assert "inf" not in text
    cell = matrices(finding.comparisons)[0].rows[0][1]
    assert (cell.low, cell.high) == ("", "")
