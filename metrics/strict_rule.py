r"""The strict answer rule: what a careful marker would decide, and in which order.

Identical text is right. Then the kind of the reference decides how the prediction is read: as an option,
a yes or no, a time, a list of parts, a quantity, a formula, and as text last.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from .algebra import Algebra
from .answer_text import MAX_READ_CHARS, answer_part, bare_answer, clean_markup, plain_form, without_reason
from .choices import Choice, read_choice
from .labels import read_letters
from .math_gate import acts, last_side, to_latex
from .moments import is_moment, same_moment
from .options import known_options, option_letter
from .polarity import polarity, reads_as_boolean
from .quantities import Quantity, read_quantity, rules_out, same_quantity, says_none
from .sequences import Parts, read_parts, same_parts
from .units import split_unit

#: The kinds of answers that a verdict can be decided on.
AnswerKind: TypeAlias = Literal["option", "boolean", "number", "math", "text", "none"]

_REFUSAL = re.compile(
    r"\b(?:insufficient|not enough|too little|no) (?:\w+ )?(?:information|data|detail|context|evidence)\b"
    r"|\b(?:can ?not|can't|could not|couldn't|unable to|impossible to|not possible to) (?:be )?"
    r"(?:determined?|answer(?:ed)?|tell|say|told|known?|inferred|seen?|identif(?:y|ied)|concluded?|decided?)\b"
    r"|\b(?:not|un)(?: be)? ?(?:determinable|answerable|specified)\b"
    r"|^(?:sorry,? )?(?:i )?(?:can't|can ?not|could not|couldn't)$"
    r"|^(?:unknown|undetermined|indeterminate|i (?:don't|do not) know|not (?:known|sure|given|stated|provided))$",
    re.IGNORECASE,
)
# A refusal is short; in a longer text such a phrase is an aside.
_MAX_REFUSAL_WORDS = 25
_SINGLE_LETTER = re.compile(r"^[(\[<]?([A-Za-z])[)\]>.:]?$")
_RATIO = re.compile(r"^(\d{1,9}(?:\.\d{1,9})?)\s*(?::|to)\s*(\d{1,9}(?:\.\d{1,9})?)$")
_ASKS_RATIO = re.compile(r"\b(?:ratio|proportion|odds|scale)\b", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"^\s*([A-Za-z])\s*=(?!.*=)")


@dataclass(frozen=True)
class StrictVerdict:
    """Whether a prediction is right, which kind of answer decided, and whether the rule really decides."""

    correct: bool
    kind: AnswerKind
    settled: bool = True


@dataclass(frozen=True)
class _Text:
    """An answer as given to the readers: without its dress, and without words that only open a sentence."""

    part: str
    bare: str


def strict_verdict(prediction: str, reference: str, question: str = "", options: Sequence[str] = ()) -> StrictVerdict:
    r"""The strict verdict on a prediction; it is not settled where the rule could not read an answer.

    >>> strict_verdict("(C)", "middle console", options=["left console", "right console", "middle console"])
    StrictVerdict(correct=True, kind='option', settled=True)
    >>> strict_verdict("12 m", "12 cm").correct, strict_verdict(r"2\sqrt{2}", r"\sqrt{8}").kind
    (False, 'math')
    """
    if not prediction.strip() or not reference.strip():
        return StrictVerdict(False, "none")
    if max(len(prediction), len(reference)) > MAX_READ_CHARS:
        same = prediction.casefold().split() == reference.casefold().split()
        return StrictVerdict(same, "text", same)
    return _Marker(question, known_options(question, options)).verdict(prediction, reference)


class _Marker:
    """One verdict: the question with its options, and the algebra that it may still use."""

    def __init__(self, question: str, options: Sequence[str]) -> None:
        self._question = question
        self._options = options
        self._algebra = Algebra()

    def verdict(self, prediction: str, reference: str) -> StrictVerdict:
        given, wanted = _read(prediction), _read(reference)
        identical = prediction.strip() == reference.strip() or given.part.casefold() == wanted.part.casefold() != ""
        choice = self._choice(wanted) if self._options else None
        if identical:
            return StrictVerdict(True, "option" if choice and choice.indexes else _kind(wanted))
        letter, other_letter = self._letter(wanted), self._letter(given)
        if letter and other_letter:
            # Labels before texts, even where the texts of options are letters themselves.
            return StrictVerdict(letter == other_letter, "option")
        if self._options:
            chosen = self._choice(given)
            if choice and choice.indexes:
                return StrictVerdict(chosen is not None and choice.agrees(chosen), "option", chosen is not None)
            if chosen and chosen.by_letter and len(chosen.indexes) == 1:
                given = _read(self._options[next(iter(chosen.indexes))])
        elif letter:
            named = [read_letters(form) for form in (given.part, given.bare)]
            got = named[1] if named[0] is None else named[0]
            return StrictVerdict(got == {letter}, "option", got is not None)
        return self._open(given, wanted)

    def _letter(self, text: _Text) -> str | None:
        """The letter that a text is, as a capital, where it can be an option's."""
        found = _SINGLE_LETTER.match(text.part)
        letters = map(option_letter, range(len(self._options)))
        return found[1].upper() if found and (not self._options or found[1].upper() in letters) else None

    def _choice(self, text: _Text) -> Choice | None:
        return read_choice(text.part, self._options, self._same)

    def _same(self, one: str, other: str) -> bool:
        """Whether two texts are one answer to an open question."""
        return self._open(_read(one), _read(other)).correct

    def _open(self, given: _Text, wanted: _Text) -> StrictVerdict:
        if without_reason(wanted.part) == wanted.part:
            given = _Text(given.part, without_reason(given.bare))
        if _same_plain(given.bare, wanted.bare) or _same_plain(given.part, wanted.part):
            return StrictVerdict(True, _kind(wanted))
        refusals = _refuses(given.part), _refuses(wanted.part)
        if any(refusals):
            return StrictVerdict(all(refusals), "text", refusals[0])
        if reads_as_boolean(wanted.part):
            said = polarity(given.part, self._question)
            return StrictVerdict(said is not None and said == polarity(wanted.part), "boolean", said is not None)
        return (
            self._ratio(given, wanted)
            or self._moment(given, wanted)
            or self._parts(given, wanted)
            or self._number(given, wanted)
            or self._formula(given, wanted)
            or StrictVerdict(False, "text", False)
        )

    def _ratio(self, given: _Text, wanted: _Text) -> StrictVerdict | None:
        ratio = _ratio(wanted.bare)
        asked = bool(_ASKS_RATIO.search(self._question))
        # "3:40" is a time, "3 to 4" a range, unless a ratio is asked for.
        if ratio is None or not (asked or (":" in wanted.bare and not is_moment(wanted.bare))):
            return None
        of_given = _ratio(given.bare)
        quantity = read_quantity(given.bare)
        if of_given is None and quantity and not quantity.unit:
            of_given = quantity.value
        return StrictVerdict(of_given == ratio, "number", of_given is not None)

    def _moment(self, given: _Text, wanted: _Text) -> StrictVerdict | None:
        if not is_moment(wanted.bare):
            return None
        same = same_moment(given.bare, wanted.bare)
        return StrictVerdict(same, "number", same or any(map(str.isdigit, given.bare)))

    def _parts(self, given: _Text, wanted: _Text) -> StrictVerdict | None:
        parts = read_parts(wanted.bare)
        if parts is None or (not parts.brackets and read_quantity(wanted.bare)):
            return None
        kind: AnswerKind = "math" if parts.brackets in ("()", "[]", "{}", "(]", "[)") else _kind_of_parts(parts)
        other = read_parts(given.bare) or read_parts(last_side(given.bare))
        if other is None:
            return StrictVerdict(False, kind, kind != "text" and read_quantity(given.bare) is not None)
        same = same_parts(other, parts, self._same, lambda item: read_quantity(item) is not None)
        return StrictVerdict(same, kind, same or kind != "text")

    def _number(self, given: _Text, wanted: _Text) -> StrictVerdict | None:
        reference = read_quantity(wanted.bare)
        if reference is None or not reference.leads:
            return None
        if reference.value == 0 and says_none(given.bare):
            return StrictVerdict(True, "number")
        quantity = read_quantity(given.bare)
        if quantity is not None:
            names = [_ASSIGNMENT.match(text.bare) for text in (given, wanted)]
            if names[0] and names[1] and names[0][1] != names[1][1]:
                return StrictVerdict(False, "number")
            same = same_quantity(quantity, reference, self._question)
            # The same number of something else, in other words or not, is beyond a rule.
            differs = quantity.value != reference.value or bool(quantity.unit and reference.unit)
            return StrictVerdict(same, "number", same or differs)
        ratio = _ratio(given.bare)
        if ratio is not None:
            return StrictVerdict(reference.unit is None and ratio == reference.value, "number")
        settled = rules_out(given.bare, reference.value)
        return self._formula_for_number(given, reference) or StrictVerdict(False, "number", settled)

    def _formula_for_number(self, given: _Text, reference: Quantity) -> StrictVerdict | None:
        """A formula against a number: equal to an exact one, rounded to a decimal one."""
        formula, unit = split_unit(last_side(given.bare))
        if not acts(formula) or to_latex(formula) is None:
            return None
        value = self._algebra.value(formula)
        if value is None:
            return StrictVerdict(False, "math", False)
        if reference.step is None:
            equal = self._algebra.equal(formula, _latex(reference.value))
            if not equal:
                return StrictVerdict(False, "math", equal is not None)
            value = reference.value
        return StrictVerdict(same_quantity(Quantity(value, unit=unit), reference, self._question), "math")

    def _formula(self, given: _Text, wanted: _Text) -> StrictVerdict | None:
        texts = [given.bare, wanted.bare]
        if not any(map(acts, texts)):
            return None
        sides = list(map(last_side, texts))
        if (sides[0] == texts[0]) != (sides[1] == texts[1]):
            texts = sides
        (formula, unit), (reference, other_unit) = map(split_unit, texts)
        number = read_quantity(formula)
        if number is not None and number.step is not None:
            # The reference is exact and no number: a decimal can only be near it.
            return StrictVerdict(False, "math") if to_latex(reference) else None
        if unit and other_unit and unit != other_unit:
            return StrictVerdict(False, "math")
        equal = self._algebra.equal(_latex(number.value) if number else formula, reference)
        return None if equal is None else StrictVerdict(equal, "math")


def _read(text: str) -> _Text:
    part = answer_part(clean_markup(text))
    return _Text(part, bare_answer(part))


def _same_plain(one: str, other: str) -> bool:
    plain = plain_form(one)
    return plain != "" and plain == plain_form(other)


def _refuses(text: str) -> bool:
    return bool(_REFUSAL.search(text)) and len(text.split()) <= _MAX_REFUSAL_WORDS and not reads_as_boolean(text)


def _ratio(text: str) -> Fraction | None:
    found = _RATIO.match(text)
    return Fraction(found[1]) / Fraction(found[2]) if found and Fraction(found[2]) else None


def _latex(value: Fraction) -> str:
    sign = "-" if value < 0 else ""
    top = str(abs(value.numerator))
    return f"{sign}{top}" if value.denominator == 1 else f"{sign}\\frac{{{top}}}{{{value.denominator}}}"


def _kind(wanted: _Text) -> AnswerKind:
    """The kind of answer that a reference is, for verdicts that need no closer reading."""
    if _SINGLE_LETTER.match(wanted.part):
        return "option"
    if reads_as_boolean(wanted.part):
        return "boolean"
    quantity = read_quantity(wanted.bare)
    if (quantity and quantity.leads) or is_moment(wanted.bare):
        return "number"
    return "math" if acts(wanted.bare) and to_latex(wanted.bare) else "text"


def _kind_of_parts(parts: Parts) -> AnswerKind:
    return "number" if all(read_quantity(item) for item in parts.items) else "text"
