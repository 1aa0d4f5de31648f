"""Answer accuracy: both verdicts on one answer, the paper's and the strict one, as one result."""

from collections.abc import Sequence
from dataclasses import dataclass

from .paper_rule import paper_verdict
from .strict_rule import strict_verdict


@dataclass(frozen=True)
class AnswerVerdict:
    """The verdicts on one answer.

    ``paper`` is the released scorer's, ``strict`` a careful marker's. ``kind`` says what kind of answer
    the strict one was decided on: ``option``, ``boolean``, ``number``, ``math``, ``text``, or ``none``
    where there is nothing to judge. ``settled`` is False for free-form answers that the rules cannot
    settle, which is where a judge may be asked.
    """

    paper: bool
    strict: bool
    kind: str
    settled: bool


def judge_answer(
    prediction: str | None, reference: str, question: str = "", options: Sequence[str] = ()
) -> AnswerVerdict:
    """Both verdicts on a prediction; never raises, on any text. A missing or blank prediction is never correct.

    >>> judge_answer("11", "10", "How many people?")
    AnswerVerdict(paper=True, strict=False, kind='number', settled=True)
    >>> judge_answer(None, "10")
    AnswerVerdict(paper=False, strict=False, kind='none', settled=True)
    """
    if prediction is None or not prediction.strip():
        return AnswerVerdict(False, False, "none", True)
    strict = strict_verdict(prediction, reference, question, options)
    paper = paper_verdict(prediction, reference, question, options)
    return AnswerVerdict(paper, strict.correct, strict.kind, strict.settled)
