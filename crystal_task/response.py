"""The response parser: from the text that a model wrote to steps, answer and what state the text was in.

The way through: whole text as JSON, reasoning blocks dropped, JSON found and mended, the prose around it. What LaTeX
does to JSON is in ``latex.py``, the reading of broken JSON in ``scanner.py`` and ``mending.py``, the shapes of steps
and answers in ``shapes.py``, prose in ``prose.py``.
"""

import re
import string
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, get_args

from .cleaning import INVISIBLE, clean, clean_answer, clean_steps, is_blank
from .keys import STEPS_KEYS, plain_key
from .latex import protect_latex
from .mending import Found, find_json
from .prose import read_prose
from .shapes import Members, decoded, is_string, read_bare_list, read_fields, read_series
from .thinking import drop_reasoning

Status = Literal["valid", "recovered", "malformed", "empty", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)

# Stands where a response has no usable step: it counts as one predicted step, and is never encoded nor matched.
PLACEHOLDER_STEP = "[no usable response]"

_STEPS_KEY, _ANSWER_KEY = "reasoning_steps", "answer"
_FAILURE = re.compile(r"\s*\[LMMS_EVAL_(?:REQUEST_FAILED|BUDGET_EXCEEDED)\b")
# A chat template may have written the opening brace as part of the prompt.
_NO_BRACE = re.compile(rf"[\s{INVISIBLE}]*[\"'“](?:{_STEPS_KEY}|{_ANSWER_KEY})[\"'”]\s*:")
# How much of the line before a list of strings is looked at for a label.
_LABEL_WINDOW = 80
# Labels of lists that are no steps, on the line before a list.
_OTHER_LISTS = ("options", "choices", "candidates", "answer", "answers", "sources", "references", "labels", "keywords")
_FENCE = re.compile(r"```\w*\s*\Z")
# What reading a text costs hangs on its marks: up to ten microseconds for one that may begin an object, a member or a
# line, up to six for another one of JSON or Markdown, up to one for a quote or a full stop. A text that is no sound
# JSON is read to half as many from either end, which bounds it.
_SHAPING = string.punctuation.replace('"', "").replace(".", "") + "\n"
_MARKS_READ = {"{}:\n": 100_000, _SHAPING: 220_000, string.punctuation: 1_000_000}
# Sound JSON costs a microsecond for each of its marks.
_SOUND_MARKS = 1_000_000
# A response encoded twice is met with; more often than that nothing is gained.
_MAX_ENCODINGS = 3


@dataclass(frozen=True)
class Response:
    """What a text says: its steps, its answer (None: none), its state, and whether it breaks off.

    ``truncated`` is about the text alone: it ends inside its JSON or its reasoning block. A generation that reached
    its limit of tokens is truncated too, which only its count can tell.
    """

    steps: list[str]
    answer: str | None
    status: Status
    truncated: bool = False

    @property
    def is_placeholder(self) -> bool:
        """Whether the one step is ``PLACEHOLDER_STEP`` and not a model's."""
        return self.status not in ("valid", "recovered") and self.steps == [PLACEHOLDER_STEP]

    @property
    def is_usable(self) -> bool:
        """Whether the text gave its steps and answer, as asked for or after mending."""
        return self.status in ("valid", "recovered")


def parse_response(text: object) -> Response:
    r"""The steps and the answer of what a model wrote; never raises, on any text.

    Status ``valid``: the whole text, but for white space around it, is JSON with exactly the keys ``reasoning_steps``
    (a list of non-blank strings) and ``answer`` (a string), each once, and nothing in it had to be changed: no escape
    read as LaTeX, no control character but the one of ``\r\n`` removed, no lone surrogate replaced. ``recovered``:
    something was mended or taken out of other text. ``malformed`` (nothing usable), ``empty`` and ``failed`` (the
    harness's own marker) have the placeholder for steps and no answer. Text of megabytes that is not ``valid`` may be
    read from its two ends only, see ``_shortened``. What is no string is read as its ``str``, None as the empty text.

    >>> parse_response('{"reasoning_steps": ["The sign is red"], "answer": "B"}')
    Response(steps=['The sign is red'], answer='B', status='valid', truncated=False)
    >>> parse_response('{"reasoning_steps": ["The sign is red", "It has eig')
    Response(steps=['The sign is red'], answer=None, status='recovered', truncated=True)
    >>> parse_response("I cannot see an image.")
    Response(steps=['[no usable response]'], answer=None, status='malformed', truncated=False)
    """
    return _parse(as_text(text), _MAX_ENCODINGS)


def text_status(text: str) -> Literal["empty", "failed"] | None:
    """``failed`` for the harness's failure markers, ``empty`` for blank text, None for text that may say something.

    >>> text_status("[LMMS_EVAL_BUDGET_EXCEEDED]"), text_status(" "), text_status("B")
    ('failed', 'empty', None)
    """
    if is_blank(text):
        return "empty"
    return "failed" if _FAILURE.match(text) else None


def as_text(value: object) -> str:
    """``value`` as text: None as the empty text, bytes as UTF-8.

    >>> as_text(None), as_text(3)
    ('', '3')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    try:
        return "" if value is None else str(value)
    except Exception:  # any object may come here, and its str may do anything
        return ""


def _parse(text: str, encodings: int) -> Response:
    status = text_status(text)
    if status is not None:
        return _unusable(status)
    stripped = text.strip()
    if stripped[0] in '{["' and stripped[-1] in '}]"' and _count(stripped, _SHAPING) <= _SOUND_MARKS:
        protected = protect_latex(stripped)
        value = decoded(protected, strict=True)
        if protected == stripped and _is_exact(value):
            return _exact(value)
        if is_string(value) and encodings > 1:
            inner = _parse(value, encodings - 1)
            return Response(inner.steps, inner.answer, "recovered", inner.truncated) if inner.is_usable else inner
        fields = read_series([value]) or read_bare_list(value)
        if fields is not None:
            return Response(fields.steps, fields.answer, "recovered")
        if value is not None:
            return _unusable("malformed")
    visible = drop_reasoning(stripped)
    if visible is None:
        return _unusable("malformed", truncated=True)
    return _recover(visible)


def _is_exact(value: Any) -> bool:
    """Whether the JSON is exactly what was asked for, each key once."""
    if not isinstance(value, Members) or {key for key, _ in value} != {_STEPS_KEY, _ANSWER_KEY} or len(value) != 2:
        return False
    members = dict(value)
    steps, answer = members[_STEPS_KEY], members[_ANSWER_KEY]
    if not isinstance(steps, list) or isinstance(steps, Members):
        return False
    return all(is_string(step) and step.strip() for step in steps) and is_string(answer)


def _exact(value: Members) -> Response:
    members = dict(value)
    given = [*members[_STEPS_KEY], members[_ANSWER_KEY]]
    cleaned = [clean(text) for text in given]
    unchanged = all(text.replace("\r\n", "\n") == result for text, result in zip(given, cleaned, strict=True))
    *steps, answer = cleaned
    return Response(clean_steps(steps), clean_answer(answer), "valid" if unchanged else "recovered")


def _recover(text: str) -> Response:
    """The response in text that is not JSON as a whole: what its JSON says, and the rest from the prose around it."""
    text = _shortened(text)
    if _NO_BRACE.match(text):
        text = "{" + text
    found = find_json(text)
    truncated = bool(found) and found[-1].broken_off
    told = read_series([each.value for each in found], broken_off=truncated)
    steps, answer = ([], None) if told is None else (told.steps, told.answer)
    counted = [each for each in found if each.broken_off or read_fields(each.value) is not None]
    if not steps and (listed := _listed_steps(text, found)) is not None:
        where, steps = listed
        counted.append(where)
    if not steps or answer is None:
        lent_steps, lent_answer = _read_around(text, counted, has_steps=bool(steps))
        steps = steps or lent_steps
        answer = lent_answer if answer is None else answer
    if not steps and answer is None and (told is None or truncated):
        return _unusable("malformed", truncated)
    # An empty response is one, if the model closed it: it says that there is nothing.
    return Response(steps, answer, "recovered", truncated)


def _shortened(text: str) -> str:
    """``text`` without its middle if it has more marks than are read."""
    for marks, most in _MARKS_READ.items():
        if _count(text, marks) > most:
            text = text[: _end_of(text, marks, most // 2)] + text[len(text) - _end_of(text[::-1], marks, most // 2) :]
    return text


def _count(text: str, marks: str) -> int:
    return sum(map(text.count, marks))


def _end_of(text: str, marks: str, count: int) -> int:
    """Where so many of the marks end."""
    found = re.finditer(f"[{re.escape(marks)}]", text)
    return next(islice(found, count - 1, None)).end()


def _listed_steps(text: str, found: list[Found]) -> tuple[Found, list[str]] | None:
    """The last bare list of strings that is no part of a sentence, and no list of something else.

    It stands on a line of its own, or behind a label of steps.
    """
    for each in reversed(found):
        fields = read_bare_list(each.value)
        if fields is None or fields.is_echo:
            continue
        before, _, line = text[max(0, each.start - _LABEL_WINDOW) : each.start].rpartition("\n")
        label = plain_key(line.rpartition(">")[2])
        above = plain_key(_FENCE.sub("", before).rstrip().rpartition("\n")[2])
        if label.endswith(tuple(STEPS_KEYS)) or (not label and not above.endswith(_OTHER_LISTS)):
            return each, fields.steps
    return None


def _read_around(text: str, counted: list[Found], has_steps: bool) -> tuple[list[str], str | None]:
    """The last steps and the last answer that the prose around JSON labels as such."""
    steps: list[str] = []
    answer: str | None = None
    for piece in reversed(_pieces(text, counted)):
        prose = read_prose(piece, has_steps)
        if prose is not None:
            steps = steps or clean_steps(prose.steps)
            answer = clean_answer(prose.answer) if answer is None else answer
    return steps, answer


def _pieces(text: str, counted: list[Found]) -> list[str]:
    """``text`` without the JSON that has been read, as the pieces between."""
    pieces, position = [], 0
    for each in sorted(counted, key=lambda found: found.start):
        pieces.append(text[position : max(position, each.start)])
        position = max(position, each.end)
    pieces.append(text[position:])
    return [piece for piece in pieces if not is_blank(piece)]


def _unusable(status: Status, truncated: bool = False) -> Response:
    return Response([PLACEHOLDER_STEP], None, status, truncated)
