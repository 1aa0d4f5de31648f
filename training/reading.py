"""From a YAML file and ``--set key=value`` to a ``TrainConfig``, with one sentence for a slip in either."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError

from ..errors import CrystalError
from .config import TrainConfig, phases_of

UNKNOWN_KEY = "unexpected_keyword_argument"
#: What should be there, by the beginning of pydantic's kinds of error; its own words for the rest are plain enough.
KINDS = {
    "dataclass": "a block of keys",
    "dict": "a block of keys",
    "tuple": "a list",
    "string": "a text (one that looks like a number or a date stands in quotes)",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "finite": "a finite number",
}
#: How like a name is that a slip may have meant, from 0 to 1.
LIKE = 0.7
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
    """Refuses a key that stands twice in one block, where YAML would silently keep the last, and keys that are no
    texts. Reads 5e-6 as a number, as YAML 1.2 does; PyYAML wants a point in it."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for place, key in enumerate(keys):
            if not isinstance(key, str) or key in keys[:place]:
                problem = f"the key {key} " + ("stands twice in one block" if isinstance(key, str) else "is no text")
                raise yaml.constructor.ConstructorError(None, None, problem, node.value[place][0].start_mark)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+"), list("-+0123456789")
)


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
    slips = sorted(error.errors(include_url=False), key=lambda slip: slip["type"] != UNKNOWN_KEY)
    slip = slips[0]
    key = ".".join(map(str, slip["loc"]))
    if slip["type"] == UNKNOWN_KEY:
        return f"{file} has the unknown key {key}; {_instead(slip['loc'])}"
    value = "empty" if slip["input"] is None else repr(slip["input"])
    value = value if len(value) <= SHOWN else f"{value[:SHOWN]}..."
    kind = slip["type"].partition("_")[0]
    wanted = KINDS.get(kind) or slip["msg"].removeprefix("Input should be ")
    meant = near(str(slip["input"]), re.findall(r"'([^']+)'", wanted)) if kind == "literal" else ""
    return f"{file}: {key} is {value}; it should be {wanted}{f' (did you mean {meant}?)' if meant else ''}."


def _instead(place: tuple[int | str, ...]) -> str:
    """What to write instead of an unknown key: the key of that or nearly that name, else all keys of its block."""
    name, blocks = str(place[-1]), _blocks()
    here = ".".join(str(key) for key in place[:-1] if isinstance(key, str))
    elsewhere = {key: block for block, keys in blocks.items() for key in keys if block != here}
    if name not in elsewhere and (found := near(name, blocks[here])):
        return f"did you mean {found}?"
    if found := near(name, elsewhere):
        return f"{found} stands {f'below {elsewhere[found]}:' if elsewhere[found] else 'at the top'}."
    return f"known here are {', '.join(blocks[here])}."


def near(name: str, known: Iterable[str]) -> str:
    """The known name that a slip in ``name`` most likely meant; empty where none is near."""
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=LIKE)), "")


def _blocks() -> dict[str, list[str]]:
    """The keys of each block of the file, by its name; those at the top by an empty one."""
    hints = get_type_hints(TrainConfig)
    types = [(name, kind) for name, hint in hints.items() for kind in (hint, *get_args(hint)) if is_dataclass(kind)]
    return {name: [entry.name for entry in fields(kind)] for name, kind in [("", TrainConfig), *types]}
