"""A batch of ``crystal_hf`` writes what each of its items would alone, for every family."""

from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from lmms_eval_crystal.model_adapters import batching
from lmms_eval_crystal.model_adapters.batching import Batches, buckets
from lmms_eval_crystal.model_adapters.hf import CrystalHF
from lmms_eval_crystal.model_adapters.resume import journaled
from lmms_eval_crystal.model_adapters.tiny import FAMILIES
from transformers import AutoModelForImageTextToText, AutoProcessor

from .hf_cases import AWKWARD, LIMIT, MANY_ENDS, ROWS, altered, checkpoint, load, photo, requests, texts, written
from .journaling import RUN


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_batches_of_1_3_and_8_write_the_same_texts(family: str, tmp_path: Path) -> None:
    # With a repetition penalty, as Qwen2.5-VL has one, since padding must not count as said before.
    settings = {"eos_token_id": MANY_ENDS, "repetition_penalty": 1.3}
    folder = altered(family, tmp_path, "generation_config.json", **settings)
    alone, threes, eights = (load(folder, size).generate_until(requests()) for size in (1, 3, 8))
    assert dict(zip(AWKWARD, texts(threes), strict=True)) == dict(zip(AWKWARD, texts(alone), strict=True))
    assert eights == threes == alone
    # Rows that end at different times are the usual case, and the one in which padding could show.
    assert len(set(written(alone))) > 2
    assert LIMIT in written(alone)
    assert len(set(texts(alone))) > len(AWKWARD) / 2


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_it_writes_what_transformers_writes(family: str) -> None:
    folder = checkpoint(family)
    network = AutoModelForImageTextToText.from_pretrained(folder)
    processor = AutoProcessor.from_pretrained(folder)
    conversation = [
        {"role": "user", "content": [{"type": "text", "text": "Which?"}, {"type": "image", "image": photo(300, 200)}]}
    ]
    inputs = processor.apply_chat_template(
        conversation, tokenize=True, return_dict=True, return_tensors="pt", add_generation_prompt=True
    )
    with torch.no_grad():
        tokens = network.generate(**inputs, max_new_tokens=LIMIT, do_sample=False)[0, inputs["input_ids"].shape[1] :]
    [result] = load(folder, rows=[{"image": photo(300, 200), "question": "Which?"}]).generate_until(requests([0]))
    assert result.text == processor.tokenizer.decode(tokens, skip_special_tokens=True)
    assert result.token_counts.input_tokens == inputs["input_ids"].shape[1]
    assert result.token_counts.output_tokens == len(tokens)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_items_without_a_picture_and_with_two_share_a_run(family: str) -> None:
    rows = [*ROWS[:2], {"image": None, "question": "What is 2 + 2?"}, {"image": None, "question": "And three?"}]

    def two_pictures(row: dict) -> list[dict]:
        parts = [{"type": "image", "url": photo(60, 60, seed)} for seed in range(2)] if row["image"] else []
        return [{"role": "user", "content": [*parts, {"type": "text", "text": row["question"]}]}]

    mixed = requests(range(4)) + requests(range(2), two_pictures)
    assert load(checkpoint(family), 6, rows).generate_until(mixed) == load(checkpoint(family), 1, rows).generate_until(
        mixed
    )


def sizes_of(
    model: CrystalHF, monkeypatch: pytest.MonkeyPatch, fits: int, error: type[Exception] = RuntimeError
) -> list:
    """The batch sizes that the model is asked for, of which it takes ``fits`` at most."""
    generate, asked = model._model.generate, []

    def limited(**inputs: torch.Tensor) -> torch.Tensor:
        asked.append(len(inputs["input_ids"]))
        if asked[-1] > fits:
            raise error("CUDA out of memory. Tried to allocate 2.00 GiB.\nMore is known.")
        return generate(**inputs)

    monkeypatch.setattr(model._model, "generate", limited)
    return asked


@pytest.mark.parametrize("error", [torch.cuda.OutOfMemoryError, RuntimeError])
def test_a_batch_that_does_not_fit_is_halved_and_no_item_is_lost_or_doubled(
    monkeypatch: pytest.MonkeyPatch, heard: list[str], error: type[Exception]
) -> None:
    expected = load(checkpoint("internvl")).generate_until(requests())
    model = load(checkpoint("internvl"), 8)
    asked = sizes_of(model, monkeypatch, fits=3, error=error)
    assert model.generate_until(requests()) == expected
    # 13 items: the first batch is halved until it fits, and what follows is planned no larger than a pair.
    assert asked == [8, 4, 2, 2, 4, 2, 2, 2, 2, 1]
    assert sum("does not fit" in message for message in heard) == 3
    # What did not fit is not tried again, in a later call neither.
    asked.clear()
    model.generate_until(requests(range(4)))
    assert max(asked) <= 3
    assert model.batch_size == 8


def made_of(
    lengths: Sequence[int], fits: Callable[[Sequence[int]], bool], size: int = 8
) -> tuple[list[int], list[int]]:
    """The sizes of the batches that fitted, together all items in order, and of those that did not; ``fits`` gets
    the items, which are numbers from 0."""
    failed = []

    def work(batch: Sequence[int]) -> list[int]:
        if fits(batch):
            return list(batch)
        failed.append(len(batch))
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    # Nothing is left behind here, and looking for it takes half a second each time.
    with patch.object(batching, "free_memory"):
        made = list(Batches(size).run(range(len(lengths)), lengths, work, str))
    assert [item for batch in made for item in batch] == list(range(len(lengths)))
    return [len(batch) for batch in made], failed


def test_one_huge_item_does_not_make_the_rest_of_a_run_small() -> None:
    made, failed = made_of([5000, *[100] * 39], lambda items: 0 not in items or len(items) == 1)
    assert (made, failed) == ([1, 1, 2, 4, 8, 8, 8, 8], [8, 4, 2])


def test_nor_does_one_whose_length_does_not_show_it() -> None:
    made, failed = made_of([100] * 40, lambda items: 11 not in items or len(items) == 1)
    assert (made, failed) == ([8, 2, 1, 1, 4, 8, 8, 8], [8, 4, 2])


def test_where_memory_is_short_few_batches_are_tried_in_vain_and_shorter_items_come_in_larger_ones() -> None:
    lengths = range(1000, 100, -1)
    made, failed = made_of(lengths, lambda items: sum(lengths[item] for item in items) <= 2500)
    assert failed == [8, 4, 4]
    assert made[:9] == [2] * 9
    assert made == sorted(made[:-1]) + made[-1:]
    assert max(made) == 8


def test_the_parts_of_a_batch_reach_the_journal_as_they_are_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So that a kill costs the part in flight, and no more, where batches are made in parts."""
    monkeypatch.setenv("CRYSTAL_JOURNAL", str(tmp_path))
    model = load(checkpoint("internvl"), 4)
    asked = sizes_of(model, monkeypatch, fits=2)
    kept = []
    generate = model._model.generate

    def watched(**inputs: torch.Tensor) -> torch.Tensor:
        kept.append(sum(file.read_bytes().count(b'"text"') for file in tmp_path.glob("open/*.jsonl")))
        return generate(**inputs)

    monkeypatch.setattr(model._model, "generate", watched)
    expected = load(checkpoint("internvl")).generate_until(requests(range(4)))
    with journaled(model, RUN):
        assert model.generate_until(requests(range(4))) == expected
    assert (asked, kept) == ([4, 2, 2], [0, 0, 2])


def test_a_single_item_that_does_not_fit_stops_the_run_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(checkpoint("internvl"), 4)
    sizes_of(model, monkeypatch, fits=0, error=torch.cuda.OutOfMemoryError)
    with pytest.raises(SystemExit) as stop:
        model.generate_until(requests())
    assert "of awkward alone does not fit into memory (CUDA out of memory. Tried to allocate 2.00 GiB.)" in str(
        stop.value
    )
    assert "\n" not in str(stop.value)


def test_another_error_of_the_model_is_not_taken_for_a_lack_of_memory() -> None:
    def broken(batch: object) -> list[None]:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        list(Batches(2).run([1, 2], [9, 8], broken, str))


def test_neighbours_in_a_batch_are_of_like_length_and_of_the_same_settings() -> None:
    assert buckets(["a", "b", "a", "b", "a"], [5, 1, 9, 2, 7]) == [[2, 4, 0], [3, 1]]
    assert buckets([], []) == []


def test_requests_with_other_settings_are_never_generated_together(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(checkpoint("internvl"), 8)
    asked = sizes_of(model, monkeypatch, fits=8)
    results = model.generate_until([*requests([0, 1], max_new_tokens=3), *requests([2, 3, 4], max_new_tokens=5)])
    assert sorted(asked) == [2, 3]
    assert written(results) == [3, 3, 5, 5, 5]


def test_padding_requests_of_the_harness_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(checkpoint("internvl"), 8)
    asked = sizes_of(model, monkeypatch, fits=8)
    real, padding = requests([0, 0])
    padding.metadata["__padding_only__"] = True
    first, second = model.generate_until([real, padding])
    assert asked == [1]
    assert first.text
    assert second.text == ""
    assert model.generate_until([]) == []
