"""Yes or no: which of the two an answer says, by whole words and with negation."""

import re

from .answer_text import word_list

_YES = frozenset(word_list("yes yeah yep true correct y affirmative"))
_NO = frozenset(word_list("no nope false incorrect untrue wrong n negative"))
# Words that say yes or no only as the last word of an answer ("that is right", "on the right side").
_YES_AT_END = frozenset(["right"])
_COPULAS = frozenset(word_list("is it's that's are quite"))
_REFERENCES = frozenset(word_list("yes no true false correct incorrect"))

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_NEGATION = re.compile(r"^(?:not|never|cannot|without|neither|nor|hardly|\w+n't)$")
_BOTH = re.compile(
    r"^(?:both )?(?:yes|no|true|false)\s*(?:and|or|/|,? ?but also|,)\s*(?:yes|no|true|false)\b(?! \w)", re.IGNORECASE
)
# How far before a word a negation still reaches it ("it does not appear to be true").
_REACH = 4
# Words that carry no claim of their own, so that "it is not on" denies just "on".
_EMPTY = frozenset(
    word_list(
        "a an the is are was were be been do does did has have had it its this that there they them he she i you we in "
        "at of to and any some here image picture photo shown visible can could would will as for with being"
    )
)
_VERBS = frozenset(word_list("is are was were does do did has have had can it's there's they're that's"))
# What goes on after a bare yes or no; anything else makes the first word part of a phrase ("no dogs").
_STARTS_A_CLAUSE = frozenset(
    word_list(
        "it there they this that the he she i we because since as for in based is are sir not definitely "
        "absolutely certainly but"
    )
)


def reads_as_boolean(reference: str) -> bool:
    """Whether a reference answer is a plain yes or no, or opens with one ("Yes, it is on").

    >>> reads_as_boolean("True"), reads_as_boolean("No, it is off"), reads_as_boolean("no entry")
    (True, True, False)
    """
    return reference.casefold() in _REFERENCES or bool(re.match(r"(?:yes|no|true|false)\b\s*[,.;:]", reference, re.I))


def polarity(answer: str, question: str = "") -> bool | None:
    """True for yes, False for no, None where an answer says neither or both.

    A statement without yes or no counts where it only repeats or denies what the question asks.

    >>> polarity("not true"), polarity("yes and no"), polarity("unknown")
    (False, None, None)
    >>> polarity("It is not on", "Is the light on?"), polarity("The light is on", "Is the light on?")
    (False, True)
    """
    if _BOTH.match(answer):
        return None
    words = _WORD.findall(answer.casefold().replace("can not", "cannot"))
    if not words:
        return None
    if words[0] in _YES | _NO and not _denies_a_noun(answer, words):
        return words[0] in _YES
    said = _said(answer, words)
    if said:
        return said.pop() if len(said) == 1 else None
    return _statement(words, question)


def _denies_a_noun(answer: str, words: list[str]) -> bool:
    """Whether the first word is the "no" of "no dogs" or the adjective of "correct answer", not an answer."""
    follows = answer[len(words[0]) :].lstrip("*")
    return len(words) > 1 and follows.startswith(" ") and words[1] not in _STARTS_A_CLAUSE


def _said(answer: str, words: list[str]) -> set[bool]:
    """What the yes and no words of an answer say, each turned round by a negation before it."""
    said: set[bool] = set()
    for index, word in enumerate(words):
        last = index == len(words) - 1
        value = word in _YES or (last and word in _YES_AT_END and (not index or words[index - 1] in _COPULAS))
        if len(word) == 1 or not (value or word in _NO):
            continue
        if word == "no" and not last:
            continue
        before = words[max(0, index - _REACH) : index]
        said.add(value ^ (sum(map(bool, map(_NEGATION.match, before))) % 2 == 1))
    return said


def _statement(words: list[str], question: str) -> bool | None:
    """The answer of a plain statement: it denies or repeats the claim of the question, else None."""
    asked = set(_WORD.findall(question.casefold()))
    if any(map(_NEGATION.match, asked)) or "or" in asked:
        return None
    negations = sum(1 for word in words if _NEGATION.match(word) or word == "no")
    claim = {word for word in words if word not in _EMPTY and not _NEGATION.match(word) and word != "no"}
    stems = {word.removesuffix("s") for word in asked}
    about_it = all(word.removesuffix("s") in stems for word in claim) if asked else negations == 1
    if not about_it or negations > 1 or (not claim and not negations and len(words) < 2):
        return None
    # Without a verb it states nothing: "on" only repeats a word of the question.
    return False if negations else (True if _VERBS.intersection(words) else None)
