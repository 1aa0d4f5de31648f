"""Responses in prose: "Step 1: ...", numbered lists and "Answer: ..." instead of JSON."""

import re
from dataclasses import dataclass

from .keys import ANSWER_WORDS, STEP_WORDS, is_steps_key, plain_key

_NUMBER_WORD = r"one|two|three|four|five|six|seven|eight|nine|ten|[一二三四五六七八九十]{1,3}"
_STEP_LABEL = (
    rf"(?:(?:{'|'.join(STEP_WORDS)})\s*[#_]?(?:\d{{1,3}}|{_NUMBER_WORD})|第(?:\d{{1,3}}|[一二三四五六七八九十]{{1,3}})步|\d{{1,3}}단계)"
    r"(?![.\d]\d)\s*(?:\([^)\n]{0,60}\)\s*)?"
)
_STEP = re.compile(rf"\s*(?:[-•*–]\s+)?{_STEP_LABEL}(?:[:：.)，、]|\s[-–—]+(?=\s)|[–—]|(?=\s*$))\s*(.*)", re.IGNORECASE)
_NUMBERED = re.compile(r"\s*(?:[-•*–]\s+)?(?:\((\d{1,3})\)|(\d{1,3})[.):])\s+(\S.*)")
_BULLET = re.compile(r"\s*[-•*–]\s+(\S.*)")
_HEADING = re.compile(
    r"\s*(?:(?:the|my)\s+)?(?:reasoning(?:[ _-](?:steps|process))?|steps|explanation|solution|chain of thought"
    r"|step[ -]by[ -]step(?:\s(?:reasoning|solution|explanation))?)\s*[:：]?\s*",
    re.IGNORECASE,
)
_LEAD_IN = r"\s*(?:[-•*–]\s+)?(?:(?:so|thus|therefore|hence|in conclusion)\s*,?\s+|(?:所以|因此)[,，]?\s?)?"
_BEST = (
    r"(?:(?:final|correct|best|endgültige|richtige|finale|correcta|correcte|corretta|окончательный|итоговый"
    r"|правильный)[ _]+|(?:最终|最終|最終的な|正确|최종)\s?)"
)
_THE = rf"(?:(?:the|my|die|la|a|o)[ _]+)?{_BEST}{{0,2}}"
_SAYS = rf"(?:{'|'.join(ANSWER_WORDS)})(?:[ _](?:final|finale|correcta|correcte|correta|corretta))?"
_ANSWER = re.compile(rf"{_LEAD_IN}{_THE}{_SAYS}(?:\s+is)?\s*(?:[:：=]+|\s[-–—](?=\s)|(?=\s*$))\s*(.*)", re.IGNORECASE)
# "The answer is given below" gives none.
_ELSEWHERE = r"(?!(?:as follows|given|shown|provided|presented|written|below|above|in (?:the|this) (?:json|form))\b)"
_ANSWER_SENTENCE = re.compile(
    rf"(?:\b(?:the|my|die|la|a)\s+{_BEST}{{0,2}}(?:{_SAYS}|option|choice)\s+(?:is|ist|es|est|é|è)(?!\w)\s*[:：]?\s*{_ELSEWHERE}"
    r"|(?:答案|答え|正解)(?:是|为|為|は)\s*[:：]?\s*)(\S.*)",
    re.IGNORECASE,
)
_SENTENCE_LINE = re.compile(rf"{_LEAD_IN}{_ANSWER_SENTENCE.pattern}", re.IGNORECASE)
# The word before a full stop, where a sentence may begin behind it.
_SENTENCE_END = re.compile(r"(?<!\S)(\S{0,80}?)(?:[.!?]+(?=\s+[\"“'‘(*$]?[^\W\d_a-zà-öø-ÿа-яё]|\s*\Z)|[。！？])")
_ABBREVIATIONS = frozenset(
    "dr mr mrs ms prof st mt ft sgt gen lt col capt rev hon gov sen rep pres jr sr inc ltd co corp vs no fig eq "
    "approx etc ca".split()
)
_DOTTED = re.compile(r"\(?[A-Za-z](?:\.[A-Za-z])+")
_INITIAL_AHEAD = re.compile(r"\s+[A-Z]\.")
_OPTION_LETTERS = frozenset("ABCDEFGH")

# A refusal is an opening that is sorry and unable, or says at once that it cannot.
_UNABLE = (
    r"(?:can(?:no|['’])t\b|can not\b|unable\b|not able\b|won['’]t\b|will not\b"
    r"|could(?:n['’]t| not)\b|do(?:n['’]t| not) have\b"
    r"|kann\b.{0,40}\bnicht\b|no puedo|ne peux|não posso|non posso|не могу|无法|無法|不能|できません|할 수 없)"
)
_SORRY = (
    r"(?:i\s?(?:['’]m|am)\s(?:\w+\s)?(?:sorry|afraid)|sorry|(?:i\s)?apologi[sz]e|my apologies|apologies|unfortunately"
    r"|leider|es tut mir leid|lo siento|désolée?|je suis désolée?|desculpe|infelizmente|mi dispiace|purtroppo"
    r"|извините|простите|к сожалению|很?抱歉|对不起|對不起|申し訳|죄송)"
)
_REFUSAL = re.compile(
    rf"\W{{0,80}}(?:{_SORRY}.{{0,150}}?{_UNABLE}|(?:as an? [^,\n]{{2,60}}, )?i\s(?:am\s)?{_UNABLE})",
    re.IGNORECASE | re.DOTALL,
)

_BOLD = re.compile(r"(?<!\w)(\*\*|__)(?=[^\s*_])([^*_\n]{0,300}?[^\s*_])\1")
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)+", re.MULTILINE)
# Beside other scripts than ours a space is enough, and behind their full stops nothing is needed.
_INLINE_LABEL = re.compile(
    rf"(?:(?<=[.!?;])(?<!\n\d\.)(?<!\n\d\d\.)[ \t]+|(?<=[。！？；])[ \t]*|(?<=[^\x00-\x7f])[ \t]+"
    r"|[ \t]+(?=[^\x00-\x7f]))"
    rf"(?=(?:{_STEP_LABEL}[:：–—-]|{_BEST}?{_SAYS}\s*[:：]))",
    re.IGNORECASE,
)
_ANSWER_TAG = re.compile(r"<(?:final[ _-]?)?answer>|<\|begin_of_box\|>", re.IGNORECASE)
_STEPS_TAG = r"(?:reasoning(?:[ _-]?(?:steps|process))?|steps|solution|explanation|analysis|thoughts?|rationale)"
_OTHER_TAG = re.compile(
    rf"</(?:answer|final[ _-]?answer)>|<\|end_of_box\|>|</?(?:{_STEPS_TAG}|summary|caption|conclusion|response|output)>"
    r"|</(?:reasoning[ _-]?)?step(?:[ _-]?\d{1,3})?>",
    re.IGNORECASE,
)
_STEP_TAG = re.compile(
    rf"<(?:reasoning[ _-]?)?step(?:[ _-]?\d{{1,3}})?(?:\s[^<>\n]{{0,80}})?>\s{{0,3}}"
    rf"(?:{_STEP_LABEL}[:：.)]|\d{{1,3}}[.)](?=\s))?",
    re.IGNORECASE,
)
_STEP_TAG_CLOSES = re.compile(r"</(?:reasoning[ _-]?)?step(?:[ _-]?\d{1,3})?>", re.IGNORECASE)
_SECTION = re.compile(rf"<({_STEPS_TAG})>", re.IGNORECASE)
_TABLE_RULE = re.compile(r"\|[\s:|-]*-[\s:|-]*")
_QUOTED = re.compile(r"""\s*(["'])((?:(?!\1)[^\\]|\\.)+)\1,?\s*""", re.DOTALL)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s?\{")
_BOXED_LENGTH = 300
# How far back the name before an initial is looked for.
_NAME_WINDOW = 40


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


def read_prose(text: str, has_steps: bool = False) -> Prose | None:
    r"""The labelled steps and answer of ``text``; None where it has neither numbered steps nor a marked answer.

    Bullets count as steps only in a text that marks its reasoning or its answer, and "the answer is B" inside a
    sentence only in a text that has steps (``has_steps``: they stand elsewhere): refusals and small talk have bullets
    and answers of their own. A refusal has no steps, whatever it lists, unless it goes on to a marked answer.

    >>> read_prose("Step 1: Look at the axis.\n**Answer:** B")
    Prose(steps=['Look at the axis.'], answer='B')
    >>> read_prose("I cannot help with that. You could 1. ask again") is None
    True
    """
    plain = _plain(text)
    lines = _labelled(plain)
    steps = _collect(lines) or _section(text)
    answer = _marked_answer(lines, text)
    if answer is None:
        if _REFUSAL.match(plain):
            return None
        if steps or has_steps:
            answer = next((said for line in reversed(lines) if (said := _sentence_answer(line.text))), None)
    if not steps and answer is None:
        return None
    return Prose(steps, answer)


def _section(text: str) -> list[str]:
    """The lines between a pair of tags that names the steps."""
    opening = _SECTION.search(text)
    if opening is None:
        return []
    end = text.find(f"</{opening[1]}>", opening.end())
    return split_steps(text[opening.end() : end]) if end >= 0 else []


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
    plain = _steps_of_tables(_LINE_MARKS.sub("", plain))
    if _STEP_TAG_CLOSES.search(plain):
        plain = _STEP_TAG.sub("\nStep 1: ", plain)
    plain = _OTHER_TAG.sub("\n\n", _ANSWER_TAG.sub("\nAnswer: ", plain))
    return _INLINE_LABEL.sub("\n", plain)


def _steps_of_tables(plain: str) -> str:
    """``plain`` with the rows of tables of steps as labelled lines; a table of anything else stays as it is."""
    lines: list[str] = []
    in_steps = False
    for line in plain.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and lines and _TABLE_RULE.fullmatch(line):
            in_steps = any(is_steps_key(cell) or plain_key(cell) in STEP_WORDS for cell in lines[-1].split("|"))
            if in_steps:
                lines.pop()
            continue
        in_steps = in_steps and bool(cells)
        if in_steps:
            label, *rest = cells
            said = ": ".join(cell for cell in rest if cell)
            if _ANSWER.fullmatch(label):
                line = f"Answer: {said}"
            elif label.isdecimal() or not label or _STEP.fullmatch(label):
                line = f"Step 1: {said}"
            else:
                line = f"Step 1: {label}: {said}" if said else f"Step 1: {label}"
        lines.append(line)
    return "\n".join(lines)


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
        elif not _is_heading(line):
            lines.append(_Line("text", line))
    return lines


def _label_of_steps(lines: list[str], bullets: bool) -> re.Pattern[str] | None:
    """The one label that the steps of a text have, the clearest first; what looks like a lesser one is part of them."""
    if any(_STEP.fullmatch(line) for line in lines):
        return _STEP
    if any(_number(line) in (0, 1) for line in lines):
        return _NUMBERED
    if bullets or any(_ANSWER.fullmatch(line) or _is_heading(line) for line in lines):
        return _BULLET
    return None


def _is_heading(line: str) -> bool:
    return _HEADING.fullmatch(line) is not None or is_steps_key(line)


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
    return [_unquoted(step) for step in joined if step]


def _unquoted(step: str) -> str:
    """A step without the quotes around it, which YAML and lists put there."""
    quoted = _QUOTED.fullmatch(step)
    return step if quoted is None else quoted[2].replace('\\"', '"')


def _marked_answer(lines: list[_Line], text: str) -> str | None:
    """The last answer behind a marker; on a marker alone, the next line that says something; else the last box."""
    following = ""
    for line in reversed(lines):
        if line.kind == "answer" and (answer := _sentence_answer(line.text) or _tidy(line.text or following)):
            return answer
        following = line.text or following
    return _tidy(_last_box(text) or "")


def _sentence_answer(text: str) -> str | None:
    """The answer in a sentence such as "the answer is B.", up to where the sentence ends."""
    match = _ANSWER_SENTENCE.search(text)
    if match is None or match[1].endswith((":", "：")):
        return None
    return _tidy(_first_sentence(match[1]))


def _first_sentence(text: str) -> str:
    """``text`` up to the full stop of its first sentence, whole where no stop is sure to be one."""
    for end in _SENTENCE_END.finditer(text):
        word = end[1]
        if word.lstrip("(").lower() in _ABBREVIATIONS or _DOTTED.fullmatch(word):
            continue
        if len(word) == 1 and word.isupper() and _INITIAL_AHEAD.match(text, end.end()):
            continue  # the first of two initials
        if len(word) == 1 and word.isupper() and not (end.start() == 0 and word in _OPTION_LETTERS):
            before = text[max(0, end.start() - _NAME_WINDOW) : end.start()].split()
            if not before or before[-1][0].isupper():
                continue  # an initial inside a name
        return text[: end.end(1)]
    return text


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
    if " " not in answer and len(answer) > 1 and not _DOTTED.fullmatch(answer.removesuffix(".")):
        answer = answer.rstrip("。").removesuffix(".")
    return answer or None


def _last_box(text: str) -> str | None:
    boxes = list(_BOXED.finditer(text))
    return _inside_box(text, boxes[-1].end()) if boxes else None


def _inside_box(text: str, start: int) -> str | None:
    depth = 1
    for index in range(start, min(len(text), start + _BOXED_LENGTH)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return text[start:index]
    return None
