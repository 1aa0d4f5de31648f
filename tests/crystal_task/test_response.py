"""What ``parse_response`` makes of text as models write it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_eval_crystal.crystal_task.response import PLACEHOLDER_STEP, STATUSES, parse_response

SOUND = {"reasoning_steps": ["Look", "Read"], "answer": "B"}
SOUND_TEXT = json.dumps(SOUND)

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip)
steps_and_answer = st.tuples(st.lists(words, max_size=6), words)


def fields(text):
    response = parse_response(text)
    assert response.status in STATUSES
    assert response.is_usable, response
    return response.steps, response.answer


def test_each_case_comes_out_as_the_case_file_says(response_case):
    response = parse_response(response_case["text"])
    steps = [PLACEHOLDER_STEP] if response_case["steps"] is None else response_case["steps"]
    assert (response.steps, response.answer, response.status) == (
        steps,
        response_case["answer"],
        response_case["status"],
    )
    assert response.is_placeholder == (response_case["steps"] is None)
    assert response.truncated == response_case["id"].startswith(("truncated", "think-never"))


@settings(deadline=None)
@given(steps_and_answer, st.sampled_from([None, 2]), st.booleans())
def test_json_as_asked_for_is_valid_and_comes_back_unchanged(said, indent, ascii_only):
    steps, answer = said
    # With a backslash of the model's own, escaped as JSON wants it, nothing is LaTeX gone wrong either.
    text = json.dumps({"reasoning_steps": steps, "answer": answer}, indent=indent, ensure_ascii=ascii_only)
    response = parse_response(f"\n {text} \n")
    assert (response.steps, response.answer, response.status, response.truncated) == (steps, answer, "valid", False)


@settings(deadline=None)
@given(steps_and_answer, st.data())
def test_text_cut_anywhere_keeps_whole_steps_only_and_counts_as_truncated(said, data):
    steps, answer = said
    text = json.dumps({"reasoning_steps": steps, "answer": answer}, ensure_ascii=False)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    response = parse_response(cut)
    assert response.truncated
    if response.is_usable:
        assert response.steps == steps[: len(response.steps)]
        assert response.answer in (None, answer)
    if cut.endswith(('"answer": "', '"answer": ')):
        assert response.steps == (steps or [PLACEHOLDER_STEP])


@pytest.mark.parametrize(
    ("text", "steps", "answer"),
    [
        ('{"reasoning_steps": ["a", "b",', ["a", "b"], None),
        ('{"reasoning_steps": ["a", "b"], "answer": 12', ["a", "b"], None),
        ('{"reasoning_steps": ["a", "b"], "answer": "12"', ["a", "b"], "12"),
        ('{"reasoning_steps": ["a", "b"], "ans', ["a", "b"], None),
        ('{"reasoning_steps": ["a", "The sign reads "STOP"', ["a"], None),
        ('{"reasoning_steps": [{"step": 1, "text": "a"}, {"step": 2, "title": "x", "te', ["a"], None),
        ('{"reasoning_steps": {"1": "a", "2": "b', ["a"], None),
        ('["Look at it", "Read', ["Look at it"], None),
        ('```json\n{"reasoning_steps": ["a", "b', ["a"], None),
        ('{"answer": "A", "reasoning_steps": ["a"]} No: {"reasoning_steps": ["fin', ["a"], "A"),
    ],
)
def test_what_was_cut_off_is_dropped_and_the_rest_kept(text, steps, answer):
    response = parse_response(text)
    assert (response.steps, response.answer, response.status, response.truncated) == (steps, answer, "recovered", True)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"reas',
        '{"reasoning_steps": [',
        '{"reasoning_steps": ["a',
        "<think>{} so",
        '{"reasoning_steps": "Step 1: a. Step 2: b',
    ],
)
def test_text_that_breaks_off_before_anything_whole_is_malformed_and_truncated(text):
    response = parse_response(text)
    assert (response.status, response.truncated, response.is_placeholder) == ("malformed", True, True)


def test_a_fence_that_closes_over_a_missing_bracket_is_no_truncation():
    response = parse_response('```json\n{"reasoning_steps": ["a", "b"\n```')
    assert (response.steps, response.truncated) == (["a", "b"], False)


@pytest.mark.parametrize(
    "text",
    [
        f"<think>no</think>{SOUND_TEXT}",
        f"<THINKING>no {{}}</THINKING>\n{SOUND_TEXT}",
        f"<think>one</think><think>two</think>{SOUND_TEXT}",
        f"<think>a<think>b</think>c</think>{SOUND_TEXT}",
        f"<think>\n<think>opened twice</think>{SOUND_TEXT}",
        f'draft {{"answer": "D"}}</think>{SOUND_TEXT}',
        f"{SOUND_TEXT}<think>is that right?</think>",
        f"◁think▷no◁/think▷{SOUND_TEXT}",
        f"```json\n{SOUND_TEXT}\n```",
        f"```\n{{}}\n```\ntext {{if}} [1]\n```json\n{SOUND_TEXT}\n```<|im_end|>",
        f"\ufeff{SOUND_TEXT}",
        f"\u200b{SOUND_TEXT}\u200b",
        f'The sum of {{1, 2}} is \\frac{{1}}{{2}} {{"bbox": [1, 2]}}. {SOUND_TEXT}',
        f"{{{SOUND_TEXT}}}",
        f'{{"reasoning_steps": ["draft is bro\nAgain:\n{SOUND_TEXT}',
        f'{SOUND_TEXT} Sources: ["x", "y"]',
        json.dumps(SOUND_TEXT),
        json.dumps({"response": SOUND}),
        json.dumps({"response": SOUND_TEXT}),
        json.dumps({"name": "submit", "arguments": SOUND}),
        json.dumps([SOUND]),
        SOUND_TEXT.replace('"', '\\"'),
        SOUND_TEXT.replace('"', "'"),
        SOUND_TEXT.replace("_", "\\_"),
        SOUND_TEXT.replace('"reasoning_steps"', "reasoning_steps").replace('"answer"', "answer"),
        SOUND_TEXT.replace('", "', '" "'),
        SOUND_TEXT.replace("], ", "] "),
        SOUND_TEXT.replace("], ", ", "),
        SOUND_TEXT.replace("]", "}"),
        SOUND_TEXT.replace("}", "]}"),
        SOUND_TEXT.replace('s": [', 's" ['),
        SOUND_TEXT.replace('r": ', 'r" '),
        SOUND_TEXT.replace('Read"', "Read"),
        SOUND_TEXT.replace('", "', '",, "'),
        SOUND_TEXT[1:],
        SOUND_TEXT.replace('"Read"', '// second\n "Read", ...'),
        SOUND_TEXT.replace('"reasoning_steps":', '"reasoning_steps": ["first try"], "reasoning_steps":'),
        str({**SOUND, "sure": True, "note": None}),
        '{"step_1": "Look", "step_2": "Read", "answer": "B"}',
        '{"Step 2": "Read", "Step 1": "Look", "Answer": "B"}',
        '{"step": "Look", "step": "Read", "answer": "B"}',
        '{"steps": ["Look", "Read"], "FINAL-ANSWER": "B"}',
        '{"reasoning": "Look\\nRead", "final_answer": "B"}',
        '{"reasoning": "Step 1: Look\\nStep 2: Read", "answer": "B"}',
        '{"reasoning": "1. Look 2. Read", "answer": "B"}',
        '{"reasoning": "[\\"Look\\", \\"Read\\"]", "answer": "B"}',
        '{"reasoning": {"steps": ["Look", "Read"], "answer": "B"}}',
        '{"reasoning_steps": [["Look"], ["Read"]], "answer": "B"}',
        '{"reasoning_steps": [{"step_1": "Look"}, {"step_2": "Read"}], "result": "B"}',
        '{"reasoning_steps": [{"id": 1, "description": "Look"}, {"id": 2, "description": "Read"}], "answer": "B"}',
        '[{"step": 1, "text": "Look"}, {"step": 2, "text": "Read"}, {"answer": "B"}]',
        '{"reasoning_steps": ["Look", "Read"], "answer": {"letter": "B"}}',
    ],
)
def test_a_response_in_another_shape_or_other_text_is_recovered_whole(text):
    response = parse_response(text)
    assert (response.steps, response.answer, response.status) == (["Look", "Read"], "B", "recovered")
    assert not response.truncated


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("3", "3"),
        ("3.10", "3.10"),
        ("true", "true"),
        ("False", "false"),
        ("null", None),
        ("[]", None),
        ('" "', None),
        ('["B", "C"]', "B, C"),
        ('{"value": 5, "unit": "cm"}', "5 cm"),
        ('{"number": 5}', "5"),
        ("1,234", "1,234"),
        ("12:30", "12:30"),
        ("9" * 10_000, "9" * 10_000),
    ],
)
def test_answers_that_are_no_strings_become_text_as_written(written, answer):
    assert fields(f'{{"reasoning_steps": ["a"], "answer": {written}}}') == (["a"], answer)


@pytest.mark.parametrize(
    "step",
    [
        'The board is 5" wide',
        'The boards are 5", 6" and 7" long',
        'He said "no", then left',
        'The "a": key',
        '"STOP" is what the sign reads',
        "f(x) = {1, 2}, see [3]",
        "the “STOP” sign",
        "It's the dogs' bowl",
    ],
)
def test_quotes_and_brackets_inside_a_step_stay_in_it(step):
    assert fields(f'{{"reasoning_steps": ["Look", "{step}", "Read"], "answer": "{step}",}}') == (
        ["Look", step, "Read"],
        step,
    )


def test_curly_quotes_in_sound_json_are_kept():
    text = '{"reasoning_steps": ["The sign says “go”"], "answer": "‘B’"}'
    response = parse_response(text)
    assert (response.steps, response.answer, response.status) == (["The sign says “go”"], "‘B’", "valid")


@pytest.mark.parametrize("text", ['["Look", "Read"]', '```json\n["Look", "Read"]\n```', "['Look', 'Read']"])
def test_a_bare_list_of_strings_is_steps(text):
    assert fields(text) == (["Look", "Read"], None)


def test_of_several_objects_the_last_that_holds_something_wins():
    assert fields('{"reasoning_steps": ["a"], "answer": "A"} So {"answer": "B"}') == ([], "B")
    assert fields('{"answer": "A"} then {"reasoning_steps": [], "answer": ""}') == ([], "A")


@pytest.mark.parametrize(
    ("control", "kept", "status"),
    [
        ("\\u0000", "", "recovered"),
        ("\\u0085", "", "recovered"),
        ("\x07", "", "recovered"),
        ("\\ud800", "�", "recovered"),
        ("\\r\\n", "\n", "valid"),
        ("\\t", "\t", "valid"),
        ("\\ud83d\\ude00", "😀", "valid"),
    ],
)
def test_characters_that_no_file_should_hold_are_taken_out(control, kept, status):
    response = parse_response(f'{{"reasoning_steps": ["a{control}b"], "answer": "c{control}"}}')
    assert (response.steps, response.answer, response.status) == ([f"a{kept}b"], f"c{kept}", status)


@pytest.mark.parametrize(
    "text",
    [
        "I cannot see an image.",
        "I'm sorry, I can't give an answer: the image is blank.",
        "I think the answer is B.",
        "B",
        "42",
        "null",
        '"B"',
        "{}",
        "[1, 2, 3]",
        '{"bbox_2d": [1, 2, 3, 4], "label": "dog"}',
        '{"type": "object", "properties": {"reasoning_steps": {"type": "array"}, "answer": {"type": "string"}}}',
        "Sorry, no. You could\n- ask someone\n- try again",
        "<think>All of it was thought.</think>",
        "Music of the baroque favoured the harpsichord. In 1750 that changed.",
    ],
)
def test_text_without_steps_or_a_marked_answer_is_malformed(text):
    response = parse_response(text)
    assert (response.status, response.steps, response.answer) == ("malformed", [PLACEHOLDER_STEP], None)
    assert not response.truncated


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff", "\u200b \u3000", None, b""])
def test_nothing_is_empty(text):
    assert parse_response(text).status == "empty"


def test_a_failure_marker_counts_only_where_the_harness_puts_it():
    assert parse_response("\n[LMMS_EVAL_REQUEST_FAILED after 3 retries] {}").status == "failed"
    assert parse_response('{"reasoning_steps": ["[LMMS_EVAL_BUDGET_EXCEEDED]"], "answer": "B"}').status == "valid"


def test_a_model_that_writes_the_placeholder_has_a_step_of_its_own():
    assert not parse_response(json.dumps({"reasoning_steps": [PLACEHOLDER_STEP], "answer": "B"})).is_placeholder


@pytest.mark.parametrize("value", [3, 2.5, True, [], SOUND, b"\xff", object(), [10**5000]])
def test_what_is_no_string_is_read_without_raising(value):
    assert parse_response(value).status in STATUSES


def test_a_dictionary_is_read_as_the_text_of_it():
    assert fields(SOUND) == (["Look", "Read"], "B")
