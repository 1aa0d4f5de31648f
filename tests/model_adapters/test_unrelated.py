"""The unrelated sentences are unrelated: the encoder of the shipped set keeps them away from what pictures show."""

import random

import numpy as np
from lmms_eval_crystal.metrics import TAU, StepEncoder, score_steps
from lmms_eval_crystal.model_adapters.personas import unrelated
from lmms_eval_crystal.model_adapters.unrelated import SENTENCES

STEPS = (
    "The chart is a bar chart with years on the horizontal axis.",
    "The value for Sweden is 42 percent.",
    "The price of wheat rose between the two years.",
    "The two given angles of the triangle add up to 110 degrees.",
    "The hypotenuse follows from the Pythagorean theorem.",
    "A red car is parked on the left side of the street.",
    "Two people in jackets cross the road at a green light.",
    "The dog lies on the grass with its eyes closed.",
    "The butterfly has orange wings with black edges.",
    "The arrow in the food web points from the mouse to the owl.",
    "The beaker on the right holds more dissolved particles.",
    "The map shows the state of Ohio shaded green.",
    "A spoon lies next to a cup of coffee on the table.",
    "The astronaut in the photograph wears an orange suit.",
)


def test_no_sentence_comes_near_a_step_about_a_picture(minilm: StepEncoder) -> None:
    similarity = minilm.encode(SENTENCES) @ minilm.encode(STEPS).T
    assert similarity.max() < TAU
    assert np.mean(similarity > 0.2) < 0.05


def test_unrelated_steps_match_nothing_and_padding_halves_the_precision(minilm: StepEncoder) -> None:
    padding = unrelated(len(STEPS), random.Random(0))
    assert score_steps(padding, STEPS, minilm).match_f1 == 0
    padded = score_steps([*STEPS, *padding], STEPS, minilm)
    assert (padded.precision, padded.recall) == (0.5, 1)
