"""Figures of a report: what they show, how they are made, and that they can be read."""

import itertools
import json
import math
import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import pandas as pd
import pytest
from collisions import collisions
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.reports.diagnosis import Thresholds, diagnose
from lmms_eval_crystal.reports.figures import (
    FIGURES,
    Drawn,
    Exhibit,
    draw_figures,
    registry,
    to_inline_svg,
    to_png,
    to_svg,
    write_figures,
)
from lmms_eval_crystal.reports.figures.order import in_random_order
from lmms_eval_crystal.reports.figures.stacks import CLASSES, STATUSES
from lmms_eval_crystal.reports.figures.strata import quantile_ranges
from lmms_eval_crystal.reports.figures.theme import COLOURS, INK, MUTED, PAPER, RULE, contrast, short_names, text_on
from lmms_eval_crystal.reports.study import load_study
from studies import TALKERS, Talker, write_study

DARK_PAGE = "#14171c"
SVG = "{http://www.w3.org/2000/svg}"
NAMES = [talker.model.rpartition("/")[2] for talker in TALKERS]


def exhibit(folder, **more) -> Exhibit:
    """The first board under a folder with its diagnoses and, where there are several models, other benchmarks."""
    [board, *_] = load_study([folder]).boards
    diagnoses = {run.label: diagnose(run.items) for run in board.sampled}
    benchmarks = {run.label: place / 30 for place, run in enumerate(board.runs)}
    return Exhibit(board, diagnoses, benchmarks, str(Thresholds()), **more)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return exhibit(write_study(tmp_path_factory.mktemp("three"), items=80))


@pytest.fixture(scope="module")
def drawn(three):
    return {one.name: one for one in draw_figures(three)}


def draw(shown: Exhibit, *names: str) -> dict[str, Drawn]:
    """Some of the figures, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "FIGURES", [entry for entry in FIGURES if entry.name in names])
        return {one.name: one for one in draw_figures(shown)}


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg.encode()).iter(f"{SVG}text")]


def test_each_figure_is_drawn_and_says_of_how_many_items_it_is_made(drawn):
    assert list(drawn) == [entry.name for entry in FIGURES]
    for one in drawn.values():
        assert one.caption.startswith("80 items, 3 models")
        assert one.caption.endswith((".", "(3 models have one)."))


@pytest.mark.parametrize("name", [entry.name for entry in FIGURES])
def test_texts_are_texts_and_name_the_models(drawn, name):
    found = texts(to_svg(drawn[name].figure, drawn[name].title))
    assert set(NAMES) <= {re.sub(r"^[\d.]+ +| +[\d.]+$", "", text) for text in found}


def test_the_same_data_give_the_same_bytes_whatever_a_user_sets(drawn, three):
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "pink", "svg.fonttype": "path", "svg.hashsalt": None}):
        again = {one.name: one for one in draw_figures(three)}
        for name, one in drawn.items():
            assert to_svg(again[name].figure, one.title) == to_svg(one.figure, one.title), name
        assert to_png(again["order"].figure) == to_png(drawn["order"].figure)


@pytest.mark.parametrize("name", [entry.name for entry in FIGURES])
def test_a_figure_in_a_page_takes_the_pages_colours_and_font(drawn, name):
    svg = to_inline_svg(drawn[name].figure, f"b0-{name}", drawn[name].title)
    root = ET.fromstring(svg)
    assert not any(colour in svg for colour in (INK, MUTED, RULE, PAPER))
    assert "currentColor" in svg
    assert "font-family" not in svg
    # A strict Content-Security-Policy refuses both.
    assert not any("style" in element.attrib or element.tag == f"{SVG}style" for element in root.iter())
    assert root.get("role") == "img"
    assert root.get("aria-label") == drawn[name].title
    assert len(svg) < 60_000
    assert set(re.findall(r"(?:href|src)=\"([^#\"][^\"]*)\"", svg)) == set()


def test_figures_in_one_page_share_no_ids(drawn):
    page = "".join(to_inline_svg(one.figure, name, one.title) for name, one in drawn.items())
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", page)) | set(re.findall(r'href="#([^"]+)"', page)) == set(ids)


def test_a_figure_file_is_still_on_white_after_it_was_put_into_a_page(drawn):
    one = drawn["ranks"]
    before = to_svg(one.figure, one.title)
    to_inline_svg(one.figure, "x", one.title)
    assert to_svg(one.figure, one.title) == before
    assert f'fill="{PAPER}"' in before


def test_files_are_written_whole(drawn, tmp_path):
    files = write_figures(list(drawn.values())[:2], tmp_path / "figures")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(file.name for file in files)
    assert {file.suffix for file in files} == {".svg", ".png"}
    assert all(file.stat().st_size > 1000 for file in files)


#: Figures whose layout changes with the number of models; the others only grow longer.
CROWDED = ("ranks", "precision_recall", "accuracy_match_f1", "steps", "reference_steps")


@pytest.mark.parametrize(("models", "names"), [(2, ()), (8, ()), (25, CROWDED)])
def test_no_text_lies_on_another_for_any_number_of_models(tmp_path, models, names, monkeypatch):
    talkers = [
        Talker(
            f"organisation-{place}/Vision-Model-{place}B-Instruct",
            recall=0.3 + 0.02 * place,
            extra=1 + place % 5,
            right=0.3 + 0.01 * place,
            malformed=0.3 if place == 0 else 0.0,
        )
        for place in range(models)
    ]
    wanted = names or {entry.name for entry in FIGURES}
    drawn = draw(exhibit(write_study(tmp_path, items=30, talkers=talkers)), *wanted)
    assert set(drawn) == set(wanted)
    found = {name: collisions(one.figure, monkeypatch) for name, one in drawn.items()}
    assert {name: pairs for name, pairs in found.items() if pairs} == {}


HOSTILE_NAMES = ("a$x^2$b", "<script>&amp;", "line\nbreak\u202eleft\x07", "\uffff模型", "x" * 300, "%s {0} \\frac")


def test_names_are_shown_as_they_are_and_break_nothing(tmp_path):
    study = write_study(tmp_path, items=10, talkers=[Talker(f"n{place}") for place in range(len(HOSTILE_NAMES))])
    for place, name in enumerate(HOSTILE_NAMES):
        file = next((study / f"n{place}").glob("*_results.json"))
        written = json.loads(file.read_text())
        written["crystal"]["crystal"]["model"] = name
        file.write_text(json.dumps(written))
    for one in draw(exhibit(tmp_path), "ranks", "precision_recall", "reference_steps").values():
        assert to_png(one.figure)[:4] == b"\x89PNG"
        found = "\n".join(texts(to_inline_svg(one.figure, one.name, one.title)))
        assert "a$x^2$b" in found
        assert "<script>" in found
        assert "\u202e" not in found


def test_a_single_model_has_no_ranks_and_everything_else(tmp_path):
    drawn = draw_figures(exhibit(write_study(tmp_path, items=80, talkers=TALKERS[:1])))
    assert {entry.name for entry in FIGURES} - {one.name for one in drawn} == {"ranks"}
    assert "80 items, 1 model." in drawn[0].caption


def test_a_run_without_samples_keeps_its_means_and_is_named_where_it_is_left_out(tmp_path):
    write_study(tmp_path, items=20)
    next((tmp_path / "org__Guesser-8B").glob("*.jsonl")).unlink()
    drawn = draw(exhibit(tmp_path), "match_f1", "distribution")
    assert "Guesser-8B" in texts(to_svg(drawn["match_f1"].figure, ""))
    assert "Guesser-8B" not in texts(to_svg(drawn["distribution"].figure, ""))
    assert "2 models (1 without samples left out)" in drawn["distribution"].caption


def test_a_run_with_torn_samples_is_named_in_the_captions_of_figures_of_items(tmp_path):
    write_study(tmp_path, items=20)
    samples = next(tmp_path.rglob("*.jsonl"))
    samples.write_bytes(samples.read_bytes()[:-300])
    drawn = draw(exhibit(tmp_path), "match_f1", "statuses")
    assert "(1 with fewer items, since lines of its samples cannot be used)" in drawn["statuses"].caption
    assert "fewer" not in drawn["match_f1"].caption


def test_without_any_samples_the_figures_of_means_remain(tmp_path):
    write_study(tmp_path, items=20)
    for file in tmp_path.rglob("*.jsonl"):
        file.unlink()
    names = {one.name for one in draw_figures(exhibit(tmp_path))}
    assert names == {"match_f1", "ranks", "precision_recall", "accuracy_match_f1", "steps", "order", "sources"}


def test_part_of_the_data_is_said_in_every_caption(tmp_path):
    drawn = draw_figures(exhibit(write_study(tmp_path, items=20, talkers=TALKERS[:1], of=6372)))
    assert all("20 of 6,372 items" in one.caption for one in drawn)


def test_printed_numbers_are_those_of_the_results(drawn, three):
    found = texts(to_svg(drawn["match_f1"].figure, ""))
    for run in three.board.runs:
        mean = run.result.metrics["match_f1"]
        assert f"{mean.mean:.3f}  [{mean.low:.3f}, {mean.high:.3f}]" in found


def widths(figure) -> list[float]:
    return [patch.get_width() for patch in figure.axes[0].patches]


def test_stacked_bars_are_the_shares_of_the_items(drawn, three):
    expected = [
        share
        for run in three.board.runs
        for one in CLASSES
        if (share := (three.diagnoses[run.label].astype(str) == one.key).mean())
    ]
    assert widths(drawn["diagnosis"].figure) == pytest.approx(expected)
    statuses = [
        share
        for run in three.board.runs
        for one in STATUSES
        if run.items is not None and (share := (run.items["status"] == one.key).mean())
    ]
    assert widths(drawn["statuses"].figure) == pytest.approx(statuses)


def test_a_scripted_run_has_an_asterisk_and_a_hollow_mark(tmp_path):
    write_study(tmp_path, items=20)
    file = next((tmp_path / "org__Guesser-8B").glob("*_results.json"))
    file.write_text(file.read_text().replace("scripted:no", "scripted:yes"))
    shown = exhibit(tmp_path)
    [style] = [style for style in shown.styles if style.hollow]
    assert (style.name, style.face) == ("Guesser-8B*", PAPER)
    for one in draw(shown, "match_f1", "ranks", "accuracy_match_f1", "reference_steps").values():
        assert any("scripted stand-in" in text for text in texts(to_svg(one.figure, "")))


def test_the_null_is_shown_and_explained_where_there_is_one(tmp_path):
    def set_null(mean):
        for file in tmp_path.rglob("*_results.json"):
            written = json.loads(file.read_text())
            written["crystal"]["crystal"]["metrics"]["null_f1"] = {"mean": mean, "items": 20}
            file.write_text(json.dumps(written))

    write_study(tmp_path, items=20)
    set_null(None)
    assert "no null" in draw(exhibit(tmp_path), "steps")["steps"].caption
    set_null(0.11)
    with_null = draw(exhibit(tmp_path), "steps", "match_f1")
    for name in ("steps", "match_f1"):
        assert "the null" in with_null[name].caption or "its null" in with_null[name].caption
        lines = [line for axes in with_null[name].figure.axes for line in axes.get_lines()]
        assert sum(0.11 in [*line.get_xdata(), *line.get_ydata()] for line in lines) >= 3


def test_models_without_other_benchmarks_end_at_match_f1(three):
    known = dict(itertools.islice(three.benchmarks.items(), 2))
    shown = Exhibit(three.board, benchmarks=known | {three.board.runs[2].label: float("nan")})
    ranks = draw(shown, "ranks")["ranks"]
    assert "(2 models have one)" in ranks.caption
    assert texts(to_svg(ranks.figure, "")).count("benchmarks") == 1
    assert texts(to_svg(ranks.figure, "")).index("benchmarks") > 0


def test_figures_hold_no_text_of_the_dataset_or_of_a_model(tmp_path):
    write_study(tmp_path, items=20, talkers=TALKERS[:1], texts=("SECRET QUESTION",))
    for one in draw_figures(exhibit(tmp_path)):
        assert "SECRET" not in to_svg(one.figure, one.title) + one.caption


@pytest.mark.parametrize("colour", COLOURS)
def test_colours_are_seen_in_light_and_dark_and_carry_text(colour):
    assert contrast(colour, PAPER) >= 3
    assert contrast(colour, DARK_PAGE) >= 3
    assert contrast(colour, text_on(colour)) >= 4.5


def test_no_two_of_many_models_look_alike(tmp_path):
    write_study(tmp_path, items=8, talkers=[Talker(f"m{place}") for place in range(25)])
    styles = exhibit(tmp_path).styles
    assert len({(style.colour, style.marker) for style in styles}) == 25


@given(st.lists(st.text(max_size=60), min_size=1, max_size=8, unique=True), st.integers(8, 30))
def test_short_names_stay_different(labels, length):
    names = short_names(labels, length)
    assert len(set(names)) == len(names)
    assert all(names)


@given(st.lists(st.integers(1, 25), min_size=1, max_size=200), st.integers(1, 6))
def test_ranges_of_step_counts_hold_every_item_once(counts, parts):
    ranges = quantile_ranges(pd.Series(counts), parts)
    assert 1 <= len(ranges) <= parts
    assert all(sum(low <= count <= high for low, high in ranges) == 1 for count in counts)
    assert all(any(low <= count <= high for count in counts) for low, high in ranges)


def test_random_order_is_three_quarters_for_two_matches_and_less_for_more():
    assert in_random_order(pd.Series([2, 2, 0, 1])) == pytest.approx(0.75, abs=0.02)
    assert in_random_order(pd.Series([3])) == pytest.approx(2 / 3, abs=0.02)
    assert in_random_order(pd.Series([500])) < 0.35
    assert math.isnan(in_random_order(pd.Series([0, 1])))


def test_no_name_lies_on_the_line_down_to_a_null(tmp_path):
    # At the top of the figure there is room below a mark only, which is where that line goes.
    talkers = [Talker(f"a-rather-long-name-{place}", recall=1.0, extra=0.0, malformed=0.0) for place in range(3)]
    [shown] = draw(exhibit(write_study(tmp_path, items=20, talkers=talkers)), "steps").values()
    [axes] = shown.figure.axes
    dotted = [line.get_window_extent() for line in axes.lines if line.get_linestyle() == "--"]
    assert len(dotted) == len(talkers)
    for name in axes.texts:
        assert not any(name.get_window_extent().overlaps(line) for line in dotted), name.get_text()
