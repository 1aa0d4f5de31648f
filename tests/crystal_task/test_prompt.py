"""The prompt, the picture, and the authors' prompt."""

import hashlib

import pytest
from lmms_eval_crystal.crystal_task import paper_prompt
from lmms_eval_crystal.crystal_task.item import Item
from lmms_eval_crystal.crystal_task.prompt import PROMPT_FILE, Prompt, as_rgb, messages
from lmms_eval_crystal.crystal_task.response import parse_response
from lmms_eval_crystal.errors import CrystalError
from PIL import Image

ITEM = Item(0, 'Which is {"red"}?\nSee {USER_INSTRUCTION}.', "B", ("a",), ("car", "bus"))


def test_our_prompt_asks_for_one_json_object_that_our_parser_takes():
    text = Prompt.from_file(PROMPT_FILE).fill(ITEM)
    assert text.endswith('Which is {"red"}?\nSee {USER_INSTRUCTION}.\nA) car\nB) bus')
    example = next(line for line in text.splitlines() if line.startswith('{"reasoning_steps"'))
    assert parse_response(example).status == "valid"


@pytest.mark.parametrize("place", ["{question}", "{USER_INSTRUCTION}"])
def test_a_prompt_file_of_the_user_is_filled_by_plain_replacement(tmp_path, place):
    (tmp_path / "p.txt").write_text('Reply as {"a": {}} to: ' + place)
    assert Prompt.from_file(tmp_path / "p.txt").fill(ITEM) == 'Reply as {"a": {}} to: ' + ITEM.full_question


def test_a_prompt_file_without_a_place_for_the_question_or_none_is_refused(tmp_path):
    (tmp_path / "p.txt").write_text("Describe the image.")
    with pytest.raises(CrystalError, match=r"no place for the question; write \{question\}"):
        Prompt.from_file(tmp_path / "p.txt")
    with pytest.raises(CrystalError, match="cannot be read"):
        Prompt.from_file(tmp_path / "none.txt")


def test_the_text_comes_before_the_image():
    [turn] = messages("text", Image.new("RGB", (4, 4)))
    assert [part["type"] for part in turn["content"]] == ["text", "image"]


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "P", "L", "1", "CMYK", "I;16"])
def test_every_kind_of_picture_becomes_rgb(mode):
    assert as_rgb(Image.new(mode, (8, 4))).mode == "RGB"


def test_transparency_becomes_white_and_turned_photographs_stand_upright():
    assert as_rgb(Image.new("RGBA", (2, 2), (255, 0, 0, 0))).getpixel((0, 0)) == (255, 255, 255)
    turned = Image.new("RGB", (8, 4))
    turned.getexif()[0x0112] = 6
    assert as_rgb(turned).size == (4, 8)


def test_sixteen_bits_of_grey_are_scaled_and_not_cut_off():
    deep = Image.new("I;16", (2, 1))
    deep.putpixel((0, 0), 65535)
    deep.putpixel((1, 0), 25700)
    assert [as_rgb(deep).getpixel((x, 0))[0] for x in (0, 1)] == [255, 100]


@pytest.fixture
def authors(tmp_path, monkeypatch):
    """A script that stands for the authors', with the check set to its prompt; a user's data folder of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    text = 'Solve {USER_INSTRUCTION}\r\nas {"reasoning_steps": []}'
    monkeypatch.setattr(paper_prompt, "LENGTH", len(text))
    monkeypatch.setattr(paper_prompt, "SHA256", hashlib.sha256(text.encode()).hexdigest())
    script = tmp_path / "crystal_inference.py"
    script.write_text(f"import torch_that_is_not_there\nPROMPT = {text!r}\nraise SystemExit\n")
    return script, text


def test_the_authors_prompt_is_taken_kept_and_used(authors):
    script, text = authors
    with pytest.raises(CrystalError, match=r"crystal-eval paper-prompt"):
        paper_prompt.load()
    assert paper_prompt.keep(script) == paper_prompt.kept_file()
    assert paper_prompt.load().text == text
    assert paper_prompt.load().fill(Item(0, "Why?", "a", ("b",))).startswith("Solve Why?\r\n")


def test_a_kept_prompt_that_was_changed_is_refused(authors):
    paper_prompt.keep(authors[0])
    paper_prompt.kept_file().write_text("Solve {USER_INSTRUCTION}")
    with pytest.raises(CrystalError, match="is not the prompt that the paper used"):
        paper_prompt.load()


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("PROMPT = 'another {USER_INSTRUCTION}'", "is not the prompt that the paper used"),
        ("PROMPT: str = 'another'", "is not the prompt that the paper used"),
        ("PROMPT = build()", "assigns no text to PROMPT"),
        ("OTHER = 'x'", "assigns no text to PROMPT"),
        ("def broken(:", "cannot be read as a Python file"),
        ("x = " + "(" * 10_000, "cannot be read as a Python file"),
        ("PROMPT = '\\ud800'", "is not the prompt that the paper used"),
    ],
)
def test_another_script_is_refused_with_a_sentence(tmp_path, source, says):
    script = tmp_path / "script.py"
    script.write_text(source)
    with pytest.raises(CrystalError, match=says):
        paper_prompt.keep(script)


def test_a_script_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(CrystalError, match="cannot be read"):
        paper_prompt.keep(tmp_path / "none.py")
