"""The functions that the task YAMLs name: thin, each one step of the way of an item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
from PIL.Image import Image

from ..errors import stop_the_run
from . import paper_prompt, source
from .checks import RawImages, check_columns, check_images, read_items, with_images
from .encoder import check_device, encoder_of, shared_encoder
from .judge import AnswerJudge
from .observe import watch
from .plugin import BENCHMARK, MINI, PAPER, task_version
from .prompt import PROMPT_FILE, Prompt, as_rgb, messages
from .scoring import LOADED, LoadedTask
from .settings import Settings
from .summary import finish

#: Which task and which row a document is; added when the data is loaded.
OWN_COLUMNS = ("crystal_task", "crystal_index")


def own_prompt(settings: Settings) -> Prompt:
    """The wording of the tasks ``crystal`` and ``crystal_mini``."""
    return Prompt.from_file(settings.prompt_file or PROMPT_FILE)


def authors_prompt(settings: Settings) -> Prompt:
    """The wording of ``crystal_paper``: the authors', unless the user brings another."""
    return Prompt.from_file(settings.prompt_file) if settings.prompt_file else paper_prompt.load()


@stop_the_run
def prepare_crystal(dataset: datasets.Dataset) -> datasets.Dataset:
    """Checks all that could end the run later, and readies the task ``crystal``."""
    return _prepare(dataset, BENCHMARK, own_prompt, "ours", source.location_folder())


@stop_the_run
def prepare_crystal_paper(dataset: datasets.Dataset) -> datasets.Dataset:
    """The same for ``crystal_paper``, with the authors' prompt and parser."""
    return _prepare(dataset, PAPER, authors_prompt, "released", source.location_folder())


@stop_the_run
def prepare_crystal_mini(dataset: datasets.Dataset) -> datasets.Dataset:
    """The same for ``crystal_mini``, with an encoder that needs no hub."""
    return _prepare(dataset, MINI, own_prompt, "ours", None)


def _prepare(
    dataset: datasets.Dataset,
    task: str,
    prompt: Callable[[Settings], Prompt],
    parser: str,
    folder: Path | None,
) -> datasets.Dataset:
    settings = Settings.from_environment()
    wording = prompt(settings)
    dataset = dataset.remove_columns([name for name in OWN_COLUMNS if name in dataset.column_names])
    check_columns(dataset)
    dataset = with_images(dataset, folder)
    items = read_items(dataset)
    images = RawImages(dataset)
    check_images(images)
    check_device(settings.encoder_device)
    step_encoder, table = shared_encoder(settings.encoder or encoder_of(task))
    LOADED[task] = LoadedTask(
        version=task_version(task),
        items=items,
        images=images,
        prompt=wording,
        parser=parser,
        settings=settings,
        encoder=step_encoder,
        table=table,
        judge=AnswerJudge(settings.judge) if settings.judge else None,
    )
    watch(finish)
    # Documents reach the other hooks alone, so each says which task and which row it is.
    for name, values in zip(OWN_COLUMNS, ([task] * len(items), range(len(items))), strict=True):
        dataset = dataset.add_column(name, list(values))
    return dataset


def doc_to_text(doc: dict[str, Any]) -> str:
    """The prompt of a document, for simple models and for the harness's log."""
    run = LOADED[doc["crystal_task"]]
    return run.prompt.fill(run.items[doc["crystal_index"]])


def doc_to_visual(doc: dict[str, Any]) -> list[Image]:
    """The image of a document, for simple models."""
    return [as_rgb(doc["image"])]


def doc_to_messages(doc: dict[str, Any]) -> list[dict[str, Any]]:
    """The conversation of a document, for chat models."""
    return messages(doc_to_text(doc), as_rgb(doc["image"]))


def doc_to_target(doc: dict[str, Any]) -> str:
    """The reference answer."""
    return LOADED[doc["crystal_task"]].items[doc["crystal_index"]].answer


@stop_the_run
def process_results(doc: dict[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The metrics of a document as floats, and its record under ``crystal``."""
    return LOADED[doc["crystal_task"]].record(doc["crystal_index"], results[0])
