"""The measurements that are run by hand still run: on few items, for what they compare and not for how fast."""

import json

import pytest
import typer
from lmms_eval_crystal.benchmarks import speed
from lmms_eval_crystal.benchmarks.contestants import SHARED, differing
from lmms_eval_crystal.benchmarks.items import PREDICTED_STEPS, REFERENCE_STEPS, make_items
from lmms_eval_crystal.metrics import score_items
from typer.testing import CliRunner


def test_items_have_the_papers_shape_and_mostly_different_texts():
    items = make_items(1000)
    assert items[:10] == make_items(10)
    for side, mean in (("reference", REFERENCE_STEPS), ("predicted", PREDICTED_STEPS)):
        assert sum(len(getattr(item, side)) for item in items) / 1000 == pytest.approx(mean, rel=0.05)
    texts = [step for item in items for step in (*item.reference, *item.predicted)]
    assert len(set(texts)) > 0.95 * len(texts)


def test_both_sides_are_timed_and_compared(tmp_path):
    app = typer.Typer()
    app.command()(speed.main)
    arguments = ["--items", "2", "--device", "cpu", "--output", str(tmp_path / "figures.json")]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    lines = json.loads((tmp_path / "figures.json").read_text())["lines"]
    assert [len(lines[title]) for title in ("scoring", "five thresholds")] == [6, 3]
    assert all(0 < line["forward_seconds"] < line["seconds"] for part in lines.values() for line in part)


def test_a_score_that_differs_is_not_taken_for_rounding(minilm):
    items = make_items(1)
    scores = score_items([(items[0].predicted, items[0].reference)], minilm)
    same = {other: getattr(scores[0], name) for other, name in SHARED.items()} | {"threshold_used": 0.35}
    assert differing(scores, [same], minilm, items) == 0
    with pytest.raises(AssertionError, match="item 0"):
        differing(scores, [{**same, "match_f1": same["match_f1"] + 0.01}], minilm, items)
