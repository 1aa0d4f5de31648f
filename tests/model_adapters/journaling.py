"""What the tests of the journal share: a model that counts and dies, and runs of it that a journal goes with."""

import json
from pathlib import Path
from typing import Any

import pytest
from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from lmms_eval_crystal.crystal_task.observe import Model, Run
from lmms_eval_crystal.model_adapters.resume import journaled

RUN = Run(model=Model(id="a-model", dtype="float32"), tasks={}, limit=None, offset=0)


class Killed(BaseException):
    """A kill, as far as a test can have one in its own process."""


class Counting:
    """A stand-in for a model: it counts what it generates, and dies when it is told to."""

    def __init__(self, batch_size: int = 1, dies_after: int | None = None) -> None:
        self.batch_size = batch_size
        self.dies_after = dies_after
        self.generated: list[Any] = []
        self.batches: list[list[Any]] = []

    def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
        self.batches.append([request.doc_id for request in requests])
        results = []
        for request in requests:
            self.generated.append(request.doc_id)
            if self.dies_after is not None and len(self.generated) > self.dies_after:
                raise Killed
            results.append(GenerationResult(self.text(request), TokenCounts(output_tokens=10 + request.doc_id)))
        return results

    def text(self, request: Instance) -> str:
        return f"answer {request.doc_id}, \ud83d lone surrogate\nand all"


def generate(lm: Any, requests: list[Instance], run: Run = RUN, cli_args: Any = None) -> list[Any]:
    with journaled(lm, run, cli_args):
        return lm.generate_until(requests)


def die_scoring(lm: Any, requests: list[Instance]) -> None:
    with journaled(lm, RUN):
        lm.generate_until(requests)
        raise Killed


def killed_after(count: int, requests: list[Instance], batch_size: int = 1) -> Counting:
    lm = Counting(batch_size, dies_after=count)
    with pytest.raises(Killed):
        generate(lm, requests)
    return lm


def lines(folder: Path, state: str = "open") -> list[dict]:
    files = sorted((folder / state).glob("*.jsonl"))
    return [entry for file in files for entry in map(json.loads, file.read_text("utf-8").splitlines()[1:])]
