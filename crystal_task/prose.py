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
_SENTENCE_LINE = re.compile(rf"{_LEAD_IN}{_ANSWER_SENTENCE.pattern}", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!](?=\s|$)")

_BOLD = re.compile(r"(?<!\w)(\*\*|__)(?=[^\s*_])([^*_\n]{0,300}?[^\s*_])\1")
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)+", re.MULTILINE)
_INLINE_LABEL = re.compile(
    rf"(?<=[.!?;])(?<!\n\d\.)(?<!\n\d\d\.)[ \t]+(?=(?:{_STEP_LABEL}[:：–—-]|(?:final\s)?answer\s*[:：]))", re.IGNORECASE
)
_ANSWER_TAG = re.compile(r"<answer>|<\|begin_of_box\|>", re.IGNORECASE)
_OTHER_TAG = re.compile(
    r"</answer>|<\|end_of_box\|>|</?(?:reasoning|steps?|solution|explanation|analysis|summary|caption|conclusion)>",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s?\{")
_BOXED_LENGTH = 300


@dataclass(frozen=True)
class Prose:
    """The steps and the answer that a text in prose labels as such."""

    steps: list[str]
    answer: str | None


@dataclass(frozen=True)
class _Line:
    """A line and what its label makes of it: ``step``, ``answer``, ``text``, ``sentence`` ("the answer is", a box)."""

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
    answer = _marked_answer(lines, text)
    if answer is None and steps:
        answer = next((said for line in reversed(lines) if (said := _sentence_answer(line.text))), None)
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
    """``text`` without Markdown's bold, headings and quotes, each label at the start of a line of its own.

    Runs of white space in a line become one space, which also keeps the patterns here off long ones.
    """
    plain = "\n".join(" ".join(line.split()) for line in ("", *text.split("\n")))
    plain = _BOLD.sub(lambda match: match[2], plain)
    plain = _LINE_MARKS.sub("", plain)
    plain = _OTHER_TAG.sub("\n\n", _ANSWER_TAG.sub("\nAnswer: ", plain))
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
    """The lines by their labels; ``bullets``: bullets are steps even where nothing else marks them as such."""
    raw = [line for line in plain.split("\n") if not line.startswith("```")]
    label = _label_of_steps(raw, bullets)
    lines: list[_Line] = []
    expected = 1
    for line in raw:
        step = label.fullmatch(line) if label else None
        if step is not None and label is _NUMBERED:
            # A number out of turn is no label: "3. 5 cm", a page, a year.
            number = _number(line) or 0
            step = step if number in (0, 1, expected) else None
            expected = expected if step is None else number + 1
        content = line if step is None else step[step.re.groups]
        answer = _ANSWER.fullmatch(content)
        if answer is not None:
            lines.append(_Line("answer", answer[1]))
        elif step is not None:
            lines.append(_Line("step", content))
        elif _SENTENCE_LINE.match(line) or _BOXED.search(line):
            lines.append(_Line("sentence", line))
        elif not _HEADING.fullmatch(line):
            lines.append(_Line("text", line))
    return lines


def _label_of_steps(lines: list[str], bullets: bool) -> re.Pattern[str] | None:
    """The one label that the steps of a text have, the clearest first; what looks like a lesser one is part of them."""
    if any(_STEP.fullmatch(line) for line in lines):
        return _STEP
    if any(_number(line) in (0, 1) for line in lines):
        return _NUMBERED
    if bullets or any(_ANSWER.fullmatch(line) or _HEADING.fullmatch(line) for line in lines):
        return _BULLET
    return None


def _number(line: str) -> int | None:
    match = _NUMBERED.fullmatch(line)
    return None if match is None else int(match[1] or match[2])


def _collect(lines: list[_Line]) -> list[str]:
    """The steps, each with the lines that go on with it.

    Between two steps that is all there is. The last step ends at a blank line, unless an earlier one went on behind
    one: then steps are headings with paragraphs below them.
    """
    last = max((index for index, line in enumerate(lines) if line.kind == "step"), default=-1)
    steps: list[list[str]] = []
    is_open = has_paragraphs = False
    for index, line in enumerate(lines):
        after_blank = index > 0 and not lines[index - 1].text
        if line.kind == "step":
            steps.append([line.text])
            is_open = True
        elif line.kind != "text":
            is_open = False
        elif is_open and line.text:
            if index > last and after_blank and any(steps[-1]) and not has_paragraphs:
                is_open = False
                continue
            has_paragraphs |= after_blank
            bullet = _BULLET.fullmatch(line.text)
            steps[-1].append(bullet[1] if bullet else line.text)
    joined = [" ".join(part.strip() for part in parts if part.strip()) for parts in steps]
    return [step for step in joined if step]


def _marked_answer(lines: list[_Line], text: str) -> str | None:
    """The last answer behind a marker; on a marker alone, the next line that says something; else the last box."""
    following = ""
    for line in reversed(lines):
        if line.kind == "answer" and (answer := _sentence_answer(line.text) or _tidy(line.text or following)):
            return answer
        following = line.text or following
    boxes = list(_BOXED.finditer(text))
    return _tidy(_inside_box(text, boxes[-1].end()) or "") if boxes else None


def _sentence_answer(text: str) -> str | None:
    """The answer in a sentence such as "the answer is B.", up to where the sentence ends."""
    match = _ANSWER_SENTENCE.search(text)
    if match is None:
        return None
    end = _SENTENCE_END.search(match[1])
    return _tidy(match[1][: end.start()] if end else match[1])


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
