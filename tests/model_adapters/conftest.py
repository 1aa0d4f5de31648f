"""What the tests of the models share: a dataset whose images cannot be decoded, and the harness's requests for it."""

from collections.abc import Callable, Iterable

import pytest
from datasets import Dataset, Features, Image, Value
from lmms_eval.api.instance import Instance

TASK, SPLIT = "crystal_mini", "test"
QUESTIONS = ("How many dogs are there?", "Is the door open?", "Which console is the smallest?")
ANSWERS = ("2", "yes", "C")
STEPS = (
    ["Two dogs lie on the grass", "No other dog is in sight", "The count is two"],
    ["The door stands ajar", "Light falls through the gap"],
    [f"Console number {number} stands on the table" for number in range(7)],
)
CHOICES = ([], [], ["left", "right", "middle"])


@pytest.fixture
def rows() -> Dataset:
    """Three items; reading one with its image raises, since the image is no image."""
    return Dataset.from_dict(
        {
            "image": [{"bytes": b"not an image", "path": None}] * len(QUESTIONS),
            "question": QUESTIONS,
            "answer": ANSWERS,
            "reference_steps": STEPS,
            "choices": CHOICES,
        },
        features=Features(
            image=Image(),
            question=Value("string"),
            answer=Value("string"),
            reference_steps=[Value("string")],
            choices=[Value("string")],
        ),
    )


Ask = Callable[..., list[Instance]]


@pytest.fixture
def ask() -> Ask:
    """Requests as the harness builds them: for chat models, or for simple ones, whose arguments differ."""

    def build(indices: Iterable[int], chat: bool = True, task: str = TASK, padding: bool = False) -> list[Instance]:
        leading = ("context", None, {"until": []}) if chat else ("context", {"until": []}, None)
        metadata = {"task": task, "repeats": 1} | ({"__padding_only__": True} if padding else {})
        return [
            Instance("generate_until", (*leading, index, task, SPLIT), 0, metadata | {"doc_id": index})
            for index in indices
        ]

    return build
