"""Responses in prose instead of JSON."""

import pytest
from lmms_eval_crystal.crystal_task.prose import split_steps
from lmms_eval_crystal.crystal_task.response import parse_response


@pytest.mark.parametrize(
    "text",
    [
        "Step 1: Look\nStep 2: Read\nAnswer: B",
        "Step 1: Look. Step 2: Read. Answer: B",
        "**Step 1:** Look\n\n**Step 2:** Read\n\n**Answer:** B",
        "- Step 1: Look\n- Step 2: Read\n\nFinal answer: \\boxed{B}",
        "Step 1 - Look\nStep 2 – Read\nTherefore, the answer is B.",
        "Step one: Look\nStep two: Read\nThe correct answer is **B**.",
        "### Step 1\nLook\n### Step 2\nRead\n### Final Answer\nB\n\nLet me know!",
        "Here is how:\n1. Look\n2. Read\n\nSo the final answer is $B$.",
        "1) Look\n2) Read\n\n<answer>B</answer>",
        "(1) Look\n(2) Read\n<|begin_of_box|>B<|end_of_box|>",
        "Answer: B\n\nReasoning:\n1. Look\n2. Read\n\nI hope this helps.",
        "1. Look\n2. Read\n3. Answer: B",
        "Reasoning:\n- Look\n- Read\n\nAnswer:\nB",
        "reasoning_steps:\n* Look\n* Read\nanswer: B",
        "<reasoning>\nStep 1: Look\nStep 2: Read\n</reasoning>\n<answer>B</answer>",
        "1. Look\n2. Read\n\nFinal Answer: The final answer is $\\boxed{B}$. I hope it is correct.",
        "> 1. Look\n> 2. Read\n> Answer: B",
        "<think>1. Draft</think>\n1. Look\n2. Read\nSo $\\boxed{B}$",
    ],
)
def test_labelled_steps_and_answer_are_understood(text):
    response = parse_response(text)
    assert [step.rstrip(".") for step in response.steps] == ["Look", "Read"]
    assert (response.answer, response.status, response.truncated) == ("B", "recovered", False)


def test_an_answer_alone_is_an_answer_without_steps():
    response = parse_response("The dog is large. Answer: 3.5 cm")
    assert (response.steps, response.answer) == ([], "3.5 cm")


def test_steps_alone_have_no_answer():
    response = parse_response("1. Look\n2. Read")
    assert (response.steps, response.answer) == (["Look", "Read"], None)


def test_lines_between_steps_belong_to_the_step_before():
    text = "Step 1: Axes\n\nThe x axis shows years.\n- in tens\n\nStep 2: Bars\n\nOne is 20.\n\nAnswer: 20"
    assert parse_response(text).steps == ["Axes The x axis shows years. in tens", "Bars One is 20."]


def test_what_follows_the_last_step_after_a_blank_line_is_no_step():
    assert parse_response("1. Look\n2. Read\n\nHope this helps!").steps == ["Look", "Read"]


def test_mathematics_is_not_taken_for_markdown():
    assert parse_response("Step 1: 2**3**2 = a_1__b_2 and 3.5 * 2 * 1").steps == ["2**3**2 = a_1__b_2 and 3.5 * 2 * 1"]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("Look, then read. It is 3. 5 dogs", ["Look, then read. It is 3. 5 dogs"]),
        ("- Look\n- Read", ["Look", "Read"]),
        ("Look\n\nRead\n", ["Look", "Read"]),
        ("1. Look 2. Read 3. Count", ["Look", "Read", "Count"]),
        (" ", []),
    ],
)
def test_one_string_is_split_by_labels_or_lines_and_never_by_sentences(text, steps):
    assert split_steps(text) == steps


def test_prose_before_json_that_breaks_off_is_still_read():
    response = parse_response('1. Look\n2. Read\n\n{"reasoning_st')
    assert (response.steps, response.truncated) == (["Look", "Read"], True)
