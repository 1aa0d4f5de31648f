"""From a YAML file and ``--set key=value`` to a ``TrainConfig``, with one sentence for a slip in either."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError

from ..errors import CrystalError
from ..model_adapters.presets import nearest
from .config import PhaseConfig, TrainConfig, phases_of

#: Of pydantic's kinds of error, those that it words for programmers.
KINDS = {
    "dataclass_type": "a block of keys below it",
    "tuple_type": "a list",
    "dict_type": "a block of keys below it",
    "string_type": "a text (numbers and dates as texts stand in quotes)",
}
#: How much of a wrong value a message quotes.
SHOWN = 60


def read(path: Path, overrides: Sequence[str]) -> TrainConfig:
    """The configuration as it is written, its types and ranges checked. Raises ``CrystalError``."""
    content = _load(path)
    # Those of single phases last: which phases there are hangs on the method.
    for override in sorted(overrides, key=lambda text: text.lstrip().startswith("phases.")):
        if override.lstrip().startswith("phases."):
            _fill_phases(content)
        _set(content, override)
    _fill_phases(content)
    try:
        return _adapter().validate_python(content)
    except ValidationError as error:
        raise CrystalError(_sentence(path.name, error)) from None


def _fill_phases(content: dict[str, Any]) -> None:
    """As many phases of defaults as the method has, where the file lists none."""
    if content.get("phases") is None:
        content["phases"] = [{} for _ in range(phases_of(content.get("method", TrainConfig.method)))]


@cache
def _adapter() -> TypeAdapter[TrainConfig]:
    return TypeAdapter(TrainConfig)


def _load(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.expanduser().read_text("utf-8-sig"), _Loader)
    except (OSError, UnicodeDecodeError) as error:
        raise CrystalError(
            f"The configuration {path} cannot be read ({error}); name a YAML file, or copy one that ships in the "
            "package with `crystal-eval train --copy-configs FOLDER`."
        ) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise CrystalError(
            f"{path} is no YAML: {getattr(error, 'problem', None) or 'it cannot be parsed'}{where}."
        ) from None
    if not isinstance(content, dict):
        raise CrystalError(f"{path} holds no keys; a configuration has at least model: and data: with path: below it.")
    return content


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice in one block; YAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key} stands twice in one block", node.value[place][0].start_mark
                )
        return super().construct_mapping(node, deep)


def _set(content: dict[str, Any], override: str) -> None:
    """Puts one ``a.b.0.c=value`` into the content; the value is read as YAML reads it."""
    name, equals, text = override.partition("=")
    keys = name.strip().split(".")
    if not equals or not all(keys):
        raise CrystalError(f"--set {override} is not of the form key=value, as data.path=items.jsonl.")
    try:
        value = yaml.load(text, _Loader)
    except yaml.YAMLError:
        value = text
    here: Any = content
    for place, key in enumerate(keys):
        last = place == len(keys) - 1
        if isinstance(here, list):
            if not key.isdecimal() or int(key) >= len(here):
                raise CrystalError(
                    f"--set {override}: {'.'.join(keys[:place])} has {len(here)} entries, counted from 0, and no {key}."
                )
            key = int(key)  # type: ignore[assignment]
        elif not isinstance(here, dict):
            raise CrystalError(f"--set {override}: there is nothing below {'.'.join(keys[:place])}.")
        elif here.get(key) is None and not last:
            here[key] = {}
        if last:
            here[key] = value
        else:
            here = here[key]


def _sentence(file: str, error: ValidationError) -> str:
    """The first slip that pydantic found, in one sentence."""
    # Unknown keys first: a key misspelt is often why another one is missing.
    slips = sorted(error.errors(include_url=False), key=lambda slip: slip["type"] != "unexpected_keyword_argument")
    slip = slips[0]
    key = ".".join(map(str, slip["loc"]))
    if slip["type"] == "unexpected_keyword_argument":
        return f"{file} has the unknown key {key}; {_known(slip['loc'])}."
    value = repr(slip["input"])
    value = value if len(value) <= SHOWN else f"{value[:SHOWN]}..."
    wanted = KINDS.get(slip["type"]) or slip["msg"].removeprefix("Input should be ").partition(",")[0]
    near = ""
    if slip["type"] == "literal_error" and isinstance(slip["input"], str):
        found = nearest(slip["input"], re.findall(r"'([^']+)'", slip["msg"]))
        near = f" (did you mean {found}?)" if found else ""
        wanted = f"one of {wanted}"
    return f"{file}: {key} is {value}; it should be {wanted}{near}."


def _known(place: tuple[int | str, ...]) -> str:
    """What to write instead of an unknown key: the nearest key of its block, else all of them."""
    block: Any = TrainConfig
    for key in place[:-1]:
        if isinstance(key, int):
            block = PhaseConfig
        else:
            hint = get_type_hints(block)[key]
            block = next((kind for kind in (hint, *get_args(hint)) if is_dataclass(kind)), block)
    known = [entry.name for entry in fields(block)]
    found = nearest(str(place[-1]), known)
    return f"did you mean {found}" if found else f"known here are {', '.join(known)}"
