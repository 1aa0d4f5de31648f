"""Files of predictions are read in every form, and a file with a slip in it is refused with the place of the slip."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.crystal_task.prediction import Prediction
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters.predictions import read_predictions

FIELDS = {"reasoning_steps": ["Two dogs sit", "A third stands"], "answer": "3"}
AS_FIELDS = Prediction(steps=("Two dogs sit", "A third stands"), answer="3")
RAW = '{"reasoning_steps": ["A \u2028 separator"], "answer": "B"}'
AS_TEXT = Prediction(text=RAW)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file, of JSON Lines where it is given a list."""

    def to(content: object, name: str = "predictions.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, list):
            content = "\n".join(json.dumps(line, ensure_ascii=False) for line in content) + "\n"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return to


def test_a_folder_of_files_as_the_authors_script_writes_it(write: Write, heard: list[str]) -> None:
    write(FIELDS, "out/0.json")
    write(FIELDS | {"question": "How many?"}, "out/00012.json")
    write(json.dumps(RAW), "out/3.json")
    write("[idx=4] API error", "out/errors.log")
    folder = write({}, "out/summary.json").parent
    assert read_predictions(folder) == {0: AS_FIELDS, 3: AS_TEXT, 12: AS_FIELDS}
    assert any("errors.log, summary.json" in message for message in heard)


def test_one_object_keyed_by_index(write: Write) -> None:
    path = write({"0": FIELDS, "007": RAW, "2": {"response": RAW}})
    assert read_predictions(path) == {0: AS_FIELDS, 7: AS_TEXT, 2: AS_TEXT}


def test_a_list_of_objects(write: Write) -> None:
    path = write(json.dumps([{"id": 5} | FIELDS, {"id": "0006", "text": RAW}], indent=1), "predictions.json")
    assert read_predictions(path) == {5: AS_FIELDS, 6: AS_TEXT}


def test_a_question_and_what_was_not_given(write: Write) -> None:
    nothing = '{"0": {"reasoning_steps": null, "answer": NaN, "question": "How many?"}}'
    [found] = read_predictions(write(nothing)).values()
    assert (found.steps, found.answer, found.question) == ((), None, "How many?")


@pytest.mark.parametrize("index", ["doc_id", "index", "id", "idx"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (FIELDS, AS_FIELDS),
        ({"response": RAW}, AS_TEXT),
        ({"text": RAW}, AS_TEXT),
        ({"prediction": RAW}, AS_TEXT),
        ({"output": RAW}, AS_TEXT),
        ({"response": None}, Prediction(text="")),
        ({"response": RAW} | FIELDS, AS_FIELDS),
    ],
)
def test_json_lines(write: Write, index: str, content: dict, expected: Prediction) -> None:
    path = write([{index: 5} | content, {index: "0006"} | content])
    assert read_predictions(path) == {5: expected, 6: expected}


@pytest.mark.parametrize(
    "content",
    [
        {"resps": [[RAW]]},
        {"resps": [RAW], "filtered_resps": ["cut"]},
        {"resps": [[RAW, "a repeat"]], "filtered_resps": "cut"},
        {"filtered_resps": [RAW]},
        {"filtered_resps": RAW, "answer": "B", "reasoning_steps": ["of the record"]},
    ],
)
def test_samples_of_the_harness(write: Write, content: dict) -> None:
    path = write([{"doc_id": 0, "target": "A", "match_f1": 0.5} | content])
    assert read_predictions(path) == {0: AS_TEXT}


def test_one_line_of_json_lines_is_no_object_keyed_by_index(write: Write) -> None:
    assert read_predictions(write([{"doc_id": 4} | FIELDS])) == {4: AS_FIELDS}


def test_blank_lines_windows_line_ends_and_a_byte_order_mark_do_no_harm(write: Write) -> None:
    line = json.dumps({"doc_id": 1, "text": RAW}, ensure_ascii=False)
    path = write(f"\ufeff\n{line}\r\n\n", "mixed.jsonl")
    assert read_predictions(path) == {1: AS_TEXT}


@pytest.mark.parametrize(("given_answer", "answer"), [(3, "3"), (0.5, "0.5"), (True, "true"), (None, None)])
def test_an_answer_that_is_no_text_is_written_out(write: Write, given_answer: object, answer: str | None) -> None:
    path = write({"0": {"reasoning_steps": [], "answer": given_answer}})
    assert read_predictions(path) == {0: Prediction(answer=answer)}


def test_equal_predictions_for_one_item_are_one(write: Write) -> None:
    assert len(read_predictions(write([{"doc_id": 1} | FIELDS, {"doc_id": "01"} | FIELDS]))) == 1


def test_half_a_character_is_replaced_since_no_samples_file_can_hold_it(write: Write) -> None:
    path = write('{"0": "a\\ud800b", "1": {"reasoning_steps": ["\\ud83d\\ude00"], "answer": "\\udc00"}}')
    found = read_predictions(path)
    assert found[0].text == "a\ufffdb"
    assert found[1] == Prediction(steps=("\U0001f600",), answer="\ufffd")


LETTERS = st.text(alphabet="ab\\\n\u2028{")


@given(st.dictionaries(st.integers(0, 9_999), LETTERS | st.lists(LETTERS, max_size=3)))
def test_every_form_says_the_same(tmp_path_factory: pytest.TempPathFactory, contents: dict) -> None:
    folder = tmp_path_factory.mktemp("forms")
    rows = {
        index: {"response": content} if isinstance(content, str) else {"reasoning_steps": content, "answer": "a"}
        for index, content in contents.items()
    } or {0: FIELDS}
    (folder / "files").mkdir()
    for index, row in rows.items():
        (folder / "files" / f"{index}.json").write_text(json.dumps(row))
    (folder / "keyed").write_text(json.dumps(rows, indent=2))
    (folder / "lines").write_text("\n".join(json.dumps({"doc_id": index} | row) for index, row in rows.items()))
    files, keyed, lines = (dict(read_predictions(folder / name)) for name in ("files", "keyed", "lines"))
    assert files == keyed == lines
    assert files.keys() == rows.keys()


LINE = json.dumps({"doc_id": 0, "text": "a"})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("{}", "should be a JSON object keyed by index"),
        ('["a"]', "should be a JSON object keyed by index"),
        ('"a"', "should be a JSON object keyed by index"),
        (f'{LINE}\n\n{{"doc_id": 1, "te', "line 3 is no complete JSON: Unterminated string"),
        ('{"0": "a",\n "1": "b', "is no complete JSON: Unterminated string starting at (line 2, column 7)"),
        ('{"doc_id": 1, "te', "is no complete JSON"),
        (f'{LINE}\n{{"text": "a"}}', "line 2 should be a JSON object that says in doc_id"),
        (f"{LINE}\n[1]", "line 2 should be a JSON object that says in doc_id"),
        (f'{LINE}\n{{"doc_id": "crystal_7", "text": "a"}}', "line 2: 'crystal_7' is no index"),
        (f'{LINE}\n{{"doc_id": -1, "text": "a"}}', "line 2: -1 is no index"),
        (f'{LINE}\n{{"doc_id": true, "text": "a"}}', "line 2: True is no index"),
        ('{"first": "a"}', "key first: 'first' is no index"),
        (f'{LINE}\n{{"doc_id": 0, "text": "b"}}', "Item 0 has two different predictions"),
        ('{"7": "a", "07": "b"}', "Item 7 has two different predictions"),
        ('{"7": "a", "7": "b"}', "the key 7 stands twice in one object"),
        ('{"0": 5}', "key 0 should be an object with reasoning_steps and answer, or a text"),
        ('{"0": {"steps": [], "answer": "a"}}', "neither reasoning_steps and answer nor a text"),
        ('{"0": {"steps": [], "answer": "a"}}', "its keys are steps, answer."),
        ('{"0": {}}', "its keys are none."),
        ('{"0": {"reasoning_steps": []}}', "has reasoning_steps but no answer"),
        ('{"0": {"reasoning_steps": "a", "answer": "b"}}', "reasoning_steps should be a list of texts"),
        ('{"0": {"reasoning_steps": [1], "answer": "b"}}', "reasoning_steps should be a list of texts"),
        ('{"0": {"reasoning_steps": [], "answer": ["b"]}}', "answer should be a text"),
        ('{"0": {"response": ["b"]}}', "response should be a text"),
        ('{"0": {"resps": []}}', "resps should be a list that holds the text"),
        ('{"0": ' + "[" * 100_000, "cannot be read"),
    ],
)
def test_a_slip_is_refused_with_its_place(write: Write, content: str, sentence: str) -> None:
    path = write(content)
    with pytest.raises(CrystalError) as refusal:
        read_predictions(path)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.json"
    path.write_bytes('{"0": "é"}'.encode("latin-1"))
    with pytest.raises(CrystalError, match=r"latin\.json cannot be read as UTF-8"):
        read_predictions(path)


def test_a_folder_without_predictions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text(LINE)
    with pytest.raises(CrystalError, match="holds no predictions"):
        read_predictions(tmp_path)


def test_a_torn_file_of_a_folder_is_named(write: Write) -> None:
    write(FIELDS, "out/0.json")
    folder = write('{"reasoning_steps": [', "out/1.json").parent
    with pytest.raises(CrystalError, match=r"1\.json is no complete JSON"):
        read_predictions(folder)


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CrystalError, match="no file or folder"):
        read_predictions(tmp_path / "gone")
