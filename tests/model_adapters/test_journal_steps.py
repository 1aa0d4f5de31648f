"""The journal where processes compute each call together: after a kill they have unequal shares left, and none waits.

Two real processes of torch.distributed, forked so that they need not import everything again.
"""

import multiprocessing
from multiprocessing.queues import Queue
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from lmms_eval.api.instance import GenerationResult, Instance
from lmms_eval_crystal.model_adapters.calling import in_step
from lmms_eval_crystal.model_adapters.resume import journaled

from .conftest import Ask
from .journaling import RUN, Counting, killed_after, lines

#: Far more than the two need; they would wait for each other for ever.
PATIENCE_SECONDS = 60


class Together(Counting):
    """As vLLM's adapter over two processes: each call needs the other's."""

    data_parallel_size = 2

    def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
        dist.all_reduce(torch.zeros(1))
        return super().generate_until(requests)


def work(rank: int, meeting: Path, requests: list[Instance], answers: Queue) -> None:
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    patch = pytest.MonkeyPatch()
    patch.setenv("RANK", str(rank))
    patch.setenv("WORLD_SIZE", "2")
    lm = Together()
    with journaled(lm, RUN):
        texts = [output.text for output in lm.generate_until(requests)]
        dist.barrier()
    answers.put((rank, lm.generated, texts))


@pytest.mark.parametrize("left", [(3, 1), (0, 3), (3, 3)])
def test_a_rank_with_less_left_calls_the_model_as_often(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: tuple[int, int]
):
    monkeypatch.setenv("CRYSTAL_JOURNAL", str(tmp_path / "journal"))
    shares = [ask(range(rank, 6, 2)) for rank in range(2)]
    for rank, count in enumerate(left):
        monkeypatch.setenv("RANK", str(rank))
        if count < 3:
            killed_after(3 - count, [*shares[rank], *ask([0])])
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    workers = [
        context.Process(target=work, args=(rank, tmp_path / "meeting", shares[rank], answers), daemon=True)
        for rank in range(2)
    ]
    for worker in workers:
        worker.start()
    found = sorted(answers.get(timeout=PATIENCE_SECONDS) for _ in workers)
    for worker in workers:
        worker.join(PATIENCE_SECONDS)
    for rank, generated, texts in found:
        missing = [request.doc_id for request in shares[rank]][3 - left[rank] :]
        assert generated == missing + [shares[rank][-1].doc_id] * (max(left) - left[rank])
        assert texts == [output.text for output in Counting().generate_until(shares[rank])]
    assert sorted(entry["doc_id"] for entry in lines(tmp_path / "journal", "finished")) == list(range(6))


def test_without_other_processes_nobody_has_to_keep_step():
    assert not in_step(Together())
    assert not in_step(SimpleNamespace(accelerator=SimpleNamespace(distributed_type="FSDP")))
