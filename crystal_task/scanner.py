"""The lenient scanner: reads JSON as models write it, far enough to know its strings, its extent and where it breaks.

It settles what must not be guessed at: which quotes end a string (inner quotes are not escaped), what the string says,
and what was cut off at the end of the text. The structure comes out as a skeleton, JSON in which each string is only a
number, so that mending commas, colons and brackets can never touch a model's words. One pass, linear in the text.
"""

import json
import re
from dataclasses import dataclass, field, replace
from itertools import islice

from .cleaning import INVISIBLE
from .keys import is_known_key, is_steps_key
from .latex import protect_latex

# Deeper than any response that means something, and far from the recursion limit of what reads the skeleton.
MAX_DEPTH = 64
# A key longer than this, or with more quotes and escapes in it, is none; its first quote then ends it.
_KEY_WINDOW = 200
_KEY_QUOTES = 6
_KNOWN_KEY_LENGTH = 40

_CLOSERS = {'"': '"', "'": "'", "“": '”“"', "”": '”“"', "‘": "’'", "’": "’'"}
# A comment longer than this is not looked through for what stands behind it, which keeps the patterns linear.
_COMMENT_WINDOW = 200
# "#" before a number or a colour is none, and a line that ends like a string is one: "the "path" // home",
_LINE_COMMENT = r"(?://|#(?!\w{0,30}\d))"
_COMMENT = (
    rf"(?:{_LINE_COMMENT}[^\n]{{0,{_COMMENT_WINDOW}}}(?<![\"'”])(?<![\"'”][,\]}}])\n"
    rf"|/\*[^*]{{0,{_COMMENT_WINDOW}}}(?:\*(?!/)[^*]{{0,80}}){{0,8}}\*/)"
)
_SPACE = rf"[\s{INVISIBLE}]*(?:{_COMMENT}[\s{INVISIBLE}]*)*"
_END = r"(?:```|\Z)"
_QUOTED_KEY = r"[\"'“”‘][^\"'“”\n]{1,60}[\"'“”’]\s*:"
_KEY = rf"(?:{_QUOTED_KEY}|(?:reasoning|step|final|answer)\w{{0,30}}\s*:)"
_BLANK_LINE = r"[^\S\n]*\n[^\S\n]*\n"

# What must follow a quote for it to end a string: a value of an object, an element of a list; the ones that close the
# outermost bracket may be followed by prose.
_AFTER_VALUE = (
    rf",{_SPACE}(?:{_KEY}|[}}\]]|{_END})|\]{_SPACE}(?:[}}\],]|{_END})|{_END})|[^\S\n]*\n{_SPACE}{_KEY}|{_BLANK_LINE}"
)
_AFTER_ELEMENT = (
    rf"\}}{_SPACE}(?:[}}\]]|,{_SPACE}{_KEY}|{_END})"
    rf"|,{_SPACE}(?:[\"'“”‘{{\[\]}},]|\.\.\.|…|(?:null|None|true|false|True|False)\b|-?\d[\d.]*\s*[,\]]|{_KEY}|{_END})"
    rf"|{_END})|[^\S\n]*(?:\n|{_COMMENT}){_SPACE}[\"“{{]|{_BLANK_LINE}"
)
_VALUE_ENDS = re.compile(rf"(?:{_SPACE}(?:\}}{_SPACE}(?:[,\]}}]|{_END})|{_AFTER_VALUE})", re.IGNORECASE)
_OUTER_VALUE_ENDS = re.compile(rf"(?:{_SPACE}(?:\}}|{_AFTER_VALUE})", re.IGNORECASE)
_ELEMENT_ENDS = re.compile(rf"(?:{_SPACE}(?:\]{_SPACE}(?:[,}}\]\"'“]|{_END})|{_AFTER_ELEMENT})", re.IGNORECASE)
_OUTER_ELEMENT_ENDS = re.compile(rf"(?:{_SPACE}(?:\]|{_AFTER_ELEMENT})", re.IGNORECASE)

# A comma left out between two elements, told from a quotation inside one by the quotes before: those come in pairs.
_COMMA_LEFT_OUT = re.compile(r"[ \t]+[\"“](?=\S)")
# The next key inside what looks like a string: the quote before it was left out.
_KEY_AHEAD = re.compile(
    r"[\"'“](?:reasoning[ _-]?steps|steps|(?:final[ _-]?)?answer)[\"'”]\s*:\s*[\[{\"'“]", re.IGNORECASE
)
_KEY_ENDS = re.compile(rf"{_SPACE}[:\[{{]")
_AT_END = re.compile(rf"{_SPACE}\Z")
_COLON = re.compile(rf"{_SPACE}:")
_NEXT_KEY = re.compile(rf"{_SPACE},?{_SPACE}{_KEY}", re.IGNORECASE)
_IGNORED = re.compile(rf"(?:[\s{INVISIBLE}]+|{_COMMENT}|{_LINE_COMMENT}[^\n]*|\.\.\.|…)+")
_BARE_VALUE = re.compile(r"(?:[^,{}\[\]\n\"“”]|,(?=\d))+")
_BARE_WORD = re.compile(r"[^,:{}\[\]\n\"“”]+")
_QUOTE_ENDS = {opener: re.compile(rf"\\.|[{closers}]", re.DOTALL) for opener, closers in _CLOSERS.items()}
_UNESCAPED_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_NOTHING = frozenset({"null", "none", "nil", "undefined"})
_WHOLE_WORDS = frozenset({*_NOTHING, "true", "false"})


@dataclass(frozen=True)
class Sketch:
    """What a scan found: the skeleton, the strings it numbers, where it ended, and whether the text broke off inside.

    A closing Markdown fence inside says that a bracket is missing, not that the text broke off.
    """

    skeleton: str
    strings: list[str]
    end: int
    broken_off: bool


@dataclass
class _Frame:
    """An open bracket: how much of the skeleton was complete inside it, and what stands before the next child."""

    opener: str
    complete: int
    after_key: bool = False
    after_colon: bool = False
    has_steps_key: bool = False


@dataclass
class _Scan:
    text: str
    position: int
    out: list[str] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    frames: list[_Frame] = field(default_factory=list)

    def run(self) -> Sketch:
        """Scan from the opening bracket at ``position`` to its closing one, or as far as it goes."""
        while True:
            ignored = _IGNORED.match(self.text, self.position)
            if ignored:
                self.position = ignored.end()
            if self.position >= len(self.text):
                return self._cut(broken_off=True)
            if self.text.startswith("```", self.position):
                return self._cut(broken_off=False)
            character = self.text[self.position]
            if character in "{[":
                if len(self.frames) == MAX_DEPTH:
                    return replace(self._cut(broken_off=False), end=self.position)
                self._open(character)
            elif character in "}]":
                self._close(character)
                if not self.frames:
                    return Sketch(" ".join(self.out), self.strings, self.position, broken_off=False)
            elif character in ",:":
                self._separate(character)
            elif not (self._string() if character in _CLOSERS else self._bare()):
                return self._cut(broken_off=True)

    def _open(self, character: str) -> None:
        self._begin_child()
        self.frames.append(_Frame(character, complete=len(self.out) + 1))
        self.out.append(character)
        self.position += 1

    def _close(self, character: str) -> None:
        self.position += 1
        opener = "{" if character == "}" else "["
        if opener == "{" and self.frames[-1].opener == "[" and _NEXT_KEY.match(self.text, self.position):
            opener = "["  # a list closed with the wrong bracket: the object goes on
        if all(frame.opener != opener for frame in self.frames):
            return
        while self._pop() != opener:
            pass

    def _pop(self) -> str:
        frame = self.frames.pop()
        self.out.append("}" if frame.opener == "{" else "]")
        self._child_done()
        return frame.opener

    def _child_done(self) -> None:
        if self.frames:
            self.frames[-1].complete = len(self.out)
            self.frames[-1].after_colon = self.frames[-1].after_key = False

    def _begin_child(self) -> None:
        """Put in the colon that was left out between a key and its value."""
        if self.frames and self.frames[-1].after_key and not self.frames[-1].after_colon:
            self._separate(":")
            self.position -= 1

    def _separate(self, character: str) -> None:
        frame = self.frames[-1]
        frame.after_colon = character == ":" and frame.opener == "{"
        frame.after_key = frame.after_key and frame.after_colon
        self.out.append(character)
        self.position += 1

    def _emit(self, string: str) -> None:
        frame = self.frames[-1]
        is_key = frame.opener == "{" and not frame.after_colon
        frame.has_steps_key |= is_key and is_steps_key(string)
        self.out.append(f'"§{len(self.strings)}§"')
        self.strings.append(string)
        if is_key:
            frame.after_key = True
        else:
            self._child_done()

    def _string(self) -> bool:
        """Take the string at ``position``; False where nothing ends it."""
        self._begin_child()
        begin = self.position + 1
        quote_ends = _QUOTE_ENDS[self.text[self.position]]
        frame = self.frames[-1]
        if frame.opener == "{" and not frame.after_colon:
            end = self._key_end(quote_ends, begin)
        else:
            end = self._value_end(quote_ends, begin)
        if end is None:
            return False
        string = _decode(self.text[begin:end])
        # Where the quote itself was left out, the bracket or comma in its place is still to be read.
        self.position = end + 1 if quote_ends.match(self.text, end) else end
        if self.frames[-1].opener == "[" and self._is_key(begin, end):
            self._pop()  # the list was never closed before the object's next key
            self.out.append(",")
        self._emit(string)
        return True

    def _key_end(self, quote_ends: re.Pattern[str], begin: int) -> int | None:
        first = None
        for quote in islice(quote_ends.finditer(self.text, begin, begin + _KEY_WINDOW), _KEY_QUOTES):
            if quote[0][0] == "\\":
                continue
            if _KEY_ENDS.match(self.text, quote.end()) or is_known_key(self.text[begin : quote.start()]):
                return quote.start()
            first = quote.start() if first is None else first
        return first

    def _value_end(self, quote_ends: re.Pattern[str], begin: int) -> int | None:
        in_list = self.frames[-1].opener == "["
        if len(self.frames) == 1:
            ends = _OUTER_ELEMENT_ENDS if in_list else _OUTER_VALUE_ENDS
        else:
            ends = _ELEMENT_ENDS if in_list else _VALUE_ENDS
        quotes_before = 0
        for quote in quote_ends.finditer(self.text, begin):
            if quote[0][0] == "\\":
                continue
            if ends.match(self.text, quote.end()) or (in_list and self._is_key(begin, quote.start())):
                # Where the text ends behind the second quote of a quotation, the string itself may go on.
                in_quotation = quotes_before % 2 == 1 and _AT_END.match(self.text, quote.end())
                return None if in_quotation else quote.start()
            if in_list and quotes_before % 2 == 0 and _COMMA_LEFT_OUT.match(self.text, quote.end()):
                return quote.start()
            if quotes_before == 0 and _KEY_AHEAD.match(self.text, quote.start()):
                return begin + len(self.text[begin : quote.start()].rstrip(" \t\r\n,]}"))
            quotes_before += 1
        return None

    def _is_key(self, begin: int, end: int) -> bool:
        """Whether the string is one of the keys that a response has, found inside a list of an object."""
        return (
            end - begin <= _KNOWN_KEY_LENGTH
            and len(self.frames) > 1
            and self.frames[-2].opener == "{"
            and _COLON.match(self.text, end + 1) is not None
            and is_known_key(self.text[begin:end])
        )

    def _bare(self) -> bool:
        """Take the unquoted word or number at ``position``; False where the end of the text may have cut it."""
        in_value = self.frames[-1].opener == "{" and self.frames[-1].after_colon
        match = (_BARE_VALUE if in_value else _BARE_WORD).match(self.text, self.position)
        if match is None:  # no character can get here, but a scan must move on whatever it meets
            self.position += 1
            return True
        self.position = match.end()
        word = match[0].partition("```")[0].strip()
        if "```" in match[0]:
            self.position = match.start() + match[0].index("```")
        lowered = word.lower()
        if self.position == len(self.text) and lowered not in _WHOLE_WORDS:
            return False
        if lowered in _NOTHING:
            self.out.append("null")
            self._child_done()
        else:
            self._emit(lowered if lowered in _WHOLE_WORDS else _decode(word))
        return True

    def _cut(self, broken_off: bool) -> Sketch:
        """The sketch of what is complete, brackets closed: values, members and step objects that were cut are gone."""
        frame = self.frames[-1]
        del self.out[frame.complete :]
        for index in range(len(self.frames) - 1, 0, -1):
            inner, outer = self.frames[index], self.frames[index - 1]
            is_response = index == 1 and inner.has_steps_key
            if inner.opener == "{" and outer.opener == "[" and not is_response:
                del self.out[outer.complete :], self.frames[index:]
        while self.frames:
            self._pop()
        return Sketch(" ".join(self.out), self.strings, len(self.text), broken_off=broken_off)


def _decode(raw: str) -> str:
    """The text of a string whose inner quotes may stand unescaped; escapes are JSON's, but for LaTeX."""
    if "\\" not in raw:
        return raw
    escaped = _UNESCAPED_QUOTE.sub(lambda match: '\\"' if match[0] == '"' else match[0], protect_latex(raw))
    try:
        return str(json.loads(f'"{escaped}"', strict=False))
    except ValueError:
        return raw


def scan(text: str, start: int) -> Sketch:
    """The sketch of the bracket that opens at ``start`` of ``text``, up to where it closes.

    It ends early at the end of the text, at a closing fence, and where brackets nest deeper than ``MAX_DEPTH``.

    >>> sketch = scan('{"answer": "the "red" one", "steps": ["a", "b', 0)
    >>> sketch.skeleton, sketch.strings, sketch.broken_off
    ('{ "§0§" : "§1§" , "§2§" : [ "§3§" ] }', ['answer', 'the "red" one', 'steps', 'a'], True)
    """
    return _Scan(text, start).run()
