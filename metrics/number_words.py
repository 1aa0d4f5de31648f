"""English number words as figures: "twenty-one" is 21, "two thirds" is 2/3, "third" is 3rd, "half a dozen" is 6."""

import re

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {
    **{word: value for value, word in enumerate(_SMALL)},
    **{word: 10 * value for value, word in enumerate(_TENS, 2)},
}
#: The words that multiply the number before them.
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_PARTS = {
    "half": 2,
    "halves": 2,
    "quarter": 4,
    "quarters": 4,
    **{word: value for value, word in enumerate(_ORDINALS, 1) if value > 2},
    **{f"{word}s": value for value, word in enumerate(_ORDINALS, 1) if value > 2},
}

_CARDINAL = "|".join(sorted((*_VALUES, *SCALES), key=len, reverse=True))
_A_SCALE = re.compile(rf"\ban? (?=(?:{'|'.join(SCALES)})\b)", re.IGNORECASE)
_TENS_ORDINAL = re.compile(rf"\b({'|'.join(_TENS)})[ -]({'|'.join(_ORDINALS[:9])})\b", re.IGNORECASE)
_RUN = re.compile(rf"\b(?:{_CARDINAL})(?:(?:[ -]|,? and )(?:{_CARDINAL}))*\b", re.IGNORECASE)
# "one" that points at a thing is a pronoun, and "no one" is nobody.
_PRONOUN_ONE = re.compile(
    r"\b(the|this|that|which|no|every|each|any|other|left|right|first|last|middle|white|black|red|blue|green) one\b"
    r"|\bone (?:another|on the|in the|that|who|which)\b",
    re.IGNORECASE,
)
_DOZEN = re.compile(r"\b(?:(half)(?: of)? a|(a|one|\d+)) (?:dozen)\b", re.IGNORECASE)
_PART = re.compile(rf"\b(a|an|one|\d+)[ -]({'|'.join(sorted(_PARTS, key=len, reverse=True))})\b", re.IGNORECASE)
_AND_PART = re.compile(r"\b(\d+) and (\d+/\d+)\b")
_ORDINAL = re.compile(rf"^(?:the )?({'|'.join(_ORDINALS)})\b(?! \d)", re.IGNORECASE)
_LONE_HALF = re.compile(r"^half\b(?! (?:past|an? dozen))", re.IGNORECASE)


def words_to_figures(text: str) -> str:
    """``text`` with its number words as figures; what is no number word stays.

    >>> words_to_figures("twenty-one dogs and half a dozen cats")
    '21 dogs and 6 cats'
    >>> words_to_figures("two thirds"), words_to_figures("the one on the left"), words_to_figures("the third")
    ('2/3', 'the one on the left', '3rd')
    """
    text = _PRONOUN_ONE.sub(lambda found: re.sub("one", "o\u00adne", found[0], flags=re.IGNORECASE), text)
    text = _TENS_ORDINAL.sub(lambda found: _ordinal(_VALUES[found[1].lower()], found[2]), text)
    text = _RUN.sub(_figures, _A_SCALE.sub("one ", text))
    text = _DOZEN.sub(lambda found: "6" if found[1] else str(12 * _count(found[2])), text)
    text = _PART.sub(lambda found: f"{_count(found[1])}/{_PARTS[found[2].lower()]}", text)
    text = _AND_PART.sub(r"\1 \2", _LONE_HALF.sub("1/2", text))
    text = _ORDINAL.sub(lambda found: _ordinal(0, found[1]), text)
    return text.replace("\u00ad", "")


def _count(word: str) -> int:
    # An absurdly long count keeps its first figures: it can equal no reference, and must not cost time.
    return int(word[:300]) if word.isdigit() else 1


def _ordinal(tens: int, word: str) -> str:
    place = _ORDINALS.index(word.lower()) + 1
    return str(tens + place) + {1: "st", 2: "nd", 3: "rd"}.get(place, "th")


def _figures(run: re.Match[str]) -> str:
    """The figures of a run of number words; the run itself where it is no number ("two three")."""
    words = [word for word in re.split(r"[ ,-]+", run[0].lower()) if word != "and"]
    if all(word in SCALES for word in words):
        return run[0]
    total = group = 0
    room = 10**15
    for word in words:
        if word in _VALUES:
            if not (group % 100 == 0 or (group % 100 in range(20, 100, 10) and 0 < _VALUES[word] < 10)):
                return run[0] if len(words) > 2 else " ".join(str(_VALUES.get(part, part)) for part in words)
            group += _VALUES[word]
        elif word == "hundred":
            group = max(group, 1) * 100
        else:
            if SCALES[word] >= room:
                return run[0]
            room = SCALES[word]
            total, group = total + max(group, 1) * room, 0
    return str(total + group)
