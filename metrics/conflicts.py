"""Accepted pairs whose texts disagree in a number or in a negation, which an embedding hardly sees.

"There are three dogs" and "there are two dogs" are near each other to any sentence encoder. The rules are
careful: they speak only where both texts are clear, so that what they count is a lower bound of what a
reader would count.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Literal

from .matching import Pair
from .polarity import is_negation
from .quantities import Quantity, read_numbers, same_quantity

Kind = Literal["number", "negation"]
KINDS: tuple[Kind, ...] = ("number", "negation")
#: Predicted index, reference index, and what the two texts disagree in.
Conflict = tuple[int, int, Kind]

# Steps are single clauses; longer texts say too much for one number or negation to be the point of them.
_MAX_CHARS = 400
_READ_TEXTS = 65_536
# "1. ", "Step 2:" and the like count steps, not things.
_MARKER = re.compile(r"^\W*(?:step\s*)?\d{1,3}\s*[.):]\s+", re.IGNORECASE)
# "One" is a pronoun or an article as often as a number; these leave no doubt.
_ONE = re.compile(r"(?<!\bis )(?<!\bare )(?<!\bhas )(?<!\bonly )(?<!\bexactly )(?<!-)\bone\b(?!-)", re.IGNORECASE)
_ESTIMATE = re.compile(r"\b(?:about|around|approximately|approx|roughly|estimated?|nearly|almost|some)\b|[~≈]", re.I)

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.,;:!?()]")
_APOSTROPHES = str.maketrans("’‘", "''")
# These deny nothing: "not only", "whether or not", "No. 5", "no more than", "no longer" (which is no bare "no").
_IDIOMS = re.compile(
    r"\bnot (?:only|just|merely)\b|\bor not\b|\bno\. ?\d|\bno (?:more|less|fewer|longer|later)\b", re.I
)
# What the other text may say in place of a negation: zero dogs are no dogs.
_ZERO = re.compile(r"\bzero\b|(?<!\d)(?<!\d[.,])0(?![.,]?\d)", re.IGNORECASE)
_CONTRACTED = re.compile(r"\bcan not\b", re.IGNORECASE)
_EMPTY = frozenset(
    (
        "a an the is are was were be been being do does did has have had can could will would should may might must it "
        "its this that these those there they them of to in on at by for with from as and or but any some all each "
        "other so very quite here also"
    ).split()
)
# Words that say something themselves where nothing follows them: "the lamp is not on".
_STATES = frozenset("on in there here".split())
# Endings that do not change what is denied: "overlaps", "overlapping", "overlapped".
_ENDINGS = ("ing", "ed", "es", "s")
_MIN_STEM = 3


def find_conflicts(pairs: Iterable[Pair], predicted: Sequence[str], reference: Sequence[str]) -> tuple[Conflict, ...]:
    """The accepted pairs that disagree, each with its kind; a pair may disagree in both.

    >>> find_conflicts([(0, 0, 0.9)], ["There are three dogs."], ["There are 2 dogs."])
    ((0, 0, 'number'),)
    """
    found: list[Conflict] = []
    for row, column, _ in pairs:
        texts = predicted[row], reference[column]
        if numbers_disagree(*texts):
            found.append((row, column, "number"))
        if negations_disagree(*texts):
            found.append((row, column, "negation"))
    return tuple(found)


def numbers_disagree(one: str, other: str) -> bool:
    """Whether each text states a number that the other does not state.

    Numbers in figures and words are compared as values, units converted, decimals rounded, signs left out.
    False where one text only says more, where either hedges or estimates, or cannot be read for certain.

    >>> numbers_disagree("The bar of 2010 is at 45", "The 2010 bar reaches 54")
    True
    >>> numbers_disagree("12 - 5 = 7", "Subtract 5 from 12"), numbers_disagree("about 45", "It is 47")
    (False, False)
    """
    numbers = _numbers(one)
    # Most steps state none, and then the other text need not be read.
    others = _numbers(other) if numbers else ()
    return _lacks(numbers, others) and _lacks(others, numbers)


def _lacks(numbers: Sequence[Quantity], others: Sequence[Quantity]) -> bool:
    """Whether one of the numbers is none of the others."""
    return bool(others) and any(not any(_agree(number, other) for other in others) for number in numbers)


def _agree(one: Quantity, other: Quantity) -> bool:
    """Whether two numbers may be one: the same value, unit or not, or one the other at its printed precision."""
    return one.value == other.value or same_quantity(one, other) or same_quantity(other, one)


@lru_cache(maxsize=_READ_TEXTS)
def _numbers(text: str) -> tuple[Quantity, ...]:
    """The numbers that a text states; none where it is not certain."""
    if len(text) > _MAX_CHARS or _ESTIMATE.search(text):
        return ()
    return tuple(read_numbers(_ONE.sub(" ", _MARKER.sub("", text))) or ())


def negations_disagree(one: str, other: str) -> bool:
    """Whether one text denies what the other states.

    One of them holds a single negation (not, n't, no, never, without and their like, as whole words), the
    other none, and the word that is negated stands in the other text.

    >>> negations_disagree("The two circles don't overlap", "The circles are overlapping")
    True
    >>> negations_disagree("The lamp is off, not on", "The lamp is off")
    False
    """
    (first, denied), (second, other_denied) = _claim(one), _claim(other)
    if bool(denied) == bool(other_denied):
        return False
    [negated] = denied or other_denied
    stated, denying, stating = (second, one, other) if denied else (first, other, one)
    # A zero in both is something else, the number of a page.
    says_zero = _ZERO.search(stating) and not _ZERO.search(denying)
    return negated != "" and negated in stated and not says_zero


@lru_cache(maxsize=_READ_TEXTS)
def _claim(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The stems of a text's words, and what it negates: the first word of weight behind a single negation.

    Empty words for a text that is too long, or denies more than once; it then disagrees with nothing.
    """
    if len(text) > _MAX_CHARS:
        return frozenset(), ()
    plain = _IDIOMS.sub(" ", _CONTRACTED.sub("cannot", text.translate(_APOSTROPHES).casefold()))
    words = _WORD.findall(plain)
    places = [place for place, word in enumerate(words) if is_negation(word) or word in ("no", "none")]
    stems = frozenset(map(_stem, _weighty(words)))
    if not places:
        return stems, ()
    if len(places) > 1:
        return frozenset(), ("",)
    clause = list(takewhile(_is_word, words[places[0] + 1 :]))
    return stems, (next(map(_stem, _weighty(clause)), ""),)


def _is_word(token: str) -> bool:
    return token[0].isalnum()


def _weighty(words: Sequence[str]) -> Iterator[str]:
    """The words that say what a text is about, in order."""
    for word, following in zip(words, [*words[1:], "."], strict=False):
        if _is_word(word) and (word not in _EMPTY or (word in _STATES and not _is_word(following))):
            yield word


def _stem(word: str) -> str:
    """A word without the ending that its number or tense gives it, as far as this comparison needs it."""
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= _MIN_STEM), "")
    stem = word.removesuffix(ending).removesuffix("e")
    return stem[:-1] if ending in ("ing", "ed") and stem[-1:] == stem[-2:-1] else stem
