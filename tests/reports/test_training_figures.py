"""Figures of trainings: which panels there are, and that they can be read."""

import xml.etree.ElementTree as ET

import pandas as pd
import pytest
from collisions import collisions
from lmms_eval_crystal.reports.figures import to_inline_svg, to_svg
from lmms_eval_crystal.reports.figures.theme import theme
from lmms_eval_crystal.reports.training import curves, dynamics
from lmms_eval_crystal.reports.training.find import find_trainings
from lmms_eval_crystal.reports.training.methods import groups
from trainings import PAPER_PHASES, write_training

TITLES = [view.title for view in dynamics.VIEWS]
LONG = tuple(phase | {"steps": steps} for phase, steps in zip(PAPER_PHASES, (1400, 2800), strict=True))


def training(folder, **options):
    [found], _ = find_trainings([write_training(folder, results=False, **options)])
    return found


def drawn(found):
    with theme():
        return dynamics.draw(found)


def titles(figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_two_phases_with_surgery_have_all_panels(tmp_path):
    figure = drawn(training(tmp_path / "a"))
    assert titles(figure) == TITLES
    svg = to_svg(figure, "x")
    texts = [element.text for element in ET.fromstring(svg.encode()).iter("{http://www.w3.org/2000/svg}text")]
    # The names of the phases stand above the first line of panels only.
    assert texts.count("phase 1") == texts.count("phase 2") == 2


def test_what_was_not_logged_has_no_panel_and_one_phase_no_name(tmp_path):
    figure = drawn(training(tmp_path / "a", method="answer-only", phases=PAPER_PHASES[:1]))
    assert titles(figure) == [title for title in TITLES if "Cosine" not in title]
    assert "phase 1" not in to_svg(figure, "x")


def test_a_training_without_numbers_has_no_figure(tmp_path):
    found = training(tmp_path / "a")
    assert drawn(type(found)(found.folder, "a", {}, (), found.log[[]], found.validations[[]])) is None


@pytest.mark.parametrize("nan_at", [None, 55])
def test_no_text_lies_on_another(tmp_path, monkeypatch, nan_at):
    assert collisions(drawn(training(tmp_path / "a", nan_at=nan_at)), monkeypatch) == []


def test_a_paper_sized_training_is_a_small_figure(tmp_path):
    figure = drawn(training(tmp_path / "a", phases=LONG, every=100))
    assert len(to_inline_svg(figure, "a", "x")) < 150_000


def test_a_line_is_drawn_by_few_points_with_the_same_mean():
    values = pd.Series(range(4000), index=range(1, 4001), dtype=float)
    thin = dynamics.thinned(values)
    assert len(thin) <= dynamics.POINTS
    assert thin.mean() == pytest.approx(values.mean())


def test_the_curves_of_methods_name_each_and_can_be_read(tmp_path, monkeypatch):
    for method in ("answer-only", "composite", "cpr", "cpr-curriculum"):
        for seed in (1, 2):
            write_training(tmp_path / f"{method}-{seed}", method, seed, results=False)
    by_method = groups(find_trainings([tmp_path])[0])
    with theme():
        figure = curves.draw(by_method)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [group.label for group in by_method]
    assert collisions(figure, monkeypatch) == []
    assert curves.caption(by_method).startswith("8 trainings.")


def test_trainings_that_were_measured_once_have_no_curves(tmp_path):
    found = [training(tmp_path / name, every=1000) for name in ("a", "b")]
    with theme():
        assert curves.draw(groups([found[0]])) is None
