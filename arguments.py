"""Texts of the form ``name=value,name=value``, in which the harness takes arguments of models and of generation."""

from collections.abc import Iterator, Mapping

from .errors import CrystalError

OPENING, CLOSING, QUOTES = "{[", "}]", "\"'"


def split_arguments(text: str, option: str = "--model_args") -> dict[str, str]:
    """The values by name, as text, split where the harness splits: at commas outside of quotes and braces.

    Raises ``CrystalError`` that names ``option`` for a part without a name.

    >>> split_arguments('a=1,b={"x": 2, "y": 3}')
    {'a': '1', 'b': '{"x": 2, "y": 3}'}
    """
    parts = [part.strip() for part in _parts(text) if part.strip()]
    for part in parts:
        name, equals, _ = part.partition("=")
        if not name.strip() or not equals:
            raise CrystalError(f"{option} {text!r} is not of the form name=value,name=value ({part!r} is none).")
    return dict(part.split("=", 1) for part in parts)


def join_arguments(arguments: Mapping[str, str]) -> str:
    """The text that ``split_arguments`` reads as these arguments.

    >>> join_arguments({"a": "1", "b": "x"})
    'a=1,b=x'
    """
    return ",".join(f"{name}={value}" for name, value in arguments.items())


def _parts(text: str) -> Iterator[str]:
    start, depth, quote, before = 0, 0, "", ""
    for place, character in enumerate(text):
        if character in QUOTES and before != "\\":
            if not quote:
                quote = character
            elif quote == character:
                quote = ""
        elif not quote:
            depth += (character in OPENING) - (character in CLOSING)
            if character == "," and depth == 0:
                yield text[start:place]
                start = place + 1
        before = character
    yield text[start:]
