r"""The paper's answer rule, behind the metric ``accuracy``: what the scorer released with the paper decides.

It is here so that accuracies can be compared with the published ones, lenient corners included. Its protocol is the
tuple ``PROTOCOL`` below: six rules, tried in order, of which the first that has something to say decides. They are
written from the behaviour of crystal-metrics 0.2.0 without its language-model judge, and tested against it, except
that a missing or blank prediction is never correct: there, the empty text is a substring of every reference.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import Literal, TypeAlias

from .options import question_with_options

PaperKind: TypeAlias = Literal["missing", "number", "boolean", "option", "text", "substring"]

# A value is a sign and digits with one decimal part. Thousands marks, exponents, fractions and leading dots are not
# read: 1,200 and 1e5 are 1, .5 is 5. Digits of any script count.
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# Deleted one after the other before the number is looked for, which shows where it joins what stands around them:
# "-about 5" is -5. The scorer ignores case in lower-cased text, which differs for letters such as the long s.
NUMBER_LEAD_INS = tuple(
    re.compile(rf"{words}:?\s*", re.IGNORECASE)
    for words in ("the answer is", "the result is", "answer", "result", "approximately", "about")
)
# Accepted distance of a predicted number from the reference, whatever their size.
ABSOLUTE_TOLERANCE = 0.05
# Accepted distance as a part of the reference; the bound itself is accepted.
RELATIVE_TOLERANCE = 0.10
# A prediction that shows at most this many decimals is taken to be rounded, and gets a wider relative tolerance, the
# bound itself excluded.
ROUNDED_DECIMALS = 2
ROUNDED_RELATIVE_TOLERANCE = 0.15

# The references that make a question one of yes or no, with their polarity.
POLAR_REFERENCES = {"yes": True, "true": True, "no": False, "false": False}
# Looked for anywhere in a prediction, inside longer words too, and the yes-words first: "incorrect" is a yes.
YES_WORDS = ("yes", "true", "correct", "affirmative")
NO_WORDS = ("no", "false", "negative")

# An option of the question: its letter anywhere in a line, its text to the end of that line. Blank lines between the
# two are skipped, so an empty option takes the next line for its text.
OPTION = re.compile(r"([A-Z])\)\s*([^\n]+)")
# Where normalised text names a letter, strongest first. A letter at the start stands alone or before a dot (which only
# a digit keeps there: "b.5" is B). Of what follows a lead-in nothing is asked, so "the answer is a bus" is option A and
# "option cat" is option C.
LETTER_FORMS = tuple(map(re.compile, (r"^([a-z])(?:\.|$)", r"option ([a-z])", r"choice ([a-z])", r"answer is ([a-z])")))
# One of option and answer may be a part of the other if it is at least this much of its length.
OPTION_LENGTH_RATIO = 0.8

# Marks that normalisation deletes wherever they stand; a dot stays beside a digit. Colons, question marks and the like
# stay everywhere and tell texts apart.
DELETED_MARKS = re.compile(r"(?<!\d)\.(?!\d)|[,()\[\]{}'\"`‘’“”]")
WHITE_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class PaperDecision:
    """Whether the paper's rule counts a prediction as correct, and which of its rules decided."""

    correct: bool
    kind: PaperKind


def paper_verdict(prediction: str | None, reference: str, question: str = "", options: Sequence[str] = ()) -> bool:
    """Whether the paper's rule counts ``prediction`` as correct; a missing or blank one never is. Never raises.

    ``reference`` may be a text, a letter or an option's text; lettered lines in ``question`` count as options too.

    >>> paper_verdict("The answer is C", "C", "Which is red?", ["car", "bus", "red apple"])
    True
    >>> paper_verdict("11 people", "10")
    True
    >>> paper_verdict(None, "10")
    False
    """
    return paper_decision(prediction, reference, question, options).correct


def paper_decision(
    prediction: str | None, reference: str, question: str = "", options: Sequence[str] = ()
) -> PaperDecision:
    """The verdict of ``paper_verdict`` together with the rule that gave it.

    >>> paper_decision("New York", "York")
    PaperDecision(correct=True, kind='substring')
    >>> paper_decision("unknown", "no")
    PaperDecision(correct=True, kind='boolean')
    """
    pair = _Pair(prediction or "", reference, question, options)
    decisions = ((rule(pair), kind) for kind, rule in PROTOCOL)
    return next(PaperDecision(correct, kind) for correct, kind in decisions if correct is not None)


@dataclass(frozen=True)
class _Pair:
    """A prediction beside its reference, with the two normalised forms that most rules compare."""

    prediction: str
    reference: str
    question: str
    options: Sequence[str]

    @cached_property
    def predicted_text(self) -> str:
        return _normalised(self.prediction)

    @cached_property
    def reference_text(self) -> str:
        return _normalised(self.reference)


def _missing_is_wrong(pair: _Pair) -> bool | None:
    """The one rule of our own: who gives no answer has not given the right one."""
    return None if pair.prediction.strip() else False


def _numbers_agree(pair: _Pair) -> bool | None:
    """Where both sides hold a number, the first number of each decides, whatever text is around it.

    The numbers agree where one of these holds: ``|p - r| <= 0.05``; ``|p - r| <= 0.10 |r|``; p is r rounded to an
    integer; p shows at most two decimals and ``|p - r| < 0.15 |r|``.
    """
    predicted, reference = _first_number(pair.prediction), _first_number(pair.reference)
    if predicted is None or reference is None:
        return None
    if math.isinf(predicted) or math.isinf(reference):  # Too many digits for a float; rounding would raise.
        return predicted == reference
    distance = abs(predicted - reference)
    if distance <= ABSOLUTE_TOLERANCE or predicted == round(reference):
        return True
    if reference == 0:
        return False
    relative = distance / abs(reference)
    rounded = _shown_decimals(predicted) <= ROUNDED_DECIMALS
    return relative <= RELATIVE_TOLERANCE or (rounded and relative < ROUNDED_RELATIVE_TOLERANCE)


def _polarity_agrees(pair: _Pair) -> bool | None:
    """Where the reference is a bare yes, no, true or false, the polarity of the prediction decides."""
    expected = POLAR_REFERENCES.get(pair.reference_text.strip())
    if expected is None:
        return None
    if any(word in pair.predicted_text for word in YES_WORDS):
        return expected
    if any(word in pair.predicted_text for word in NO_WORDS):
        return not expected
    return False


def _options_agree(pair: _Pair) -> bool | None:
    """Where both sides stand for a letter, by itself or by its option's text, the letters decide."""
    # Options past Z have no letter to be chosen by.
    shown = question_with_options(pair.question, pair.options[: len(ascii_uppercase)])
    predicted = _chosen_letter(pair.predicted_text, shown)
    if predicted is None:
        return None
    reference = _chosen_letter(pair.reference_text, shown)
    return None if reference is None else predicted == reference


def _texts_agree(pair: _Pair) -> bool | None:
    """Equal normalised texts are right. Two different single words are wrong: "cat" shall not pass for "cats"."""
    if pair.predicted_text == pair.reference_text:
        return True
    both_single = _is_single_word(pair.predicted_text) and _is_single_word(pair.reference_text)
    return False if both_single else None


def _one_contains_other(pair: _Pair) -> bool:
    """What is left is free text, for which a sentence around the answer, or a part of it, is enough."""
    return pair.predicted_text in pair.reference_text or pair.reference_text in pair.predicted_text


Rule: TypeAlias = Callable[[_Pair], bool | None]
# A rule answers True or False to decide, None to leave the pair to the next one; the last one always decides.
PROTOCOL: tuple[tuple[PaperKind, Rule], ...] = (
    ("missing", _missing_is_wrong),
    ("number", _numbers_agree),
    ("boolean", _polarity_agrees),
    ("option", _options_agree),
    ("text", _texts_agree),
    ("substring", _one_contains_other),
)


def _normalised(text: str) -> str:
    # The order shows: a Greek final sigma depends on the marks around it, and a space just inside a bracket survives at
    # the end of the result, so "( cat )" is another text than "cat".
    return WHITE_SPACE.sub(" ", DELETED_MARKS.sub("", text.lower().strip()))


def _is_single_word(normalised: str) -> bool:
    return len(normalised.split()) == 1


def _first_number(text: str) -> float | None:
    text = text.lower()
    for lead_in in NUMBER_LEAD_INS:
        text = lead_in.sub("", text)
    found = NUMBER.search(text)
    return float(found.group()) if found else None


def _shown_decimals(value: float) -> int:
    # Of Python's shortest form of the value, not of the text it was read from: 2.500 shows one decimal. From 1e16 on,
    # that form has an exponent, whose characters count as well: 1.2e+17 shows five.
    return len(str(value).partition(".")[2])


def _chosen_letter(normalised: str, shown_question: str) -> str | None:
    """The lower-case letter that a normalised answer stands for, or None; a bare letter need not be an option's."""
    for form in LETTER_FORMS:
        if found := form.search(normalised):
            return found.group(1)
    matching = (letter for letter, option in _shown_options(shown_question) if _is_option_text(normalised, option))
    return next(matching, None)


def _shown_options(shown_question: str) -> Iterator[tuple[str, str]]:
    for found in OPTION.finditer(shown_question):
        yield found.group(1).lower(), _normalised(found.group(2))


def _is_option_text(answer: str, option: str) -> bool:
    if answer == option:
        return True
    shorter, longer = sorted((answer, option), key=len)
    return len(shorter) / len(longer) >= OPTION_LENGTH_RATIO and shorter in longer
