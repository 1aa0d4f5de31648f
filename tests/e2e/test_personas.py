"""The scripted models through the real command line: each score is known beforehand."""

import pytest
from harness import metrics, results, run, samples, scripted
from lmms_eval_crystal.cli.demo import PERSONAS, TINY, TINY_TOKENS

pytestmark = pytest.mark.e2e
ONES = ("match_f1", "precision", "recall", "lis", "ordered_f1", "accuracy", "accuracy_strict", "format_valid")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """`crystal-eval demo`, which is all that `make demo` runs once it has set up: its folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    done = run(["crystal-eval", "demo", "--output", "demo"], folder)
    assert done.returncode == 0, done.stdout
    return folder / "demo", done.stdout


@pytest.fixture(scope="module")
def out(demo):
    return demo[0] / "results"


def test_the_oracle_scores_exactly_one(out):
    values = metrics(out / "oracle")
    assert {name: values[name] for name in ONES} == dict.fromkeys(ONES, 1.0)


def test_shuffled_loses_only_order(out):
    values = metrics(out / "shuffled")
    assert values["match_f1"] == 1
    assert values["lis"] < 0.8
    assert values["ordered_f1"] < 1


def test_the_cherry_picker_is_precise_and_covers_little(out):
    values = metrics(out / "cherry_picker")
    assert values["precision"] == values["lis"] == 1
    assert values["recall"] < 0.5


def test_verbose_covers_all_and_is_half_irrelevant(out):
    values = metrics(out / "verbose")
    assert values["recall"] == 1
    assert values["precision"] == 0.5


def test_the_talker_matches_other_items_as_well_as_its_own(out):
    values = metrics(out / "talker")
    assert values["match_f1"] > 0.1
    assert abs(values["f1_above_null"]) < 0.05
    assert metrics(out / "oracle")["f1_above_null"] > 0.6


def test_lucky_is_right_without_reasoning(out):
    values = metrics(out / "lucky")
    assert values["accuracy"] == values["accuracy_strict"] == 1
    assert values["match_f1"] < 0.3


def test_wrong_reasons_well_and_answers_wrongly(out):
    values = metrics(out / "wrong")
    assert values["match_f1"] == 1
    assert values["accuracy"] == values["accuracy_strict"] == 0


def test_malformed_counts_as_a_miss_and_no_item_is_lost(out):
    values = metrics(out / "malformed")
    for name in ("accuracy", "accuracy_strict", "match_f1", "ordered_f1", "format_valid", "format_usable"):
        assert values[name] == 0, name
    assert values["lis"] == values["kendall_tau"] == values["steps"] == 1
    assert "lis_multi" not in values
    assert len(samples(out / "malformed")) == results(out / "malformed")["n-samples"]["crystal_mini"]["original"]


def test_simple_and_chat_models_score_the_same(out, tmp_path):
    done = run(["lmms-eval", *scripted("shuffled", force_simple="")], tmp_path)
    assert done.returncode == 0, done.stdout
    assert metrics(tmp_path) == metrics(out / "shuffled")
    assert "CrystalScriptedSimple/simple" in results(tmp_path)["crystal"]["crystal_mini"]["generation"]


def test_results_carry_signatures_intervals_and_counts(out):
    section = results(out / "oracle")["crystal"]["crystal_mini"]
    assert section["scorer"].startswith("crystal|v:1|data:")
    assert section["generation"].endswith("|scripted:yes")
    assert section["metrics"]["match_f1"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "items": section["items"]}
    assert "a scripted stand-in, not a model" in section["differs_from_paper"]
    assert section["validity"]["optimal_f1"] == 1
    assert 0.1 < section["validity"]["first_f1"][0] < section["validity"]["first_f1"][9] < 1
    assert section["validity"]["conflicts"] == {"items": 50, "any": 0, "number": 0, "negation": 0}


def test_each_sample_carries_what_a_report_needs(out):
    sample = samples(out / "shuffled")[7]
    record = sample["crystal"]
    expected = {
        *("model", "response", "status", "predicted_steps", "reference_steps", "pairs", "question", "options"),
        *("reference_answer", "answer", "correct", "correct_strict", "correct_kind", "source", "image_sha256"),
        *("correct_strict_kind", "output_tokens", "scorer", "generation"),
        *("optimal_f1", "first_f1", "conflicts"),
    }
    assert expected <= record.keys()
    assert len(record["pairs"]) == len(record["reference_steps"]) == sample["steps"]
    assert len(record["image_sha256"]) == 64
    assert record["model"] == "shuffled"


def test_the_table_shows_every_persona_and_the_real_model(demo):
    printed = demo[1]
    assert all(f"{persona}*" in printed for persona in PERSONAS)
    assert f"\n {TINY} " in printed
    assert "Not comparable with the paper's table" in printed


def test_the_demo_ends_with_the_report_of_its_runs(demo):
    folder, printed = demo
    page = (folder / "report.html").read_text("utf-8")
    assert "demo/report.html" in printed
    assert all(f'data-values="{name}"' in page for name in (*PERSONAS, TINY))
    assert page.count("data:image/webp;base64,") >= 45, "the pictures of the shipped set are at hand"


def test_the_tiny_model_ran_through_the_adapter_of_the_harness(demo):
    sample = samples(next((demo[0] / "results").glob(f"*{TINY}")))[0]
    assert sample["crystal"]["model"] == TINY
    assert sample["truncated"] == 1
    assert sample["crystal"]["output_tokens"] == TINY_TOKENS
    assert "|adapter:Qwen2_5_VL/chat|dtype:bfloat16|tokens:16|temperature:0|" in sample["crystal"]["generation"]
    assert sample["crystal"]["generation"].endswith("|scripted:no")
