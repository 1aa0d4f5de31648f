"""Result files read back, and the tables made of them."""

import json
from io import StringIO

import pytest
from lmms_eval_crystal.cli.reading import show as show_grids
from lmms_eval_crystal.cli.table import show
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.reports.grid import Grid
from lmms_eval_crystal.reports.load import load_results
from lmms_eval_crystal.reports.plain import one_line
from lmms_eval_crystal.reports.tables import blocks
from rich.console import Console


def section(model="m", scorer="crystal|n:50", generation="prompt:aa|scripted:no", match_f1=0.5, **more):
    metrics = {
        "match_f1": {"mean": match_f1, "low": match_f1 - 0.1, "high": match_f1 + 0.1, "items": 50},
        "lis_multi": {"mean": None, "low": None, "high": None, "items": 0},
    }
    made = {"model": model, "scorer": scorer, "generation": generation, "items": 50, "of": 50, "metrics": metrics}
    return {**made, "differs_from_paper": ["another prompt"], **more}


@pytest.fixture
def write(tmp_path):
    def write(date, made, task="crystal", folder="m"):
        file = tmp_path / folder / f"{date}_results.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"crystal": {task: made}}))
        return file

    return write


def printed(results, width=140) -> str:
    console = Console(width=width, file=StringIO())
    for table, notes in blocks(results, width):
        console.print(table)
        for note in notes:
            console.print(note, soft_wrap=True)
    return console.file.getvalue()


def test_the_newest_of_equal_runs_counts_and_a_trial_run_hides_nothing(write, tmp_path):
    write("2026_01", section(match_f1=0.2))
    write("2026_02", section(match_f1=0.4))
    write("2026_03", section(scorer="crystal|n:8", items=8, match_f1=0.9))
    assert [(r.items, r.metrics["match_f1"].mean) for r in load_results([tmp_path]).results] == [(50, 0.4), (8, 0.9)]


def test_runs_that_were_scored_differently_stand_in_tables_of_their_own(write, tmp_path):
    write("1", section(model="a", match_f1=0.3))
    write("2", section(model="b", match_f1=0.6), folder="b")
    write("3", section(model="c", scorer="crystal|tau:0.5"), folder="c")
    text = printed(load_results([tmp_path]).results)
    assert text.count("macro means over items") == 2
    assert text.count("scorer: ") == 2
    assert text.index("b ") < text.index("a ")


def test_runs_of_one_model_that_were_generated_differently_are_told_apart(write, tmp_path):
    write("1", section(generation="tokens:16|scripted:no"))
    write("2", section(generation="tokens:4096|scripted:yes"))
    text = printed(load_results([tmp_path]).results)
    assert "m (1): tokens:16|scripted:no" in text.replace("*", "")
    assert "m (2)" in text
    assert "scripted stand-in" in text


def test_reasons_are_said_of_the_rows_that_they_belong_to(write, tmp_path):
    write("1", section(model="a"))
    write("2", section(model="b", differs_from_paper=["another prompt", "temperature 1 instead of greedy decoding"]))
    text = printed(load_results([tmp_path]).results)
    assert "Not comparable with the paper's table: another prompt.\n" in text
    assert "b is not comparable with the paper's table: temperature 1" in text


def test_no_items_behind_a_metric_are_shown_as_such(write, tmp_path):
    write("1", section())
    assert "- (0)" in printed(load_results([tmp_path]).results)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 140])
def test_a_narrow_terminal_gets_fewer_columns_says_which_and_cuts_none_off(write, tmp_path, width):
    write("1", section(model="a-model-with-a-name-of-its-own"))
    text = printed(load_results([tmp_path]).results, width)
    headings = next(line for line in text.splitlines() if "Model" in line)
    assert "Trunc." in headings or width < 80
    assert ("95 % int." in headings) != ("Hidden at this width: 95 % int." in text)


def test_runs_without_scores_are_left_out(write, tmp_path):
    write("1", section(metrics={}))
    with pytest.raises(CrystalError, match="--predict_only leaves none"):
        load_results([tmp_path])


@pytest.mark.parametrize(
    "content", ["no json", "[]", '{"crystal": {"crystal": {"metrics": {"match_f1": {}}}}}', '{"crystal": 5}']
)
def test_a_file_of_another_shape_is_named(tmp_path, content):
    (tmp_path / "x_results.json").write_text(content)
    with pytest.raises(CrystalError, match=r"x_results\.json is no results file"):
        load_results([tmp_path])


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CrystalError, match="nowhere does not exist"):
        load_results([tmp_path / "nowhere"])


HOSTILE = ("[/b]evil", "a\x1b[31mred\x07", "two\nlines", "lone\ud800 one")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_neither_markup_nor_steers_the_terminal(write, tmp_path, name, capsys):
    write("1", section(model=name), task="crystal[red]")
    write("2", section(model=name, generation="prompt:bb|scripted:no"), task="crystal[red]")
    show(load_results([tmp_path]))
    grid = Grid(name, [name], [[name]])
    show_grids([grid], [name])
    out = capsys.readouterr().out
    plain = one_line(name)
    assert f"{plain} (1)" in out
    assert "crystal[red]: macro means" in out
    assert out.count(f"\n{plain}") >= 2
    assert not [sign for sign in out if sign < " " and sign != "\n"]


@pytest.mark.parametrize("task", ["../../pwned", "a/b", "nul\0"])
def test_a_task_that_is_a_path_is_no_task(write, tmp_path, task):
    write("1", section())
    write("2", section(), task=task, folder="other")
    found = load_results([tmp_path])
    assert [result.task for result in found.results] == ["crystal"]
    assert "a task whose name is a path" in found.problems[0]
