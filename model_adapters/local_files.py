"""What of a checkpoint lies on this machine: as a folder of its own, or in the cache of the hub."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CrystalError

CONFIG = "config.json"
#: One of these says that a folder holds an image processor.
PROCESSORS = ("preprocessor_config.json", "processor_config.json", "image_processor_config.json")
#: Names of files that a message shows.
SHOWN = 3
#: The forms of weights, the preferred first, each with the file that lists the parts of a large model.
FORMS = (("*.safetensors", "*.safetensors.index.json"), ("*.bin", "*.bin.index.json"))
#: How a part of a large model is called: which one, of how many.
PART = re.compile(r"-(\d+)-of-(\d+)\.")
#: Under which keys a config of pictures and text keeps that of its text.
TEXT_CONFIGS = ("text_config", "llm_config", "language_config")


@dataclass(frozen=True)
class Weights:
    """The weight files that are here, and the names of those that are not."""

    here: tuple[Path, ...]
    missing: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether there are weights, and all of them."""
        return bool(self.here) and not self.missing


def local_folder(model: str, revision: str | None = None) -> Path | None:
    """The folder of a checkpoint: the model's own, or the hub cache's of that revision; None where there is none."""
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(model, CONFIG, revision=revision)
    except HFValidationError:  # the name of an API's model
        return None
    return Path(found).parent if isinstance(found, str) else None


def weights_in(folder: Path) -> Weights:
    """The weights of a checkpoint; the cache of the hub holds its parts as they are fetched, the smallest first."""
    for pattern, index in FORMS:
        here = tuple(sorted(file for file in folder.glob(pattern) if file.is_file()))
        wanted = sorted(set(_listed(folder, index)) | set(_counted(here)))
        missing = tuple(name for name in wanted if not (folder / name).is_file())
        if here or missing:
            return Weights(here, missing)
    return Weights(())


def damaged(weights: Weights) -> list[str]:
    """The names of the safetensors files that are cut short or are none; only their heads are read."""
    from safetensors import SafetensorError, safe_open

    bad = []
    for file in weights.here:
        if file.suffix == ".safetensors":
            try:
                with safe_open(file, framework="numpy"):
                    pass
            except (SafetensorError, OSError):
                bad.append(file.name)
    return bad


def check_folder(folder: Path, weights: Weights) -> None:
    """Raises ``CrystalError`` where a checkpoint's folder lacks its configuration, weights or processor."""
    if not (folder / CONFIG).is_file():
        raise CrystalError(f"{folder} holds no {CONFIG}; give a folder of save_pretrained.")
    if weights.missing:
        raise CrystalError(f"{folder} lacks {some(weights.missing)}; copy the whole model.")
    if not weights.here:
        raise CrystalError(f"{folder} holds no weights (*.safetensors); copy the whole model.")
    if bad := damaged(weights):
        raise CrystalError(f"{folder}: {some(bad)} cut short or damaged; copy the model again.")
    if not any((folder / name).is_file() for name in PROCESSORS):
        raise CrystalError(f"{folder} holds no processor; save the model's processor into it too.")


def some(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def context_length(folder: Path) -> int | None:
    """How many tokens the model of a checkpoint can see, as its config says; None where it does not."""
    try:
        config: Any = json.loads((folder / CONFIG).read_text("utf-8"))
        texts = [config.get(key) for key in TEXT_CONFIGS]
        lengths = [text.get("max_position_embeddings") for text in [*texts, config] if isinstance(text, dict)]
    except (OSError, ValueError, AttributeError):
        return None
    return next((length for length in lengths if isinstance(length, int)), None)


def _listed(folder: Path, index: str) -> Iterator[str]:
    for file in folder.glob(index):
        try:
            yield from json.loads(file.read_text("utf-8"))["weight_map"].values()
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise CrystalError(f"{file} is no list of weight files; fetch the model again.") from error


def _counted(here: tuple[Path, ...]) -> Iterator[str]:
    """All parts of which one is here."""
    for file in here:
        if found := PART.search(file.name):
            digits, count = found.group(1), int(found.group(2))
            for part in range(1, count + 1):
                number = f"-{part:0{len(digits)}d}-of-{found.group(2)}."
                yield file.name[: found.start()] + number + file.name[found.end() :]
