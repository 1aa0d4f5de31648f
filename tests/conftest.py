"""Shared pieces of the tests: the case files, the real MiniLM encoder, the authors' package as the oracle."""

import atexit
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterable
from pathlib import Path

# Before anything imports a hub client: a file that is missing must fail at once.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# A run of a test must neither find nor leave a journal in the user's cache.
os.environ.setdefault("CRYSTAL_JOURNAL", "off")
# Nor embeddings; those of one test serve the next.
os.environ["CRYSTAL_CACHE_DIR"] = tempfile.mkdtemp(prefix="crystal-tests-")

import pytest

# A shell's background job ignores Ctrl-C and hands that down; the tests that press it would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)
atexit.register(shutil.rmtree, os.environ["CRYSTAL_CACHE_DIR"], ignore_errors=True)

DATA = Path(__file__).parent / "data"


def load_cases(name: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``answer_case`` and ``response_case`` run a test once per line of the case files."""
    for fixture, name in (("answer_case", "answers.jsonl"), ("response_case", "responses.jsonl")):
        if fixture in metafunc.fixturenames:
            cases = load_cases(name)
            metafunc.parametrize(fixture, cases, ids=[case["id"] for case in cases])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The whole-process tests first: a worker that got the longest of them last would end alone."""
    items.sort(key=lambda item: "e2e" not in item.path.parts)


@pytest.fixture(scope="session")
def minilm():
    from lmms_eval_crystal.metrics import StepEncoder

    return StepEncoder("minilm")


@pytest.fixture(scope="session")
def oracle():
    """The authors' step scorer on the same MiniLM."""
    from crystal_metrics import MLLMReasoningEvaluator
    from lmms_eval_crystal.metrics.encoder import resolve_encoder

    return MLLMReasoningEvaluator(resolve_encoder("minilm").location, similarity_threshold=0.35, device="cpu")


@pytest.fixture
def heard() -> Iterable[list[str]]:
    """The messages that the run logs, as they come."""
    from loguru import logger

    messages: list[str] = []
    sink = logger.add(lambda message: messages.append(message.record["message"]))
    yield messages
    logger.remove(sink)
