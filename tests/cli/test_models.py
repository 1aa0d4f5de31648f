"""``crystal-eval models`` shows the presets beside what the paper found."""

import csv
import io
import json

import pytest
from lmms_eval_crystal.cli.main import app
from lmms_eval_crystal.model_adapters.presets import load_presets
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
