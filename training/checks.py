"""All that can be known to be wrong with a run before its model is loaded, and what is ready when nothing is."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .. import ranks
from ..crystal_task.encoder import encoder_of
from ..crystal_task.hooks import own_prompt
from ..crystal_task.plugin import BENCHMARK
from ..crystal_task.prompt import Prompt
from ..crystal_task.settings import Settings
from ..errors import CrystalError, first_few, first_line
from ..metrics.encoder import check_encoder
from ..model_adapters.local_files import check_folder, local_folder, weights_in
from ..model_adapters.presets import load_presets
from ..model_adapters.targets import HUB_ID
from .config import FREE_KEYS, TrainConfig
from .data import TrainingData, load_items
from .reading import near, read
from .skeleton import check_skeleton
from .surgery import check_surgery

#: What a run was asked for. By the second its folder is known; a file of the first's name may be anybody's.
CONFIG_FILE, SPLIT_FILE = "config.yaml", "split.json"
SPLIT_KEYS = {"seed", "data", "counts", "validation", "validated"}
#: How much of a path a message shows.
SHOWN = 80
#: Packages that a logger needs, any of them.
LOGGERS = {"wandb": ("wandb",), "tensorboard": ("tensorboard", "tensorboardX")}
#: The other ranks meet the same fault at about the same time; a launcher stops all at the first that ends, so they
#: leave the first rank this long to say it.
WAIT_S = 30


@dataclass(frozen=True)
class Ready:
    """What a run begins with."""

    data: TrainingData
    prompt: Prompt
    #: Name of the encoder of validation, and of the reward with similarity ``encoder``.
    encoder: str
    #: Of the model, as it was published; what a run sets on it comes later.
    processor: Any


def prepare(config: TrainConfig, resume: bool = True) -> Ready:
    """Checks everything and loads the items; no model is touched.

    Raises ``CrystalError`` for the first thing that would end the run later.
    """
    if config.surgery:
        check_surgery()
    check_places(config)
    check_output(config, resume)
    check_model(config)
    check_loggers(config)
    check_lora(config)
    processor = check_skeleton(config)
    settings = Settings.from_environment()
    prompt = own_prompt(settings)
    encoder = config.encoder or settings.encoder or encoder_of(BENCHMARK)
    check_encoder(encoder, "encoder:")
    data = load_items(config)
    check_enough(config, len(data.train))
    return Ready(data, prompt, encoder, processor)


@contextmanager
def said_once() -> Iterator[None]:
    """A fault that all ranks meet is said by the first, whose end ends the others; one that only another rank meets,
    by that one, a little later."""
    try:
        yield
    except CrystalError:
        if not ranks.is_main():
            time.sleep(WAIT_S)
        raise


def check_places(config: TrainConfig) -> None:
    """Raises ``CrystalError`` for paths that the system cannot look at, and where a run would write into its own data
    or model, or remove them as it begins anew."""
    named = {"output": config.output, "model": config.model, "data.path": config.data.path, "encoder": config.encoder}
    places = {key: _place(key, name) for key, name in named.items() if name}
    output = places["output"]
    for key in ("model", "data.path"):
        place = places[key]
        if place.is_dir() and output.is_relative_to(place):
            raise CrystalError(
                f"The output {config.output} lies in the folder {named[key]} of {key}, which would then hold the run's "
                "files as well; name another output:."
            )
        if place.exists() and place.is_relative_to(output):
            raise CrystalError(
                f"{key}: {named[key]} lies in the output {config.output}, which a run that begins anew clears; name "
                "another output:."
            )


def _place(key: str, name: str) -> Path:
    try:
        place = Path(name).expanduser().resolve()
        place.exists()
    except (OSError, RuntimeError) as error:  # RuntimeError: the home of nobody, links that go round
        raise CrystalError(f"{key}: {name[:SHOWN]} cannot be looked at ({first_line(error)}); name another.") from error
    return place


def check_output(config: TrainConfig, resume: bool) -> None:
    """Raises ``CrystalError`` where the results cannot go to ``config.output``: it is a file, cannot be written, or
    holds something else, such as a run of another configuration (which ``resume=False`` lets go)."""
    folder = Path(config.output).expanduser()
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise CrystalError(
            f"The results cannot go to {folder}, because {there} cannot be written to; name another output:."
        )
    # A kill may have left the first file half written.
    if there != folder or {path.name for path in folder.iterdir()} <= {f"{SPLIT_FILE}.part"}:
        return
    if not is_run(folder):
        raise CrystalError(f"The folder {folder} holds other files than those of a training run; name another output:.")
    if not resume or not is_begun(folder):
        return
    try:
        earlier = read(folder / CONFIG_FILE, ())
    except CrystalError as error:
        raise CrystalError(
            f"The folder {folder} holds the run of another version or program; name another output:, or start anew "
            "with --fresh."
        ) from error
    if earlier.fingerprint != config.fingerprint:
        raise CrystalError(
            f"The folder {folder} holds a run of another configuration (it differs in "
            f"{first_few(differing(earlier, config))}); name another output:, or start anew with --fresh."
        )


def is_run(folder: Path) -> bool:
    """Whether a folder is that of a training run, whose files a run that begins anew removes."""
    try:
        return set(json.loads((folder / SPLIT_FILE).read_text("utf-8"))) >= SPLIT_KEYS
    except (OSError, ValueError, TypeError):
        return False


def is_begun(folder: Path) -> bool:
    """Whether a run has got further than to write what it was asked for."""
    return any(path.name.removesuffix(".part") not in (CONFIG_FILE, SPLIT_FILE) for path in folder.iterdir())


def differing(one: TrainConfig, other: TrainConfig) -> list[str]:
    """The keys that decide the weights and in which two configurations differ, as ``data.path``, ``phases.0.steps``."""
    return [key for key in _differing(asdict(one), asdict(other)) if key not in FREE_KEYS]


def _differing(one: Any, other: Any, name: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs = [(key, one[key], other[key]) for key in one]
    elif isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        pairs = [(str(place), *both) for place, both in enumerate(zip(one, other, strict=True))]
    else:
        yield from [name] if one != other else []
        return
    for key, left, right in pairs:
        yield from _differing(left, right, f"{name}.{key}" if name else key)


def check_model(config: TrainConfig) -> None:
    """Raises ``CrystalError`` for a model that is neither a whole folder nor a name that the hub could know."""
    name = config.model
    folder = Path(name).expanduser()
    if folder.is_dir():
        check_folder(folder, weights_in(folder))
        return
    presets = load_presets()
    if preset := presets.get(name.lower()):
        raise CrystalError(f"model: {name} is a preset of crystal-eval run; write its name on the hub, {preset.model}.")
    if not HUB_ID.fullmatch(name):
        raise CrystalError(
            f"model: there is no folder {name}, seen from {Path.cwd()}, and a hub id has the form OWNER/NAME."
        )
    from huggingface_hub.constants import is_offline_mode

    here = local_folder(name, config.revision or None)
    if is_offline_mode() and (here is None or not weights_in(here).complete):
        raise CrystalError(
            f"model: {name} is not on this machine and HF_HUB_OFFLINE is set; unset it, or name a folder that holds "
            "the model."
        )


def check_enough(config: TrainConfig, items: int) -> None:
    """Raises ``CrystalError`` where so many training items do not fill a single optimiser step of each phase."""
    for number, phase in enumerate(config.phases):
        prompts = phase.prompts_per_step(ranks.world_size())
        if items < prompts:
            raise CrystalError(
                f"One optimiser step of phases.{number} takes {prompts} prompts and there are {items} training items; "
                "bring more, or lower per_device_batch or accumulation."
            )


def check_loggers(config: TrainConfig) -> None:
    """Raises ``CrystalError`` where a logger of ``report_to`` is not installed."""
    for logger in config.report_to:
        if not any(importlib.util.find_spec(package) for package in LOGGERS[logger]):
            raise CrystalError(f"report_to: {logger} is not installed; `pip install {logger}`, or leave it out.")


def check_lora(config: TrainConfig) -> None:
    """Raises ``CrystalError`` for keys below ``lora`` that peft's LoraConfig does not have, or refuses."""
    if config.lora is None:
        return
    from peft import LoraConfig

    from .adapter import adapter_of

    known = {entry.name for entry in fields(LoraConfig) if entry.init}
    for key in config.lora:
        if key not in known:
            meant = near(key, sorted(known))
            raise CrystalError(
                f"lora.{key} is no argument of peft's LoraConfig; "
                + (f"did you mean {meant}?" if meant else "its documentation lists them.")
            )
    try:
        adapter_of(config)
    except (TypeError, ValueError) as error:
        raise CrystalError(f"lora: peft refuses these arguments ({error}); correct them.") from error
