"""What the tests of ``crystal_hf`` share: tiny checkpoints, a dataset of awkward items, and the harness's requests."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import torch
from lmms_eval.api.instance import GenerationResult, Instance
from lmms_eval_crystal.model_adapters.hf import CrystalHF
from lmms_eval_crystal.model_adapters.tiny import FAMILIES
from PIL import Image

# With matrices this small a second thread costs five times what it saves.
torch.set_num_threads(1)

TASK, SPLIT = "awkward", "test"
LIMIT = 10
# About one token in fourteen of the small vocabulary, so that a text of ten tokens ends early about as often as not.
MANY_ENDS = list(range(100, 130))


def photo(width: int, height: int, seed: int = 0) -> Image.Image:
    """A picture in which every region differs, so that a part that goes astray shows."""
    ramp = Image.linear_gradient("L").resize((width, height))
    waves = Image.radial_gradient("L").resize((width, height)).rotate(40 * seed)
    return Image.merge("RGB", (ramp, waves, ramp.rotate(180).point(lambda value: (value + 40 * seed) % 256)))


def turned(picture: Image.Image) -> Image.Image:
    """The picture with the EXIF mark that a telephone held upright leaves."""
    picture.getexif()[0x0112] = 6
    return picture


def see_through(picture: Image.Image) -> Image.Image:
    picture.putalpha(Image.linear_gradient("L").resize(picture.size))
    return picture


AWKWARD: Mapping[str, tuple[Image.Image, str]] = {
    "plain": (photo(300, 200), "What is it?"),
    "tall, long question": (photo(90, 400, 1), "Which of the angles is larger? " * 8),
    "wide": (photo(400, 90, 2), "How many?"),
    "transparent": (see_through(photo(120, 100, 3)), "Which part of the chart is see-through, if any is?"),
    "palette": (photo(64, 64, 4).convert("P"), "What is the third step of the cycle? " * 3),
    "CMYK": (photo(150, 60, 5).convert("CMYK"), "?"),
    "1-bit": (photo(70, 80, 6).convert("1"), "Is the sign red?"),
    "small": (photo(11, 7, 7), "Count the bars. " * 5),
    "one pixel": (photo(1, 1), "Why?"),
    "1:200": (photo(1, 200, 1), "How tall is it?"),
    "1:600": (photo(1200, 2, 2), "How wide is it, in metres?"),
    "EXIF": (turned(photo(200, 100, 3)), "Which way is up?"),
    "marker": (photo(100, 100, 4), "What does <image> <|image_pad|> <start_of_image> <|image|> <IMG_CONTEXT> <s> say?"),
}
ROWS: list[dict[str, Any]] = [{"image": image, "question": question} for image, question in AWKWARD.values()]


@cache
def checkpoint(family: str) -> Path:
    """A tiny model of the family, built once; nothing may write to it."""
    return FAMILIES[family](Path(mkdtemp(prefix="tiny-")) / family)


def altered(family: str, folder: Path, file: str, **values: object) -> Path:
    """A copy of the family's checkpoint in ``folder`` with values in one of its JSON files changed; None takes out."""
    copy = folder / family
    copy.mkdir()
    for source in checkpoint(family).iterdir():
        (copy / source.name).write_bytes(source.read_bytes())
    content = json.loads((copy / file).read_text("utf-8"))
    content = {key: value for key, value in {**content, **values}.items() if value is not None}
    (copy / file).write_text(json.dumps(content), "utf-8")
    return copy


def load(pretrained: Path | str, batch_size: int = 1, rows: Any = ROWS, **arguments: object) -> CrystalHF:
    """The model with a task loaded, as the harness makes it."""
    model = CrystalHF(pretrained=str(pretrained), batch_size=batch_size, **arguments)
    model.task_dict[TASK] = {SPLIT: rows}
    return model


def messages(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row as the hooks of the tasks write it, but with its picture as it came."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": row["question"]}]
    if row["image"] is not None:
        parts.append({"type": "image", "url": row["image"]})
    return [{"role": "user", "content": parts}]


def requests(
    indices: Iterable[int] = range(len(ROWS)), to_messages: Any = messages, **settings: object
) -> list[Instance]:
    """Requests as the harness builds them for chat models, greedy and of few tokens unless ``settings`` say more."""
    kwargs = {"until": [], "do_sample": False, "temperature": 0, "max_new_tokens": LIMIT, **settings}
    return [
        Instance(
            "generate_until",
            (f"question {index}", to_messages, dict(kwargs), index, TASK, SPLIT),
            0,
            {"task": TASK, "doc_id": index, "repeats": 1},
        )
        for index in indices
    ]


def texts(results: Iterable[GenerationResult]) -> list[str]:
    return [result.text for result in results]


def written(results: Iterable[GenerationResult]) -> list[int]:
    """The counts of output tokens."""
    return [result.token_counts.output_tokens for result in results]
