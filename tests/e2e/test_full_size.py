"""All 6,372 items through the real command: as parquet, and again as a saved folder with the references cached."""

import pytest
from encoders import build_word_encoder
from harness import results
from lmms_eval_crystal.benchmarks.full_size import ITEMS, run_command, write_data
from lmms_eval_crystal.benchmarks.items import make_items

pytestmark = pytest.mark.e2e

#: Bytes at the peak, and seconds of two cores beyond embedding.
LIMIT_BYTES, LIMIT_S = 2e9, 30


def test_the_benchmarks_size_is_scored_within_time_and_memory_and_references_embedded_once(tmp_path):
    items = make_items(ITEMS)
    references = {step for item in items for step in item.reference}
    predicted = {step for item in items for step in item.predicted} - references
    encoder = build_word_encoder(tmp_path / "words", references | predicted)
    for form, texts in (("parquet", len(references) + len(predicted)), ("folder", len(predicted))):
        done = run_command(tmp_path, write_data(tmp_path, items, form), str(encoder))
        assert done.exit_code == 0, done.output
        assert "Traceback" not in done.output
        assert done.embedded == texts
        assert done.peak_bytes < LIMIT_BYTES
        # Processor time, since other tests run beside this one.
        assert done.processor_seconds - done.embedding_seconds < 2 * LIMIT_S
        section = results(tmp_path / "out")["crystal"]["crystal"]
        assert section["items"] == section["metrics"]["match_f1"]["items"] == ITEMS
