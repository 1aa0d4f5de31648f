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

from ..errors import CrystalError, first_line
from .config import TrainConfig, phases_of

UNKNOWN_KEY = "unexpected_keyword_argument"
#: What should be there, by the beginning of pydantic's kinds of error; its own words for the rest are plain enough.
KINDS = {
    "dataclass": "a block of keys",
    "dict": "a block of keys",
    "tuple": "a list",
    "string": "a text (one that looks like a number stands in quotes)",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "finite": "a finite number",
}
#: How YAML's own types begin, and those that a configuration is made of.
TAGS = "tag:yaml.org,2002:"
MERGE = f"{TAGS}merge"
KNOWN_TAGS = {
    yaml.ScalarNode: {f"{TAGS}{name}" for name in ("str", "int", "float", "bool", "null")},
    yaml.SequenceNode: {f"{TAGS}seq"},
    yaml.MappingNode: {f"{TAGS}map"},
}
#: NUL and lone surrogates.
UNFIT = re.compile(r"[\0\ud800-\udfff]")
#: How like a name is that a slip may have meant, from 0 to 1.
LIKE = 0.7
#: Nodes of a configuration at most; ours have a hundred. Aliases of aliases make billions of a few lines.
LARGEST = 10_000
#: How much of a wrong key or value a message quotes.
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
        content = _parse(path.expanduser().read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise CrystalError(
            f"The configuration {path} cannot be read ({error}); name a YAML file, or copy one that ships in the "
            "package with `crystal-eval train --copy-configs FOLDER`."
        ) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise CrystalError(
            f"{path} is no YAML: {getattr(error, 'problem', None) or first_line(error)}{where}."
        ) from None
    if not isinstance(content, dict):
        raise CrystalError(f"{path} holds no keys; a configuration has at least model: and data: with path: below it.")
    return content


class _Loader(yaml.SafeLoader):
    """YAML 1.2 where 1.1 surprises: 5e-6 is a number without a point in it, and 2026-03-01 a text."""


_Loader.yaml_implicit_resolvers = {
    sign: [(tag, form) for tag, form in resolvers if tag != f"{TAGS}timestamp"]
    for sign, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{TAGS}float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+"), list("-+0123456789"))


def _parse(text: str) -> Any:
    """What a YAML text says: blocks of keys, lists, texts, numbers, true, false and nothing, as JSON has them.

    Raises ``yaml.YAMLError``.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_node(node, {})
        return loader.construct_document(node)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except (ValueError, LookupError) as error:  # PyYAML's, of numbers
        raise yaml.YAMLError(f"a value does not fit its tag ({error})") from None
    finally:
        loader.dispose()


def _check_node(node: yaml.Node, sizes: dict[int, int]) -> int:
    """How many nodes there are from this one on, where each alias stands for all that it names.

    Raises ``yaml.YAMLError`` for what a configuration cannot hold, a key that stands twice in one block (YAML would
    keep the last) and keys that are no texts.
    """
    if id(node) in sizes:
        return sizes[id(node)]
    if node.tag not in KNOWN_TAGS[type(node)]:
        raise _fault(node, f"{node.tag.removeprefix(TAGS)} is no type of a configuration")
    # Until it is known: what holds itself has no end.
    sizes[id(node)] = LARGEST
    size = 1
    keys: set[str] = set()
    for entry in () if isinstance(node, yaml.ScalarNode) else node.value:
        key, child = entry if isinstance(entry, tuple) else (None, entry)
        if key is not None and key.tag != MERGE:
            name = key.value if isinstance(key, yaml.ScalarNode) else "there"
            if key.tag != f"{TAGS}str" or name in keys:
                raise _fault(key, f"the key {name} " + ("stands twice in one block" if name in keys else "is no text"))
            _check_text(key)
            keys.add(name)
        size += _check_node(child, sizes)
    _check_text(node)
    if size > LARGEST:
        raise yaml.YAMLError("it is far too large for a configuration")
    sizes[id(node)] = size
    return size


def _check_text(node: yaml.Node) -> None:
    if isinstance(node, yaml.ScalarNode) and UNFIT.search(node.value):
        raise _fault(node, "a text holds a character that no file's name can hold")


def _fault(node: yaml.Node, problem: str) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _set(content: dict[str, Any], override: str) -> None:
    """Puts one ``a.b.0.c=value`` into the content; the value is read as YAML reads it."""
    name, equals, text = override.partition("=")
    keys = name.strip().split(".")
    if not equals or not all(keys) or UNFIT.search(override):
        raise CrystalError(f"--set {override} is not of the form key=value, as data.path=items.jsonl.")
    try:
        value = _parse(text)
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
    key = _short(".".join(map(str, slip["loc"])))
    if slip["type"] == UNKNOWN_KEY:
        return f"{file} has the unknown key {key}; {_instead(slip['loc'])}"
    value = "empty" if slip["input"] is None else _short(repr(slip["input"]))
    kind = slip["type"].partition("_")[0]
    wanted = KINDS.get(kind) or slip["msg"].removeprefix("Input should be ")
    meant = near(str(slip["input"]), re.findall(r"'([^']+)'", wanted)) if kind == "literal" else ""
    return f"{file}: {key} is {value}; it should be {wanted}{f' (did you mean {meant}?)' if meant else ''}."


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


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
