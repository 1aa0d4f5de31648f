"""The unrelated sentences are unrelated: the encoder of the shipped set keeps them away from what a picture shows."""

from crystal_metrics import MLLMReasoningEvaluator
