"""The paper's answer rule decides every text as the released scorer does, and survives any text.

The released scorer runs beside it as the oracle, on the shared cases and on seeded triples of prediction, reference and
question that are made to sit on the rule's borders: tolerances, length ratios, letters in every dress.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from crystal_metrics import AccuracyCalculator
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_crystal.metrics.options import question_with_options
from lmms_eval_crystal.metrics.paper_rule import paper_decision, paper_verdict

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


WORDS = (
    "car cat cats dog bus red apple apples left right console middle lamp the a an of is are knot unknown notice "
    "nothing untrue none nope incorrect Correct eyes affirmative negative option options choice adoption answer "
    "theatre blue-green New York City H2O CO2 x_1 日本 日本語 кошка Σίσυφος ΟΔΟΣ İstanbul straße STRASSE naïve café ﬁne"
).split()
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
LEAD_INS += ["{} because it fits", "I think {}", "option 3, the answer is {}", "the answer is option {}", "it is {}"]
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
GREEK_AND_WIDE_DIGITS = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def phrase(rng: random.Random) -> str:
    """One to five words with assorted spaces between them."""
    return rng.choice([" ", " ", " ", "  ", ", ", "-", "\n"]).join(rng.choices(WORDS, k=rng.randint(1, 5)))


def number(rng: random.Random) -> str:
    """A number in one of many shapes, some of them no number to the rule."""
    text = rng.choice(NUMBER_SHAPES).format(rng.uniform(-1, 1) * rng.choice(MAGNITUDES))
    return text.translate(GREEK_AND_WIDE_DIGITS) if rng.random() < 0.05 else text


def letter(rng: random.Random) -> str:
    """One option letter, seldom several."""
    return rng.choice(["A", "B", "C", "D", "a", "b", "c", "i", "Z", "É", "K", "AB", "A or C", "B, C", "C1"])


def near_number(rng: random.Random, text: str) -> str:
    """A number on the border of a tolerance around the first number of ``text``."""
    value = float(text.replace(",", ""))
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
    """A prediction and a reference that have something to do with each other, under a question with or without options."""
    makers = [partial(phrase, rng), partial(number, rng), partial(letter, rng), lambda: rng.choice(POLAR)]
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
        plain = reference.translate(str.maketrans("٠١٢٣٤٥٦٧٨٩", "0123456789"))
        prediction = near_number(rng, plain)
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
