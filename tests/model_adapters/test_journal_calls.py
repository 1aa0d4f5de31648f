"""The journal with the harness's own API models, over real HTTP: no finished call is paid for twice."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lmms_eval.api.instance import Instance
from lmms_eval.models.chat.async_openai import AsyncOpenAIChat
from lmms_eval.models.chat.openai import OpenAICompatible
from lmms_eval_crystal.crystal_task.observe import Model, Run
from lmms_eval_crystal.model_adapters.resume import journaled
from loopback import Loopback, answer_to

RUN = Run(model=Model(id="m"), tasks={}, limit=None, offset=0)
TASK, SPLIT = "crystal_mini", "test"
DOCS = [{"question": f"What is {number} + 1?"} for number in range(8)]


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(delay=0.05).running() as running:
        yield running


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRYSTAL_JOURNAL", str(tmp_path / "journal"))
    return tmp_path / "journal"


def openai(url: str) -> Any:
    return OpenAICompatible("m", base_url=url, api_key="x", num_concurrent=3, max_retries=1, retry_backoff_s=0)


def async_openai(url: str) -> Any:
    return AsyncOpenAIChat("m", base_url=url, api_key="x", num_cpus=3, max_retries=1, retry_backoff_s=0)


ADAPTERS = pytest.mark.parametrize("adapter", [openai, async_openai])


def requests(indices: range) -> list[Instance]:
    def messages(doc: dict) -> list[dict]:
        return [{"role": "user", "content": [{"type": "text", "text": doc["question"]}]}]

    return [
        Instance(
            "generate_until",
            (DOCS[index]["question"], messages, {"until": []}, index, TASK, SPLIT),
            0,
            {"task": TASK, "repeats": 1, "doc_id": index},
        )
        for index in indices
    ]


def generate(lm: Any, wanted: list[Instance]) -> list[Any]:
    lm.task_dict = {TASK: {SPLIT: DOCS}}
    with journaled(lm, RUN):
        return lm.generate_until(wanted)


def die_scoring(lm: Any, wanted: list[Instance]) -> None:
    lm.task_dict = {TASK: {SPLIT: DOCS}}
    with journaled(lm, RUN):
        lm.generate_until(wanted)
        raise InterruptedError


def questions(indices: range) -> list[str]:
    return [DOCS[index]["question"] for index in indices]


@ADAPTERS
def test_each_call_is_kept_as_it_ends_and_not_sent_again(adapter: Any, server: Loopback, folder: Path):
    answered = []

    def seen(question: str) -> bool:
        # While the last call is still open, all earlier ones of its thread are on the disk already.
        answered.append(sum(file.read_bytes().count(b'"text"') for file in folder.glob("open/*.jsonl")))
        return False

    server.fails = seen
    with pytest.raises(InterruptedError):
        die_scoring(adapter(server.url), requests(range(6)))
    assert max(answered) >= 1
    outputs = generate(adapter(server.url), requests(range(8)))
    assert [output.text for output in outputs] == [answer_to(question) for question in questions(range(8))]
    assert {output.token_counts.output_tokens for output in outputs} == {5}
    assert sorted(server.asked) == questions(range(8))


@ADAPTERS
def test_as_many_calls_run_at_once_as_were_asked_for(adapter: Any, server: Loopback):
    generate(adapter(server.url), requests(range(8)))
    assert server.busiest == 3


@ADAPTERS
def test_a_failed_call_is_returned_and_tried_again_by_the_same_command(
    adapter: Any, server: Loopback, folder: Path, heard: list[str]
):
    server.fails = lambda question: question in questions(range(2))
    outputs = generate(adapter(server.url), requests(range(5)))
    assert [output.text.startswith("[LMMS_EVAL_REQUEST_FAILED") for output in outputs] == [True] * 2 + [False] * 3
    assert any(message.startswith("2 calls failed; the same command tries these again") for message in heard)
    server.asked.clear()
    server.fails = lambda question: False
    generate(adapter(server.url), requests(range(5)))
    assert sorted(server.asked) == questions(range(2))
    assert not (folder / "open").exists()
    written = [json.loads(line) for file in folder.glob("finished/*.jsonl") for line in file.open()]
    assert sum(entry.get("failed", False) for entry in written) == 2


def test_an_error_of_the_adapter_ends_the_run_and_keeps_what_was_answered(server: Loopback, folder: Path):
    wanted = requests(range(6))
    wanted[5].arguments[2]["n"] = 2  # which the adapter refuses
    with pytest.raises(ValueError, match="must be the integer 1"):
        generate(openai(server.url), wanted)
    kept = sum(file.read_bytes().count(b'"text"') for file in folder.glob("open/*.jsonl"))
    assert kept == len(server.asked)
