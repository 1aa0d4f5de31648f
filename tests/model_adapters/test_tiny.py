"""A tiny model is a whole checkpoint: it loads by the classes that users load theirs by, and generates."""

from pathlib import Path

import pytest
import torch
from lmms_eval_crystal.model_adapters.tiny import FAMILIES
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor, AutoTokenizer


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return FAMILIES[request.param](tmp_path_factory.mktemp("tiny") / request.param)


def generate(checkpoint: Path, question: str = "What is it?", tilt: int = 0) -> str:
    """What the model writes about a drawn picture, greedily."""
    model = AutoModelForImageTextToText.from_pretrained(checkpoint).eval()
    processor = AutoProcessor.from_pretrained(checkpoint)
    picture = Image.linear_gradient("L").resize((56, 84)).rotate(tilt).convert("RGB")
    content = [{"type": "text", "text": question}, {"type": "image", "image": picture}]
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": content}],
        tokenize=True,
        add_generation_prompt=True,
        return_dict=True,
        return_tensors="pt",
    )
    with torch.no_grad():
        written = model.generate(**inputs, max_new_tokens=8, do_sample=False)
    assert written.shape[1] > inputs["input_ids"].shape[1]
    return processor.batch_decode(written[:, inputs["input_ids"].shape[1] :])[0]


def test_it_loads_generates_and_is_the_same_each_time(checkpoint: Path, tmp_path: Path) -> None:
    again = FAMILIES[checkpoint.name](tmp_path / "again")
    assert generate(checkpoint) == generate(again)


def test_what_it_writes_hangs_on_the_picture_and_on_the_question(checkpoint: Path) -> None:
    texts = [generate(checkpoint), generate(checkpoint, tilt=180), generate(checkpoint, "Why is the sign red?")]
    assert len(set(texts)) == 3
    # Not one token over and over, in which a row that went astray would not show.
    assert all(len(set(text)) > 3 for text in texts)


def test_it_is_small_enough_to_build_on_the_spot(checkpoint: Path) -> None:
    assert sum(file.stat().st_size for file in checkpoint.iterdir()) < 4_000_000


def test_its_tokenizer_gives_any_text_back(checkpoint: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    text = 'Größe: {"a": "\\frac"} 三角形 🙂\n'
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text
