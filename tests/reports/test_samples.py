"""Samples files read back, whole and damaged."""

import json
import math

import pandas as pd
import pytest
from lmms_eval_crystal.reports.samples import COLUMNS, read_samples
from studies import TALKERS, write_study


@pytest.fixture
def file(tmp_path):
    """A samples file of eight items."""
    write_study(tmp_path, items=8, talkers=TALKERS[:1])
    return next(tmp_path.rglob("*_samples_crystal.jsonl"))


@pytest.fixture
def change(file):
    """Replaces the third line by what a function makes of its sample."""

    def change(function):
        lines = file.read_bytes().splitlines(keepends=True)
        sample = json.loads(lines[2])
        made = function(sample)
        lines[2] = made if isinstance(made, bytes) else json.dumps(sample).encode() + b"\n"
        file.write_bytes(b"".join(lines))
        return read_samples(file)

    return change


def test_numbers_of_a_file_are_those_of_its_lines(file):
    samples = read_samples(file)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert samples.problems == []
    assert list(samples.items.index) == [line["doc_id"] for line in lines]
    assert list(samples.items.columns) == list(COLUMNS)
    assert samples.items["match_f1"].tolist() == [line["match_f1"] for line in lines]
    assert samples.items["references"].tolist() == [len(line["crystal"]["reference_steps"]) for line in lines]
    assert samples.items["matches"].tolist() == [len(line["crystal"]["pairs"]) for line in lines]
    assert samples.items["source"].tolist() == [line["crystal"]["source"] for line in lines]
    assert samples.items["accuracy_judged"].isna().all()


def test_a_record_is_read_from_its_place_in_the_file(file):
    samples = read_samples(file)
    for line in file.read_text("utf-8").splitlines():
        assert samples.record(json.loads(line)["doc_id"]) == json.loads(line)


def test_rows_are_in_the_order_of_the_dataset_whatever_that_of_the_lines(file):
    whole = read_samples(file).items
    file.write_bytes(b"".join(reversed(file.read_bytes().splitlines(keepends=True))))
    backwards = read_samples(file)
    pd.testing.assert_frame_equal(backwards.items, whole)
    assert backwards.record(3)["doc_id"] == 3


TORN = {
    "cut off": lambda sample: json.dumps(sample).encode()[:300] + b"\n",
    "binary junk": lambda sample: bytes(range(256)).replace(b"\n", b"") + b"\n",
    "broken UTF-8": lambda sample: b'{"doc_id": 2, "crystal": "\xff\xfe"}\n',
    "NULs, as a crashed machine leaves them": lambda sample: b"\x00" * 512 + b"\n",
    "endless nesting": lambda sample: b"[" * 200_000 + b"\n",
    "an integer without end": lambda sample: b'{"doc_id": ' + b"9" * 10_000 + b"}\n",
}
FOREIGN = {
    "a list": lambda sample: b"[1, 2]\n",
    "null": lambda sample: b"null\n",
    "another task's sample": lambda sample: sample.pop("crystal"),
    "a record that is a string": lambda sample: sample.update(crystal="x"),
    "no doc_id": lambda sample: sample.pop("doc_id"),
    "a doc_id beyond any dataset": lambda sample: sample.update(doc_id=10**30),
    "an infinite doc_id": lambda sample: sample.update(doc_id=float("inf")),
    "no Match F1": lambda sample: sample.pop("match_f1"),
    "NaN as Match F1": lambda sample: sample.update(match_f1=float("nan")),
    "a huge integer as a score": lambda sample: sample.update(accuracy=10**400),
    "a score above 1": lambda sample: sample.update(recall=1.5),
    "words as a score": lambda sample: sample.update(precision="high"),
    "steps that are one string": lambda sample: sample["crystal"].update(reference_steps="one step"),
    "steps of the model that are one string": lambda sample: sample["crystal"].update(predicted_steps="one step"),
    "steps of the model that are a number": lambda sample: sample["crystal"].update(predicted_steps=5),
    "pairs that are none": lambda sample: sample["crystal"].update(pairs=[1, 2]),
    "a pair of words": lambda sample: sample["crystal"].update(pairs=[["a", "b", "c"]]),
    "a pair without a similarity": lambda sample: sample["crystal"].update(pairs=[[0, 0, None]]),
    "a pair of NaN": lambda sample: sample["crystal"].update(pairs=[[0, 0, float("nan")]]),
    "a pair of four": lambda sample: sample["crystal"].update(pairs=[[0, 0, 0.5, 1]]),
    "a pair at half a step": lambda sample: sample["crystal"].update(pairs=[[0, 0.5, 0.5]]),
    "a doc_id that is a fraction": lambda sample: sample.update(doc_id=2.7),
    "a doc_id that is a truth value": lambda sample: sample.update(doc_id=True),
    "a doc_id that JavaScript cannot tell from the next": lambda sample: sample.update(doc_id=2**53 + 1),
    "no pairs": lambda sample: sample["crystal"].update(pairs=None),
}


@pytest.mark.parametrize("damage", TORN.values(), ids=TORN.keys())
def test_a_torn_line_is_left_out_and_named(change, damage):
    samples = change(damage)
    assert list(samples.items.index) == [0, 1, 3, 4, 5, 6, 7]
    assert [problem.partition(": ")[2] for problem in samples.problems] == [
        "1 of its lines is torn (line 3) and left out."
    ]
    assert samples.record(3)["doc_id"] == 3


@pytest.mark.parametrize("damage", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_line_that_is_no_sample_of_ours_is_left_out_and_named(change, damage):
    samples = change(damage)
    assert list(samples.items.index) == [0, 1, 3, 4, 5, 6, 7]
    assert "without the scores of CRYSTAL (line 3)" in samples.problems[0]


def test_a_doc_id_may_be_written_in_digits(change):
    assert list(change(lambda sample: sample.update(doc_id="2")).items.index) == list(range(8))


def test_what_an_item_lacks_is_missing_and_not_zero(change):
    def without(sample):
        for name in ("lis_multi", "steps", "truncated"):
            sample.pop(name, None)
        sample["kendall_tau"] = None
        sample["lis"] = float("nan")
        sample["ordered_f1"] = float("inf")
        sample["crystal"].update(output_tokens=None, source=None)

    item = change(without).items.loc[2]
    assert all(math.isnan(item[name]) for name in ("lis_multi", "steps", "truncated", "kendall_tau", "lis"))
    assert math.isnan(item["ordered_f1"])
    assert math.isnan(item["output_tokens"])
    assert item["source"] == ""


def test_of_an_item_that_comes_twice_the_first_counts(file):
    first = read_samples(file).items.loc[0, "match_f1"]
    again = json.loads(file.read_text("utf-8").splitlines()[0]) | {"match_f1": 0.123}
    with file.open("a") as lines:
        lines.write(json.dumps(again) + "\n")
    samples = read_samples(file)
    assert samples.items.loc[0, "match_f1"] == first
    assert "of an item that came before (line 9)" in samples.problems[0]


def test_lines_of_another_way_of_scoring_are_left_out(file):
    scorer = json.loads(file.read_text("utf-8").splitlines()[0])["crystal"]["scorer"]
    assert len(read_samples(file, scorer=scorer).items) == 8
    other = read_samples(file, scorer=scorer.replace("tau:0.35", "tau:0.5"))
    assert other.items.empty
    assert "8 of its lines are scored in another way" in other.problems[0]
    assert "(line 1, 2, 3, 4, 5, ...)" in other.problems[0]


def test_empty_lines_and_a_missing_last_line_break_are_no_faults(file):
    file.write_bytes(b"\n" + file.read_bytes().rstrip(b"\n").replace(b"\n", b"\n\n"))
    samples = read_samples(file)
    assert len(samples.items) == 8
    assert samples.problems == []
    assert samples.record(7)["doc_id"] == 7


def test_a_file_without_any_sample_is_an_empty_table(file):
    file.write_bytes(b"")
    samples = read_samples(file)
    assert samples.items.empty
    assert list(samples.items.columns) == list(COLUMNS)


def test_progress_is_told_in_the_bytes_of_the_file(file):
    told = []
    read_samples(file, told.append)
    assert sum(told) == file.stat().st_size
