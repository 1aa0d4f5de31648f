"""The answer rule inside the released Causal Process Reward, for rewards that shall equal theirs.

It is neither of the two rules that the evaluation reports: the authors' training code has one of its own. Written from
the behaviour of crystal-metrics 0.2.0 (``check_answer_match``) and tested against it, except that a blank answer is
never right: there, the empty text is part of every long reference.
"""

from __future__ import annotations

import re

#: Both texts open with one of these as a word: the letters alone are compared, so "a bus" is right for "A car".
_LETTER = re.compile(r"([a-d])\b")
#: Compared with each other where both whole texts are among them; what is said around them, or a full stop, is not
#: looked through.
_POLARITY = {"yes": True, "true": True, "correct": True, "1": True}
_POLARITY |= {"no": False, "false": False, "incorrect": False, "0": False}
#: The first number of a text. Thousands marks and exponents are not read: 1,200 and 1e5 are 1.
_NUMBER = re.compile(r"-?\d*\.?\d+")
#: Accepted distance of two numbers, and the same as a part of the reference; the bounds themselves are refused.
ABSOLUTE_TOLERANCE = 0.01
RELATIVE_TOLERANCE = 0.01
#: A reference of more characters is right if one text is part of the other, however short the part.
LONG_REFERENCE = 10


def released_verdict(prediction: str, reference: str) -> bool:
    """Whether the released CPR takes an answer for right; False for a blank one. Never raises.

    Of equal texts, letters, yes or no, numbers, and a part of a long reference, the first that applies decides.

    >>> released_verdict("2019", "2020"), released_verdict("(B)", "B"), released_verdict("cat", "a black cat")
    (True, False, True)
    """
    predicted, expected = prediction.strip().lower(), reference.strip().lower()
    if not predicted or not expected:
        return False
    if predicted == expected:
        return True
    letters = _LETTER.match(predicted), _LETTER.match(expected)
    if letters[0] and letters[1]:
        return letters[0].group() == letters[1].group()
    if predicted in _POLARITY and expected in _POLARITY:
        return _POLARITY[predicted] == _POLARITY[expected]
    numbers = _NUMBER.search(predicted), _NUMBER.search(expected)
    if numbers[0] and numbers[1]:
        return _agree(float(numbers[0].group()), float(numbers[1].group()))
    return len(expected) > LONG_REFERENCE and (predicted in expected or expected in predicted)


def _agree(predicted: float, expected: float) -> bool:
    distance = abs(predicted - expected)
    return distance < ABSOLUTE_TOLERANCE or distance < RELATIVE_TOLERANCE * abs(expected)
