"""The journal and the harness around it: when there is one, what a batch is, the harness's cache, the end of a run."""

import re
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lmms_eval.api.instance import Instance
from lmms_eval.caching.response_cache import ResponseCache
from lmms_eval.loggers.evaluation_tracker import EvaluationTracker
from lmms_eval_crystal.model_adapters.calling import batches
from lmms_eval_crystal.model_adapters.hf import CrystalHF
from lmms_eval_crystal.model_adapters.identity import run_hash
from lmms_eval_crystal.model_adapters.journal import Entry, Journal, Key
from lmms_eval_crystal.model_adapters.replay import CrystalReplay
from lmms_eval_crystal.model_adapters.resume import _begin, _unasked, default_folder, journaled
from lmms_eval_crystal.model_adapters.saving import forget

from .conftest import Ask
from .journaling import RUN, Counting, Killed, die_scoring, generate, lines


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRYSTAL_JOURNAL", str(tmp_path / "journal"))
    return tmp_path / "journal"


class TestActivation:
    def test_off_keeps_none(self, ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("CRYSTAL_JOURNAL", "off")
        assert _begin(CrystalHF.__new__(CrystalHF), RUN, None) is None

    def test_other_models_keep_none_unasked(self, ask: Ask, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv("CRYSTAL_JOURNAL")
        assert _begin(Counting(), RUN, None) is None

    def test_crystal_hf_keeps_one_for_each_command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv("CRYSTAL_JOURNAL")
        monkeypatch.setenv("CRYSTAL_CACHE_DIR", str(tmp_path))
        resumption = _begin(CrystalHF.__new__(CrystalHF), RUN, None)
        assert resumption is not None
        assert resumption.journal.folder == default_folder(RUN)
        assert resumption.journal.folder.parent == tmp_path / "journal"
        assert run_hash(RUN) == run_hash(replace(RUN))
        assert run_hash(RUN) != run_hash(replace(RUN, limit=8))

    def test_a_cache_that_cannot_be_written_is_said_and_stops_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: list[str]
    ):
        (tmp_path / "file").write_text("")
        monkeypatch.delenv("CRYSTAL_JOURNAL")
        monkeypatch.setenv("CRYSTAL_CACHE_DIR", str(tmp_path / "file"))
        assert _begin(CrystalHF.__new__(CrystalHF), RUN, None) is None
        assert any("cannot be written" in message for message in heard)

    def test_on_several_machines_none_is_kept_unasked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: list[str], folder: Path
    ):
        """Their cache folders need not be one, and only the first of them finishes its journal."""
        monkeypatch.setenv("CRYSTAL_CACHE_DIR", str(tmp_path))
        monkeypatch.setenv("WORLD_SIZE", "4")
        monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
        assert _begin(CrystalHF.__new__(CrystalHF), RUN, None).journal.folder == folder
        monkeypatch.delenv("CRYSTAL_JOURNAL")
        assert _begin(CrystalHF.__new__(CrystalHF), RUN, None) is None
        assert [message for message in heard if "several machines" in message and "CRYSTAL_JOURNAL" in message]
        monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
        assert _begin(CrystalHF.__new__(CrystalHF), RUN, None) is not None

    def test_what_costs_nothing_to_make_again_keeps_none_when_asked(self):
        assert _begin(CrystalReplay.__new__(CrystalReplay), RUN, None) is None


class Unasked(Counting):
    keeps_journal = True


class TestUnaskedJournalOfAnotherRun:
    """It neither stops a run that never asked for a journal nor lends it a response, and it is not lost."""

    @pytest.fixture
    def default(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.delenv("CRYSTAL_JOURNAL")
        monkeypatch.setenv("CRYSTAL_CACHE_DIR", str(tmp_path))
        return default_folder(RUN)

    def killed(self, ask: Ask, after: int = 2) -> None:
        with pytest.raises(Killed):
            generate(Unasked(dies_after=after), ask(range(3)))

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ('"a-model"', '"b-model"', "responses of another run.*: the model id was b-model and is now a-model"),
            ('{"crystal_journal"', '{"other"', "first line is damaged"),
        ],
    )
    def test_is_left_alone_and_said_in_one_line(
        self, ask: Ask, default: Path, heard: list[str], old: str, new: str, said: str
    ):
        self.killed(ask)
        [file] = (default / "open").glob("*.jsonl")
        file.write_text(file.read_text().replace(old, new))
        theirs = file.read_text()
        self.killed(ask, after=1)
        second = default.with_name(f"{default.name}-2")
        [sentence] = [message for message in heard if re.search(said, message)]
        assert sentence.endswith(f"; it is left as it is, and this run keeps its own in {second}.")
        lm = Unasked()
        assert generate(lm, ask(range(3))) == Counting().generate_until(ask(range(3)))
        assert lm.generated == [1, 2]
        assert len(lines(second, "finished")) == 3
        assert [file.read_text() for file in (default / "open").iterdir()] == [theirs]

    def test_goes_for_other_images_too(self, default: Path):
        def opened(sha256: str) -> Journal:
            return _unasked(default, {"model": {}, "tasks": {}}, SimpleNamespace(of=lambda key: sha256))

        opened("one").append([Entry(Key("crystal", "test", 0, 0, "request"), "text", image="one")])
        assert opened("two").folder == default.with_name(f"{default.name}-2")
        assert len(opened("one").entries) == 1


class TestBatches:
    def test_hold_requests_of_like_length_the_longest_first(self, ask: Ask):
        lm = Counting(2)
        lm.request_length = lambda request: [3, 9, 4, 8][request.doc_id]
        assert batches(lm, ask(range(4))) == [[1, 3], [2, 0]]

    def test_do_not_mix_settings_of_generation(self, ask: Ask):
        requests = ask(range(3)) + ask(range(3), task="other")
        for request in requests[3:]:
            request.arguments[2]["max_new_tokens"] = 8
        assert batches(Counting(2), requests) == [[0, 1], [2], [3, 4], [5]]

    def test_an_automatic_batch_size_is_one(self, ask: Ask):
        assert batches(SimpleNamespace(batch_size="auto"), ask(range(2))) == [[0], [1]]


class TestEnd:
    """The journal is put away when the harness's files are there, not before."""

    def end(self, ask: Ask, tmp_path: Path, break_it: bool = False) -> EvaluationTracker:
        generate(Counting(), ask(range(2)), cli_args=Namespace(model="m", model_args=""))
        assert (tmp_path / "journal" / "open").is_dir()
        tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
        tracker.general_config_tracker.model_name_sanitized = "m"
        if break_it:
            (tmp_path / "out").write_text("a file where a folder belongs")
        samples = {"crystal_mini": []}
        tracker.save_results_aggregated(results={"configs": samples}, samples=samples, datetime_str="1")
        assert (tmp_path / "journal" / "open").is_dir()
        (tmp_path / "out" / "m" / "1_samples_crystal_mini.jsonl").touch() if not break_it else None
        tracker.save_results_samples(task_name="crystal_mini", samples=[])
        return tracker

    def test_comes_with_the_last_file(self, ask: Ask, tmp_path: Path):
        forget()
        methods = EvaluationTracker.save_results_aggregated, EvaluationTracker.save_results_samples
        self.end(ask, tmp_path)
        assert not (tmp_path / "journal" / "open").exists()
        assert (EvaluationTracker.save_results_aggregated, EvaluationTracker.save_results_samples) == methods

    def test_does_not_come_where_a_file_could_not_be_written(self, ask: Ask, tmp_path: Path, heard: list[str]):
        self.end(ask, tmp_path, break_it=True)
        assert (tmp_path / "journal" / "open").is_dir()
        assert any("did not write results.json" in message for message in heard)

    def test_does_not_come_after_an_error(self, ask: Ask, folder: Path):
        with pytest.raises(Killed):
            die_scoring(Counting(), ask(range(2)))
        assert len(lines(folder)) == 2


class TestCacheOfTheHarness:
    def test_goes_together_with_the_journal(self, ask: Ask, tmp_path: Path):
        class Plain(Counting):
            def text(self, request: Instance) -> str:
                return "a text that the cache can hold"

        def cached(lm: Any) -> list[Any]:
            cache = ResponseCache.create(str(tmp_path / "cache"), model="m", model_args="", task_dict={})
            with journaled(lm, RUN):
                outputs = cache.execute(lm, "generate_until", ask(range(5)))
            cache.finalize(success=True)
            return outputs

        with pytest.raises(Killed):
            cached(Plain(dies_after=2))
        resumed, again = Plain(), Plain()
        assert cached(resumed) == Plain().generate_until(ask(range(5)))
        assert resumed.generated == [2, 3, 4]
        cached(again)
        assert again.generated == []
