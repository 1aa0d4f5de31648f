"""Responses in prose: "Step 1: ...", numbered lists and "Answer: ..." instead of JSON."""

import re
from dataclasses import dataclass

_NUMBER_WORD = r"one|two|three|four|five|six|seven|eight|nine|ten"
_STEP_LABEL = rf"step\s*[#_]?(?:\d{{1,3}}|{_NUMBER_WORD})(?![.\d]\d)\s*(?:\([^)\n]{{0,60}}\)\s*)?"
_STEP = re.compile(rf"\s*(?:[-•*–]\s+)?{_STEP_LABEL}(?:[:：.)]|\s[-–—]+(?=\s)|[–—]|(?=\s*$))\s*(.*)", re.IGNORECASE)
_NUMBERED = re.compile(r"\s*(?:[-•*–]\s+)?(?:\((\d{1,3})\)|(\d{1,3})[.):])\s+(\S.*)")
_BULLET = re.compile(r"\s*[-•*–]\s+(\S.*)")
_HEADING = re.compile(
    r"\s*(?:(?:the|my)\s+)?(?:reasoning(?:[ _-](?:steps|process))?|steps|explanation|solution|chain of thought"
    r"|step[ -]by[ -]step(?:\s(?:reasoning|solution|explanation))?)\s*[:：]?\s*",
    re.IGNORECASE,
)
_LEAD_IN = r"\s*(?:[-•*–]\s+)?(?:(?:so|thus|therefore|hence|in conclusion)\s*,?\s+)?"
_THE = r"(?:(?:the|my|final|correct|best)[ _]+){0,3}"
_ANSWER = re.compile(rf"{_LEAD_IN}{_THE}answer(?:\s+is)?\s*(?:[:：=]+|\s[-–—](?=\s)|(?=\s*$))\s*(.*)", re.IGNORECASE)
_ANSWER_SENTENCE = re.compile(
    r"\b(?:the|my)\s+(?:(?:final|correct|best)\s+){0,2}(?:answer|option|choice)\s+is\s*:?\s*(\S.*)", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!](?=\s|$)")

_BOLD = re.compile(r"(?<!\w)(\*\*|__)(?=[^\s*_])([^*_\n]{0,300}?[^\s*_])\1")
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)+", re.MULTILINE)
_INLINE_LABEL = re.compile(rf"(?<=[.!?;])[ \t]+(?=(?:{_STEP_LABEL}[:：–—-]|(?:final\s)?answer\s*[:：]))", re.IGNORECASE)
_ANSWER_TAG = re.compile(r"<answer>|<\|begin_of_box\|>", re.IGNORECASE)
_ANSWER_TAG_END = re.compile(r"</answer>|<\|end_of_box\|>", re.IGNORECASE)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s?\{")
_BOXED_LENGTH = 300


@dataclass(frozen=True)
class Prose:
    """The steps and the answer that a text in prose labels as such."""

    steps: list[str]
    answer: str | None


@dataclass(frozen=True)
class _Line:
    """A line and what its label makes of it: ``step``, ``answer``, ``sentence`` ("so the answer is"), ``text``."""

    kind: str
    text: str


def read_prose(text: str) -> Prose | None:
    r"""The labelled steps and answer of ``text``; None where it has neither numbered steps nor a marked answer.

    Bullets count as steps only in a text that marks its reasoning or its answer, and "the answer is B" inside a
    sentence only in a text that has steps: refusals and small talk have bullets and answers of their own.

    >>> read_prose("Step 1: Look at the axis.\n**Answer:** B")
    Prose(steps=['Look at the axis.'], answer='B')
    >>> read_prose("I cannot help with that.") is None
    True
    """
    plain = _plain(text)
    lines = _labelled(plain)
    steps = _collect(lines)
    answer = _marked_answer(lines, text) or (_sentence_answer(lines) if steps else None)
    if not steps and answer is None:
        return None
    return Prose(steps, answer)


def split_steps(text: str) -> list[str]:
    r"""The steps in one long string: by their labels, else by lines; a string of one line is one step.

    >>> split_steps("1. Look at the axis\n2. Read the bar")
    ['Look at the axis', 'Read the bar']
    """
    plain = _on_lines(_plain(text))
    steps = _collect(_labelled(plain, bullets=True))
    if steps:
        return steps
    lines = [line.strip() for line in plain.split("\n") if line.strip()]
    return lines if len(lines) > 1 else [text] if text.strip() else []


def _plain(text: str) -> str:
    """``text`` without Markdown's bold, headings and quotes, each label at the start of a line of its own."""
    plain = _BOLD.sub(lambda match: match[2], text)
    plain = _LINE_MARKS.sub("", plain)
    plain = _ANSWER_TAG_END.sub("\n\n", _ANSWER_TAG.sub("\nAnswer: ", plain))
    return _INLINE_LABEL.sub("\n", plain)


def _on_lines(text: str) -> str:
    """A numbered list written on one line, one item on each; other text unchanged."""
    if "\n" in text.strip() or not text.lstrip().startswith("1"):
        return text
    parts, rest, number = [], text, 2
    while (label := re.search(rf"(?<=\s){number}[.)]\s", rest)) is not None:
        parts.append(rest[: label.start()])
        rest = rest[label.start() :]
        number += 1
    return "\n".join((*parts, rest))


def _labelled(plain: str, bullets: bool = False) -> list[_Line]:
    raw = [line for line in plain.split("\n") if not line.lstrip().startswith("```")]
    answers = [_ANSWER.fullmatch(line) for line in raw]
    if any(_STEP.fullmatch(line) for line in raw):
        patterns = [_STEP]
    elif any((number := _number(line)) in (0, 1) for line in raw):
        patterns = [_NUMBERED]
    elif bullets or any(answers) or any(_HEADING.fullmatch(line) for line in raw):
        patterns = [_BULLET]
    else:
        patterns = []
    lines, expected = [], 1
    for line, answer in zip(raw, answers, strict=True):
        step = next((match for pattern in patterns if (match := pattern.fullmatch(line))), None)
        if step is not None and step.re is _NUMBERED:
            number = _number(line)
            step = step if number in (0, 1, expected) else None
            expected = expected if step is None else (number or 0) + 1
        content = step[step.re.groups] if step is not None else ""
        inner_answer = _ANSWER.fullmatch(content) if content else None
        if answer is not None or inner_answer is not None:
            lines.append(_Line("answer", (answer or inner_answer)[1]))  # type: ignore[index]
        elif step is not None:
            lines.append(_Line("step", content))
        elif re.match(_LEAD_IN, line) and _is_sentence_answer(line):
            lines.append(_Line("sentence", line))
        elif not _HEADING.fullmatch(line) or not line.strip():
            lines.append(_Line("text", line.strip()))
    return lines


def _number(line: str) -> int | None:
    match = _NUMBERED.fullmatch(line)
    return None if match is None else int(match[1] or match[2])


def _is_sentence_answer(line: str) -> bool:
    lead_in = re.match(_LEAD_IN, line)
    return lead_in is not None and _ANSWER_SENTENCE.match(line, lead_in.end()) is not None


def _collect(lines: list[_Line]) -> list[str]:
    """The steps with the lines that go on with them; the last step ends at a blank line."""
    last = max((index for index, line in enumerate(lines) if line.kind == "step"), default=-1)
    steps: list[list[str]] = []
    is_open = False
    for index, line in enumerate(lines):
        if line.kind == "step":
            steps.append([line.text])
            is_open = True
        elif line.kind != "text":
            is_open = False
        elif is_open and line.text:
            bullet = _BULLET.fullmatch(line.text)
            steps[-1].append(bullet[1] if bullet else line.text)
        elif index > last and any(steps[-1:][0] if steps else ()):
            is_open = False
    joined = [" ".join(part.strip() for part in parts if part.strip()) for parts in steps]
    return [step for step in joined if step]


def _marked_answer(lines: list[_Line], text: str) -> str | None:
    """The last answer behind a marker; on a marker alone, the next line that says something; else the last box."""
    marked = [index for index, line in enumerate(lines) if line.kind == "answer"]
    for index in reversed(marked):
        following = (line.text for line in lines[index + 1 :] if line.text)
        answer = _tidy(lines[index].text or next(following, ""))
        if answer:
            return answer
    boxes = list(_BOXED.finditer(text))
    return _tidy(_inside_box(text, boxes[-1].end()) or "") if boxes else None


def _sentence_answer(lines: list[_Line]) -> str | None:
    for line in reversed(lines):
        match = _ANSWER_SENTENCE.search(line.text)
        if match:
            end = _SENTENCE_END.search(match[1])
            return _tidy(match[1][: end.start()] if end else match[1])
    return None


def _tidy(answer: str) -> str | None:
    """The answer without its box, dollar signs, quotes around it, and the full stop behind a single word."""
    answer = answer.strip()
    if len(answer) > 2 and answer[0] == answer[-1] == "$":
        answer = answer.strip("$").strip()
    box = _BOXED.match(answer)
    if box is not None and (inside := _inside_box(answer, box.end())) is not None:
        answer = inside.strip()
    if len(answer) > 2 and answer[0] == answer[-1] and answer[0] in "\"'`*":
        answer = answer[1:-1].strip()
    if " " not in answer and len(answer) > 1:
        answer = answer.removesuffix(".")
    return answer or None


def _inside_box(text: str, start: int) -> str | None:
    depth = 1
    for index in range(start, min(len(text), start + _BOXED_LENGTH)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return text[start:index]
    return None
