"""Which option an answer chooses: by its letter, by its text, or by both where they agree."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from .answer_text import bare_answer, clean_markup, plain_form, trim
from .labels import REASON, VERB, are_alternatives, chooses, letters_alone, named_letters, opening, split_contrast
from .number_words import words_to_figures
from .options import option_letter
from .polarity import REJECTING, is_negation

_LETTER_AND_TEXT = re.compile(r"^([A-Za-z]) (.+)$", re.DOTALL)
_TEXT_AND_LETTER = re.compile(
    r"^(.+?)[\s,]+(?:[(\[<](?:option |answer )?([A-Za-z])[)\]>]|(?:option|answer|choice) ([A-Za-z]))$",
    re.IGNORECASE | re.DOTALL,
)
_PREDICATE = re.compile(
    r"\b(?:is|be|it's|choose|pick|select|with)\s+(?:(?:the )?(?:option|choice|answer) )?[(\[<\"']?([A-Z])[)\]>\"']?$"
    r"|(?<![\w'.-])(?:(?:option|choice) )?[(\[<]?([A-Z])[)\]>]? (?:is|must be|would be|should be|seems|looks) "
    r"(?:the )?(?:most )?(?:correct|right|true|best|answer)\b",
)
_ARGUED = re.compile(rf"(?:{REASON}|{VERB})(?!\w)", re.IGNORECASE)
_COPULA = re.compile(r"^(?:is|are|was|were|=)\s+", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">", '"': '"', "'": "'"}

# A longer answer weighs the options; which one it ends up with is for a judge to say.
_MAX_SENTENCE_WORDS = 12
# "not the blue one" denies an option; with more words it says something else.
_MAX_DENIED_WORDS = 4
_UNSURE = frozenset("no or either maybe perhaps might could if except unless incorrect wrong".split()) | REJECTING
# An option behind one of these is not what is meant, but what it stands beside ("left of the dog").
_RELATING = frozenset("of than like near by beside behind from with unlike opposite to under over above below".split())
_DIRECTIONS = frozenset("left right top bottom front back north south east west up down middle center centre".split())
# These can stand in any sentence, so as options they must be its subject or its predicate.
_COMMON = frozenset(
    "a an the it is are be on off in out at to of up down over under and or not no yes true false none all both more "
    "less same other one two this that these those he she they".split()
)
# What may follow an option's words; a noun there makes another thing of it ("dog house").
_FOLLOWING = frozenset(
    "is are was were has have had can will would does do each it them him her the a an this that these those in on at "
    "to for with of and because since as which who one ones side direction there here by from".split()
)
_VERBS = frozenset("is are was were be has have had look looks appear appears seem seems it's they're that's".split())


@dataclass(frozen=True)
class Choice:
    """The options that an answer chooses, by index; none where it rejects one, offers several or contradicts itself.

    ``by_letter`` says that letters named them, so all of them are chosen; a text is that of any one of them.
    """

    indexes: frozenset[int]
    by_letter: bool

    def agrees(self, other: "Choice") -> bool:
        """Whether two choices are one answer.

        >>> Choice(frozenset({0}), True).agrees(Choice(frozenset({0, 1}), False))
        True
        >>> Choice(frozenset({0, 1}), True).agrees(Choice(frozenset({0}), False))
        False
        """
        if self.by_letter == other.by_letter:
            return self.indexes == other.indexes != frozenset()
        letters, texts = (self, other) if self.by_letter else (other, self)
        return len(letters.indexes) == 1 and letters.indexes <= texts.indexes


_NOTHING = Choice(frozenset(), True)
# Stops the reading: the answer names an option, but what it says of it is unclear.
_UNCLEAR = Choice(frozenset(), False)


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
    full = tuple(dict.fromkeys((answer, bare_answer(answer))))
    forms = tuple(dict.fromkeys(map(reader.without_contrast, full)))
    # Letters come before texts, since "A)" would be an article; an option written out in full comes before both.
    by_letter = (reader.letters, reader.lettered, reader.unmarked)
    readings = (*by_letter, reader.text, reader.closing, reader.named, reader.value, reader.spoken)
    choices = chain(map(reader.exact, full), (read(form) for read in readings for form in forms))
    choice = next((choice for choice in choices if choice is not None), None)
    return None if choice is _UNCLEAR else choice


class _Reader:
    """The ways in which an answer can name one of these options; each gives None where it is not that way."""

    def __init__(self, options: Sequence[str], same: Callable[[str, str], bool]) -> None:
        self._options = [trim(clean_markup(option)) for option in options]
        self._same = same
        self._plain = [plain_form(option) for option in self._options]
        self._index = {option_letter(index): index for index in range(len(options))}

    def without_contrast(self, answer: str) -> str:
        """An answer without the other option that it denies behind its own ("C, not A")."""
        said, denied = split_contrast(answer)
        named = letters_alone(denied) or self._with_text(denied)
        return said if named or (len(denied.split()) <= _MAX_DENIED_WORDS and self._spoken(denied)) else answer

    def exact(self, answer: str) -> Choice | None:
        """An option's text letter by letter, so that its own marks and articles count ("-x", "both A and B")."""
        said = _letters_of(answer)
        if said.upper() in self._index:
            return None
        indexes = frozenset(
            index for index, text in enumerate(self._options) if said in (_letters_of(text), _letters_of(text, "both "))
        )
        return Choice(indexes, False) if said and indexes else None

    def letters(self, answer: str) -> Choice | None:
        """Nothing but letters: one chooses, "A and C" chooses both, "A or C" does not choose."""
        letters = letters_alone(answer)
        indexes = [self._index.get(letter) for letter in letters]
        if len(letters) > 1 and self._own_text(answer) is not None:
            return None
        if None in indexes:
            # "E" of four options chooses nothing, unless it stands for an option's text ("N" for no).
            return (self.text(answer) or self.value(answer) or _NOTHING) if len(letters) == 1 else None
        if not letters:
            return None
        if len(letters) > 1 and are_alternatives(answer):
            return _NOTHING
        return Choice(frozenset(index for index in indexes if index is not None), True)

    def lettered(self, answer: str) -> Choice | None:
        """A marked letter with words behind it, which must neither be another option's nor take it back."""
        opened = opening(answer)
        index = self._index.get(opened.letter) if opened else None
        if opened is None or index is None:
            return None
        chosen = Choice(frozenset({index}), True)
        tail = _unwrapped(opened.tail)
        texts = self._with_text(tail) or self._with_text(_COPULA.sub("", tail))
        if texts:
            return chosen if index in texts else _NOTHING
        rest = self._without_text(opened.tail, index)
        # "No, it is not" takes nothing back where the option is "No".
        verdict = chooses(trim(rest))
        if verdict is None:
            return _UNCLEAR
        if any(letter in self._index for letter in named_letters(rest) - {opened.letter}):
            return _UNCLEAR if rest == opened.tail else _NOTHING
        if not verdict:
            return _NOTHING
        if _ARGUED.match(tail):
            return chosen
        spoken = self._spoken(tail)
        value = None if spoken else self.value(tail)
        others = value.indexes if value else spoken
        return _NOTHING if others and index not in others else chosen

    def unmarked(self, answer: str) -> Choice | None:
        """A letter and an option's text without a mark between them ("C left console"); "a" may be an article."""
        found = _LETTER_AND_TEXT.match(answer)
        index = self._index.get(found[1].upper()) if found else None
        texts = self._with_text(found[2]) if found else frozenset()
        if found is None or index is None or not texts:
            return None
        if found[1] == "a" or (found[1] == "A" and found[2][0].islower()):
            return Choice(texts, False)
        if index in texts:
            return Choice(frozenset({index}), True)
        return _UNCLEAR if found[1] == "A" else _NOTHING

    def text(self, answer: str) -> Choice | None:
        """The text of an option, of several where some share it."""
        indexes = self._with_text(answer)
        return Choice(indexes, False) if indexes else None

    def closing(self, answer: str) -> Choice | None:
        """An option's text with its letter behind it ("middle console (C)")."""
        found = _TEXT_AND_LETTER.match(answer)
        index = self._index.get((found[2] or found[3]).upper()) if found else None
        texts = self._with_text(bare_answer(found[1])) if found else frozenset()
        if index is None or not texts:
            return None
        return Choice(frozenset({index}), True) if index in texts else _NOTHING

    def named(self, answer: str) -> Choice | None:
        """A sentence that names letters: it must say of one that it is the answer."""
        spoken = self._spoken(answer)
        rest = self._without_text(answer, *spoken)
        named = {letter for letter in named_letters(rest) if letter in self._index}
        if not named:
            return None
        if len(named) > 1 or _turns(answer):
            return _UNCLEAR
        found = _PREDICATE.search(rest)
        letter = named.pop()
        worded = re.search(rf"\b(?:option|choice) \(?{letter}\b|\({letter}\)", rest, re.IGNORECASE)
        index = self._index[letter]
        stated = worded or (found and letter in found.groups())
        return Choice(frozenset({index}), True) if stated and spoken <= {index} else _UNCLEAR

    def value(self, answer: str) -> Choice | None:
        """An answer that is the same as one option's text by the rules for open answers ("three" for "3")."""
        equal = frozenset(index for index, text in enumerate(self._options) if text and self._same(answer, text))
        return (Choice(equal, False) if len(equal) == 1 else _NOTHING) if equal else None

    def spoken(self, answer: str) -> Choice | None:
        """A short sentence in which the words of just one option stand, and nothing denies or relates them."""
        words = _WORD.findall(answer.casefold())
        spoken = set() if opening(answer) else self._spoken(answer)
        if len(words) > _MAX_SENTENCE_WORDS or len(spoken) != 1 or _turns(answer) or not _UNSURE.isdisjoint(words):
            return None
        (index,) = spoken
        said = _WORD.findall(self._options[index].casefold())
        start = next(at for at in range(len(words)) if words[at : at + len(said)] == said)
        before, after = words[:start], words[start + len(said) :]
        if said == words or (not before and after[0] in _VERBS) or (not after and before and _before(before) in _VERBS):
            return Choice(frozenset({index}), False)
        if _COMMON.issuperset(said) or any(map(str.isdigit, words_to_figures(" ".join(said)))):
            return None
        related = before and _before(before) in _RELATING and _DIRECTIONS.isdisjoint(said)
        goes_on = after and after[0] not in _FOLLOWING
        return None if related or goes_on else Choice(frozenset({index}), False)

    def _own_text(self, answer: str) -> int | None:
        """The option that a letter names and whose text, a letter too, stands behind it ("A) p")."""
        opened = opening(answer)
        index = self._index.get(opened.letter) if opened else None
        return index if opened and index is not None and index in self._with_text(_unwrapped(opened.tail)) else None

    def _with_text(self, text: str) -> frozenset[int]:
        plain = plain_form(text)
        return frozenset(index for index, option in enumerate(self._plain) if plain and option == plain)

    def _spoken(self, text: str) -> set[int]:
        """The options whose texts stand in ``text`` as whole words, the longest where one holds another."""
        said = _spaced(text)
        spoken = {
            index: words for index, words in enumerate(map(_spaced, self._options)) if words.strip() and words in said
        }
        return {
            index
            for index, words in spoken.items()
            if not any(words in longer and words != longer for longer in spoken.values())
        }

    def _without_text(self, text: str, *indexes: int) -> str:
        """``text`` without the words of some options, in which letters may stand that name no option ("Point B")."""
        for index in indexes:
            option = self._options[index]
            text = re.sub(rf"(?<!\w){re.escape(option)}(?!\w)", "", text, flags=re.IGNORECASE) if option else text
        return text


def _before(words: list[str]) -> str:
    """The last of some words that is no article."""
    return next((word for word in reversed(words) if word not in ("a", "an", "the")), "")


def _letters_of(text: str, prefix: str = "") -> str:
    """The characters of a text without case, white space and a prefix."""
    return "".join(text.casefold().removeprefix(prefix).split())


def _spaced(text: str) -> str:
    """The words of a text with one space around each, so that whole words can be looked for."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _turns(text: str) -> bool:
    """Whether anything is denied or rejected in a text."""
    words = _WORD.findall(text.casefold())
    return any(is_negation(word) or word == "no" or word in REJECTING for word in words)


def _unwrapped(text: str) -> str:
    """A text without white space, punctuation and the brackets around it as a whole."""
    text = trim(text)
    while len(text) > 2 and _BRACKETS.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
        text = trim(text[1:-1])
    return text
