"""Main metrics of other benchmarks: as the harness's own task files name them, from results, CSV and aliases."""

import importlib.util
import json
import math
import os
import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import yaml
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.reports.benchmarks import Score, benchmark_scores, load_benchmarks, main_metric
from lmms_eval_crystal.reports.model_names import canonical_name, read_aliases
from lmms_eval_crystal.reports.outside_scores import read_scores_csv
from lmms_eval_crystal.reports.rankings import rank_table

# Found, not imported: the harness takes many seconds to import, and its task files are all that is needed.
TASKS = Path(importlib.util.find_spec("lmms_eval").origin).parent / "tasks"


class TaskFile(yaml.SafeLoader):
    """Reads the harness's task files; functions stay names."""


TaskFile.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def read(file: Path) -> dict:
    content = yaml.load(file.read_text("utf-8"), TaskFile)
    included = content.get("include")
    return {**read(Path(os.path.normpath(file.parent / included))), **content} if included else content


@cache
def declared() -> tuple[dict[str, Path], dict[str, list[Path]]]:
    """The files of tasks and groups by name, and of the tasks of a tag."""
    names, tags = {}, {}
    for file in sorted(TASKS.rglob("*.yaml")):
        text = file.read_text("utf-8", "replace")
        template = re.search(r"^include\s*:\s*(\S+)", text, re.M)
        if template and not re.search("^(task|group)\\s*:", text, re.M) and (file.parent / template[1]).is_file():
            text += (file.parent / template[1]).read_text("utf-8")
        for key in ("task", "group"):
            found = re.search(rf"^{key}\s*:\s*[\"']?([^\s\"'\[]+)[\"']?\s*(?:#.*)?$", text, re.M)
            if found:
                names.setdefault(found[1], file)
        for tag in re.findall(r"^tag\s*:\s*[\"']?([^\s\"'\[]+)[\"']?\s*$", text, re.M):
            tags.setdefault(tag, []).append(file)
    return names, tags


def leaves(name: str) -> list[dict]:
    """The configurations of a task, or of all tasks of a group that give numbers."""
    names, tags = declared()
    if name in tags:
        return [read(file) for file in tags[name]]
    config = read(names[name])
    if isinstance(config["task"], str):
        return [config]
    found = [leaf for part in config["task"] for leaf in leaves(part)]
    return [leaf for leaf in found if {metric["metric"] for metric in leaf["metric_list"]} != {"submission"}]


@pytest.mark.parametrize("task", load_benchmarks())
def test_the_metric_and_its_direction_are_the_harnesss_own(task):
    known = load_benchmarks()[task]
    configs = leaves(task)
    assert configs
    for config in configs:
        metrics = {metric["metric"]: metric for metric in config["metric_list"]}
        assert known.metric in metrics
        assert metrics[known.metric]["higher_is_better"] is known.higher_is_better
        if metrics[known.metric]["aggregation"] == "mean":
            # A mean of rights and wrongs.
            assert known.scale == 1


def test_there_are_benchmarks_enough_and_each_is_named_once():
    names = [known.name for known in load_benchmarks().values()]
    assert len(names) >= 30
    assert len(set(names)) == len(names)
    assert {known.scale for known in load_benchmarks().values()} == {1, 100, 2000, None}


@pytest.mark.parametrize(
    ("task", "metrics", "value"),
    [
        ("mmmu_val", {"alias": "x", "samples": 900, "mmmu_acc,none": 0.513, "mmmu_acc_stderr,none": "N/A"}, 0.513),
        ("mmbench_en_dev", {"gpt_eval_score,none": 80.4, "submission,none": None}, 0.804),
        ("mme", {"mme_cognition_score,none": 600.0, "mme_perception_score,none": 1500.0}, 0.75),
        ("seedbench", {"seed_all,none": 0.1, "seed_image,none": 0.7}, 0.7),
        ("nocaps_val", {"nocaps_CIDEr,none": 1.12}, None),
    ],
)
def test_a_known_benchmark_has_its_main_metric_on_0_to_1(task, metrics, value):
    score = main_metric(task, metrics)
    assert not score.guessed
    assert score.value == (value if value is None else pytest.approx(value))


def test_a_lower_rate_of_mistakes_is_the_better_one():
    score = main_metric("coco_cap_chair", {"coco_cap_chair_s,none": 20.0, "coco_cap_chair_i,none": 9.0})
    assert (score.value, score.goodness, score.higher_is_better) == (0.2, 0.8, False)


def test_a_part_of_a_known_benchmark_is_read_as_that():
    score = main_metric("blink_iq_test", {"blink_acc,none": 0.25})
    assert (score.name, score.value, score.guessed) == ("BLINK, iq test", 0.25, False)
    # A variant with another metric is not.
    assert main_metric("mmmu_val_reasoning", {"acc_score,none": 0.4, "format_score,none": 0.9}).guessed


@pytest.mark.parametrize(
    ("metrics", "more", "expected"),
    [
        ({"format_score,none": 0.9, "acc_score,none": 0.4}, {}, ("acc_score", 1, True)),
        ({"speed,none": 3.0, "overall,none": 61.0, "acc_easy,none": 90.0}, {}, ("overall", 100, True)),
        ({"hits,none": 5.0, "accuracy,none": 0.5}, {"score_key": "hits"}, ("hits", 100, True)),
        ({"accuracy,none": 0.5}, {"score_key": "gone"}, ("accuracy", 1, True)),
        ({"edit_distance,none": 0.2}, {"higher_is_better": {"edit_distance": False}}, ("edit_distance", 1, False)),
        ({"points,none": 812.0}, {}, ("points", None, True)),
    ],
)
def test_an_unknown_benchmark_gets_a_guess_that_says_so(metrics, more, expected):
    score = main_metric("brand_new", metrics, **more)
    assert score.guessed
    assert (score.metric, score.scale, score.higher_is_better) == expected


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"alias": "x", " ": " "},
        {"submission,none": None, "samples": 5},
        {"acc,none": "N/A", "acc_stderr,none": 0.1},
        {"acc,none": math.nan},
        {"done,none": True},
    ],
)
def test_a_task_without_numbers_has_no_score(metrics):
    assert main_metric("mmmu_test", metrics) is None


def results(groups: dict | None = None, **tasks: dict) -> dict:
    """Results as the harness writes them: groups without numbers hold a blank."""
    groups = groups or {}
    blanks = {name: {" ": " ", "alias": name} for name in groups if name not in tasks}
    alone = {name: [] for name in tasks if name not in groups}
    return {"results": {**tasks, **blanks}, "group_subtasks": {**alone, **groups}}


def test_a_group_with_numbers_of_its_own_stands_for_its_subtasks():
    made = results(
        {"blink": ["blink_groups"], "blink_groups": ["blink_jigsaw", "blink_counting"]},
        blink={"blink_acc,none": 0.6, "alias": "blink"},
        blink_jigsaw={"blink_acc,none": 0.5},
        blink_counting={"blink_acc,none": 0.9},
    )
    assert [(s.task, s.name, s.value, s.parts) for s in benchmark_scores(made)] == [("blink", "BLINK", 0.6, ())]


def test_a_group_without_numbers_is_the_mean_of_subtasks_that_are_alike():
    made = results(
        {"mmmu_pro": ["mmmu_pro_standard", "mmmu_pro_vision"]},
        mmmu_pro_standard={"mmmu_acc,none": 0.5},
        mmmu_pro_vision={"mmmu_acc,none": 0.3},
    )
    (score,) = benchmark_scores(made)
    assert (score.name, score.value) == ("MMMU-Pro", pytest.approx(0.4))
    assert score.parts == ("mmmu_pro_standard", "mmmu_pro_vision")


def test_subtasks_that_measure_different_things_stand_for_themselves():
    made = results(
        {"charxiv": ["charxiv_val_reasoning", "charxiv_val_descriptive"]},
        charxiv_val_reasoning={"reasoning_acc,none": 0.4},
        charxiv_val_descriptive={"descriptive_acc,none": 0.8},
    )
    assert [score.task for score in benchmark_scores(made)] == ["charxiv_val_descriptive", "charxiv_val_reasoning"]


def test_groups_in_groups_come_down_to_what_has_numbers():
    formats = ["mathvista_testmini_cot", "mathvista_testmini_format"]
    made = results(
        {"mathvista": ["mathvista_testmini", "mathvista_test"], "mathvista_testmini": formats},
        mathvista_test={"submission,none": None},
        **{name: {"llm_as_judge_eval,none": 60.0} for name in formats},
    )
    (score,) = benchmark_scores(made)
    assert (score.task, score.name, score.value) == ("mathvista_testmini", "MathVista (testmini)", 0.6)


def test_our_own_tasks_are_no_other_benchmark():
    made = results(crystal_mini={"match_f1,none": 0.5}, my_own={"match_f1,none": 0.5}, ai2d={"exact_match,none": 0.8})
    made["crystal"] = {"my_own": {}}
    assert [score.task for score in benchmark_scores(made)] == ["ai2d"]


@pytest.mark.parametrize("own", [{}, {"suite": {"exact_match,none": 0.4}}], ids=["without numbers", "with numbers"])
def test_a_suite_with_ours_in_it_stands_for_nothing(own):
    tasks = {"crystal": {"match_f1,none": 0.5}, "ai2d": {"exact_match,none": 0.8}, "mmmu_val": {"mmmu_acc,none": 0.5}}
    alike = {"blink_one": {"blink_acc,none": 0.5}, "blink_two": {"blink_acc,none": 0.7}}
    made = results({"suite": [*tasks, *alike]}, **tasks, **alike, **own)
    assert [score.task for score in benchmark_scores(made)] == ["ai2d", "blink_one", "blink_two", "mmmu_val"]


def test_directions_and_score_keys_are_read_from_the_results():
    made = results(new={"error,none": 0.3, "acc,none": 0.4})
    made |= {"higher_is_better": {"new": {"error": False}}, "configs": {"new": {"score_key": "error"}}}
    (score,) = benchmark_scores(made)
    assert (score.metric, score.goodness, score.guessed) == ("error", 0.7, True)


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "scores.csv") -> Path:
        (tmp_path / name).write_text(text, "utf-8")
        return tmp_path / name

    return write


def test_scores_from_elsewhere_are_read_with_the_scale_that_they_show(write):
    file = write(
        "Model,Benchmark,Score,Scale,Source\n"
        "a,MMMU (val),58.6,,report\na,new one,0.61,,\na,mme,1500,,\nb,mmmu_val,0.9,100,\nb,new one,0.4,,\n"
    )
    found = read_scores_csv(file)
    assert [(s.task, s.value, s.source) for s in found["a"]] == [
        ("mmmu_val", pytest.approx(0.586), "report"),
        ("new one", 0.61, "scores.csv"),
        ("mme", 0.75, "scores.csv"),
    ]
    assert [(s.name, s.value) for s in found["b"]] == [("MMMU (val)", pytest.approx(0.009)), ("new one", 0.4)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,score\na,1\n", "lacks the column 'benchmark'"),
        ("", "cannot be read"),
        ("model,benchmark,score\na,b,high\n", "Line 2 of .* has the score 'high'"),
        ("model,benchmark,score\na,b,1\na,c,\n", "Line 3 of .* has the score ''"),
        ("model,benchmark,score\na,b,-3\n", "has the score '-3'"),
        ("model,benchmark,score\na,b,nan\n", "has the score 'nan'"),
        ("model,benchmark,score\na,b,61%\n", "without a percent sign"),
        ("model,benchmark,score,scale\na,b,61,0\n", "has the scale '0'"),
        ("model,benchmark,score,scale\na,b,61,1\n", "score of 61 on a scale of 1"),
        ("model,benchmark,score\n,b,1\n", "Line 2 of .* names no model"),
        ("model,benchmark,score\na,mmmu_val,1\na,MMMU (val),2\n", "two scores of 'a'"),
        ("model,benchmark,score\na,mmmu_val,71,5\nb,mmmu_val,60,1\n", "Line 2 of .* has 4 cells and the heading 3"),
        ("model,benchmark,score\na,mmmu_val,71.5\n\nb,mmmu_val,60,\n", "Line 4 of .* write numbers with a point"),
        ("model,benchmark,score\na,mmmu_val\n", "Line 2 of .* has 2 cells"),
        ("model,Model,benchmark,score\na,a,mmmu_val,1\n", "two columns 'model'"),
    ],
)
def test_a_file_of_scores_that_cannot_be_right_is_refused_in_a_sentence(write, text, message):
    with pytest.raises(CrystalError, match=message) as caught:
        read_scores_csv(write(text))
    assert "\n" not in str(caught.value)


def test_a_model_is_found_under_all_its_names(write):
    aliases = read_aliases(write("Qwen 7B: [Qwen/Qwen2.5-VL-7B-Instruct, qwen7]\nGPT-5: gpt-5-2025\n", "aliases.yaml"))
    for name in ("Qwen__Qwen2.5-VL-7B-Instruct", "QWEN7", "Qwen 7B"):
        assert canonical_name(name, aliases=aliases) == "Qwen 7B"
    assert canonical_name("gpt-5-2025", ["gpt-5-2025"], aliases) == "GPT-5"
    assert canonical_name("Org/Model-A", ["model-a"]) == "model-a"
    assert canonical_name("Org/Model-A", ["other/model-a"]) == "Org/Model-A"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n- b\n", "no mapping"),
        ("a: [b\n", "cannot be read"),
        ("[" * 5000, "cannot be read"),
        ("a: {b: c}\n", "aliases of 'a'"),
        ("a: [x]\nb: [X]\n", "'X' to 'a' and to 'b'"),
    ],
)
def test_aliases_that_cannot_be_right_are_refused_in_a_sentence(write, text, message):
    with pytest.raises(CrystalError, match=message) as caught:
        read_aliases(write(text, "aliases.yaml"))
    assert "\n" not in str(caught.value)


def score(name: str, value: float, **more) -> Score:
    return Score(name, name, "acc", value, 1.0, **more)


def test_models_are_ranked_by_the_benchmarks_that_all_of_them_have():
    board = pd.DataFrame({"accuracy": [0.6, 0.5, 0.4], "match_f1": [0.5, 0.7, 0.5]}, index=["a", "b", "c"])
    scores = {
        "a": [score("X", 0.8), score("Y", 0.2), score("only a", 1.0), score("rate", 0.1, higher_is_better=False)],
        "b": [
            score("X", 0.4),
            score("Y", 0.8),
            score("rate", 0.3, higher_is_better=False),
            score("Z", 0, guessed=True),
        ],
    }
    found = rank_table(board, scores)
    assert found.benchmarks == ("X", "Y", "rate")
    assert found.table["others"].tolist() == pytest.approx([1.9 / 3, 1.9 / 3, math.nan], nan_ok=True)
    assert found.table["others_rank"].tolist()[:2] == [1, 1]
    assert found.table["others_rank"].isna().tolist() == [False, False, True]
    assert found.table["accuracy_rank"].tolist() == [1, 2, 3]
    assert found.table["match_f1_rank"].tolist() == [2, 1, 2]
    assert rank_table(board).benchmarks == ()


def test_pairs_that_the_rankings_put_in_opposite_order_are_told_with_what_is_known_of_them():
    board = pd.DataFrame({"accuracy": [0.6, 0.5, 0.4], "match_f1": [0.5, 0.7, 0.6]}, index=["a", "b", "c"])
    compared = pd.DataFrame(
        [("match_f1", "a", "b", 0.01), ("accuracy", "a", "b", 0.04), ("match_f1", "a", "c", 0.01)],
        columns=["metric", "first", "second", "p_holm"],
    )
    swaps = rank_table(board, comparisons=compared).swaps
    assert swaps[["better_match_f1", "better_accuracy"]].to_numpy().tolist() == [["b", "a"], ["c", "a"]]
    assert swaps["match_f1_difference"].tolist() == pytest.approx([0.2, 0.1])
    assert swaps["accuracy_difference"].tolist() == pytest.approx([0.1, 0.2])
    # Of a and c the difference in accuracy was not compared.
    assert swaps["established"].tolist() == [True, False]
    assert rank_table(board.iloc[1:]).swaps.empty


def test_scores_survive_a_results_file(tmp_path):
    made = results(ai2d={"exact_match,none": 0.8, "exact_match_stderr,none": 0.01})
    assert benchmark_scores(json.loads(json.dumps(made)))[0].value == 0.8
