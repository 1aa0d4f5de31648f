"""The practice folder: questions whose chains lead to their answers, a model that can be taught, a configuration."""

import random
import re
from collections import Counter

import pytest
from lmms_eval_crystal.benchmarks import training as benchmark
from lmms_eval_crystal.crystal_task import parse_response
from lmms_eval_crystal.training.config import read_config
from lmms_eval_crystal.training.data import load_items
from lmms_eval_crystal.training.practice.making import HELD_OUT_ITEMS, Lesson, make
from lmms_eval_crystal.training.practice.pictures import BACKGROUND, CELL, COLOURS, MARGIN, paint
from lmms_eval_crystal.training.practice.questions import NUMBERS, Habits, draw_questions, taught_response

QUESTIONS = draw_questions(90, 7)
HABITS = Habits(brief=0.2, careful=0.3, go_on=0.3, hasty=0.5)


def test_questions_are_the_same_for_the_same_seed_and_never_those_of_another_set():
    assert draw_questions(9, 7) == QUESTIONS[:9]
    assert not set(draw_questions(90, 7, QUESTIONS)) & set(QUESTIONS)
    assert Counter(question.kind for question in QUESTIONS) == {"colour": 30, "count": 30, "position": 30}


@pytest.mark.parametrize("question", QUESTIONS[:30], ids=lambda question: question.text)
def test_the_answer_follows_from_the_observations(question):
    *observations, conclusion = (step.lower() for step in question.reference_steps)
    assert 3 <= len(question.reference_steps) <= 8
    if question.kind == "count":
        colour = question.text.split()[2]
        counted = sum(step.startswith(colour) for step in observations)
        assert (question.answer, conclusion.split()[0]) == (str(counted), NUMBERS[counted])
    elif question.kind == "colour":
        place = re.search(r"at the (.*)\?", question.text)[1]
        [seen] = [step for step in observations if step.endswith(place)]
        assert seen.startswith(question.answer)
    else:
        colour = question.text.split()[3]
        [seen] = [step for step in observations if step.startswith(colour)]
        assert seen.endswith(question.answer)
    assert conclusion.endswith(question.answer) or question.kind == "count"


def test_a_picture_shows_each_thing_in_its_cell():
    scene = QUESTIONS[0].scene
    picture = paint(scene)
    for cell in range(9):
        row, column = divmod(cell, 3)
        box = (column * CELL + MARGIN, row * CELL + MARGIN, (column + 1) * CELL - MARGIN, (row + 1) * CELL - MARGIN)
        seen = {colour for _, colour in picture.crop(box).getcolors()} - {BACKGROUND}
        assert seen == {COLOURS[thing.colour] for thing in scene if thing.cell == cell}


def test_a_teacher_writes_the_form_and_true_steps_only():
    chance = random.Random(1)
    for question in QUESTIONS:
        response = parse_response(taught_response(question, HABITS, chance))
        assert response.status == "valid"
        assert response.steps
        assert set(response.steps) <= set(question.reference_steps)
        assert response.answer in (question.answer, question.hasty_answer)


def test_the_folder_trains_as_its_configuration_says(tmp_path):
    file = make(tmp_path / "practice", seed=5, lessons=[Lesson(HABITS, steps=1, rate=1e-3)], count=40)
    config = read_config(file)
    assert config.seed == 5
    data = load_items(config)
    assert len(data.train) + len(data.validation) == 40
    assert (file.parent / HELD_OUT_ITEMS).is_file()
    for method in benchmark.METHODS:
        phases = read_config(file, [f"method={method}", f"phases={benchmark.phases(method)}"]).phases
        assert sum(phase.steps for phase in phases) == 2 * benchmark.STEPS
