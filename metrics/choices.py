"""Which option an answer chooses: by its letter, by its text, or by both where they agree."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .answer_text import bare_answer, plain_form
from .options import option_letter

_LABEL = r"[A-Za-z]{1,2}"
_BARE = rf"(?:(?:the )?(?:option|choice|letter|answer)s? )?[(\[]?({_LABEL})[)\].:]?"
_LETTERS = re.compile(
    rf"^(?:both )?{_BARE}(?:\s*(?:,\s*(?:and |or )?|\band\b|\bor\b|&|/|\+)\s*{_BARE})*$", re.IGNORECASE
)
_JOINT = re.compile(r"\s*(?:,\s*(?:and |or )?|\band\b|\bor\b|&|/|\+)\s*", re.IGNORECASE)
_REASON = r"because|since|as|is|for|due|based|given"
_LABELLED = re.compile(
    rf"^(?:(?:the )?(?:option|choice|letter) (?P<named>{_LABEL})\b[).:,]?|[(\[](?P<bracketed>{_LABEL})[)\]][.:,]?"
    rf"|(?P<marked>{_LABEL})(?:[).:]|,(?= )| -(?= ))|(?P<argued>{_LABEL})(?= (?:{_REASON})\b))\s*(?P<tail>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_LETTER_AND_TEXT = re.compile(rf"^({_LABEL}) (.+)$", re.DOTALL)
_TEXT_AND_LETTER = re.compile(
    rf"^(.+?)[\s,]+(?:[(\[](?:option |answer )?({_LABEL})[)\]]|(?:option|answer|choice) ({_LABEL}))$",
    re.IGNORECASE | re.DOTALL,
)
_MENTION = re.compile(rf"\b(?:option|choice) \(?({_LABEL})\b|\(({_LABEL})\)", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|without|except|cannot|incorrect|wrong)\b|n't\b", re.IGNORECASE)
_NOT_ANOTHER = re.compile(rf",? (?:and )?not (?:option )?\(?{_LABEL}\)?$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_VERB = r"(?:is|are|was|were|be|has|have|looks?|appears?|seems?|does|do)"


@dataclass(frozen=True)
class Choice:
    """The options that an answer chooses, by index; none where it names several or contradicts itself.

    ``by_letter`` says that a letter named them, so that of two options with one text just one is meant.
    """

    indexes: frozenset[int]
    by_letter: bool

    def agrees(self, other: "Choice") -> bool:
        """Whether two choices are one answer.

        >>> Choice(frozenset({0}), True).agrees(Choice(frozenset({0, 1}), False))
        True
        """
        if not self.indexes or not other.indexes:
            return False
        if self.by_letter and other.by_letter:
            return self.indexes == other.indexes
        return self.indexes <= other.indexes or other.indexes <= self.indexes


_NOTHING = Choice(frozenset(), True)


def read_choice(answer: str, options: Sequence[str], same: Callable[[str, str], bool]) -> Choice | None:
    """The choice that a trimmed answer makes among ``options``; None where it makes none that can be read.

    ``same`` compares an answer with an option's text by the rules for open answers.

    >>> options = ["left console", "right console", "middle console"]
    >>> read_choice("C) middle console", options, str.__eq__).indexes
    frozenset({2})
    >>> read_choice("C) left console", options, str.__eq__).indexes
    frozenset()
    >>> read_choice("a console on the right", options, str.__eq__) is None
    True
    """
    reader = _Reader(options, same)
    answer = _NOT_ANOTHER.sub("", answer) or answer
    return reader.letters(answer) or reader.text(answer) or reader.labelled(answer) or reader.mentioned(answer)


def read_letter(answer: str) -> str | None:
    """The one letter that an answer gives where the options are not known; None where it gives none.

    >>> read_letter("(b)"), read_letter("C) 12"), read_letter("Point A"), read_letter("a dog")
    ('B', 'C', 'A', None)
    """
    found = _LETTERS.match(answer) or _LABELLED.match(answer)
    if found is None:
        found = re.match(r"^(?:the )?[a-z]{4,10} ([A-Za-z])$", answer, re.IGNORECASE)
    letters = [group for group in found.groups()[:5] if group] if found else []
    return letters[0].upper() if letters and len(letters[0]) == 1 and not _several(answer) else None


def _several(answer: str) -> bool:
    return bool(_LETTERS.match(answer)) and len(_JOINT.split(answer)) > 1


class _Reader:
    def __init__(self, options: Sequence[str], same: Callable[[str, str], bool]) -> None:
        self._options = options
        self._same = same
        self._plain = [plain_form(option) for option in options]
        self._index = {option_letter(index): index for index in range(len(options))}

    def letters(self, answer: str) -> Choice | None:
        """Nothing but letters: one chooses, "A and C" chooses both, "A or C" does not choose."""
        if not _LETTERS.match(answer):
            return None
        parts = [re.fullmatch(_BARE, part, re.IGNORECASE) for part in _JOINT.split(answer.removeprefix("both "))]
        indexes = [self._index.get(part[1].upper()) if part else None for part in parts]
        chosen = frozenset(index for index in indexes if index is not None)
        if None in indexes:
            # "E" of four options chooses nothing, unless it is an option's text; "no" and "up" are words.
            lone = len(parts) == 1 and parts[0] and len(parts[0][1]) == 1
            return self.text(answer) or _NOTHING if lone else None
        return Choice(chosen, True) if len(parts) == 1 or not re.search(r"\bor\b|/", answer) else _NOTHING

    def text(self, answer: str) -> Choice | None:
        """The text of an option, of several where some share it."""
        for form in dict.fromkeys((answer, bare_answer(answer))):
            indexes = self._with_text(form)
            if indexes:
                return Choice(indexes, False)
        return None

    def labelled(self, answer: str) -> Choice | None:
        """A letter beside words: the words must not be another option's."""
        found = _LABELLED.match(answer)
        if found:
            label = found["named"] or found["bracketed"] or found["marked"] or found["argued"]
            index = self._index.get(label.upper())
            if index is not None:
                return self._agreeing(index, found["tail"])
        found = _LETTER_AND_TEXT.match(answer)
        if found and found[1].upper() in self._index:
            index = self._index[found[1].upper()]
            texts = self._with_text(found[2])
            if texts:
                return Choice(frozenset({index}), True) if index in texts else _NOTHING
        found = _TEXT_AND_LETTER.match(answer)
        if found:
            index = self._index.get((found[2] or found[3]).upper())
            if index is not None and (texts := self._with_text(bare_answer(found[1]))):
                return Choice(frozenset({index}), True) if index in texts else _NOTHING
        return None

    def mentioned(self, answer: str) -> Choice | None:
        """A sentence that names one option: "option C", an equal value, or its text as subject or predicate."""
        named = {self._index.get((first or second).upper()) for first, second in _MENTION.findall(answer)} - {None}
        if named:
            sure = len(named) == 1 and not _NEGATION.search(answer)
            return Choice(frozenset(index for index in named if index is not None), True) if sure else _NOTHING
        equal = [index for index, option in enumerate(self._options) if option.strip() and self._same(answer, option)]
        if equal:
            return Choice(frozenset(equal), False) if len(equal) == 1 else _NOTHING
        spoken = self._spoken(answer)
        if len(spoken) != 1 or _NEGATION.search(answer):
            return None
        (index,) = spoken
        words = r"\s+".join(map(re.escape, self._options[index].split()))
        sentence = rf"^(?:the |an? )?{words} {_VERB}\b|\b{_VERB} (?:the |an? )?{words}$"
        return Choice(frozenset({index}), False) if re.search(sentence, answer, re.IGNORECASE) else None

    def _agreeing(self, index: int, tail: str) -> Choice:
        texts = self._with_text(tail)
        argued = re.match(rf"(?:{_REASON})\b", tail, re.IGNORECASE)
        others = self._spoken(tail) - {index}
        clash = (texts and index not in texts) or (not argued and others and index not in self._spoken(tail))
        return _NOTHING if clash else Choice(frozenset({index}), True)

    def _with_text(self, text: str) -> frozenset[int]:
        plain = plain_form(text)
        return frozenset(index for index, option in enumerate(self._plain) if plain and option == plain)

    def _spoken(self, text: str) -> set[int]:
        """The options whose texts stand in ``text`` as whole words, the longest where one holds another."""
        said = _words(text)
        spoken = {
            index: words for index, words in enumerate(map(_words, self._options)) if words.strip() and words in said
        }
        return {
            index
            for index, words in spoken.items()
            if not any(words in longer and words != longer for longer in spoken.values())
        }


def _words(text: str) -> str:
    """The words of a text with one space around each, so that whole words can be looked for."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
