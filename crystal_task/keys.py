"""The keys under which models put their steps and their answer, in all spellings."""

import re
from functools import lru_cache

# Compared in lower case with all but letters and digits removed.
_STEPS = (
    "reasoningsteps steps reasoningstep reasoning stepbystep stepbystepreasoning stepbystepsolution solutionsteps "
    "chainofthought cot thoughts thoughtprocess reasoningprocess reasoningchain rationale explanation"
)
_ANSWER = (
    "answer finalanswer theanswer correctanswer predictedanswer youranswer answerletter answerchoice answeroption "
    "answertext"
)
STEPS_KEYS = tuple(_STEPS.split())
ANSWER_KEYS = tuple(_ANSWER.split())
# Words that hold the answer only where steps stand beside them; alone they say nothing.
WEAK_ANSWER_KEYS = ("final", "finalresult", "result", "conclusion", "prediction", "choice", "option", "output")

_NO_LETTERS = re.compile(r"[\W_]+")
_NUMBERED = re.compile(r"(?:reasoning)?(?:steps?)?(\d{1,4})")


@lru_cache(maxsize=1024)
def plain_key(key: str) -> str:
    """The key in lower case, letters and digits only.

    >>> plain_key("Final-Answer")
    'finalanswer'
    """
    return _NO_LETTERS.sub("", key.lower())


def step_number(key: str) -> int | None:
    """The number of a numbered key, as in ``step_2``, ``Step 2`` or ``2``; None for other keys.

    >>> step_number("step_2"), step_number("answer")
    (2, None)
    """
    match = _NUMBERED.fullmatch(plain_key(key))
    return int(match[1]) if match else None


def is_steps_key(key: str) -> bool:
    """Whether the key holds the list of steps.

    >>> is_steps_key("Reasoning Steps")
    True
    """
    return plain_key(key) in STEPS_KEYS


def is_known_key(key: str) -> bool:
    """Whether the key holds steps or an answer.

    >>> is_known_key("answer"), is_known_key("confidence")
    (True, False)
    """
    plain = plain_key(key)
    return plain in STEPS_KEYS or plain in ANSWER_KEYS
