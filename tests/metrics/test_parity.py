"""Step scores equal those of crystal-metrics 0.2.0 on the same embeddings."""

import random

import numpy as np
import pytest
from datasets import Dataset
from lmms_eval_crystal.crystal_task import parse_response
from lmms_eval_crystal.crystal_task.data import MINI_FILE
from lmms_eval_crystal.crystal_task.item import Item
from lmms_eval_crystal.metrics import score_items, score_steps
from lmms_eval_crystal.model_adapters.personas import write

CASES = 2000
#: Our name of a value, and the oracle's.
SAME = {
    "precision": "precision",
    "recall": "recall",
    "match_f1": "match_f1",
    "lis": "lis_ratio",
    "kendall_tau": "tau_normalized",
    "ordered_f1": "ordered_match_f1",
    "predicted": "num_predicted_steps",
    "reference": "num_reference_steps",
}


class VectorEncoder:
    """Texts are names of vectors, so that a case can hold any embeddings, exact ties included."""

    def __init__(self, vectors: dict[str, np.ndarray]) -> None:
        self.vectors = vectors

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.stack([self.vectors[text] for text in texts])


def random_case(seed: int) -> tuple[list[str], list[str], dict[str, np.ndarray]]:
    """Steps drawn with repetition from a small pool; coarse vectors make exact ties common."""
    rng, generator = random.Random(seed), np.random.default_rng(seed)
    dtype = rng.choice([np.float32, np.float32, np.float64])
    width = rng.choice([2, 3, 8, 384])
    pool = [f"s{index}" for index in range(rng.choice([1, 3, 10, 80]))]
    if rng.random() < 0.5:
        rows = generator.integers(-1, 2, size=(len(pool), width)).astype(dtype)
        rows[~rows.any(axis=1), 0] = 1
    else:
        rows = generator.standard_normal((len(pool), width)).astype(dtype)
    if rng.random() < 0.7:
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    predicted = [rng.choice(pool) for _ in range(rng.randint(0, rng.choice([3, 12, 60])))]
    reference = [rng.choice(pool) for _ in range(rng.randint(1, rng.choice([3, 12, 60])))]
    return predicted, reference, dict(zip(pool, rows.astype(dtype), strict=True))


@pytest.fixture
def vector_oracle(oracle, monkeypatch):
    def evaluate(predicted, reference, vectors, tau):
        encoder = VectorEncoder(vectors)
        monkeypatch.setattr(oracle, "_compute_embeddings", encoder.encode)
        monkeypatch.setattr(oracle, "similarity_threshold", tau)
        return oracle.evaluate_single(predicted, reference, alpha=0.3, order_metric="lis")

    return evaluate


def assert_same(ours, theirs, tolerance: float = 1e-9) -> None:
    for name, their_name in SAME.items():
        assert getattr(ours, name) == pytest.approx(getattr(theirs, their_name), abs=tolerance), name


def test_random_cases_with_ties_duplicates_and_thresholds_on_a_similarity(vector_oracle):
    matched = 0
    for seed in range(CASES):
        predicted, reference, vectors = random_case(seed)
        tau = 0.35
        if predicted and seed % 3 == 0:  # a threshold that a similarity hits exactly
            first, other = vectors[predicted[0]], vectors[reference[-1]]
            tau = float(first @ other / np.linalg.norm(first) / np.linalg.norm(other))
        ours = score_steps(predicted, reference, VectorEncoder(vectors), tau=tau)
        assert_same(ours, vector_oracle(predicted, reference, vectors, tau))
        matched += bool(ours.pairs)
    assert CASES * 0.3 < matched < CASES, "cases with and without matches are both wanted"


def test_pairs_are_the_same_pairs(oracle, vector_oracle):
    for seed in range(200):
        predicted, reference, vectors = random_case(seed)
        if not predicted:
            continue
        encoder = VectorEncoder(vectors)
        similarity = oracle._compute_similarity_matrix(encoder.encode(predicted), encoder.encode(reference))
        theirs = oracle._find_matches(similarity, 0.35)[2]
        ours = score_steps(predicted, reference, encoder).pairs
        assert [pair[:2] for pair in ours] == [tuple(map(int, pair[:2])) for pair in theirs]


def test_real_encoder_on_crystal_mini(oracle, minilm):
    """Each item as one of the personas would answer it, the personas in turn."""
    rows = Dataset.from_parquet(str(MINI_FILE)).remove_columns("image")
    personas = ("shuffled", "cherry_picker", "verbose", "lucky", "oracle")
    items = []
    for index, row in enumerate(rows):
        item = Item.from_row(row, index)
        response = parse_response(write(personas[index % len(personas)], item, seed=7))
        items.append((response.steps, item.reference_steps))
    for ours, (predicted, reference) in zip(score_items(items, minilm), items, strict=True):
        theirs = oracle.evaluate_single(list(predicted), list(reference), alpha=0.3, order_metric="lis")
        assert_same(ours, theirs, tolerance=1e-6)


def test_real_encoder_on_real_sentences(oracle, minilm):
    steps = [
        "There are three objects in the image.",
        "Compare the sizes of the three objects.",
        "The middle object is the smallest.",
        "The chart has a red bar.",
        "Therefore the answer is C.",
    ]
    for predicted, reference in ((steps[:3], steps[2:]), (steps[::-1], steps), ([], steps), (steps * 3, steps[:1])):
        ours = score_steps(predicted, reference, minilm)
        theirs = oracle.evaluate_single(predicted, reference, alpha=0.3, order_metric="lis")
        assert_same(ours, theirs, tolerance=1e-6)
