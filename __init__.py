"""CRYSTAL for lmms-eval: score how a vision-language model reasons, beside what it answers.

The repository root is this package. ``crystal_task`` is what the harness sees, ``metrics`` is the
scoring on its own, ``model_adapters`` holds models that the harness can call, ``cli`` is
``crystal-eval``.
"""

__version__ = "0.1.0"
