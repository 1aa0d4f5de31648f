"""What the first screen says: the headline, the best marks, the flags."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from lmms_eval_crystal.reports.columns import COLUMNS
from lmms_eval_crystal.reports.leaderboard import (
    best,
    differences_between_rows,
    differences_from_paper,
    flags,
    headline,
    leaves_out_stand_ins,
)
from lmms_eval_crystal.reports.study import load_study
from studies import TALKERS, Talker, write_study

TITLES = {column.metric: column for column in COLUMNS}


@pytest.fixture
def board(tmp_path):
    return load_study([write_study(tmp_path, items=40)]).boards[0]


def comparison(metric, first, second, difference, p_holm=0.001, items=40):
    row = {"metric": metric, "first": first, "second": second, "difference": difference, "p_holm": p_holm}
    return {**row, "low": difference - 0.02, "high": difference + 0.02, "items": items, "images": items}


def compared(board, p_holm=0.001, items=40):
    """All pairs of a board with the true differences, all established or none."""
    labels = [run.label for run in board.runs]
    rows = []
    for metric in ("match_f1", "accuracy"):
        means = {run.label: run.mean(metric).mean for run in board.runs}
        for place, first in enumerate(labels):
            rows += [
                comparison(metric, first, second, means[first] - means[second], p_holm, items)
                for second in labels[place + 1 :]
            ]
    return pd.DataFrame(rows)


def compared_f1(board):
    first, second = (run.label for run in board.runs)
    return pd.DataFrame([comparison("match_f1", first, second, 0.1)])


def test_the_headline_names_who_leads_with_the_interval_of_the_closest_follower(board):
    text = headline(board, compared(board))
    f1 = [run.mean("match_f1").mean for run in board.runs]
    gap = f1[0] - f1[1]
    assert text.startswith(f"org/Reasoner-7B leads Match F1 by {gap:.3f} [{gap - 0.02:.3f}, {gap + 0.02:.3f}]; ")
    assert " leads accuracy by " in text


def test_a_lead_that_is_not_established_is_not_claimed(board):
    text = headline(board, compared(board, p_holm=0.4))
    assert "org/Reasoner-7B, org/Guesser-8B and other/Talker-3B cannot be told apart at the top of Match F1" in text
    assert "leads" not in text


def test_too_few_items_are_not_called_a_draw(board):
    assert headline(board, compared(board, p_holm=1, items=4)).startswith(
        "None can be shown to lead Match F1 (too few items to establish a difference); none "
    )


def with_stand_ins(board, *labels):
    """The board with some of its rows written by scripted stand-ins."""
    rows = []
    for run in board.runs:
        said = run.result.generation.replace("scripted:no", f"scripted:{'yes' if run.label in labels else 'no'}")
        rows.append(replace(run, result=replace(run.result, generation=said)))
    return replace(board, runs=tuple(rows))


def test_the_headline_says_whom_it_is_about_where_stand_ins_are_on_the_board(board):
    models = with_stand_ins(board, "other/Talker-3B")
    assert headline(models, compared(models)).startswith(
        "Of the 2 models (scripted stand-ins aside), org/Reasoner-7B leads Match F1"
    )
    assert leaves_out_stand_ins(models)
    few = with_stand_ins(board, "other/Talker-3B", "org/Guesser-8B")
    assert headline(few, compared(few)).startswith("Of the one model and 2 scripted stand-ins, ")
    none = with_stand_ins(board, *(run.label for run in board.runs))
    assert headline(none, compared(none)).startswith("Of the 3 scripted stand-ins, ")
    assert not leaves_out_stand_ins(board)
    assert not leaves_out_stand_ins(few)


def test_without_shared_items_the_highest_is_named_and_called_untested(board):
    text = headline(board, compared(board, items=0))
    assert "has the highest Match F1" in text
    assert "untested: no shared items" in text


def test_without_samples_the_highest_is_untested_for_want_of_them(tmp_path):
    write_study(tmp_path, items=12)
    next((tmp_path / "org__Guesser-8B").glob("*.jsonl")).unlink()
    board = load_study([tmp_path]).boards[0]
    assert "untested: for want of samples" in headline(board, pd.DataFrame(columns=["metric", "first", "second"]))


def test_a_lead_that_the_shared_items_turn_round_is_a_disagreement_and_no_lead(board):
    turned = compared(board).assign(difference=-0.2, low=-0.22, high=-0.18)
    text = headline(board, turned)
    assert "leads" not in text
    assert "ahead on the shared items: results and samples disagree" in text


def test_a_mean_that_runs_lack_is_not_compared(tmp_path):
    write_study(tmp_path, items=12, talkers=TALKERS[:2])
    for count, file in enumerate(sorted(tmp_path.rglob("*_results.json"))):
        results = json.loads(file.read_text("utf-8"))
        results["crystal"]["crystal"]["metrics"]["accuracy"]["mean"] = float("nan")
        file.write_text(json.dumps(results), "utf-8")
        board = load_study([tmp_path]).boards[0]
        text = headline(board, compared_f1(board))
        assert ("only org/Reasoner-7B has a mean of accuracy", "no run has a mean of accuracy")[count] in text


def test_one_model_gets_a_sentence_of_its_own(tmp_path):
    board = load_study([write_study(tmp_path, items=20, talkers=TALKERS[:1])]).boards[0]
    assert headline(board, pd.DataFrame()).startswith("org/Reasoner-7B reaches Match F1 0.")
    assert "over 20 items" in headline(board, pd.DataFrame())


def test_best_marks_stand_only_where_higher_is_better(board):
    assert best(board, TITLES["match_f1"]) == {"org/Reasoner-7B"}
    for metric in ("precision", "lis_multi", "steps", "truncated", "output_tokens"):
        assert best(board, TITLES[metric]) == set()


def test_rows_that_print_the_same_share_the_mark_or_none_has_it(tmp_path):
    twins = [Talker("a/one", recall=1, extra=0, right=1, malformed=0, shuffled=0), Talker("a/two", recall=1, extra=0)]
    board = load_study([write_study(tmp_path, items=30, talkers=twins)]).boards[0]
    assert best(board, TITLES["accuracy"]) == {"a/one"}
    same = load_study([write_study(tmp_path / "same", items=30, talkers=[twins[0]])]).boards[0]
    assert best(same, TITLES["accuracy"]) == set()


def test_flags_name_what_must_be_known_first(tmp_path):
    talkers = (*TALKERS[:1], Talker("org/Broken", malformed=0.5))
    board = load_study([write_study(tmp_path, items=40, talkers=talkers, of=6372)]).boards[0]
    found = {
        (flag.label, flag.title) for flag in flags(board, kin=lambda model: "kin" if "Reasoner" in model else None)
    }
    assert {("", "Part of the data"), ("org/Broken", "Truncated"), ("org/Broken", "Unusable")} <= found
    assert ("org/Reasoner-7B", "Kin") in found
    assert not any(title == "Scripted" for _, title in found)


def test_rows_that_were_made_otherwise_are_named_with_what_is_different(board):
    first, *others = board.runs
    said = first.result.generation.replace("system:none", "system:75357d68").replace("tokens:4096", "tokens:16")
    odd = replace(first, result=replace(first.result, generation=said))
    named = f"{first.label} had system prompt 75357d68 instead of none and 16 instead of 4,096 tokens"
    assert differences_between_rows(replace(board, runs=(odd, *others))) == [named, "the others are alike"]
    found = {flag.title: flag.text for flag in flags(replace(board, runs=(odd, *others)))}
    assert found["Rows made differently"] == f"{named}; the others are alike."


def test_no_item_is_not_called_only_0_percent(board):
    mean = replace(board.runs[0].result.metrics["lis_multi"], items=0)
    result = replace(board.runs[0].result, metrics={**board.runs[0].result.metrics, "lis_multi": mean})
    found = flags(replace(board, runs=(replace(board.runs[0], result=result),)))
    assert "No item matches two steps or more, so order says little." in [flag.text for flag in found]


def test_what_the_rows_do_not_share_is_said(board):
    assert differences_between_rows(board) == []
    assert "another prompt" in differences_from_paper(board)
