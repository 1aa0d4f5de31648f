"""JSON in text: finds it between prose and fences, reads it where it is sound and mends it where it is not."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import json_repair

from .cleaning import INVISIBLE
from .latex import protect_latex
from .scanner import Sketch, scan
from .shapes import Members, decoder

# json-repair reads some 400 kB of skeleton a second; it is given no more than a fraction of a second's worth.
REPAIR_LIMIT = 60_000
# Of very many broken values the last ones are mended; a response is one of them, the rest is drafts.
_MAX_MENDED = 32
# How many broken objects inside broken objects are read once more on their own; each costs a pass over the text.
_MAX_RESTARTS = 4
# Each error of the decoder counts the lines before it: it is given text that begins no further back than this.
_WINDOW = 10_000

_SPACE = rf"[\s{INVISIBLE}]*"
_QUOTE = r"\\?[\"'“”‘’]"
# A bracket in prose that is no JSON has no quoted key or element behind it, mostly; \Z: the text may break off there.
_START = re.compile(
    rf"\{{(?={_SPACE}(?:{_QUOTE}[^\"'“”\n]{{0,80}}(?:{_QUOTE}{_SPACE}(?:[:\[{{\"]|\Z)|\Z)|[A-Za-z_]\w{{0,40}}\s*:|//|/\*|#|\Z))"
    rf"|\[(?={_SPACE}(?:[\"'“”‘{{]|//|/\*|#\s|\Z))"
)
_ESCAPED_START = re.compile(rf"\{{{_SPACE}\\\"")
_RESTART = re.compile(r"\{\s*[\"'“”](?:reasoning[_ -]?)?steps[\"'“”]\s*:", re.IGNORECASE)
_TRAILING_COMMA = re.compile(r"(?:, )+(?=[\]}])")
_MISSING_COMMA = re.compile(r"(?<=[\]}]) (?=[\"{\[])")
_PLACE = re.compile(r"§(\d{1,9})§")
_ESCAPED = re.compile(r'\\(["\\/n])')
_DECODER = decoder(strict=False)


@dataclass(frozen=True)
class Span:
    """JSON in text, from ``start`` to ``end``: its value where it is sound, else a sketch of what there is of it."""

    start: int
    end: int
    value: Any
    sketch: Sketch | None = None

    @property
    def broken_off(self) -> bool:
        """Whether the text breaks off inside it."""
        return self.sketch is not None and self.sketch.broken_off


@dataclass(frozen=True)
class Found:
    """A JSON value found in text: where it stands, what it is, and whether the text breaks off inside it."""

    start: int
    end: int
    value: Any
    broken_off: bool


def json_spans(text: str, position: int = 0) -> Iterator[Span]:
    """Where JSON stands at the top level of ``text`` from ``position`` on: objects, lists of strings or objects.

    >>> [(span.start, span.end, span.broken_off) for span in json_spans('Draft: {"answer": "A"}. Final: {"answer": "')]
    [(7, 22, False), (31, 43, True)]
    """
    rest, offset = text, 0
    while (start := _START.search(text, position)) is not None:
        begin = start.start()
        if begin - offset > _WINDOW:
            rest, offset = text[begin:], begin
        try:
            value, length = _DECODER.raw_decode(rest, begin - offset)
            position = offset + length
            yield Span(begin, position, value)
        except (ValueError, RecursionError):
            sketch = scan(text, begin)
            position = max(sketch.end, begin + 1)
            yield Span(begin, position, None, sketch)


def find_json(text: str) -> list[Found]:
    """All JSON objects, and lists of strings or objects, at the top level of ``text``, in their order.

    Of a value that the text breaks off, what is complete comes back.

    >>> [found.value for found in find_json('Draft: {"answer": "A"}. Final: {"answer": "B"')]
    [[('answer', 'A')], [('answer', 'B')]]
    """
    found: list[Found] = []
    broken: list[Span] = []
    for span in json_spans(text):
        if span.sketch is None:
            found.append(Found(span.start, span.end, _with_latex(text, span), broken_off=False))
        elif _ESCAPED_START.match(text, span.start):
            unescaped = find_json(_unescaped(text[span.start :]))
            found += (Found(span.start + each.start, len(text), each.value, each.broken_off) for each in unescaped)
            break
        else:
            broken.append(span)
    broken += _restarted(text, broken)
    found += (Found(span.start, span.end, _mended(text, span), span.broken_off) for span in broken[-_MAX_MENDED:])
    return sorted(found, key=lambda each: each.start)


def _with_latex(text: str, span: Span) -> Any:
    """The value of sound JSON, read once more if an escape in it is LaTeX."""
    written = text[span.start : span.end]
    protected = protect_latex(written)
    return span.value if protected == written else _DECODER.decode(protected)


def _mended(text: str, span: Span) -> Any:
    assert span.sketch is not None
    written = text[span.start : span.end]
    if "\\" in written:
        try:  # often LaTeX is all that is wrong with it
            return _DECODER.decode(protect_latex(written))
        except (ValueError, RecursionError):
            pass
    return mend(span.sketch)


def _unescaped(text: str) -> str:
    """A response that was escaped once too often, one level of escapes taken off; all that follows it likewise."""
    return _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], text)


def _restarted(text: str, broken: list[Span]) -> list[Span]:
    """Responses that begin inside broken ones: a model that starts over without closing its draft."""
    starts = [match.start() for span in broken for match in _RESTART.finditer(text, span.start + 1, span.end)]
    sketches = [(start, scan(text, start)) for start in starts[-_MAX_RESTARTS:]]
    return [Span(start, sketch.end, None, sketch) for start, sketch in sketches]


def mend(sketch: Sketch) -> Any:
    """The value of a sketch: read as it is, else by json-repair, else its strings by the key that they follow.

    json-repair sees the skeleton only, never a model's words.

    >>> mend(Sketch('{ "§0§" : [ "§1§" "§2§" ] }', ["steps", "a", "b"], 0, False))
    [('steps', ['a', 'b'])]
    """
    skeleton = _MISSING_COMMA.sub(" , ", _TRAILING_COMMA.sub("", sketch.skeleton))
    try:
        value = _DECODER.decode(skeleton)
    except (ValueError, RecursionError):
        value = _repaired(skeleton) if len(skeleton) <= REPAIR_LIMIT else None
        if not value or isinstance(value, dict) != skeleton.startswith("{"):
            value = _salvaged(skeleton)
    return _filled(value, sketch.strings)


def _repaired(skeleton: str) -> Any:
    try:
        return json_repair.loads(skeleton, skip_json_loads=True)
    except Exception:  # a third party's repair of hostile text: whatever it raises, the salvage below still works
        return None


def _salvaged(skeleton: str) -> Any:
    """The strings by the colons alone: each that a colon follows is a key, those up to the next one are its value."""
    members = Members()
    if skeleton.startswith("[") and ":" not in skeleton:
        return re.findall(r"§\d+§", skeleton)
    for string, colon in re.findall(r'"(§\d+§)"( ?:?)', skeleton):
        if colon == " :":
            members.append((string, []))
        elif members:
            members[-1][1].append(string)
    return members


def _filled(value: Any, strings: list[str]) -> Any:
    """``value`` with the strings put where their numbers are."""
    if isinstance(value, dict):
        value = Members(value.items())
    if isinstance(value, Members):
        return Members((_put(key, strings), _filled(item, strings)) for key, item in value)
    if isinstance(value, list):
        return [_filled(item, strings) for item in value]
    return _put(value, strings) if isinstance(value, str) else value


def _put(text: str, strings: list[str]) -> str:
    return _PLACE.sub(lambda match: strings[int(match[1])] if int(match[1]) < len(strings) else "", text)
