"""Other benchmarks beside a board: columns, scores from elsewhere, and what the two rankings say."""

import pytest
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.reports.benchmarks import Score
from lmms_eval_crystal.reports.elsewhere import elsewhere, scores_of, unused_scores
from lmms_eval_crystal.reports.statistics import compare_models
from lmms_eval_crystal.reports.study import load_study
from studies import Talker, write_study

OTHERS = {
    "org/Sound": {"mmmu_val": {"mmmu_acc,none": 0.51}, "my_bench": {"my_accuracy,none": 0.9}},
    "org/Lucky": {"mmmu_val": {"mmmu_acc,none": 0.62}, "my_bench": {"my_accuracy,none": 0.1}},
}
TWO = (Talker("org/Sound", recall=0.9, right=0.3), Talker("org/Lucky", recall=0.3, right=0.9))


def board_of(folder, talkers, others=None):
    return load_study([write_study(folder, items=60, talkers=talkers, others=others)]).boards[0]


def seen(board, outside=None, aliases=None):
    comparisons = compare_models({run.label: run.items for run in board.runs}, metrics=("match_f1", "accuracy"))
    return elsewhere(board, scores_of(board, outside or {}, aliases or {}), comparisons)


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    return board_of(tmp_path_factory.mktemp("two"), TWO, OTHERS)


def test_a_known_benchmark_is_printed_in_percent_and_its_highest_score_is_marked(board):
    known = next(column for column in seen(board).columns if column.name.startswith("MMMU"))
    assert {label: (score.value, score.best) for label, score in known.scores.items()} == {
        "org/Sound": (51.0, False),
        "org/Lucky": (62.0, True),
    }


def test_a_guess_is_said_to_be_one_never_marked_and_not_part_of_the_mean(board):
    found = seen(board)
    guess = next(column for column in found.columns if column.name == "my_bench ?")
    assert "a guess" in guess.meaning
    assert not any(score.best for score in guess.scores.values())
    assert found.means == pytest.approx({"org/Sound": 0.51, "org/Lucky": 0.62})


def test_scores_from_elsewhere_join_by_alias_and_never_replace_measured_ones(board):
    outside = {
        "Lucky (their name)": [
            Score("blink", "BLINK", "score", 0.4, 1.0, source="a paper"),
            Score("mmmu_val", "MMMU (val)", "score", 0.99, 1.0, source="a paper"),
        ]
    }
    found = seen(board, outside, {"lucky (their name)": "org/Lucky", "org/lucky": "org/Lucky"})
    columns = {column.name: column.scores for column in found.columns}
    assert columns["BLINK"]["org/Lucky"].note == "elsewhere"
    assert columns["BLINK"].keys() == {"org/Lucky"}
    assert columns["MMMU (val)"]["org/Lucky"].value == 62.0


def test_models_whose_rankings_part_are_named_with_both_differences(board):
    swap = next(sentence for sentence in seen(board).sentences if sentence.startswith("org/Sound is ahead of"))
    assert "org/Lucky" in swap
    assert "not both established" not in swap


def test_a_rank_correlation_needs_six_models(board, tmp_path):
    assert any("needs 6 models or more" in sentence for sentence in seen(board).sentences)
    talkers = [Talker(f"org/M{place}", recall=0.2 + 0.1 * place, right=0.1 * place) for place in range(6)]
    others = {talker.model: {"mmmu_val": {"mmmu_acc,none": 0.3 + 0.01 * place}} for place, talker in enumerate(talkers)}
    assert any("Kendall's tau" in sentence for sentence in seen(board_of(tmp_path, talkers, others)).sentences)


def test_a_model_that_is_on_no_board_is_named(board):
    outside = {"ORG/sound": [], "Lucky": [], "org/Absent": []}
    [note] = unused_scores([board], outside, {})
    assert note.startswith("org/Absent has scores from elsewhere and no results here")
    assert unused_scores([board], outside, {"org/absent": "org/Sound", "org/sound": "org/Sound"}) == []


def test_two_scores_under_two_names_of_one_model_are_refused(board):
    outside = {name: [Score("x", "X", "score", value, 1.0)] for name, value in (("org/Sound", 0.7), ("ORG/sound", 0.6))}
    with pytest.raises(CrystalError, match="org/Sound has two scores for 'X'"):
        scores_of(board, outside, {})
