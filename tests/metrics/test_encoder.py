"""The encoder: presets, folders, and errors that say which setting to change."""

import numpy as np
import pytest
import torch
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.metrics import StepEncoder
from lmms_eval_crystal.metrics.encoder import MOST_CHARACTERS, default_encoder, encoder_presets, resolve_encoder


def test_the_default_is_the_papers_encoder():
    assert encoder_presets()[default_encoder()]["model"] == "sentence-transformers/all-distilroberta-v1"


def test_rows_are_float32_unit_vectors(minilm):
    rows = minilm.encode(["A dog sits.", "", "Two cars."])
    assert rows.dtype == np.float32
    assert rows.shape == (3, 384)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    assert minilm.encode([]).shape == (0, 384)


def test_the_signature_names_the_model_and_its_revision(minilm):
    assert minilm.signature == "sentence-transformers/all-MiniLM-L6-v2@0.1.0"


def test_a_folder_is_taken_as_it_is_and_signed_by_its_content(minilm, tmp_path):
    folder = StepEncoder(resolve_encoder("minilm").location)
    assert np.array_equal(folder.encode(["A dog."]), minilm.encode(["A dog."]))
    for name, weights in (("one/model", b"1"), ("other/model", b"2")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "model.safetensors").write_bytes(weights)
    one, other = (resolve_encoder(str(tmp_path / name / "model")) for name in ("one", "other"))
    assert (one.id, other.id) == ("model", "model")
    assert one.revision != other.revision


def test_reduced_precision_that_others_set_is_off_while_it_encodes_and_restored(minilm, monkeypatch):
    """torch refuses to mix its older and its newer switch, so whichever is in use has to be respected."""
    matmul = torch.backends.cuda.matmul
    switch, reduced = ("fp32_precision", "tf32") if hasattr(matmul, "fp32_precision") else ("allow_tf32", True)
    before = getattr(matmul, switch)
    setattr(matmul, switch, reduced)
    try:
        assert minilm.encode(["A dog."]).shape == (1, 384)
        assert getattr(matmul, switch) == reduced
    finally:
        setattr(matmul, switch, before)


@pytest.mark.parametrize(
    "text",
    [
        "the red car, " * 3000,
        "a" * 50_000 + " word" * 2000,
        " " * 5000 + "é\u0301 - … 东京 x1\t\n" * 3000,
        "... " * 600 + "1234567890" * 2000 + " tail" * 600,
        "x\u0301\u0301 " * 4000,
        "<s> [CLS] ##a " * 2000,
    ],
    ids=range(6),
)
def test_the_end_of_a_long_text_is_dropped_before_it_is_tokenised_and_no_token_changes(minilm, text):
    [cut] = minilm._cut([text])
    assert len(cut) < len(text) or not text.isascii()
    tokens = [minilm._model.preprocess([one])["input_ids"].tolist() for one in (text, cut)]
    assert tokens[0] == tokens[1]


def test_a_text_of_few_words_is_left_whole_however_long_it_is(minilm):
    texts = ["a" * 100_000, " " * 100_000, "东京" * 50_000, "\u0301 " * 50_000, "short"]
    assert minilm._cut(texts) == texts
    assert minilm._cut(["½ " * MOST_CHARACTERS]) == ["½ " * (MOST_CHARACTERS // 2)]


@pytest.mark.parametrize("name", ["minlm", "/no/such/folder", "./here", "a/b/c"])
def test_an_unknown_name_lists_the_presets(name):
    with pytest.raises(CrystalError, match=r"presets?.*distilroberta.*CRYSTAL_ENCODER"):
        StepEncoder(name)


def test_a_hub_model_out_of_reach_says_what_to_set():
    with pytest.raises(CrystalError, match=r"CRYSTAL_ENCODER.*minilm"):
        StepEncoder("no-such-owner/no-such-model")


def test_a_folder_without_a_model_says_what_to_set(tmp_path):
    with pytest.raises(CrystalError, match=r"could not be loaded.*CRYSTAL_ENCODER"):
        StepEncoder(str(tmp_path))
