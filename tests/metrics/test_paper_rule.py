"""The paper's answer rule decides every text as the released scorer does, and survives any text.

The released scorer runs beside it as the oracle, on the shared cases and on seeded triples of prediction, reference and
question that are made to sit on the rule's borders: tolerances, length ratios, letters in every dress.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from crystal_metrics import AccuracyCalculator
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.metrics.options import question_with_options
from lmms_eval_crystal.metrics.paper_rule import PaperDecision, paper_decision, paper_verdict

CASES = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "answers.jsonl").read_text().splitlines()]
TRIPLES = 2_000
SEED = 42
ORACLE = AccuracyCalculator(use_llm_grader=False)
KIND_OF_MATCH_TYPE = {"yes_no": "boolean", "choice": "option", "exact": "text"}
SUBSTRING_CONFIDENCES = (0.3, 0.7)


class Triple(NamedTuple):
    """The arguments of ``paper_verdict``."""

    prediction: str
    reference: str
    question: str
    options: Sequence[str]


VOCABULARY = """
    car cat cats dog bus red apple apples left right console middle lamp the a an of is are knot unknown notice nothing
    untrue none nope incorrect Correct eyes affirmative negative option options choice adoption answer about result
    approximately theatre blue-green New York City H2O CO2 x_1 日本 日本語 кошка Σίσυφος ΟΔΟΣ İstanbul straße STRASSE
    naïve café ﬁne \\alpha $x^2$ anſwer
"""
WORDS = VOCABULARY.split()
POLAR = [
    "yes",
    "No",
    "TRUE",
    "false",
    "Yes, it is",
    "no.",
    "(true)",
    "'false'",
    "yes and no",
    "not true",
    "it is not so",
]
LEAD_INS = ["The answer is {}", "answer is: {}", "Answer: {}", "the correct option is {}", "so option {}", "choice {}"]
LEAD_INS += [
    "-about {}",
    "0.answer: {}",
    "{} because it fits",
    "option 3, the answer is {}",
    "the answer is option {}",
    "it is {}",
]
DRESSES = ["{}", "({})", "{}.", "{})", "[{}]", "{},", "**{}**", "\\boxed{{{}}}", "${}$", "{}!", "{}:", '"{}"', "“{}”"]
DRESSES += [" {} ", "\t{}\n", "`{}`", "the {}", "a {}", "{} cm", "{}%", "x{}y", "-{}", "−{}", "+{}", "{}/2", "\u00a0{}"]
NUMBER_SHAPES = [
    "{:.0f}",
    "{:.1f}",
    "{:.2f}",
    "{:.3f}",
    "{:.4f}",
    "{:,.0f}",
    "{:,.2f}",
    "{:e}",
    "{:.2E}",
    "{:g}",
    "{:.0f}.",
]
FACTORS = [1, 0.85, 0.86, 0.9, 0.95, 1.05, 1.1, 1.12, 1.15, 1.16, -1]
SHIFTS = [0.05, -0.05, 0.051, 0.5, -0.5, 0.49, 1, 0.001]
MAGNITUDES = [0.1, 1, 10, 100, 3_000, 1e6, 1e16, 1e18, 1e120]
OPTION_LINES = [
    "\nA) car\nB) bus",
    "\nA) red apple\n\nB)\nC) bus",
    " A) car B) bus",
    "\nA) car\r\nB)bus",
    "\na) car",
    "\nA) 3",
]
ARABIC_DIGITS = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def phrase(rng: random.Random) -> str:
    """One to five words with assorted spaces between them."""
    return rng.choice([" ", " ", " ", "  ", ", ", "-", "\n"]).join(rng.choices(WORDS, k=rng.randint(1, 5)))


def number(rng: random.Random) -> str:
    """A number in one of many shapes, some of them no number to the rule."""
    text = rng.choice(NUMBER_SHAPES).format(rng.uniform(-1, 1) * rng.choice(MAGNITUDES))
    return text.translate(ARABIC_DIGITS) if rng.random() < 0.05 else text


def letter(rng: random.Random) -> str:
    """One option letter, seldom several."""
    return rng.choice(["A", "B", "C", "D", "a", "b", "c", "i", "Z", "É", "K", "AB", "A or C", "B, C", "C1"])


def near_number(rng: random.Random, value: float) -> str:
    """A number on the border of a tolerance around ``value``."""
    moved = value * rng.choice(FACTORS) if rng.random() < 0.6 else value + rng.choice(SHIFTS)
    return rng.choice(NUMBER_SHAPES).format(moved)


def near_text(rng: random.Random, text: str) -> str:
    """A part of ``text``, or ``text`` with more around it, often near the length ratio of 0.8."""
    if rng.random() < 0.5:
        kept = max(1, round(len(text) * rng.choice([0.75, 0.79, 0.8, 0.81, 0.9, 0.5])))
        start = rng.randint(0, len(text) - kept) if len(text) > kept else 0
        return text[start : start + kept]
    extra = "x" * round(len(text) * rng.choice([0.1, 0.2, 0.24, 0.25, 0.26, 0.5]))
    return rng.choice([text + extra, extra + text, f"{text} {phrase(rng)}", text.upper(), text.swapcase()])


def dressed(rng: random.Random, text: str) -> str:
    """``text`` in brackets, marks and lead-ins, or bare."""
    if rng.random() < 0.4:
        text = rng.choice(DRESSES).format(text)
    if rng.random() < 0.25:
        text = rng.choice(LEAD_INS).format(text)
    return text


def triple(rng: random.Random) -> Triple:
    """A prediction and a reference that have something to do with each other, with and without options."""
    makers: list[Callable[[], str]] = [
        partial(phrase, rng),
        partial(number, rng),
        partial(letter, rng),
        lambda: rng.choice(POLAR),
    ]
    counts = [0, 0, 2, 3, 4, 10, 26]
    options = [rng.choice(makers)() for _ in range(rng.choice(counts))]
    question = phrase(rng) + (rng.choice(OPTION_LINES) if rng.random() < 0.2 else "")

    def answer() -> str:
        return rng.choice(options) if options and rng.random() < 0.4 else rng.choice(makers)()

    reference, roll = answer(), rng.random()
    prediction = answer()
    if roll < 0.25:
        prediction = near_text(rng, reference)
    elif roll < 0.5:
        reference = number(rng) if rng.random() < 0.5 else f"{rng.randint(-400, 400) / rng.choice([1, 4, 100]):g}"
        prediction = near_number(rng, float(reference.replace(",", "")))
    elif roll < 0.6:
        reference = rng.choice(["yes", "no", "True", "false."])
    elif roll < 0.7 and options:
        reference, prediction = rng.choice("ABCD"), near_text(rng, rng.choice(options))
    elif roll < 0.73:
        prediction = rng.choice(["", " ", "\n", ".", "''", "!"])
    elif roll < 0.75:
        reference = rng.choice(["", " ", "."])
    pair = [dressed(rng, prediction), dressed(rng, reference) if rng.random() < 0.3 else reference]
    if rng.random() < 0.15:
        pair.reverse()
    return Triple(pair[0], pair[1], question, options)


def oracle_decision(item: Triple) -> tuple[bool, str]:
    """The verdict of the released scorer and, in this package's terms, the rule that gave it."""
    if not item.prediction.strip():
        return False, "missing"
    result = ORACLE.evaluate_single(question_with_options(item.question, item.options), item.prediction, item.reference)
    kind = "number" if result.match_type.startswith("numeric") else KIND_OF_MATCH_TYPE[result.match_type]
    if kind == "text" and result.confidence in SUBSTRING_CONFIDENCES:
        kind = "substring"
    return result.is_correct, kind


def our_decision(item: Triple) -> tuple[bool, str]:
    decision = paper_decision(*item)
    return decision.correct, decision.kind


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_every_case_has_the_verdict_of_the_released_scorer(case: dict[str, Any]) -> None:
    assert paper_verdict(case["prediction"], case["reference"], case["question"], case["options"]) is case["paper"]


QUESTION = "Which one, X) left or Y) right?"
# Prediction, reference, options, verdict, rule: one line a corner of the protocol.
CORNERS = [
    (".5", "0.5", (), False, "number"),
    ("1e5", "1", (), True, "number"),
    ("-about 5", "-5", (), True, "number"),
    ("0", "0.5", (), True, "number"),
    ("1", "0.5", (), False, "number"),
    ("115", "100", (), False, "number"),
    ("114.99", "100", (), True, "number"),
    ("114.991", "100", (), False, "number"),
    ("110.000", "100", (), True, "number"),
    ("option B, 3 cars", "option A, 3 cars", ("3 cars", "3 cars"), True, "number"),
    ("y", "yes", (), False, "boolean"),
    ("affirmative", "TRUE.", (), True, "boolean"),
    ("negative", "no", (), True, "boolean"),
    ("no, yes", "no", (), False, "boolean"),
    ("A", "yes", ("yes", "no"), False, "boolean"),
    ("yes", "A", ("yes", "no"), True, "option"),
    ("Z", "z)", (), True, "option"),
    ("the answer is a bus", "A", (), True, "option"),
    ("the option is C", "C", (), False, "option"),
    ("choice A, answer is B, option C", "C", (), True, "option"),
    ("b.5", "B", (), True, "option"),
    ("cars", "A", ("xcars",), True, "option"),
    ("left or Y right?", "X", (), True, "option"),
    ("car", "A", ("cars",), False, "text"),
    ("bus", "B", ("", "bus"), False, "text"),
    ("Paris!", "paris", (), False, "text"),
    ("( cat )", "cat", (), False, "text"),
    ("Paris. (France)", "paris france", (), True, "text"),
    (".", "New York", (), True, "substring"),
    ("York", "New York", (), True, "substring"),
    ("**C**", "Answer: **C**", (), True, "substring"),
    (" \n", " \n", (), False, "missing"),
]


@pytest.mark.parametrize("corner", CORNERS, ids=[f"{corner[4]}: {corner[0]} / {corner[1]}" for corner in CORNERS])
def test_the_corners_are_as_documented_and_as_released(corner: tuple[str, str, Sequence[str], bool, str]) -> None:
    prediction, reference, options, *expected = corner
    item = Triple(prediction, reference, QUESTION, options)
    assert our_decision(item) == oracle_decision(item) == tuple(expected)


def test_seeded_triples_get_the_verdict_and_the_rule_of_the_released_scorer() -> None:
    rng = random.Random(SEED)
    reached: Counter[tuple[bool, str]] = Counter()
    for item in (triple(rng) for _ in range(TRIPLES)):
        decision = oracle_decision(item)
        assert our_decision(item) == decision, item
        reached[decision] += 1
    rules = ("number", "boolean", "option", "text", "substring")
    assert all(reached[verdict, rule] >= 5 for verdict in (True, False) for rule in rules), reached


ANSWERS = st.one_of(st.text(), st.text('aBcC5. (),:-\n%"xyes', max_size=8))


@given(ANSWERS, ANSWERS, ANSWERS, st.lists(ANSWERS, max_size=4))
def test_any_text_is_decided_as_released(prediction: str, reference: str, question: str, options: list[str]) -> None:
    item = Triple(prediction, reference, question, options)
    assert our_decision(item) == oracle_decision(item)


@given(ANSWERS.filter(str.strip), ANSWERS, st.lists(ANSWERS, max_size=4))
def test_a_repeated_reference_is_always_correct(reference: str, question: str, options: list[str]) -> None:
    assert paper_verdict(reference, reference, question, options)


@pytest.mark.parametrize("prediction", [None, "", " \t\n", "\u3000"])
@pytest.mark.parametrize("reference", ["", "C", "12", "no", "the city of London"])
def test_a_missing_prediction_is_never_correct(prediction: str | None, reference: str) -> None:
    assert not paper_verdict(prediction, reference, "Which?", ["", "London"])


def test_options_past_z_have_no_letter() -> None:
    options = [f"{name} dish" for name in WORDS[:40]]
    assert paper_decision("Z", options[25], "Which?", options) == PaperDecision(True, "option")
    assert paper_decision("Z", options[26], "Which?", options) == PaperDecision(False, "substring")


MEGABYTE = 1_000_000
HOSTILE = {
    "digits": ("9" * 10_000, "9" * 10_000 + ".5", "How many?"),
    "a megabyte of digits": ("7" * MEGABYTE, "-" + "8" * MEGABYTE, "How many?"),
    "decimals": ("0." + "0" * MEGABYTE + "1", "1e9", "How many?"),
    "infinite reference": ("1", "9" * 400, "How many?"),
    "words": ("a b " * (MEGABYTE // 4), "b a " * (MEGABYTE // 4) + "c", "Which?"),
    "near needle": ("ab" * (MEGABYTE // 2), "ab" * (MEGABYTE // 4) + "c d", "Which?"),
    "spaces": ("answer" + " " * MEGABYTE + "x", "\n" * MEGABYTE + "y", "A)" + "\n" * MEGABYTE),
    "lead-ins": ("the answer is " * (MEGABYTE // 14), "option " * (MEGABYTE // 7), "Which?"),
    "options": ("no such text", "nor this one", "A) car text\n" * (MEGABYTE // 12)),
    "option letters": ("no such text", "nor this one", "A)\n" * (MEGABYTE // 3)),
    "one long option": ("x" * (MEGABYTE - 9), "y z", "A) " + "xy" * (MEGABYTE // 2)),
    "lone surrogates": ("\ud800 5", "\udfff 5", "\ud800"),
    "null characters": ("\x00" * 9, "a\x00b", "\x00"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_decided_within_two_seconds(name: str) -> None:
    prediction, reference, question = HOSTILE[name]
    start = time.process_time()
    paper_verdict(prediction, reference, question)
    assert time.process_time() - start < 2
