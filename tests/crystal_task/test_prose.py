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
        "<reasoning_steps><step>Look</step><step>Read</step></reasoning_steps><answer>B</answer>",
        '<step number="1">Look</step>\n<step number="2">Read</step>\n<answer>B</answer>',
        "<steps>\n<step_1>\nLook\n</step_1>\n<step_2>2. Read</step_2>\n</steps>\n<final_answer>B</final_answer>",
        "<reasoning_steps>\n1. Look\n2. Read</reasoning_steps>\nAnswer: B",
        "<reasoning>\nLook\nRead\n</reasoning>\n<answer>B</answer>",
        "| Step | Reasoning |\n|---|---|\n| 1 | Look |\n| 2 | Read |\n\n**Answer:** B",
        "| # | Explanation |\n|:-:|---|\n| Step 1 | Look |\n| Step 2 | Read |\n| **Answer** | B |",
        'steps:\n  - "Look"\n  - \'Read\'\nanswer: "B"',
        "步骤1：Look 步骤2：Read 答案：B",
        "第一步：Look\n第二步，Read\n所以答案是B。",
        "Шаг 1: Look. Шаг 2: Read. Ответ: B",
        "Schritt 1: Look. Schritt 2: Read\nDie richtige Antwort ist B.",
        "Paso 1: Look\nPaso 2: Read\nRespuesta final: B",
        "Étape 1 : Look\nÉtape 2 : Read\nRéponse : B",
        "Passo 1: Look\nPasso 2: Read\nA resposta é B.",
        "ステップ1：Look\nステップ2：Read\n最終的な答え：B",
        "1단계: Look\n2단계: Read\n정답: B",
        "推理步骤：\n- Look\n- Read\n答案：B",
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


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("The answer is B. The bar is tall.", "B"),
        ("The answer is A. Dog", "A"),
        ("The answer is Dr. Smith.", "Dr. Smith"),
        ("The answer is U.S. dollars.", "U.S. dollars"),
        ("The answer is the U.S.", "the U.S."),
        ("The answer is George W. Bush. He won.", "George W. Bush"),
        ("The answer is J. K. Rowling.", "J. K. Rowling"),
        ("The answer is vitamin C. It is in the fruit.", "vitamin C"),
        ("The answer is 3.5 cm. The bar is tall.", "3.5 cm"),
        ("The answer is approx. 20 cats! The rest are dogs.", "approx. 20 cats"),
        ("The answer is in the kitchen.", "in the kitchen"),
        ("The answer is given below.", None),
        ("The answer is as follows:", None),
    ],
)
def test_an_answer_ends_where_the_next_sentence_begins(sentence, answer):
    assert parse_response(f"1. Look\n2. Read\n{sentence}").answer == answer


@pytest.mark.parametrize(
    "opening",
    [
        "I'm sorry, I can't help.",
        "I cannot see the image. You could:",
        "Unfortunately, I don’t have access to it.",
        "As a language model, I am unable to look at it.",
        "抱歉，我无法回答。",
        "К сожалению, я не могу ответить.",
        "Es tut mir leid, das kann ich nicht.",
    ],
)
def test_a_refusal_has_no_steps_unless_an_answer_is_marked(opening):
    advice = f"{opening}\n1. Look again.\n2. Ask again."
    assert parse_response(advice).status == "malformed"
    assert parse_response(f"{advice}\nAnswer: B").answer == "B"


def test_an_excuse_is_no_refusal():
    assert parse_response("Sorry for the confusion.\n1. Look\n2. Read").steps == ["Look", "Read"]
    assert parse_response("1. Look\n2. I cannot see a dog").steps == ["Look", "I cannot see a dog"]


def test_quotes_inside_a_step_stay_and_those_around_it_go():
    text = 'steps:\n- "It says \\"STOP\\""\n- "STOP" is what "it" says\n- \'It\'\nanswer: B'
    assert parse_response(text).steps == ['It says "STOP"', '"STOP" is what "it" says', "It"]


def test_a_table_of_data_is_no_steps():
    assert parse_response("| Year | Dogs |\n|---|---|\n| 1 | 5 |\nAnswer: 5").steps == []


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
