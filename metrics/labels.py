"""The letters of options in an answer: which ones it names, and whether it chooses or rejects them."""

import re
from dataclasses import dataclass

from .polarity import REJECTING, is_negation

REASON = r"because|since|as|for|due|based|given"
VERB = (
    r"(?:is|isn't|are|was|wasn't|be|has|have|looks?|appears?|seems?|does|doesn't|do|must|should|shouldn't|would|wouldn't"
    r"|could|couldn't|can|cannot|can't)"
)
_NAME = r"(?:the )?(?:option|choice|letter|answer)"
_BETWEEN = re.compile(
    r"\b(?:the|both|either|options?|choices?|letters?|answers?|and|or)\b|[\s()\[\]<>{}\"'.,:;&/+!\u2026]+",
    re.IGNORECASE,
)
_ALTERNATIVE = re.compile(r"\bor\b|/|\beither\b", re.IGNORECASE)
# A letter with words behind it. A full stop with one more letter behind it abbreviates ("A.M."), and "I can" opens
# with a pronoun.
_OPENING = re.compile(
    rf"^(?:{_NAME} [(\[<{{\"']?(?P<named>[a-z])\b[)\]>}}\"']?[.:,;]*|[(\[<{{](?P<bracketed>[a-z])[)\]>}}][.:,;]*"
    r"|(?P<marked>[a-z])(?:\s?[):;=!\u2026]+|\.+(?!\w\b)|,(?=\s)|\s(?:->|-+)(?=\s)|\s?\u2192|(?=\s?[(\[]))"
    rf"|(?P<argued>[a-hj-z])(?=\s(?:{REASON}|{VERB})(?!\w)))\s*(?P<tail>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_NOUN_AND_LETTER = re.compile(r"^(?:the )?(?P<noun>[a-z]{4,10}) (?P<letter>[a-z])$", re.IGNORECASE)
_NO_NOUNS = frozenset("except unlike maybe perhaps versus possibly about".split())
# A letter in the middle of a text must be a capital, and "A" no article, nor "I" a pronoun.
_NAMED = re.compile(
    r"\b(?i:option|choice) \(?(?P<worded>[A-Za-z])\b|(?<!\w)\((?P<bracketed>[A-Za-z])\)"
    r"|(?<![\w'.\\-])(?:(?P<bare>[B-HJ-Z]|A(?! [a-z])|A(?= (?:is|must|would)\b))(?![\w'-]|\.\w)|(?P<marked>[a-z])\))"
)
_CONTRAST = re.compile(r"^(.+?)[,;\s]\s*(?:and |but )?(?:not|rather than|instead of) (.+)$", re.DOTALL)
_ENDS_IN_VERB = re.compile(rf"(?:\b{VERB}|'s|'re|'m|\bam|\bwill)$", re.IGNORECASE)
_RETRACTION = re.compile(
    r"(?:^|[.,;:!?-]\s*|\b(?:but|or|and|oh) )(?:no(?=\s*(?:[.,;:!]|$|wait))|actually(?! (?:correct|right|the)\b)"
    r"|wait|sorry|correction|scratch that|oops|on second thoughts?|i mean|rather(?! than))\b",
    re.IGNORECASE,
)
_END_OF_CLAUSE = re.compile(rf"[.,;:!]|\b(?:{REASON}|while|whereas|but|and)\b", re.IGNORECASE)
_REASONED = re.compile(rf"\b(?:{REASON})\b.*", re.IGNORECASE | re.DOTALL)
_COMPARED = re.compile(r"\bthan (?:option |choice )?\(?[A-Za-z]\b\)?", re.IGNORECASE)
_REJECTED = re.compile(
    r"\b(?:option |choice )?\(?[A-Za-z]\)? (?:is|are|would be) "
    rf"(?:not (?:correct|right)|{'|'.join(sorted(REJECTING))})\b",
    re.IGNORECASE,
)
# What a clause says about an answer, not about the picture.
_JUDGEMENT = re.compile(
    r"\b(?:(?:in)?correct|right(?! (?:of|side|hand)\b)|(?:un)?true|wrong|false|answer|option|choice|it)\b",
    re.IGNORECASE,
)
_CLAIM = re.compile(rf"^(?:{VERB}(?!\w)|not\b|never\b|(?:{'|'.join(sorted(REJECTING))})\b)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


@dataclass(frozen=True)
class Opening:
    """A letter at the start of an answer, as a capital, and the words behind it."""

    letter: str
    tail: str


def letters_alone(answer: str) -> tuple[str, ...]:
    """The letters of an answer that holds nothing else, as capitals; empty where it holds words.

    >>> letters_alone("(A)(B)"), letters_alone("option a or b"), letters_alone("a dog")
    (('A', 'B'), ('A', 'B'), ())
    """
    words = _BETWEEN.sub(" ", answer).split()
    alone = all(len(word) == 1 and word.isascii() and word.isalpha() for word in words)
    return tuple(word.upper() for word in words) if alone else ()


def are_alternatives(answer: str) -> bool:
    """Whether several letters of an answer are no joint choice.

    >>> are_alternatives("A or B"), are_alternatives("A and B")
    (True, False)
    """
    return bool(_ALTERNATIVE.search(answer))


def opening(answer: str) -> Opening | None:
    """The letter with which an answer opens, where it is marked as one, and what stands behind it.

    >>> opening("A) a dog"), opening("A is wrong"), opening("A dog")
    (Opening(letter='A', tail='a dog'), Opening(letter='A', tail='is wrong'), None)
    """
    found = _OPENING.match(answer)
    if found is None:
        return None
    letter = found["named"] or found["bracketed"] or found["marked"] or found["argued"]
    return Opening(letter.upper(), found["tail"])


def split_contrast(answer: str) -> tuple[str, str]:
    """An answer and what it denies behind it, blank where it denies nothing there.

    >>> split_contrast("A, not B"), split_contrast("A is not B")
    (('A', 'B'), ('A is not B', ''))
    """
    found = _CONTRAST.match(answer)
    return (found[1].strip(" ,;"), found[2]) if found and not _ENDS_IN_VERB.search(found[1]) else (answer, "")


def chooses(tail: str) -> bool | None:
    """Whether the words behind a letter leave it chosen: False where they reject it, None where that is unclear.

    >>> chooses("because it is not red"), chooses("is not correct"), chooses("is not red"), chooses("no wait, B")
    (True, False, None, None)
    """
    if _RETRACTION.search(tail):
        return None
    if not _CLAIM.match(tail):
        return True
    clause = _END_OF_CLAUSE.split(tail, maxsplit=1)[0]
    words = _WORD.findall(clause.casefold())
    turns = sum(is_negation(word) or word == "no" or word in REJECTING for word in words)
    if not turns:
        return True
    rejects = turns % 2 == 1
    # Beside a rejected letter another one may be the answer.
    return None if not _JUDGEMENT.search(clause) or (rejects and _NAMED.search(tail)) else not rejects


def named_letters(text: str) -> set[str]:
    """The letters that a text names as options somewhere in it, as capitals.

    Those that it compares with, gives a reason by or rejects are left out.

    >>> sorted(named_letters("A man said that (b) is larger than C, since D is not")), named_letters("vitamin C")
    (['B'], {'C'})
    """
    text = _REJECTED.sub("", _COMPARED.sub("", _REASONED.sub("", text)))
    groups = (found.groupdict().values() for found in _NAMED.finditer(text))
    return {letter.upper() for group in groups for letter in group if letter}


def read_letters(answer: str) -> frozenset[str] | None:
    """The letters that an answer chooses where the options are not known, none where it rejects or offers several.

    None where it names no letter, or it is unclear what it says of it.

    >>> read_letters("C) 12"), read_letters("Point A"), read_letters("A is wrong"), read_letters("a dog")
    (frozenset({'C'}), frozenset({'A'}), frozenset(), None)
    """
    said, denied = split_contrast(answer)
    answer = said if letters_alone(denied) else answer
    letters = letters_alone(answer)
    if letters:
        return frozenset() if are_alternatives(answer) else frozenset(letters)
    opened = opening(answer)
    if opened:
        chosen = chooses(opened.tail)
        if chosen is None or named_letters(opened.tail) - {opened.letter}:
            return None
        return frozenset(opened.letter if chosen else "")
    found = _NOUN_AND_LETTER.match(answer)
    if found is None or is_negation(found["noun"].casefold()) or found["noun"].casefold() in _NO_NOUNS:
        return None
    return frozenset(found["letter"].upper())
