"""``crystal-eval models`` shows the presets beside what the paper found."""

import csv
import io
import json

import pytest
from lmms_eval_crystal.cli import main as command_line
from lmms_eval_crystal.cli import models as module
from lmms_eval_crystal.cli.main import app
from lmms_eval_crystal.model_adapters.presets import load_presets
from rich.console import Console
from typer.testing import CliRunner


def printed(*options: str) -> str:
    done = CliRunner().invoke(app, ["models", *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_table_has_a_line_for_each_preset_with_the_papers_figures():
    lines = printed().splitlines()
    for name in load_presets():
        assert any(line.split()[:1] == [name] for line in lines)
    [gpt5] = [line.split() for line in lines if line.split()[:1] == ["gpt-5"]]
    assert gpt5[-3:] == ["58.0", "0.612", "5.3"]


def test_the_table_says_whose_figures_these_are():
    text = printed()
    assert "published and not measured here" in text
    assert "authors' prompt" in text
    assert "estimated from the weights, not measured" in text


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_other_programs_get_every_key(form):
    text = printed(form)
    rows = json.loads(text) if form == "--json" else list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in rows] == list(load_presets())
    gemma = next(row for row in rows if row["name"] == "gemma3-4b")
    assert gemma["model"] == "google/gemma-3-4b-it"
    assert gemma["dtype"] == "bfloat16"
    assert float(gemma["paper_match_f1"]) == 0.618
    assert {"min_pixels", "max_pixels", "max_tiles", "tokens", "kin", "notes", "tried"} <= set(gemma)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_a_terminal_shows_whole_columns_and_says_which_are_missing(width, monkeypatch):
    output = io.StringIO()
    terminal = Console(file=output, width=width, force_terminal=True, color_system=None)
    monkeypatch.setattr(module, "open_console", lambda plain_width: terminal)
    printed()
    lines = output.getvalue().splitlines()
    text = " ".join(output.getvalue().split())
    assert max(map(len, lines)) <= width
    assert "…" not in text
    for name, preset in load_presets().items():
        [row] = [line for line in lines if line.split()[:1] == [name]]
        assert preset.kin in row
    shown = lines[1].replace("Match F1", "Match_F1").split()
    hidden = [heading for heading in module.COLUMNS if heading.replace(" ", "_") not in shown]
    assert (f"Hidden at this width: {', '.join(hidden)}." in text) == bool(hidden)
    assert ("Model" in shown) == (width >= 120)


def test_two_forms_at_once_are_refused():
    with pytest.raises(SystemExit, match="choose one"):
        command_line.main(["models", "--csv", "--json"])


def test_the_help_of_each_command_shows_it_at_work():
    import typer

    commands = typer.main.get_command(app).commands
    assert "crystal-eval run " in CliRunner().invoke(app, ["--help"]).stdout
    for name in commands:
        assert f"crystal-eval {name} " in CliRunner().invoke(app, [name, "--help"]).stdout
