"""Yes or no: which of the two an answer says, by whole words and with negation."""

import re

_YES = frozenset("yes yeah yep true correct y affirmative".split())
# What says that something else is wrong, wherever it stands.
REJECTING = frozenset("false incorrect untrue wrong".split())
_NO = REJECTING | frozenset("no nope n negative".split())
# Words that say yes or no only as the last word of an answer ("that is right", "on the right side").
_YES_AT_END = frozenset(["right"])
_COPULAS = frozenset("is it's that's are quite".split())
_REFERENCES = frozenset("yes no true false correct incorrect".split())

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_NEGATION = re.compile(r"^(?:not|never|cannot|without|neither|nor|hardly|\w+n't)$")
# A yes or no that is a sentence of its own.
_ALONE = re.compile(
    r"(?:^|[.,;:!/-]\s*|\b(?:both|and|or|but|also|actually|wait|rather|maybe) )(yes|no|true|false)(?=\s*(?:[.,;:!/-]|$)"
    r"| (?:and|or)\b)",
    re.IGNORECASE,
)
# "I" is a pronoun, "Y" and "N" are answers, and "A" is a letter only as a subject.
_LETTER = re.compile(
    r"(?<![\w'.-])(?:[B-HJ-MO-XZ](?![\w'.-])|A(?= (?:is|was|must|would)\b))|\b(?i:option|choice) \(?(?i:[a-z])\b"
)
# How far before a word a negation still reaches it ("it does not appear to be true").
_REACH = 4
# Words that carry no claim of their own, so that "it is not on" denies just "on".
_EMPTY = frozenset(
    (
        "a an the is are was were be been do does did has have had it its this that there they them he she i you we in "
        "at of to and any some here image picture photo shown visible can could would will as for with being"
    ).split()
)
_VERBS = frozenset("is are was were does do did has have had can it's there's they're that's".split())
# Where something is said to be or not to be; only as answers to questions of just that.
_SCENE = frozenset("image picture photo shown visible here".split())
# What goes on after a bare yes or no; anything else makes the first word part of a phrase ("no dogs").
_STARTS_A_CLAUSE = frozenset(
    (
        "it there they this that the he she i we because since as for in based is are sir not definitely "
        "absolutely certainly but"
    ).split()
)


def is_negation(word: str) -> bool:
    """Whether a lower-case word turns round what follows it; "no" does too, where it is no answer.

    >>> is_negation("isn't"), is_negation("no")
    (True, False)
    """
    return bool(_NEGATION.match(word))


def reads_as_boolean(reference: str) -> bool:
    """Whether a reference answer is a plain yes or no, or opens with one ("Yes, it is on").

    >>> reads_as_boolean("True"), reads_as_boolean("No, it is off"), reads_as_boolean("no entry")
    (True, True, False)
    """
    return reference.casefold() in _REFERENCES or bool(re.match(r"(?:yes|no|true|false)\b\s*[,.;:]", reference, re.I))


def polarity(answer: str, question: str = "") -> bool | None:
    """True for yes, False for no, None where an answer says neither or both.

    A statement without yes or no counts where it only repeats or denies what the question asks.

    >>> polarity("not true"), polarity("Yes. No."), polarity("unknown"), polarity("B is correct")
    (False, None, None, None)
    >>> polarity("It is not on", "Is the light on?"), polarity("The light is on", "Is the light on?")
    (False, True)
    """
    if len({word.casefold() in _YES for word in _ALONE.findall(answer)}) == 2:
        return None
    words = _WORD.findall(answer.casefold().replace("can not", "cannot"))
    if not words:
        return None
    if words[0] in _YES | _NO and not _denies_a_noun(answer, words):
        return words[0] in _YES
    if set(_LETTER.findall(answer)) - set(_LETTER.findall(question)):
        # What is said to be true or false is an option then.
        return None
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
        said.add(value ^ (sum(map(is_negation, before)) % 2 == 1))
    return said


def _statement(words: list[str], question: str) -> bool | None:
    """The answer of a plain statement: it denies or repeats the claim of the question, else None."""
    asked = set(_WORD.findall(question.casefold()))
    if any(map(is_negation, asked)) or "or" in asked:
        return None
    negations = sum(1 for word in words if is_negation(word) or word == "no")
    claim = {word for word in words if word not in _EMPTY and not is_negation(word) and word != "no"}
    scene = frozenset() if claim else _SCENE.intersection(words)
    stems = asked | {f"{word}s" for word in asked} | {word.removesuffix("s") for word in asked}
    about_it = claim | scene <= stems if asked else negations == 1 and not scene
    if not about_it or negations > 1 or (not claim and not negations and len(words) < 2):
        return None
    # Without a verb it states nothing: "on" only repeats a word of the question.
    return False if negations else (True if _VERBS.intersection(words) else None)
