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
        '{"reasoning_steps": [{"id": 1, "claim": "Look"}, {"id": 2, "claim": "Read"}], "answer": "B"}',
        '{"steps": ["Look", "Read"], "solution": "B"}',
        '{"thinking": "Look\\nRead", "answer": "B"}',
        '{"analysis": "1. Look 2. Read", "answer": "B"}',
        '{"thinking": "I wonder", "reasoning_steps": ["Look", "Read"], "answer": "B"}',
        '{"Schritte": ["Look", "Read"], "Antwort": "B"}',
        '{"pasos": ["Look", "Read"], "respuesta": "B"}',
        '{"étapes": ["Look", "Read"], "réponse": "B"}',
        '{"步骤": ["Look", "Read"], "答案": "B"}',
        '{"Schritt 1": "Look", "Schritt 2": "Read", "Antwort": "B"}',
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


@pytest.mark.parametrize(
    "text",
    [
        '["Look", "Read"]',
        '```json\n["Look", "Read"]\n```',
        "['Look', 'Read']",
        'Here are the steps: ["Look", "Read"]',
    ],
)
def test_a_bare_list_of_strings_is_steps(text):
    assert fields(text) == (["Look", "Read"], None)


def test_a_list_in_a_sentence_is_no_steps():
    assert parse_response('The options are ["Look", "Read"].').status == "malformed"
    assert fields('The options are ["a", "b"]. {"answer": "B"}') == ([], "B")
    assert fields('{"answer": "B"}\nSources:\n```json\n["a", "b"]\n```') == ([], "B")


def test_of_several_objects_the_last_that_holds_something_wins():
    draft = '{"reasoning_steps": ["draft"], "answer": "A"}'
    assert fields(f'{draft} So {{"reasoning_steps": ["a"], "answer": "B"}}') == (["a"], "B")
    assert fields('{"answer": "A"} then {"reasoning_steps": [], "answer": ""}') == ([], "A")


@pytest.mark.parametrize(
    "text",
    [
        '{"reasoning_steps": ["Look", "Read"]} then {"answer": "B"}',
        '{"answer": "B"} since {"reasoning_steps": ["Look", "Read"]}',
        '```json\n{"reasoning_steps": ["Look", "Read"]}\n```\n```json\n{"answer": "B"}\n```',
        '[{"reasoning_steps": ["Look", "Read"]}, {"answer": "B"}]',
        '["Look", "Read", {"answer": "B"}]',
        '["Look", "Read"]\n{"answer": "B"}',
        '{"answer": "B", "details": {"steps": ["Look", "Read"]}}',
        '{"first": {"steps": ["Look", "Read"]}, "second": {"answer": "B"}}',
        '{"step": "Look"}\n{"step": "Read"}\n{"answer": "B"}',
        '{"step": 1, "text": "Look"}\n{"step": 2, "text": "Read"}\n{"answer": "B"}',
        '{"step_1": "Look"}\n{"step_2": "Read"}\n{"answer": "B"}',
        '{"step": 1, "thought": "Look"}\n{"step": 2, "thought": "Read", "answer": "B"}',
        '{"step": "x"}\n{"answer": "A"}\nNo:\n{"step": "Look"}\n{"step": "Read"}\n{"answer": "B"}',
        '{"step_1": "x", "answer": "A"} No: {"step_1": "Look"} {"step_2": "Read"} {"answer": "B"}',
        'Step 1: Look\nStep 2: Read\n{"answer": "B"}',
        '1. Look\n2. Read\n\n```json\n{"answer": "B"}\n```\nI hope this helps.',
        '{"reasoning_steps": ["Look", "Read"]}\nAnswer: B',
        '{"reasoning_steps": ["Look", "Read"]}\n\nTherefore, the answer is B.',
        '["Look", "Read"]\n**Answer:** B',
        'steps: ["Look", "Read"]\nanswer: B',
        '<reasoning_steps>["Look", "Read"]</reasoning_steps><answer>B</answer>',
        '{"reasoning_steps": ["Look", "Read"], "answer": "A"} On second thoughts: {"answer": "B"}',
    ],
)
def test_steps_and_answer_in_separate_places_come_together(text):
    response = parse_response(text)
    assert (response.steps, response.answer, response.truncated) == (["Look", "Read"], "B", False)


@pytest.mark.parametrize(
    "final",
    [
        '{"reasoning_steps": ["Look"]}',
        '{"reasoning_steps": ["Look", "Rea',
        '{"reasoning_steps": ["Look"], "answer": "B',
        '{"reasoning_steps": ["Look"]}\nThe answer is given above.',
        '### Answer\n{"reasoning_steps": ["Look"]}\nI hope this helps.',
    ],
)
def test_the_answer_of_a_draft_is_not_that_of_the_steps_after_it(final):
    assert fields(f'{{"reasoning_steps": ["draft"], "answer": "A"}} No: {final}') == (["Look"], None)


def test_an_object_that_breaks_off_takes_no_steps_from_a_draft():
    draft = '{"reasoning_steps": ["draft"], "answer": "A"}'
    assert fields(f'{draft} No: {{"answer": "B", "reasoning_steps": ["Loo') == ([], "B")
    assert fields('{"reasoning_steps": ["Look"]} {"answer": "B"') == (["Look"], "B")


@pytest.mark.parametrize(
    "echo",
    [
        '{"reasoning_steps": ["...", "..."], "answer": "..."}',
        '{"reasoning_steps": [...], "answer": "<your answer>"}',
        '{"answer": "…"}',
        '{"reasoning_steps": ["first step", "second step", "third step"], "answer": "the final answer"}',
        '{"reasoning_steps": ["Step 1: ...", "Step 2: ..."], "answer": "[final answer here]"}',
        '{"reasoning_steps": ["string"], "answer": "string"}',
    ],
)
def test_the_format_repeated_says_nothing(echo):
    for said in (SOUND_TEXT, "Step 1: Look\nStep 2: Read\nAnswer: B"):
        assert fields(f"{said}\n\nAs in the format {echo}") == (["Look", "Read"], "B")
        assert fields(f"The format is {echo}\n\n{said}") == (["Look", "Read"], "B")
    assert parse_response(f"The format is {echo}.").status == "malformed"


def test_words_of_a_format_among_others_are_said():
    assert fields('So: {"steps": ["Find the first step", "..."], "answer": "string"}')[1] == "string"
    assert fields('1. Look\n{"answer": "string"}') == (["Look"], "string")


@pytest.mark.parametrize(
    "text",
    [
        '{"reasoning_steps": ["Look", # first\n"Read" # second\n],\n# done\n"answer": "B"}',
        '{"reasoning_steps": ["Look", /* it is "x", "y" */ "Read" /* * */], /* so */ "answer": "B" /* . */}',
        '{ // all\n"reasoning_steps": [ // list\n"Look" // first\n, "Read" // second\n], "answer": "B" // end\n}',
        '{"reasoning_steps": ["Look" /* first */ "Read"], "answer": "B"}',
        '{"reasoning_steps": ["Look", // see "x" and y\n"Read"],"answer":"B"}',
    ],
)
def test_comments_are_no_part_of_the_steps(text):
    assert fields(text) == (["Look", "Read"], "B")


def test_what_looks_like_a_comment_inside_a_step_stays():
    steps = ["See https://a.b # 3", "Line #3 /* is */ red // blue", 'The "path" // here', 'It is "#so" in blue']
    for indent in (None, 2):
        text = json.dumps({"reasoning_steps": steps, "answer": "#3"}, indent=indent).replace('\\"', '"')
        assert fields(text) == (steps, "#3")


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
