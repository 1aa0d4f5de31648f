"""Lettered options: how they are shown under a question, in the prompt and to the answer rules alike."""

import re
from collections.abc import Sequence
from string import ascii_uppercase

_OWN_LABEL = re.compile(r"^\s*\(?([A-Za-z])[).:]\s*(?=\S)")
_OPTION_LINE = re.compile(r"^[ \t]*\(?([A-Z])[).:][ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_INLINE_OPTION = re.compile(r"\(([A-Za-z])\)\s*([^()\n]{1,200}?)\s*(?=\([A-Za-z]\)|$|\n)")
# Questions longer than this are no questions with options inside; reading them would only cost time.
_MAX_QUESTION_CHARS = 20_000


def option_letter(index: int) -> str:
    """The letter of the option at ``index``, counted from 0; after ``Z`` come ``AA``, ``AB`` and so on.

    >>> option_letter(2), option_letter(26)
    ('C', 'AA')
    """
    first, last = divmod(index, len(ascii_uppercase))
    return (option_letter(first - 1) if first else "") + ascii_uppercase[last]


def question_with_options(question: str, options: Sequence[str] = ()) -> str:
    r"""The question with its options as ``A) ...`` lines below it; an open question stays as it is.

    >>> question_with_options("Which is red?", ["car", "bus"])
    'Which is red?\nA) car\nB) bus'
    """
    lines = (f"{option_letter(index)}) {option}" for index, option in enumerate(options))
    return "\n".join((question, *lines))


def unlabelled(options: Sequence[str]) -> tuple[str, ...]:
    """The options without labels of their own, where all have one and the labels are in order.

    >>> unlabelled(["(a) red", "(b) blue"]), unlabelled(["A) red", "blue"])
    (('red', 'blue'), ('A) red', 'blue'))
    """
    texts = tuple(str(option) for option in options)
    labels = [_OWN_LABEL.match(text) for text in texts]
    if _in_order([label[1] if label else "" for label in labels]):
        return tuple(_OWN_LABEL.sub("", text, count=1) for text in texts)
    return texts


def known_options(question: str, options: Sequence[str] = ()) -> tuple[str, ...]:
    r"""The texts of the options, without labels of their own; read from the question where none are given.

    Several datasets write them into the question, as lines ("A. red") or in it ("(a) red (b) blue").

    >>> known_options("Which?", ["(a) red", "(b) blue"])
    ('red', 'blue')
    >>> known_options("Is it (a) open or (b) shut?"), known_options("Which?\nA. car\nB. bus")
    (('open or', 'shut?'), ('car', 'bus'))
    """
    if options:
        return unlabelled(options)
    if len(question) > _MAX_QUESTION_CHARS:
        return ()
    for pattern in (_OPTION_LINE, _INLINE_OPTION):
        found = pattern.findall(question)
        if len(found) > 1 and _in_order([label for label, _ in found]):
            return tuple(text for _, text in found)
    return ()


def _in_order(labels: Sequence[str]) -> bool:
    return [label.upper() for label in labels] == [option_letter(index) for index in range(len(labels))]
