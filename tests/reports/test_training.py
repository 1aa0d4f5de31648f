"""What a report says of trainings: before and after, phases, diagnostics, and methods over seeds."""

import json
import math
import re
import shutil
from pathlib import Path

import lmms_eval_crystal
import numpy as np
import pandas as pd
import pytest
from lmms_eval_crystal.reports.load import find_results
from lmms_eval_crystal.reports.report import Options, write_report
from lmms_eval_crystal.reports.statistics import paired_difference
from lmms_eval_crystal.reports.study import load_study
from lmms_eval_crystal.reports.training.changes import Change, change_of, changes, in_short, verdict
from lmms_eval_crystal.reports.training.find import find_trainings
from lmms_eval_crystal.reports.training.methods import contrasts, groups, mixed_data, mixed_recipes, spread, summary
from lmms_eval_crystal.reports.training.paper import (
    SETTINGS_FILE,
    STRATEGIES_FILE,
    WEIGHTS_FILE,
    WEIGHTS_NOTE,
    published,
)
from lmms_eval_crystal.reports.training.section import make_section
from lmms_eval_crystal.reports.training.tables import diagnostics_table, phases_table
from scipy import stats
from trainings import MODEL, PAPER_PHASES, write_training

ONE_PHASE = ({"steps": 40, "learning_rate": 1e-6, "per_device_batch": 4, "candidates": 4, "accumulation": 1},)


def read(folder):
    [training], notes = find_trainings([folder])
    assert not notes
    return training


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A training in two phases with the results of before and after."""
    return write_training(tmp_path_factory.mktemp("training") / "cpr-42")


@pytest.fixture(scope="module")
def training(folder):
    return read(folder)


@pytest.fixture
def own(folder, tmp_path):
    """The same to be changed by a test."""
    return shutil.copytree(folder, tmp_path / "own")


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Two methods over three seeds, and a third that broke off."""
    out = tmp_path_factory.mktemp("several")
    for method in ("cpr-curriculum", "answer-only"):
        for seed in (1, 2, 3):
            write_training(out / f"{method}-{seed}", method, seed, items=40)
    write_training(out / "composite-1", "composite", 1, ONE_PHASE, nan_at=30, items=40)
    return out


def cells(table, label):
    """The texts of a row by the titles of its columns."""
    [row] = [row for row in table.rows if row.label == label]
    return {head.title: cell.text for head, cell in zip(table.heads, row.cells, strict=True)}


# ---- reading ----


def test_a_training_is_read_with_its_phases_one_after_the_other(training):
    assert (training.name, training.method, training.model, training.seed) == ("cpr-42", "cpr-curriculum", MODEL, 42)
    first, second = training.phases
    assert (first.steps, first.done, first.start, first.chosen) == (60, 60, 0, 60)
    assert (second.steps, second.done, second.start, second.chosen) == (120, 120, 60, 120)
    assert second.learning_rate == 5e-6
    assert training.log["at"].tolist() == list(range(1, 181))
    assert training.validations["at"].tolist() == list(range(0, 181, 20))
    assert training.surgery
    assert training.finished


def test_before_is_phase_0_and_after_the_last_that_was_chosen(training):
    assert training.before["step"] == 0
    assert (training.after["phase"], training.after["step"]) == (2, 120)


def test_a_step_that_a_resumed_training_logged_again_counts_once_and_a_torn_line_not_at_all(own):
    with (own / "log.jsonl").open("a") as file:
        file.write('{"phase": 2, "step": 120, "reward": 0.5}\n{"phase": 2, "st')
    [training], [note] = find_trainings([own])
    assert len(training.log) == 180
    assert training.log.iloc[-1]["reward"] == 0.5
    assert "log.jsonl: 1 of its lines cannot be read and is left out" in note


def test_what_is_no_number_is_a_gap_and_not_an_error(own):
    with (own / "log.jsonl").open("a") as file:
        file.write('{"phase": 2, "step": 121, "loss": NaN, "kl": "much", "reward": null}\n')
    last = read(own).log.iloc[-1]
    assert last[["loss", "kl", "reward"]].isna().all()


def test_a_training_that_still_runs_is_read_as_far_as_it_came(tmp_path):
    training = read(write_training(tmp_path / "runs", summary=False, results=False))
    assert not training.finished
    assert training.diagnostics == {}
    [part] = make_section([training]).parts
    assert "cpr-curriculum on org/Small-VL-3B is not finished." in part.headline
    assert part.warnings == ("It is not finished: 180 optimiser steps are in its log so far.",)


def test_a_training_of_which_nothing_is_logged_yet_has_a_section(own):
    for name in ("log.jsonl", "validation.jsonl", "training.json"):
        (own / name).unlink()
    shutil.rmtree(own / "results")
    section = make_section([read(own)])
    assert "There is nothing to compare yet" in section.headline
    assert section.figures == []


def test_a_configuration_that_cannot_be_read_costs_its_training_only(own, folder):
    (own / "config.yaml").write_text("a: [")
    found, [note] = find_trainings([own, folder])
    assert [training.name for training in found] == ["cpr-42"]
    assert "config.yaml cannot be read" in note
    assert note.public == "config.yaml cannot be read, so this training is left out."


def test_trainings_are_found_below_a_folder_once_and_named_by_what_tells_them_apart(tmp_path):
    for method in ("cpr", "composite"):
        write_training(tmp_path / method / "seed1", method, 1, ONE_PHASE, results=False)
    found, _ = find_trainings([tmp_path, tmp_path / "cpr"])
    assert [training.name for training in found] == ["composite/seed1", "cpr/seed1"]


def test_a_folder_of_configurations_is_no_training(tmp_path):
    (tmp_path / "config.yaml").write_text("method: cpr")
    assert find_trainings([tmp_path]) == ([], [])


# ---- before and after ----


def test_the_change_is_paired_over_the_items_as_everywhere_in_the_report(folder, training):
    change = change_of(changes(training), "match_f1")
    results = {result.model[-6:]: result for result in find_results([folder]).results}
    before, after = (load_study([results[ending].file]).boards[0].runs[0].items for ending in ("before", "-after"))
    expected = paired_difference(after["match_f1"], before["match_f1"], after["image_sha256"], after["source"])
    assert (change.difference, change.low, change.high) == pytest.approx((expected.mean, expected.low, expected.high))
    assert change.before == pytest.approx(before["match_f1"].mean())
    assert change.items == 60
    assert change.established


def test_without_results_the_validations_are_set_against_each_other_and_not_tested(tmp_path):
    training = read(write_training(tmp_path / "bare", results=False))
    found = changes(training)
    change = change_of(found, "match_f1")
    assert change.difference == pytest.approx(training.after["match_f1"] - training.before["match_f1"])
    assert not change.tested
    assert change.trend == ""
    assert verdict(found).endswith("without the items of both nothing is tested.")


def test_results_of_other_items_than_before_have_nothing_to_compare(own):
    [file] = own.glob("results/*-after/*.jsonl")
    file.write_text(re.sub(r'"doc_id": (\d+)', r'"doc_id": 9\g<1>', file.read_text()))
    assert not any(change.tested for change in changes(read(own)))


def moved(metric, by, p):
    return Change(metric, 0.5, 0.5 + by, by, by - 0.01, by + 0.01, p, 60)


@pytest.mark.parametrize(
    ("answers", "reasoning", "said"),
    [
        (0.1, 0.1, "Answers and reasoning both got better"),
        (-0.1, -0.1, "Answers and reasoning both got worse"),
        (0.1, -0.1, "Answers got better, but reasoning got worse"),
        (0.1, 0.0, "Answers got better, and reasoning cannot be told from before"),
        (0.0, 0.1, "Answers cannot be told from before, and reasoning got better"),
        (0.0, 0.0, "Neither answers nor reasoning can be told from before"),
    ],
)
def test_the_verdict_says_what_is_established_of_answers_and_of_reasoning(answers, reasoning, said):
    found = [
        moved(metric, by, 0.01 if by else 0.4) for metric, by in (("accuracy_strict", answers), ("match_f1", reasoning))
    ]
    assert verdict(found).startswith(f"{said}: strict accuracy 0.500 to ")
    assert "over 60 held-out items" in verdict(found)
    assert in_short(found).lower() == said.lower()


# ---- one training ----


def test_a_stop_is_said_first_and_its_paths_are_not_shown(tmp_path):
    training = read(write_training(tmp_path / "broke", nan_at=55))
    [part] = make_section([training]).parts
    assert part.headline.startswith("cpr-curriculum on org/Small-VL-3B broke off.")
    assert part.warnings == ("It broke off: The loss of phase 2, step 55, is not finite; checkpoint-20 is kept.",)
    assert cells(phases_table(training), "Phase 2")["Steps"] == "55 of 120"
    assert "The orange stroke is where it broke off." in part.figure.caption


@pytest.mark.parametrize(("shares", "warned"), [((1.0, 1.0, 0.9), True), ((0.2, 0.6, None), False)])
def test_a_training_whose_candidates_earned_the_same_is_told_to_have_learned_from_few(tmp_path, shares, warned):
    folder = write_training(tmp_path / "flat", results=False)
    lines = [
        {"phase": 1, "step": step, "loss": 0.0, "frac_reward_zero_std": share} for step, share in enumerate(shares, 1)
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    [part] = make_section([read(folder)]).parts
    share = dict(part.facts)["Groups that earned all the same"]
    assert share == ("97%" if warned else "40%")
    assert any(f"In {share} of its groups" in warning for warning in part.warnings) == warned


def test_the_phases_stand_above_those_of_the_paper(training):
    table = phases_table(training)
    assert cells(table, "Phase 1") == {
        "Steps": "60",
        "Chosen": "60",
        "Learning rate": "3e-6",
        "Batch": "4",
        "Candidates": "2",
        "Accumulation": "2",
    }
    assert cells(table, "Qwen2.5-VL-3B, phase 2")["Steps"] == "2,800"
    assert [row.paper for row in table.rows] == [False] * 2 + [True] * 4


def test_the_diagnostics_stand_above_the_five_rows_of_the_papers_table(training):
    table = diagnostics_table([training])
    ours = cells(table, "cpr-curriculum, cpr-42")
    assert (ours["Weights"], ours["Discrimination"], ours["Gradient norm"]) == ("0.65 / 0.35", "0.710", "2.05 → 1.02")
    assert ours["Stable"] == "yes"
    assert [row.label for row in table.rows if row.paper] == [
        f"CPR {weights}" for weights in ("0.80 / 0.20", "0.70 / 0.30", "0.65 / 0.35", "0.50 / 0.50", "0.35 / 0.65")
    ]
    assert cells(table, "CPR 0.65 / 0.35")["Accuracy"] == "0.827"
    assert "not comparable" in table.caption
    assert "announces six configurations and lists five" in table.caption


def test_diagnostics_that_were_not_written_are_blank(tmp_path):
    training = read(write_training(tmp_path / "bare", "answer-only", 7, ONE_PHASE, diagnostics=False, results=False))
    row = cells(diagnostics_table([training]), "answer-only, bare")
    assert row.pop("Weights") == "answers only"
    assert set(row.values()) == {""}


def test_the_papers_figures_are_there_as_they_are_printed():
    assert [len(published(file)) for file in (STRATEGIES_FILE, WEIGHTS_FILE, SETTINGS_FILE)] == [7, 5, 4]
    assert published(STRATEGIES_FILE)[4]["accuracy_pct"] == "47.52"
    assert published(WEIGHTS_FILE)[2]["kl_max"] == "0.372"
    assert published(SETTINGS_FILE)[1]["steps"] == "2800"
    assert "4,546" in WEIGHTS_NOTE


def test_the_readme_prints_the_papers_figures_as_they_are():
    lines = Path(lmms_eval_crystal.__path__[0], "training", "README.md").read_text("utf-8").splitlines()
    for file in (STRATEGIES_FILE, WEIGHTS_FILE, SETTINGS_FILE):
        for row in published(file):
            assert f"| {' | '.join(row.values())} |" in lines


# ---- several ----


def test_a_spread_is_students_interval_over_trainings():
    found = spread([0.5, 0.6, 0.64])
    low, high = stats.t.interval(0.95, 2, np.mean(found.values), stats.sem(found.values))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.p == pytest.approx(stats.ttest_1samp(found.values, 0).pvalue)


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5, 0.5], [0.5, math.nan]])
def test_one_training_or_equal_ones_have_no_interval(values):
    found = spread(values)
    assert found.mean == 0.5
    assert math.isnan(found.low)
    assert math.isnan(found.p)


def test_methods_stand_in_the_papers_order_with_their_seeds_beneath(several):
    trainings, _ = find_trainings([several])
    section = make_section(trainings)
    labels = [row.label for row in section.tables[0].rows]
    seeds = ["seed 1", "seed 2", "seed 3"]
    assert labels == ["before training", "answer-only", *seeds, "composite", "seed 1", "cpr-curriculum", *seeds]
    rows = dict(zip(labels, section.tables[0].rows, strict=True))
    assert rows["composite"].below == "1 seed"
    assert len(section.parts) == 7
    assert len({figure.name for figure in section.figures}) == 8


def test_the_mean_of_a_method_is_that_of_its_seeds(several):
    trainings, _ = find_trainings([several])
    found = {training.name: changes(training) for training in trainings}
    group = groups(trainings)[-1]
    assert group.label == "cpr-curriculum"
    single = [change_of(found[f"cpr-curriculum-{seed}"], "match_f1").after for seed in (1, 2, 3)]
    assert group.after("match_f1", found).mean == pytest.approx(np.mean(single))
    assert group.by_seed("match_f1", found) == dict(zip((1, 2, 3), single, strict=True))


def test_methods_are_compared_by_trainings_with_equal_seeds(several):
    trainings, _ = find_trainings([several])
    found = {training.name: changes(training) for training in trainings}
    by_method = groups(trainings)
    made = contrasts(by_method, found)
    # Composite has one seed, with which there is nothing to compare.
    assert {(contrast.first, contrast.second) for contrast in made} == {("cpr-curriculum", "answer-only")}
    f1 = next(contrast for contrast in made if contrast.metric == "match_f1")
    differences = [
        change_of(found[f"cpr-curriculum-{seed}"], "match_f1").after
        - change_of(found[f"answer-only-{seed}"], "match_f1").after
        for seed in (1, 2, 3)
    ]
    assert f1.spread.values == pytest.approx(differences)
    assert f1.p_holm == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert f1.established
    said = summary(by_method, found, made)
    assert said.startswith("7 trainings by 3 methods. ")
    assert "cpr-curriculum has the highest Match F1" in said
    assert said.endswith("established against answer-only.")


def test_trainings_of_one_row_that_differ_in_more_than_their_seed_are_told(tmp_path):
    write_training(tmp_path / "a", "cpr", 1, ONE_PHASE, results=False)
    write_training(tmp_path / "b", "cpr", 2, ONE_PHASE, results=False, settings={"kl": 0.1})
    [note] = mixed_recipes(groups(find_trainings([tmp_path])[0]))
    assert note.startswith("The trainings by cpr differ in kl, not only in their seeds")


def test_trainings_on_different_items_are_told(tmp_path):
    write_training(tmp_path / "a", "cpr", 1, ONE_PHASE, results=False)
    other = write_training(tmp_path / "b", "composite", 1, ONE_PHASE, results=False)
    assert mixed_data(groups(find_trainings([tmp_path])[0])) == []
    split = other / "split.json"
    split.write_text(split.read_text().replace("0123abcd", "89abcdef"))
    [note] = mixed_data(groups(find_trainings([tmp_path])[0]))
    assert note.startswith("The trainings were not all on the same items")


def test_of_methods_that_come_to_the_same_none_is_ahead(tmp_path):
    for method in ("answer-only", "composite"):
        folder = write_training(tmp_path / method, method, 1, ONE_PHASE, results=False)
        lines = [
            {"phase": phase, "step": phase, "accuracy_strict": 0.5, "match_f1": 0.25, "chosen": True}
            for phase in (0, 1)
        ]
        (folder / "validation.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = make_section(find_trainings([tmp_path])[0]).headline
    assert (
        said
        == "2 trainings by 2 methods. All have the same strict accuracy (0.500). All have the same Match F1 (0.250)."
    )


def test_two_models_are_never_averaged(tmp_path):
    write_training(tmp_path / "a", "cpr", 1, ONE_PHASE, results=False)
    write_training(tmp_path / "b", "cpr", 1, ONE_PHASE, results=False, model="org/Other-4B")
    assert [group.label for group in groups(find_trainings([tmp_path])[0])] == [
        "cpr, org/Other-4B",
        "cpr, org/Small-VL-3B",
    ]


def test_each_trainings_after_has_a_row_and_an_equal_before_has_one(several):
    models = sorted(result.model for result in find_results([several]).results)
    assert models == [
        *(f"Small-VL-3B-after ({method}-{seed})" for method in ("answer-only", "cpr-curriculum") for seed in (1, 2, 3)),
        "Small-VL-3B-before",
    ]
    # One training alone needs no name.
    one = find_results([several / "answer-only-1"])
    assert {result.model for result in one.results} == {"Small-VL-3B-after", "Small-VL-3B-before"}
    assert not one.problems


# ---- the files of a report ----


@pytest.fixture
def few_figures(monkeypatch):
    from lmms_eval_crystal.reports.figures import registry

    monkeypatch.setattr(registry, "FIGURES", registry.FIGURES[:1])


def written(folder, out, **options):
    trainings, _ = find_trainings([folder])
    write_report(load_study([folder], needed=False), out, Options(items=5, **options), trainings=trainings)
    return (out / "report.html").read_text("utf-8")


@pytest.mark.usefixtures("few_figures")
def test_the_page_has_the_training_above_before_and_after_as_a_leaderboard(folder, tmp_path):
    html = written(folder, tmp_path)
    assert html.index('id="training"') < html.index("Small-VL-3B-before")
    assert "<title>CRYSTAL: 1 training</title>" in html
    table = pd.read_csv(tmp_path / "training.csv").iloc[0]
    assert f">{table['match_f1_after']:.3f}</td>" in html
    assert table["match_f1_change"] == pytest.approx(table["match_f1_after"] - table["match_f1_before"])
    assert table["kl_max"] > 0
    lines = (tmp_path / "report.md").read_text("utf-8")
    assert "| Match F1 |" in lines
    assert "![How the training went](figures/training/dynamics.svg)" in lines
    assert (tmp_path / "figures" / "training" / "dynamics.svg").exists()


@pytest.mark.usefixtures("few_figures")
def test_a_training_without_results_has_a_page_of_its_own(tmp_path):
    html = written(write_training(tmp_path / "bare", results=False), tmp_path / "out")
    assert 'id="training"' in html
    assert "Leaderboard" not in html
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "report.html",
        "report.md",
        "training.csv",
        "figures",
    }


@pytest.mark.usefixtures("few_figures")
def test_a_report_without_trainings_leaves_nothing_of_one_that_had_some(folder, tmp_path):
    written(folder, tmp_path)
    assert 'id="training"' not in written(folder / "results", tmp_path)
    assert not (tmp_path / "training.csv").exists()
    assert list((tmp_path / "figures" / "training").iterdir()) == []


@pytest.mark.usefixtures("few_figures")
def test_names_of_trainings_are_text(tmp_path):
    evil = "<script>alert(1)</script>"
    folder = write_training(tmp_path / "in", "composite", model=f"org/{evil}", results=False)
    config = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(config.replace("method: composite", f"method: '{evil}'"))
    summary = json.loads((folder / "training.json").read_text())
    (folder / "training.json").write_text(json.dumps(summary | {"stopped": f"{evil} [x](javascript:1)"}))
    html = written(tmp_path / "in", tmp_path / "out")
    assert evil not in html
    assert "&lt;script&gt;alert(1)" in html
    assert evil not in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.usefixtures("few_figures")
def test_the_command_takes_the_folder_of_a_training(tmp_path, capsys):
    from lmms_eval_crystal.cli.main import app

    write_training(tmp_path / "run", phases=PAPER_PHASES[:1], method="cpr", results=False)
    app(["report", str(tmp_path / "run")], standalone_mode=False)
    assert "training: cpr on org/Small-VL-3B. Strict accuracy" in " ".join(capsys.readouterr().out.split())
    assert (tmp_path / "run" / "report" / "report.html").is_file()
