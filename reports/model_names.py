"""The names under which one model is known in several places, and the file that tells of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from ..errors import CrystalError


def read_aliases(path: Path) -> dict[str, str]:
    """The model that each name stands for, from a YAML file ``canonical name: [other names]``.

    Raises ``CrystalError`` where the file is of another shape or gives one name to two models.
    """
    shape = "write one line a model, `canonical name: [other names]`"
    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise CrystalError(f"The model aliases in {path} cannot be read ({reason}); {shape}.") from error
    if not isinstance(content, dict):
        raise CrystalError(f"The model aliases in {path} are no mapping; {shape}.")
    aliases: dict[str, str] = {}
    for canonical, names in content.items():
        listed = [names] if isinstance(names, str) else names
        if not isinstance(listed, list) or not all(isinstance(name, (str, int, float)) for name in listed):
            raise CrystalError(f"The aliases of {canonical!r} in {path} are no list of names; {shape}.")
        for name in map(str, (canonical, *listed)):
            if aliases.setdefault(_key(name), str(canonical)) != str(canonical):
                raise CrystalError(
                    f"{path} gives the name {name!r} to {aliases[_key(name)]!r} and to {canonical!r}; leave it to one."
                )
    return aliases


def canonical_name(name: str, known: Iterable[str] = (), aliases: Mapping[str, str] | None = None) -> str:
    """The name under which a model is reported.

    An alias first; else the one of ``known`` that differs only in case, in ``__`` for ``/`` (as the harness
    names its folders) or, if a single one does, in its organisation; else the name with its ``/``.

    >>> canonical_name("Qwen__Qwen3-VL-8B", ["qwen/qwen3-vl-8b", "other"])
    'qwen/qwen3-vl-8b'
    >>> canonical_name("Qwen3-VL-8B", ["Qwen/Qwen3-VL-8B"])
    'Qwen/Qwen3-VL-8B'
    >>> canonical_name("Qwen3-VL-8B", ["one/Qwen3-VL-8B", "two/Qwen3-VL-8B"])
    'Qwen3-VL-8B'
    """
    key = _key(name)
    if aliases and key in aliases:
        return aliases[key]
    known = list(dict.fromkeys(known))
    if name in known:
        return name
    same = [other for other in known if _key(other) == key]
    if not same and "/" not in key:
        same = [other for other in known if _key(other).rpartition("/")[2] == key]
    elif not same:
        same = [other for other in known if _key(other) == key.rpartition("/")[2]]
    return same[0] if len(same) == 1 else name.replace("__", "/").strip()


def _key(name: str) -> str:
    return name.replace("__", "/").strip().casefold()
