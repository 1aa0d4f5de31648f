r"""Quantities: the one number that an answer states, how finely it is printed, and what it counts.

Reads thousands marks, fractions, mixed numbers, E-notation, LaTeX, money, percent, degrees, number words
and compound units ("5 ft 3 in"), all as exact fractions; says when two quantities are the same answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from .math_gate import last_side
from .number_words import SCALES, words_to_figures
from .units import MAX_UNIT_WORDS, PERCENT, Unit, is_neutral_unit, parse_unit

# No answer needs more; beyond it a number is only text, so that arithmetic stays cheap.
_MAX_DIGITS = 100
_MAX_EXPONENT = 300
_MAX_NUMBERS = 4
# Longer than any phrase that is chiefly a number ("12 square feet in total").
_MAX_REFERENCE_WORDS = 4


@dataclass(frozen=True)
class Quantity:
    """A number as printed.

    ``step`` is the size of its last printed decimal and None where it is exact (an integer, a fraction);
    ``noun`` holds the words right behind it that are no unit ("brown dogs"); ``ordinal`` says that it is a
    place ("4th") and no count; ``leads`` says whether the number opens the text and hardly anything else is said.
    """

    value: Fraction
    step: Fraction | None = None
    unit: Unit | None = None
    noun: frozenset[str] = frozenset()
    ordinal: bool = False
    leads: bool = True


_PLAIN = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?: \d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
_POWER_OF_TEN = r"\s*(?:×|\\times|\\cdot|\*|x|·)\s*10\s*(?:\^|\*\*)\s*\{?\s*([+-]?\d{1,4})\s*\}?"
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.)}%°])[+-]\s?)?"
    r"(?:(?P<money>[$€£¥₹₩]|(?<!\w)(?i:us\$|usd|eur|gbp|jpy|cny|rmb|inr|rs\.?))\s?)?(?P<sign2>(?<=[$€£¥₹₩])-)?"
    rf"(?:10\s*\^\s*\{{?(?P<tens>[+-]?\d{{1,4}})\}}?(?!\w)"
    rf"|(?P<mixed>\d+) (?P<top>\d+)\s?/\s?(?P<bottom>\d+)|(?P<plain>{_PLAIN})"
    rf"(?:[eE](?P<e>[+-]?\d{{1,4}})(?!\w)|{_POWER_OF_TEN.replace('([', '(?P<ten>[')})?"
    rf"(?:\s?/\s?(?P<over>{_PLAIN}))?)(?![!\d]|\.\d+!)"
)
_LATEX_FRACTION = re.compile(r"(?<=(\d))?\s*\\[dtc]?frac\s*(?:\{\s*(-?[\d.]+)\s*\}|(\d))\s*(?:\{\s*([\d.]+)\s*\}|(\d))")
_MINUS = re.compile(r"\b(?:minus|negative) (?=[\d$.])", re.IGNORECASE)
_SCALES = {**SCALES, "bn": 10**9, "mn": 10**6}
# "1990s" is a decade, no time of 1990 seconds.
_DECADE = re.compile(r"^[12]\d\d0s\b")
_SCALE = re.compile(rf"^(?:[ -]?({'|'.join(_SCALES)})\b|(k)\b)", re.IGNORECASE)

_ORDINAL_END = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
# Years before the common era are negative, so that "1997 BC" is not 1997.
_BEFORE_OUR_ERA = re.compile(r" ?(?:bce\b|b\.?c\b\.?(?:e\b\.?)?)", re.IGNORECASE)

# What turns a number into a bound, a guess among several or a denial: no statement of that number.
_HEDGE = re.compile(
    r"\b(?:than|at least|at most|up to|or more|or less|or fewer|or later|or earlier|between|not|never|neither|either"
    r"|except)\b|\bplus or minus\b|n't\b|±|\\pm",
    re.IGNORECASE,
)
# The same, where it stands before the number.
_BOUND = re.compile(
    r"\b(?:(?:almost|nearly|over|under|above|below|past|beyond) $"
    r"|(?:before|after|since|until|till|prior to)\b[^.,;]*$)",
    re.IGNORECASE,
)
_APPROXIMATELY = re.compile(
    r"^(?:about|around|approximately|approx\.?|roughly|circa|c\.|exactly|only|just|~|≈|\\approx)\s*", re.I
)
_FORMULA = re.compile(
    r"[\\^_{}=<>+*/|√π∞≤≥≠∠×÷\[\]]|\b(?:pi|sqrt|root|log|ln|sin|cos|tan|squared|cubed)\b|\b[b-hj-z]\b", re.I
)
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_END_OF_NOUN = frozenset(
    (
        "a about above according all altogether and approximately are as at away because below but by can deep "
        "each from had has have here high in inside is it left long many more of off old on only or out overall per "
        "right shown since so tall that the there these they this total visible was were which who wide with"
    ).split()
)
_UNIT_LIKE_WORDS = frozenset({"in", "a"})
_ZERO = re.compile(r"^(?:none|nothing|nil|zero|nobody|no one|no [\w-]+(?: [\w-]+)?)(?: (?:of|at) .*)?$", re.IGNORECASE)
_LIST_MARK = re.compile(r";|,(?!\d{3}(?!\d))|\b(?:and|or)\b")


def read_quantity(text: str) -> Quantity | None:
    r"""The one quantity that a cleaned answer states, alone or in a sentence.

    None where it states none, several, only a bound ("more than 5"), or a formula.

    >>> read_quantity(r"1\frac{1}{2}").value, read_quantity("There are 1,200 people").value
    (Fraction(3, 2), Fraction(1200, 1))
    >>> read_quantity("2 of the 3 dogs") is read_quantity("2x + 1") is read_quantity("5 or 6") is None
    True
    """
    text = _figures_form(text)
    split = _split(text)
    if split is None:
        return None
    numbers, rest = split
    if not numbers or any(map(_FORMULA.search, rest)) or _hedges(rest):
        return None
    merged = _merge(numbers, rest[1:-1])
    if merged is None:
        return None
    before, after = _WORD.findall(rest[0]), _WORD.findall(rest[-1])
    return replace(merged, leads=not before and len(after) <= _MAX_REFERENCE_WORDS)


def read_numbers(text: str) -> list[Quantity] | None:
    """All numbers that a sentence states, without their signs, in order.

    None where it hedges, holds many, or holds one that cannot be read for certain. A dash before a number
    may be a minus, a hyphen or an operator; which one, a sentence does not say.

    >>> [int(number.value) for number in read_numbers("Twelve minus 5 is 7.")]
    [12, 5, 7]
    >>> read_numbers("more than 5 dogs") is read_numbers("in row A4") is None
    True
    """
    split = _split(_in_figures(text))
    if split is None or _hedges(split[1]):
        return None
    return [replace(number, value=abs(number.value)) for number in split[0]]


def is_hedged(before: str, after: str = "") -> bool:
    """Whether the words around a figure make it a bound or deny it.

    >>> is_hedged("not before "), is_hedged("it is ", " in the picture")
    (True, False)
    """
    return _hedges([before, after])


def rules_out(text: str, value: Fraction) -> bool:
    """Whether an answer without one clear number surely does not state ``value``.

    It says that there are none, a bound, alternatives, or only other numbers; without any number, or where
    ``value`` stands in it beside others, it was just not understood.

    >>> rules_out("5 or 6", Fraction(5)), rules_out("2 of the 3", Fraction(3)), rules_out("a couple", Fraction(2))
    (True, False, False)
    """
    text = _figures_form(text)
    split = _split(text)
    if says_none(text) or split is None:
        return says_none(text)
    numbers, rest = split
    alternatives = any(gap.strip(" ,") in ("or", "/") for gap in rest[1:-1])
    return bool(numbers) and (alternatives or _hedges(rest) or all(number.value != value for number in numbers))


def _hedges(pieces: Sequence[str]) -> bool:
    """Whether what stands before, between and behind the numbers of a text hedges or denies them."""
    return any(map(_HEDGE.search, pieces)) or any(map(_BOUND.search, pieces[:-1]))


def _split(text: str) -> tuple[list[Quantity], list[str]] | None:
    """The numbers of a text and the pieces around them; None where there are too many, or some cannot be read."""
    numbers: list[Quantity] = []
    rest: list[str] = []
    position = 0
    for found in _NUMBER.finditer(text):
        if found.start() < position:
            continue
        if len(numbers) == _MAX_NUMBERS or (found.start() and text[found.start() - 1].isalnum()):
            return None
        read = _read_number(found, text)
        if read is None:
            return None
        rest.append(text[position : found.start()])
        numbers.append(read[0])
        position = read[1]
    return numbers, [*rest, text[position:]]


def says_none(text: str) -> bool:
    """Whether an answer says that there are none of what is counted.

    >>> says_none("no dogs"), says_none("No")
    (True, False)
    """
    return bool(_ZERO.match(text))


def same_quantity(prediction: Quantity, reference: Quantity, question: str = "") -> bool:
    """Whether two quantities are one answer: exact integers and fractions, decimals as the reference prints them.

    Units must agree where both sides give one, after exact conversion; a noun that the question uses
    is no unit; a place is no count.

    >>> one = read_quantity
    >>> same_quantity(one("6.294"), one("6.29")), same_quantity(one("6.3"), one("6.294"))
    (True, False)
    >>> same_quantity(one("100 cm"), one("1 m")), same_quantity(one("12 m"), one("12 cm"))
    (True, False)
    """
    if prediction.ordinal != reference.ordinal:
        return False
    return any(_rounded(value, reference.step) == reference.value for value in _values(prediction, reference, question))


def _values(prediction: Quantity, reference: Quantity, question: str) -> Sequence[Fraction]:
    """The prediction's value in the reference's unit: none where the units clash, two for a lone percent sign."""
    value = prediction.value
    if prediction.unit and reference.unit:
        converted = prediction.unit.convert(value, reference.unit)
        return () if converted is None else (converted,)
    if prediction.unit is None and reference.unit is None:
        return (value,) if _nouns_agree(prediction.noun, reference.noun, question) else ()
    noun = reference.noun if prediction.unit else prediction.noun
    if noun and not _nouns_agree(noun, frozenset(), question, open_end=False):
        return ()
    if prediction.unit == PERCENT:
        return (value, value / 100)
    return (value, value * 100) if reference.unit == PERCENT else (value,)


def _nouns_agree(one: frozenset[str], other: frozenset[str], question: str, open_end: bool = True) -> bool:
    """Whether two sets of words can name the same thing, the words of the question aside."""
    asked = {_singular(word) for word in _WORD.findall(question.casefold())}
    one, other = one - asked, other - asked
    return one <= other or (open_end and other <= one) or (open_end and not one)


def _rounded(value: Fraction, step: Fraction | None) -> Fraction:
    """``value`` at the printed precision, halves away from zero, as people round."""
    if step is None:
        return value
    return (abs(value) / step + Fraction(1, 2)).__floor__() * step * (-1 if value < 0 else 1)


def _figures_form(text: str) -> str:
    """``text`` with words and LaTeX of numbers in figures, and of a chain of equations its last side."""
    text = text.replace("\\%", "%").replace("\\$", "$")
    if not _LIST_MARK.search(text):
        text = last_side(text)
    return _MINUS.sub("-", _APPROXIMATELY.sub("", _in_figures(text)))


def _in_figures(text: str) -> str:
    text = _LATEX_FRACTION.sub(
        lambda found: f"{' ' if found[1] else ''}{found[2] or found[3]}/{found[4] or found[5]}", text
    )
    return words_to_figures(text.strip())


def _read_number(found: re.Match[str], text: str) -> tuple[Quantity, int] | None:
    """The quantity that begins at a match and the end of its unit; None where it is no number after all."""
    if sum(map(str.isdigit, found[0])) > _MAX_DIGITS or "--" in text or _DECADE.match(text[found.start() :]):
        return None
    step = None
    exponent = int(found["e"] or found["ten"] or found["tens"] or 0)
    if abs(exponent) > _MAX_EXPONENT:
        return None
    if found["mixed"]:
        top, bottom = Fraction(found["top"]), Fraction(found["bottom"])
    elif found["tens"]:
        top = bottom = Fraction(1)
    else:
        top, bottom = _decimal(found["plain"]), _decimal(found["over"] or "1")
        decimals = len(found["plain"].partition(".")[2])
        step = Fraction(10) ** (exponent - decimals) if decimals and not found["over"] else None
    if not bottom:
        return None
    value = (int(found["mixed"] or 0) + top / bottom) * Fraction(10) ** exponent
    value = -value if "-" in (found["sign"] or "") + (found["sign2"] or "") else value

    end = found.end()
    while scale := _SCALE.match(text[end:]):
        factor = _SCALES[scale[1].casefold()] if scale[1] else 1000
        value, step, end = value * factor, step and step * factor, end + scale.end()
    ordinal = _ORDINAL_END.match(text, end) if value.denominator == 1 else None
    era = _BEFORE_OUR_ERA.match(text, end)
    if era:
        value, end = -value, era.end()
    elif ordinal:
        end = ordinal.end()
    # A scale or an exponent can leave integers behind; those are exact.
    step = step if step is not None and step < 1 else None
    unit, noun, after = _read_unit(text, end)
    if unit is None and after == end and re.match(r"[^\W\d_]|['_]", text[end:]):
        return None
    if found["money"]:
        money = parse_unit(found["money"])
        if unit is not None and unit != money:
            return None
        unit = money
    return Quantity(value, step, unit, noun, ordinal is not None), after


def _decimal(text: str) -> Fraction:
    return Fraction(text.replace(",", "").replace(" ", ""))


def _read_unit(text: str, start: int) -> tuple[Unit | None, frozenset[str], int]:
    """The longest unit behind a number, else the noun that it counts, and where the unit ends."""
    rest = text[start:].split(",")[0].split(";")[0]
    ends = [found.end() for found in re.finditer(r"\s*-?[^\s]+", rest)][:MAX_UNIT_WORDS]
    for end in reversed(ends):
        candidate = rest[:end].strip().lstrip("-").rstrip(".!?)")
        word_like = candidate.casefold() in _UNIT_LIKE_WORDS and rest[end:].strip(" .!?)")
        if candidate and not word_like:
            if is_neutral_unit(candidate):
                return None, frozenset(), start + end
            unit = parse_unit(candidate)
            if unit is not None:
                return unit, frozenset(), start + len(rest[:end].rstrip(".!?)"))
    words: list[str] = []
    if rest[:1] in ("", " ", "-"):
        for word in _WORD.findall(re.split(r"[.:()!?]", rest)[0]):
            if word.casefold() in _END_OF_NOUN:
                break
            words.append(_singular(word.casefold()))
    return None, frozenset(words), start


def _singular(word: str) -> str:
    return {"people": "person", "men": "man", "women": "woman", "children": "child", "feet": "foot"}.get(
        word, word[:-3] + "y" if word.endswith("ies") else word.removesuffix("es" if word.endswith("xes") else "s")
    )


def _merge(numbers: list[Quantity], gaps: list[str]) -> Quantity | None:
    """One quantity out of several that say one thing: a repetition, or a compound such as "5 ft 3 in"."""
    first = numbers[0]
    if all((one.value, one.unit) == (first.value, first.unit) and one.noun in (first.noun, set()) for one in numbers):
        return first
    total = Fraction(0)
    smaller: Unit | None = None
    for number, gap in zip(numbers, ["", *gaps], strict=True):
        unit = number.unit
        compound = unit and first.unit and unit.dimension == first.unit.dimension and not unit.offset
        if unit is None or first.unit is None or not compound or gap.strip(" ,") not in ("", "and"):
            return None
        if smaller is not None and unit.factor >= smaller.factor:
            return None
        total += number.value * unit.factor / first.unit.factor
        smaller = unit
    return Quantity(total, None, first.unit)
