"""Which model a name means: a preset, a folder, or a name that the hub or an API knows."""

import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import CrystalError
from .presets import Preset, load_preset, load_presets, suggestion

HUB_ID = re.compile(r"\w[\w.-]*/[\w.-]+")


@dataclass(frozen=True)
class Target:
    """The model of a run: a preset, or a hub id, folder or API name that has none."""

    model: str
    preset: Preset | None = None
    #: What a user should know where the name could have meant another model.
    note: str = ""

    @property
    def is_folder(self) -> bool:
        """Whether the model is a checkpoint on this machine's disk."""
        return Path(self.model).is_dir()

    @property
    def name(self) -> str:
        """A short name, fit for a folder; of a checkpoint with the folder above it, since many are called alike.

        >>> Target("google/gemma-3-27b-it").name
        'google__gemma-3-27b-it'
        """
        if self.preset:
            return self.preset.name
        parts = Path(self.model).resolve().parts[1:][-2:] if self.is_folder else self.model.split("/")
        return "__".join(parts)


def find_target(name: str, backend: str | None = None) -> Target:
    """The preset of that name or of that hub id; else a folder, a hub id, or with ``backend="api"`` any name.

    Raises ``CrystalError`` for a name that is none of these, with the nearest preset.
    """
    if not name.strip():
        raise CrystalError("The name of the model is empty; `crystal-eval models` lists the presets.")
    presets = load_presets()
    known = {preset.model: preset.name for preset in presets.values()}
    folder = Path(name).expanduser()
    if name.lower() in presets:
        preset = load_preset(name)
        return Target(preset.model, preset, _shadowed(name, preset))
    if folder.is_dir():
        both = HUB_ID.fullmatch(name) is not None
        return Target(str(folder), note=f"{name} is the folder here, not the hub's model of that name" if both else "")
    if name in known:
        return Target(name, presets[known[name]])
    if backend == "api" or HUB_ID.fullmatch(name):
        return Target(name)
    if "/" in name:
        raise CrystalError(f"There is no folder {name}, and a hub id has the form OWNER/NAME; check the spelling.")
    raise CrystalError(f"There is no preset and no folder {name!r}; {suggestion(name.lower(), list(presets))}.")


def _shadowed(name: str, preset: Preset) -> str:
    if Path(name).is_dir():
        return f"{name} is the preset, not the folder here; ./{name} is the folder"
    if not preset.is_api and Path(preset.model).is_dir():
        return f"the folder {preset.model} here is loaded, not the hub's model of that name"
    return ""
