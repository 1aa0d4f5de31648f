"""The keys and labels under which models put their steps and their answer, in all spellings and the main languages."""

import re
from functools import lru_cache

# Keys are compared in lower case with all but letters and digits removed; of several in one object the first counts.
# Where the words for the whole reasoning stand beside a list of steps, the list is the response: they come last.
_STEPS = """
    reasoningsteps steps reasoningstep reasoning stepbystep stepbystepreasoning stepbystepsolution solutionsteps
    chainofthought cot thoughts thoughtprocess reasoningprocess reasoningchain rationale explanation
    thinkingsteps thinkingprocess thinking thought analysis justification derivation
    denkschritte begründungsschritte schritte begründung
    pasosderazonamiento pasos razonamiento passosderaciocínio passos raciocínio
    étapesderaisonnement étapes etapes raisonnement passaggi ragionamento
    шаги шагирассуждения рассуждение рассуждения
    推理步骤 推理步驟 解题步骤 步骤 步驟 推理过程 推理 思考过程 分析
    推論ステップ 推論 ステップ 手順 추론단계 단계 추론
"""
_ANSWER = """
    answer finalanswer theanswer correctanswer predictedanswer youranswer answerletter answerchoice answeroption
    answertext
    endgültigeantwort endantwort richtigeantwort respuestafinal respuestacorrecta
    réponsefinale bonneréponse respostafinal rispostafinale
    окончательныйответ итоговыйответ правильныйответ
    最终答案 最終答案 正确答案 最終回答 최종답변 최종정답
"""
# The words in front of a step's number and of an answer; "第1步" and "1단계" are the labels with the number inside.
STEP_WORDS = tuple("step schritt paso passo étape etape шаг 步骤 步驟 ステップ 手順 단계".split())
ANSWER_WORDS = tuple(
    "answer antwort respuesta réponse reponse resposta risposta ответ 答案 答え 回答 解答 정답 답변 답".split()
)
# In the order of preference, and quick to look up.
STEPS_KEYS = dict.fromkeys(_STEPS.split())
ANSWER_KEYS = dict.fromkeys((*_ANSWER.split(), *ANSWER_WORDS))
# Words that hold the answer only where steps stand beside them; alone they say nothing.
WEAK_ANSWER_KEYS = (
    *("final", "finalresult", "result", "conclusion", "prediction", "choice", "option", "output", "solution"),
)
# Keys of an object that is one step of several.
ONE_STEP_KEYS = frozenset({*STEP_WORDS, "stepnumber", "reasoningstep", "thought"})

_NO_LETTERS = re.compile(r"[\W_]+")
_NUMBERED = re.compile(rf"(?:reasoning)?(?:steps|{'|'.join(STEP_WORDS)}|第)?(\d{{1,4}})(?:步|단계)?")
# No key is longer; longer text is not worth a place in the cache.
_LONGEST_KEY = 60


@lru_cache(maxsize=1024)
def plain_key(key: str) -> str:
    """The key in lower case, letters and digits only.

    >>> plain_key("Final-Answer")
    'finalanswer'
    """
    return _NO_LETTERS.sub("", key.lower())


def step_number(key: str) -> int | None:
    """The number of a numbered key, as in ``step_2``, ``Step 2`` or ``2``; None for other keys.

    >>> step_number("step_2"), step_number("Schritt 2"), step_number("answer")
    (2, 2, None)
    """
    match = _NUMBERED.fullmatch(plain_key(key))
    return int(match[1]) if match else None


def is_steps_key(key: str) -> bool:
    """Whether the key holds the list of steps.

    >>> is_steps_key("Reasoning Steps")
    True
    """
    return len(key) <= _LONGEST_KEY and plain_key(key) in STEPS_KEYS


def is_known_key(key: str) -> bool:
    """Whether the key holds steps or an answer.

    >>> is_known_key("answer"), is_known_key("confidence")
    (True, False)
    """
    return is_steps_key(key) or (len(key) <= _LONGEST_KEY and plain_key(key) in ANSWER_KEYS)
