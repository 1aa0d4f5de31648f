"""The paper's figures as they are printed, under our metrics' names."""

import numpy as np
import pytest
from lmms_eval_crystal.reports.paper import METRICS, NOTE, paper_figures, paper_table
from scipy import stats


def test_all_twenty_rows_are_there_and_marked_as_published():
    table = paper_table()
    assert len(table) == 20
    assert table.index.is_unique
    assert table["published"].all()
    assert list(table) == [*METRICS, "published"]
    assert table.notna().all(axis=None)


def test_shares_are_on_0_to_1_and_steps_are_counts():
    table = paper_table()
    shares = table[[metric for metric in METRICS if metric != "steps"]]
    assert shares.to_numpy().min() > 0
    assert shares.to_numpy().max() < 1
    assert table["steps"].max() > 17


def test_a_row_says_what_the_paper_prints():
    row = paper_table().loc["Gemini 2.5 Flash"]
    assert (row["match_f1"], row["precision"], row["recall"], row["steps"]) == (0.673, 0.701, 0.765, 17.1)
    assert row["accuracy"] == pytest.approx(0.5395)
    assert paper_figures()["Gemini 2.5 Flash"]["accuracy_pct"] == 53.95


def test_the_figures_have_what_the_readme_says_of_them():
    """Steps explain most of Match F1, and all but one model are more precise than complete."""
    table = paper_table()
    assert stats.spearmanr(table["steps"], table["match_f1"]).statistic == pytest.approx(0.94, abs=0.005)
    assert np.count_nonzero(table["precision"] > table["recall"]) == 19


def test_the_note_says_what_is_comparable():
    assert "crystal_paper" in NOTE
    assert "not measured here" in NOTE
