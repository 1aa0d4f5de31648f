"""Answer accuracy: both verdicts on one answer, the paper's and the strict one, as one result."""

from collections.abc import Sequence
from dataclasses import dataclass

from .paper_rule import PaperKind, paper_decision
from .strict_rule import AnswerKind, strict_verdict


@dataclass(frozen=True)
class AnswerVerdict:
    """The verdicts on one answer.

    ``paper`` is the released scorer's, ``strict`` a careful marker's. ``kind`` says what kind of answer
    the strict one was decided on: ``option``, ``boolean``, ``number``, ``math``, ``text``, or ``none``
    where there is nothing to judge; ``paper_kind`` names the rule that decided the paper's. ``settled``
    is False for free-form answers that the rules cannot settle, which is where a judge may be asked.
    """

    paper: bool
    strict: bool
    kind: AnswerKind
    settled: bool
    paper_kind: PaperKind = "missing"


def judge_answer(
    prediction: str | None, reference: str, question: str = "", options: Sequence[str] | None = ()
) -> AnswerVerdict:
    """Both verdicts on a prediction; never raises, on any texts. A missing or blank prediction is never correct.

    ``options`` are the texts of lettered options; where there are none, those that the question itself
    lists are used.

    >>> judge_answer("11", "10", "How many people?")
    AnswerVerdict(paper=True, strict=False, kind='number', settled=True, paper_kind='number')
    >>> judge_answer(None, "10")
    AnswerVerdict(paper=False, strict=False, kind='none', settled=True, paper_kind='missing')
    """
    prediction, reference = str(prediction or ""), str(reference)
    if not prediction.strip():
        return AnswerVerdict(False, False, "none", True)
    texts = tuple(options or ())
    strict = strict_verdict(prediction, reference, question, texts)
    paper = paper_decision(prediction, reference, question, texts)
    return AnswerVerdict(paper.correct, strict.correct, strict.kind, strict.settled, paper.kind)
