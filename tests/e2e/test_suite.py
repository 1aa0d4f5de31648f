"""CRYSTAL in a suite that a user already runs, with the harness's own options."""

import json

import pytest
import yaml
from harness import metrics, results, run, samples, scripted

pytestmark = pytest.mark.e2e

OTHER = """
task: other
dataset_path: json
dataset_kwargs:
  data_files:
    test: other.jsonl
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
generation_kwargs:
  max_new_tokens: 8
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A folder for --include_path: a small task of the user's, and a group of it and ``crystal_mini``."""
    folder = tmp_path_factory.mktemp("suite")
    rows = [{"question": f"What is {number} + 1?", "answer": str(number + 1)} for number in range(6)]
    (folder / "other.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "other.yaml").write_text(OTHER)
    mean = {"metric": "match_f1", "aggregation": "mean", "weight_by_size": False}
    group = {"group": "my_suite", "task": ["crystal_mini", "other"], "aggregate_metric_list": [mean]}
    (folder / "group.yaml").write_text(yaml.safe_dump(group))
    return folder


def run_suite(folder, suite, persona="oracle", tasks="crystal_mini,other", **more):
    done = run(["lmms-eval", *scripted(persona, tasks, include_path=str(suite), **more)], folder)
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout
    return done


def test_beside_another_task_with_limit_and_offset(tmp_path, suite):
    run_suite(tmp_path, suite, limit="3", offset="2")
    assert sorted(samples(tmp_path)) == sorted(samples(tmp_path, "other")) == [2, 3, 4]
    assert metrics(tmp_path)["match_f1"] == 1
    assert metrics(tmp_path, "other")["exact_match"] == 0
    section = results(tmp_path)["crystal"]["crystal_mini"]
    assert (section["items"], "|n:3|" in section["scorer"]) == (3, True)


def test_in_a_group_of_the_user_with_repeats_and_generation_settings(tmp_path, suite):
    run_suite(tmp_path, suite, tasks="my_suite", limit="4", repeats="2", gen_kwargs="max_new_tokens=77,temperature=0.5")
    written = results(tmp_path)
    assert written["results"]["crystal_mini"]["match_f1,none"] == 1
    assert written["group_subtasks"]["my_suite"] == ["crystal_mini", "other"]
    assert written["groups"]["my_suite"]["match_f1,none"] == 1
    assert written["configs"]["crystal_mini"]["repeats"] == 2
    assert "|tokens:77|temperature:0.5|" in written["crystal"]["crystal_mini"]["generation"]


def test_responses_from_the_harness_cache_score_the_same(tmp_path, suite):
    run_suite(tmp_path, suite, persona="shuffled", limit="4", use_cache="cache")
    first = samples(tmp_path)
    again = run_suite(tmp_path, suite, persona="shuffled", limit="4", use_cache="cache")
    assert samples(tmp_path) == first
    assert "cache" in again.stdout.lower()


def test_predict_only_writes_responses_and_no_scores(tmp_path, suite):
    run_suite(tmp_path, suite, limit="2", predict_only="")
    assert "match_f1" not in metrics(tmp_path)
    assert "reasoning_steps" in samples(tmp_path)[0]["filtered_resps"]
