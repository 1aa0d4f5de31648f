"""Answer verdicts as a whole: the shared cases, blank and hostile predictions, and what holds for all texts."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lmms_eval_crystal.metrics.answers import AnswerVerdict, judge_answer

CASES = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "answers.jsonl").read_text("utf-8").splitlines()
]
KINDS = {"option", "boolean", "number", "math", "text", "none"}
ANYTHING = st.text(st.characters(), max_size=60)
ANSWERS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9 .,%/=()+-]{0,20}[A-Za-z0-9]", fullmatch=True)
OPTIONS = st.lists(st.text(max_size=8), max_size=4)
TIME_LIMIT_S = 2.0


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_both_verdicts_on_the_shared_cases(case: dict) -> None:
    verdict = judge_answer(case["prediction"], case["reference"], case["question"], case["options"])
    assert (verdict.paper, verdict.strict) == (case["paper"], case["strict"])


@pytest.mark.parametrize("prediction", [None, "", "  \n"])
@pytest.mark.parametrize("reference", ["5", "lamp", ""])
def test_a_missing_answer_is_never_right(prediction: str | None, reference: str) -> None:
    assert judge_answer(prediction, reference) == AnswerVerdict(False, False, "none", True)


@pytest.mark.parametrize(
    ("prediction", "reference", "options", "kind"),
    [
        ("C", "B", ["x", "y", "z"], "option"),
        ("yes", "no", [], "boolean"),
        ("4", "5", [], "number"),
        ("4", "4", [], "number"),
        ("x+1", "x+2", [], "math"),
        ("cat", "dog", [], "text"),
    ],
)
def test_the_kind_is_what_the_reference_is(prediction: str, reference: str, options: list[str], kind: str) -> None:
    assert judge_answer(prediction, reference, "", options).kind == kind


@settings(max_examples=150, deadline=None)
@given(ANYTHING, ANYTHING, ANYTHING, OPTIONS)
def test_no_text_makes_it_raise(prediction: str, reference: str, question: str, options: list[str]) -> None:
    assert judge_answer(prediction, reference, question, options).kind in KINDS


@settings(max_examples=150, deadline=None)
@given(ANYTHING, OPTIONS)
def test_identical_text_is_right(text: str, options: list[str]) -> None:
    assume(text.strip())
    assert judge_answer(text, text, "", options).strict


@settings(max_examples=100, deadline=None)
@given(ANSWERS, ANSWERS)
def test_case_white_space_and_bold_do_not_matter(prediction: str, reference: str) -> None:
    strict = judge_answer(prediction, reference).strict
    for variant in (prediction.upper(), f"  {prediction}\n", f"**{prediction}**"):
        assert judge_answer(variant, reference).strict is strict


@given(
    st.sampled_from("ABCD"),
    st.sampled_from("ABCD"),
    st.just([]) | st.lists(st.sampled_from(["A", "B", "x", "2"]), min_size=4, max_size=6),
)
def test_a_label_is_never_another_label(prediction: str, reference: str, options: list[str]) -> None:
    assert judge_answer(prediction, reference, "", options).strict is (prediction == reference)


HOSTILE = {
    "ten thousand digits": "9" * 10_000,
    "a megabyte": "a " * 500_000,
    "open fractions": r"\frac{" * 300,
    "deep brackets": "(" * 900 + ")" * 900,
    "deep boxes": r"\boxed{" * 200 + "5" + "}" * 200,
    "a tower of powers": "9^9^9^9^9",
    "a factorial of a factorial": "(9999999!)!",
    "large powers of sums": "(x+y+z+w)^{12}(1+x)^{12}",
    "nested functions": r"\exp(\exp(\exp(\exp(9))))",
    "lone surrogates and NUL": "\ud800 5 \x00 \udfff",
    "many asterisks": "*" * 1_999,
    "many dollars": "$a " * 600,
    "many lead-ins": "the answer is " * 140,
    "many number words": "one hundred " * 160,
    "many quotes": "'" * 1_999,
    "many letters": "A. No, B) is wrong, " * 90,
    "many denials": "not before " * 150,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("other", ["5", "yes", "B", r"\sqrt{2}"])
def test_hostile_text_gets_its_verdict_in_time(text: str, other: str) -> None:
    for prediction, reference in ((text, other), (other, text)):
        begun = time.monotonic()
        assert not judge_answer(prediction, reference, "Is it?", ["left", "right"]).strict or "5" in text
        assert time.monotonic() - begun < TIME_LIMIT_S
