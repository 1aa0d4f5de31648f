"""Questions on pictures of coloured shapes (colour, count, position), with reference steps that lead to the answer."""

import json
import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...crystal_task.item import Item
from .pictures import COLOURS, FEWEST, Scene, Thing, draw_scene, paint

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven")


@dataclass(frozen=True)
class Habits:
    """How the teacher of a supervised lesson writes.

    With the chance ``brief`` the conclusion alone, with ``careful`` all steps, else the first two and each further one
    with the chance ``go_on``. With the chance ``hasty`` an answer that looks at the picture's first thing only.
    """

    brief: float
    careful: float
    go_on: float
    hasty: float


@dataclass(frozen=True)
class Question:
    """A question on a scene: ``kind`` is what is asked, ``conclusion`` the step that states the answer.

    ``hasty_answer`` is what the picture's first thing alone suggests.
    """

    scene: Scene
    kind: str
    text: str
    answer: str
    hasty_answer: str
    conclusion: str

    @property
    def reference_steps(self) -> tuple[str, ...]:
        """What is in each cell, in reading order, and the conclusion: three to eight steps."""
        return (*(observation(thing) for thing in self.scene), self.conclusion)

    def row(self) -> dict[str, Any]:
        """The question as a row of a dataset."""
        return {
            "image": paint(self.scene),
            "question": self.text,
            "answer": self.answer,
            "reference_steps": list(self.reference_steps),
            "source": self.kind,
        }

    def item(self, index: int) -> Item:
        return Item.from_row({**self.row(), "image": None}, index)


def observation(thing: Thing) -> str:
    """A step on one thing. Four words of content: two such steps that differ in two of them share half of their words.

    >>> observation(Thing("red", "circle", 0))
    'Red circle top left'
    """
    return f"{thing.name} {thing.place}".capitalize()


def draw_questions(count: int, seed: int | str, others: Collection[Question] = ()) -> list[Question]:
    """So many questions on pictures of their own, a third of each kind, the same for the same seed.

    None of them is among the ``others``.
    """
    taken = set(others)
    chance = random.Random(seed)
    kinds = (_colour, _count, _position)
    questions: list[Question] = []
    while len(questions) < count:
        question = kinds[len(questions) % len(kinds)](draw_scene(chance), chance)
        if question and question not in taken:
            questions.append(question)
    return questions


def _colour(scene: Scene, chance: random.Random) -> Question:
    thing = chance.choice(scene)
    asked = f"the shape at the {thing.place}"
    text, conclusion = f"What colour is {asked}?", f"{asked} is {thing.colour}".capitalize()
    return Question(scene, "colour", text, thing.colour, scene[0].colour, conclusion)


def _count(scene: Scene, chance: random.Random) -> Question:
    colour = chance.choice(list(COLOURS))
    hits = [thing.colour == colour for thing in scene]
    number = sum(hits)
    conclusion = f"{NUMBERS[number]} {colour} shape{'' if number == 1 else 's'} in all".capitalize()
    return Question(scene, "count", f"How many {colour} shapes are there?", str(number), str(int(hits[0])), conclusion)


def _position(scene: Scene, chance: random.Random) -> Question | None:
    counted = Counter(thing.colour for thing in scene)
    single = [thing for thing in scene if counted[thing.colour] == 1]
    if not single:  # the question would have several answers
        return None
    thing = chance.choice(single)
    asked = f"the {thing.colour} shape"
    conclusion = f"{asked} lies at the {thing.place}".capitalize()
    return Question(scene, "position", f"Where is {asked}?", thing.place, scene[0].place, conclusion)


def taught_response(question: Question, habits: Habits, chance: random.Random) -> str:
    """What a lesson shows as a response: valid JSON, true steps but seldom all of them, and at times a hasty answer."""
    answer = question.hasty_answer if chance.random() < habits.hasty else question.answer
    return response(_taught_steps(question, habits, chance), answer)


def _taught_steps(question: Question, habits: Habits, chance: random.Random) -> Sequence[str]:
    steps, drawn = question.reference_steps, chance.random()
    if drawn < habits.brief:
        return steps[-1:]
    if drawn < habits.brief + habits.careful:
        return steps
    wanted = FEWEST
    while wanted < len(steps) and chance.random() < habits.go_on:
        wanted += 1
    return steps[:wanted]


def response(steps: Sequence[str], answer: str) -> str:
    return json.dumps({"reasoning_steps": steps, "answer": answer})


def save_questions(questions: list[Question], file: Path) -> Path:
    """The questions as a parquet file with the columns of the benchmark. Returns the file."""
    from datasets import Dataset, Features, Image, List, Value

    features = Features(
        image=Image(),
        question=Value("string"),
        answer=Value("string"),
        reference_steps=List(Value("string")),
        source=Value("string"),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    Dataset.from_list([question.row() for question in questions], features=features).to_parquet(file)
    return file
