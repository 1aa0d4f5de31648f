"""What encoders may return, and what stops a run; odd names and types of theirs in the cache."""

import numpy as np
import pytest
import torch
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.metrics import EmbeddingTable, score_items

ITEM = (["a dog", "a cat", "a red car"], ["a dog", "a tree"])
WIDTH = 16


def vectors(texts: list[str]) -> np.ndarray:
    return np.stack([np.random.default_rng(list(text.encode())).standard_normal(WIDTH) for text in texts])


class Giving:
    """An encoder that turns its vectors into something else."""

    def __init__(self, change) -> None:
        self.change = change

    def encode(self, texts: list[str]):
        return self.change(vectors(texts))


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: 1000 * rows,
        lambda rows: rows.astype(np.float32),
        lambda rows: rows.astype(np.float16),
        lambda rows: rows.tolist(),
        lambda rows: torch.tensor(rows, requires_grad=True),
        lambda rows: torch.tensor(rows).bfloat16(),
        lambda rows: [torch.tensor(row, requires_grad=True) for row in rows],
    ],
    ids=["no unit rows", "float32", "float16", "lists", "a tensor", "bfloat16", "a list of tensors"],
)
def test_rows_of_numbers_serve_in_any_wrapping(change):
    [scores] = score_items([ITEM], Giving(change))
    assert [pair[:2] for pair in scores.pairs] == [(0, 0)]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows + 1j,
        lambda rows: rows.astype(object),
        lambda rows: rows.astype(str),
        lambda rows: [row[: place + 1] for place, row in enumerate(rows.tolist())],
        lambda rows: None,
        lambda rows: iter(rows),
        lambda rows: rows[:0],
        lambda rows: rows[:, :0],
        lambda rows: rows[None],
        lambda rows: (1e30 * rows).astype(np.float32),
    ],
    ids=["complex", "objects", "texts", "ragged", "nothing", "iterator", "no rows", "no width", "3-D", "overflow"],
)
def test_anything_else_stops_with_a_sentence(change):
    with pytest.raises(CrystalError, match=r"^The encoder returned .*CRYSTAL_ENCODER"):
        score_items([ITEM], Giving(change))


@pytest.mark.parametrize("item", [1, ("a",), (["a"], ["b"], ["c"])])
def test_an_item_that_is_no_pair_of_lists_is_named(item):
    with pytest.raises(CrystalError, match=r"^Item 1: "):
        score_items([ITEM, item], Giving(np.asarray))


def test_vectors_that_are_no_float32_are_not_kept_as_such(tmp_path):
    """A run with them would score otherwise than the one that wrote them."""
    encoder = Giving(np.asarray)
    encoder.cache_key = "some/encoder@1"
    table = EmbeddingTable(encoder, tmp_path)
    table.add(["a dog"], keep=True)
    assert table.rows(["a dog"]).dtype == np.float64
    assert not list(tmp_path.iterdir())


def test_the_name_of_an_encoder_s_folder_need_not_be_utf_8(tmp_path):
    encoder = Giving(lambda rows: rows.astype(np.float32))
    encoder.cache_key = "caf\udce9@1"
    EmbeddingTable(encoder, tmp_path).add(["a dog"], keep=True)
    assert len(list(tmp_path.iterdir())) == 1
