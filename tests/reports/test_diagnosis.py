"""Each item has one diagnosis, and each scripted stand-in the one that it was written for."""

import itertools
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from lmms_eval_crystal import crystal_task
from lmms_eval_crystal.crystal_task import parse_response
from lmms_eval_crystal.crystal_task.item import Item
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.metrics import judge_answer, score_items
from lmms_eval_crystal.model_adapters.personas import write
from lmms_eval_crystal.reports.diagnosis import DIAGNOSES, Thresholds, counts, diagnose, examples

EXPECTED = {
    "oracle": "sound",
    "shuffled": "sound",
    "verbose": "sound",
    "cherry_picker": "cherry_picked",
    "lucky": "lucky",
    "wrong": "sound_wrong",
    "malformed": "malformed",
}


def frame(*rows: tuple[float, float, float, float], **columns: list) -> pd.DataFrame:
    """Items from (right, precision, recall, usable)."""
    made = pd.DataFrame(rows, columns=["accuracy_strict", "precision", "recall", "format_usable"])
    total = (made["precision"] + made["recall"]).replace(0, 1)
    made["match_f1"] = 2 * made["precision"] * made["recall"] / total
    return made.assign(accuracy=made["accuracy_strict"], source="", **columns).rename_axis("doc_id")


@pytest.fixture(scope="module")
def shipped() -> list[Item]:
    file = Path(crystal_task.__path__[0]) / "data" / "crystal_mini.parquet"
    columns = ["question", "answer", "reference_steps", "choices", "options", "source"]
    rows = pq.read_table(file, columns=columns).to_pylist()
    return [Item.from_row(row, index) for index, row in enumerate(rows)][::4]


@pytest.mark.parametrize("persona", EXPECTED)
def test_a_stand_in_has_the_diagnosis_that_it_was_written_for(persona, shipped, minilm):
    responses = [parse_response(write(persona, item, seed=42)) for item in shipped]
    scores = score_items(
        [
            (response.steps if response.is_usable else (), item.reference_steps)
            for response, item in zip(responses, shipped, strict=True)
        ],
        minilm,
    )
    rows = [
        (
            float(judge_answer(response.answer, item.answer, item.question, item.options).strict),
            score.precision,
            score.recall,
            float(response.is_usable),
        )
        for response, item, score in zip(responses, shipped, scores, strict=True)
    ]
    diagnosed = diagnose(frame(*rows))
    assert counts(diagnosed)[EXPECTED[persona]] == len(shipped)


def test_every_item_has_one_diagnosis_wherever_its_scores_lie():
    grid = [0, 0.1, 0.4999, 0.5, 0.5001, 0.9, 1]
    items = frame(*itertools.product([0, 1], grid, grid, [0, 1]))
    for limits in (Thresholds(), Thresholds(match_f1=0.9, recall=0.1, precision=0.3)):
        diagnosed = diagnose(items, limits)
        assert diagnosed.notna().all()
        assert sum(counts(diagnosed).values()) == len(items)
        assert list(counts(diagnosed)) == list(DIAGNOSES)
    assert min(counts(diagnosed).values()) > 0


@pytest.mark.parametrize(
    ("right", "precision", "recall", "usable", "expected"),
    [
        (1, 0.9, 0.51, 1, "sound"),
        (1, 0.9, 0.5, 1, "cherry_picked"),  # half of the reasoning is left out
        (1, 0.5, 0.1, 1, "cherry_picked"),
        (1, 0.49, 0.1, 1, "lucky"),
        (1, 0.4, 0.9, 1, "sound"),  # wordy, but all is there
        (1, 0.1, 0.6, 1, "lucky"),  # so wordy that a few matches come by chance
        (0, 0.9, 0.9, 1, "sound_wrong"),
        (0, 0.9, 0.3, 1, "neither"),
        (0, 0.0, 0.0, 1, "neither"),
        (0, 0.0, 0.0, 0, "malformed"),
    ],
)
def test_a_diagnosis_follows_from_the_answer_and_the_steps(right, precision, recall, usable, expected):
    assert diagnose(frame((right, precision, recall, usable))).tolist() == [expected]


def test_the_users_thresholds_and_the_users_accuracy_decide():
    items = frame((0, 0.9, 0.6, 1)).assign(accuracy=1.0)
    assert diagnose(items).tolist() == ["sound_wrong"]
    assert diagnose(items, Thresholds(answers="paper")).tolist() == ["sound"]
    assert diagnose(items, Thresholds(answers="paper", recall=0.7)).tolist() == ["cherry_picked"]
    assert str(Thresholds(recall=0.7)) == (
        "right: accuracy_strict; sound: match_f1 >= 0.5 and recall > 0.7; good steps: precision >= 0.5"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"recall": 1.5}, "recall is 1.5; give a number from 0 to 1"), ({"answers": "both"}, "strict or paper")],
)
def test_thresholds_that_mean_nothing_are_named(settings, message):
    with pytest.raises(CrystalError, match=message):
        Thresholds(**settings)


def test_examples_are_spread_over_sources_and_the_same_whatever_the_order():
    items = frame(*[(1, 1, 1, 1)] * 40)
    items["source"] = ["plotqa"] * 30 + ["mmvp"] * 6 + ["scienceqa"] * 4
    items.iloc[-1, items.columns.get_loc("accuracy_strict")] = 0
    diagnosed = diagnose(items)
    chosen = examples(items, diagnosed, "sound", n=6)
    assert items.loc[chosen, "source"].value_counts().to_dict() == {"plotqa": 2, "mmvp": 2, "scienceqa": 2}
    shuffled = items.sample(frac=1, random_state=3)
    assert examples(shuffled, diagnose(shuffled), "sound", n=6) == chosen
    assert examples(items, diagnosed, "sound", n=6, seed=1) != chosen
    assert examples(items, diagnosed, "sound_wrong") == [39]
    assert examples(items, diagnosed, "lucky") == []


def test_every_diagnosis_is_explained_in_sentences():
    for diagnosis in DIAGNOSES.values():
        assert diagnosis.meaning.endswith(".")
        assert diagnosis.advice.endswith(".")
