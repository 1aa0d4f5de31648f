"""CRYSTAL's scoring on its own: matching, order, step scores, answers, averages, signatures.

Knows nothing of the harness. Importing it is cheap: sentence-transformers loads with the first encoder,
and math-verify, in a process of its own, with the first formula.
"""

from .aggregate import MacroMean, aggregate, macro_mean
from .answers import AnswerVerdict, judge_answer
from .chains import STEP_LIMIT, chain_similarity, compared_steps, count_uncompared
from .embeddings import EmbeddingTable, Encoder
from .encoder import StepEncoder
from .matching import TAU, cosine_similarity, match_steps
from .order import ALPHA, kendall_tau, lis_ratio, ordered_f1
from .signature import GenerationSignature, ScorerSignature
from .steps import StepScores, score_embedded, score_items, score_similarity, score_steps, similarity_of
from .validity import Validity, null_partners, validity_of

__all__ = [
    "ALPHA",
    "STEP_LIMIT",
    "TAU",
    "AnswerVerdict",
    "EmbeddingTable",
    "Encoder",
    "GenerationSignature",
    "MacroMean",
    "ScorerSignature",
    "StepEncoder",
    "StepScores",
    "Validity",
    "aggregate",
    "chain_similarity",
    "compared_steps",
    "cosine_similarity",
    "count_uncompared",
    "judge_answer",
    "kendall_tau",
    "lis_ratio",
    "macro_mean",
    "match_steps",
    "null_partners",
    "ordered_f1",
    "score_embedded",
    "score_items",
    "score_similarity",
    "score_steps",
    "similarity_of",
    "validity_of",
]
