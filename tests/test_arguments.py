"""Texts of arguments are read as the harness reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_eval_crystal.arguments import join_arguments, split_arguments
from lmms_eval_crystal.errors import CrystalError

TEXTS = (
    "",
    "a=1",
    "pretrained=org/a,revision=main",
    " a=x , b=y ,",
    "a=,b=2",
    "a=b=c",
    'limits={"image": 1, "video": 0},b=2',
    "a=[1, 2],b='x,y=z'",
    'a="it\'s, so",b=1',
)


def harness(text: str) -> list[str]:
    """The pieces as the harness has them, before it turns some into numbers."""
    from lmms_eval.utils import _smart_comma_split

    return _smart_comma_split(text.strip())


@pytest.mark.parametrize("text", TEXTS)
def test_the_harness_splits_at_the_same_commas(text):
    assert split_arguments(text) == dict(part.split("=", 1) for part in harness(text))


@given(st.lists(st.text(alphabet="ab=,{}[]\"'\\ 1", max_size=8), max_size=4).map(",n=".join))
def test_the_harness_splits_any_text_at_the_same_commas(text):
    text = f"m={text}"
    pieces = harness(text)
    if all("=" in piece and piece.split("=")[0].strip() for piece in pieces):
        assert split_arguments(text) == dict(piece.split("=", 1) for piece in pieces)
    else:
        with pytest.raises(CrystalError):
            split_arguments(text)


def test_what_was_split_is_joined_to_the_same():
    arguments = {"pretrained": "org/a", "limits": '{"image": 1, "video": 0}'}
    assert split_arguments(join_arguments(arguments)) == arguments


@pytest.mark.parametrize("text", ["timeout", "a=1,b", "=1", "stop=a,b"])
def test_a_part_without_a_name_is_one_sentence(text):
    with pytest.raises(CrystalError, match=r"--model-args .* is not of the form name=value"):
        split_arguments(text, "--model-args")
