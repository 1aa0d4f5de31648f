"""The journal: what was made before a kill is not made again, nothing foreign gets in, nothing secret gets out."""

import errno
import json
import os
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lmms_eval.api.instance import GenerationResult, Instance
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters.identity import differences, run_identity
from lmms_eval_crystal.model_adapters.journal import Journal
from lmms_eval_crystal.model_adapters.resume import Resumption, journaled

from .conftest import Ask
from .journaling import RUN, Counting, Killed, die_scoring, generate, killed_after, lines


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRYSTAL_JOURNAL", str(tmp_path / "journal"))
    return tmp_path / "journal"


class TestResumption:
    @pytest.mark.parametrize("batch_size", [1, 2, 3])
    def test_makes_only_what_is_missing_and_gives_what_an_undisturbed_run_gives(self, ask: Ask, batch_size: int):
        undisturbed = Counting(batch_size).generate_until(ask(range(7)))
        first = killed_after(4, ask(range(7)), batch_size)
        second = Counting(batch_size)
        assert generate(second, ask(range(7))) == undisturbed
        assert len(first.generated) + len(second.generated) - 7 <= batch_size
        assert second.generated == list(range(4 // batch_size * batch_size, 7))

    def test_batches_are_those_of_an_undisturbed_run(self, ask: Ask):
        killed_after(3, ask(range(7)), batch_size=3)
        lm = Counting(3)
        generate(lm, ask(range(7)))
        assert lm.batches == [[3, 4, 5], [6]]

    def test_is_over_once_the_run_has_ended(self, ask: Ask, folder: Path):
        generate(Counting(), ask(range(3)))
        assert not (folder / "open").exists()
        assert len(lines(folder, "finished")) == 3
        again = Counting()
        generate(again, ask(range(3)))
        assert again.generated == [0, 1, 2]

    def test_counts_each_repeat_of_an_item(self, ask: Ask):
        [one, two] = ask(range(2))
        requests = [one, one, one, two, two, two]
        killed_after(4, requests)
        lm = Counting()
        generate(lm, requests)
        assert lm.generated == [1, 1]

    def test_leaves_padding_to_the_model_and_out_of_the_journal(self, ask: Ask, folder: Path):
        requests = ask(range(2)) + ask([1], padding=True)
        killed_after(2, requests)
        assert [entry["doc_id"] for entry in lines(folder)] == [0, 1]
        lm = Counting()
        assert len(generate(lm, requests)) == 3
        assert lm.generated == [1]

    def test_works_with_another_number_of_processes(self, ask: Ask, monkeypatch: pytest.MonkeyPatch):
        for rank in range(2):
            monkeypatch.setenv("RANK", str(rank))
            killed_after(2, ask(range(rank, 8, 2)))
        made = []
        for rank in range(3):
            monkeypatch.setenv("RANK", str(rank))
            lm = Counting()
            with pytest.raises(Killed):
                die_scoring(lm, ask(range(rank, 8, 3)))
            made += lm.generated
        assert sorted(made) == [4, 5, 6, 7]

    def test_a_changed_prompt_of_a_task_that_is_not_ours_is_asked_again(self, ask: Ask):
        killed_after(2, ask(range(3)))
        changed = ask(range(3))
        changed[0].arguments = ("another context", *changed[0].arguments[1:])
        lm = Counting()
        generate(lm, changed)
        assert lm.generated == [0, 2]

    def test_settings_that_an_adapter_writes_into_a_request_do_not_matter(self, ask: Ask):
        class Meddling(Counting):
            def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
                for request in requests:
                    request.args[2]["max_new_tokens"] = 1024
                return super().generate_until(requests)

        with pytest.raises(Killed):
            generate(Meddling(dies_after=2), ask(range(3)))
        lm = Meddling()
        generate(lm, ask(range(3)))
        assert lm.generated == [2]

    def test_says_what_it_found_and_where(self, ask: Ask, folder: Path, heard: list[str]):
        killed_after(2, ask(range(3)))
        generate(Counting(), ask(range(3)))
        assert f"Journal: resuming, 2 of 3 responses found in {folder / 'open'}." in heard

    def test_the_model_is_itself_again_afterwards(self, ask: Ask):
        lm = Counting()
        generate(lm, ask(range(1)))
        assert "generate_until" not in vars(lm)


class TestDamage:
    def test_a_torn_last_line_is_dropped_and_made_again(self, ask: Ask, folder: Path):
        killed_after(3, ask(range(4)))
        [file] = (folder / "open").glob("*.jsonl")
        file.write_bytes(file.read_bytes()[:-9])
        lm = Counting()
        assert generate(lm, ask(range(4))) == Counting().generate_until(ask(range(4)))
        assert lm.generated == [2, 3]

    def test_a_damaged_line_costs_only_its_own_response(self, ask: Ask, folder: Path, heard: list[str]):
        killed_after(3, ask(range(4)))
        [file] = (folder / "open").glob("*.jsonl")
        header, first, *rest = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join([header, b"\0" * len(first[:-1]) + b"\n", *rest]))
        lm = Counting()
        generate(lm, ask(range(4)))
        assert lm.generated == [0, 3]
        assert any("damaged" in message for message in heard)

    def test_a_torn_header_means_that_nothing_was_made(self, ask: Ask, folder: Path):
        (folder / "open").mkdir(parents=True)
        (folder / "open" / "rank-0-torn.jsonl").write_text('{"crystal_jour')
        lm = Counting()
        generate(lm, ask(range(2)))
        assert lm.generated == [0, 1]

    @pytest.mark.parametrize("text", ["", "\n", '{"crystal_jour', "\n\n[[["])
    def test_a_file_without_a_complete_line_is_silent(self, tmp_path: Path, heard: list[str], text: str):
        (tmp_path / "open").mkdir()
        (tmp_path / "open" / "rank-0-torn.jsonl").write_text(text)
        assert Journal(tmp_path, IDENTITY).entries == {}
        assert not heard

    @pytest.mark.parametrize("blank", [b"\n", b" \r\n\n"])
    def test_a_blank_line_before_the_header_loses_nothing(self, ask: Ask, folder: Path, heard: list[str], blank: bytes):
        killed_after(2, ask(range(3)))
        [file] = (folder / "open").glob("*.jsonl")
        file.write_bytes(blank + file.read_bytes())
        lm = Counting()
        generate(lm, ask(range(3)))
        assert lm.generated == [2]
        assert not any("damaged" in message for message in heard)

    @pytest.mark.parametrize("first", ["garbage", "\0\0\0", "cut", "gone", "[" * 100_000, "{}", "5"])
    def test_a_damaged_first_line_stops_the_run_before_it_generates(self, ask: Ask, folder: Path, first: str):
        killed_after(2, ask(range(3)))
        [file] = (folder / "open").glob("*.jsonl")
        header, *rest = file.read_text().splitlines(keepends=True)
        damaged = {"cut": header[:30] + "\n", "gone": ""}.get(first, first + "\n")
        file.write_text("".join([damaged, *rest]))
        lm = Counting()
        with pytest.raises(
            SystemExit, match=r"its first line is damaged; repair it or move the file away\.$"
        ) as stopped:
            generate(lm, ask(range(3)))
        assert str(file) in str(stopped.value)
        assert not lm.generated
        file.rename(folder / file.name)
        generate(lm, ask(range(3)))
        assert lm.generated == [0, 1, 2]

    def test_a_header_that_ran_into_the_next_line_is_damaged(self, tmp_path: Path):
        (tmp_path / "open").mkdir()
        (tmp_path / "open" / "rank-0-torn.jsonl").write_text('{"crystal_jour{"task": "crystal"}\n')
        with pytest.raises(CrystalError, match="first line is damaged"):
            Journal(tmp_path, IDENTITY)

    @pytest.mark.parametrize(
        "wrong", [{"model": None}, {"model": "a"}, {"tasks": []}, {"tasks": None}, {"tasks": {"crystal": 5}}]
    )
    def test_a_header_of_another_shape_is_damaged(self, tmp_path: Path, wrong: dict):
        (tmp_path / "open").mkdir()
        header = json.dumps({"crystal_journal": 1, **IDENTITY, **wrong})
        (tmp_path / "open" / "rank-0-wrong.jsonl").write_text(header + "\n")
        with pytest.raises(CrystalError, match=r"rank-0-wrong\.jsonl .*first line is damaged"):
            Journal(tmp_path, IDENTITY)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"doc_id": [1]},
            {"doc_id": True},
            {"doc_id": 1.0},
            {"doc_id": None},
            {"repeat": "0"},
            {"repeat": False},
            {"task": {}},
            {"split": None},
            {"request": 5},
            {"text": 5},
            {"text": None},
            {"tokens": {"output_tokens": "many"}},
            {"tokens": {"output_tokens": True}},
            {"tokens": {"another": 5}},
            {"tokens": [5]},
            {"image": 5},
            {"failed": "no"},
        ],
    )
    def test_a_line_of_another_shape_is_damaged(self, ask: Ask, folder: Path, heard: list[str], wrong: dict):
        killed_after(3, ask(range(4)))
        [file] = (folder / "open").glob("*.jsonl")
        header, first, second, third = file.read_text().splitlines()
        changed = json.dumps(json.loads(second) | wrong)
        file.write_text("".join(f"{line}\n" for line in (header, first, changed, third)))
        lm = Counting()
        assert generate(lm, ask(range(4))) == Counting().generate_until(ask(range(4)))
        assert lm.generated == [1, 3]
        assert any("damaged" in message for message in heard)

    @pytest.mark.parametrize("line", ["[" * 100_000, '{"text": ' * 100_000, "[]", "null"])
    def test_a_line_that_is_no_object_is_damaged(self, ask: Ask, folder: Path, heard: list[str], line: str):
        killed_after(2, ask(range(3)))
        [file] = (folder / "open").glob("*.jsonl")
        file.write_text(file.read_text() + line + "\n")
        lm = Counting()
        generate(lm, ask(range(3)))
        assert lm.generated == [2]
        assert any("damaged" in message for message in heard)

    def test_token_counts_may_be_missing(self, ask: Ask, folder: Path, heard: list[str]):
        killed_after(2, ask(range(3)))
        [file] = (folder / "open").glob("*.jsonl")
        text = file.read_text().replace('{"output_tokens": 10}', "null")
        file.write_text(text.replace('{"output_tokens": 11}', '{"input_tokens": null}'))
        lm = Counting()
        generate(lm, ask(range(3)))
        assert lm.generated == [2]
        assert not any("damaged" in message for message in heard)

    def test_a_full_disk_is_said_once_and_loses_no_response(
        self, ask: Ask, monkeypatch: pytest.MonkeyPatch, heard: list[str]
    ):
        lm = Counting()
        with journaled(lm, RUN):

            def full(descriptor: int) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            monkeypatch.setattr(os, "fsync", full)
            outputs = lm.generate_until(ask(range(4)))
        assert outputs == Counting().generate_until(ask(range(4)))
        assert sum("No space left" in message for message in heard) == 1

    def test_a_folder_that_cannot_be_made_stops_the_run_before_it_generates(self, ask: Ask, folder: Path):
        folder.write_text("a file")
        lm = Counting()
        with pytest.raises(SystemExit, match=r"cannot be written.*set CRYSTAL_JOURNAL to a folder"):
            generate(lm, ask(range(1)))
        assert not lm.generated

    @pytest.mark.parametrize(
        ("edition", "said"), [("9", "9"), ("true", "True"), ('"1"', "'1'"), ("1.0", "1.0"), ("null", "None")]
    )
    def test_another_edition_of_the_format_is_refused(self, ask: Ask, folder: Path, edition: str, said: str):
        killed_after(1, ask(range(2)))
        [file] = (folder / "open").glob("*.jsonl")
        file.write_text(file.read_text().replace('"crystal_journal": 1', f'"crystal_journal": {edition}'))
        with pytest.raises(SystemExit, match=f"has edition {said} of"):
            generate(Counting(), ask(range(2)))


IDENTITY = {
    "model": {"id": "a", "dtype": "float32", "arguments": {"pretrained": "org/a"}},
    "tasks": {"crystal": {"prompt": "p1", "dataset": "d1", "generation setting": {"max_new_tokens": 16}}},
}
CRYSTAL = IDENTITY["tasks"]["crystal"]


class TestAnotherRun:
    def test_is_refused_before_anything_is_generated(self, ask: Ask):
        killed_after(1, ask(range(2)))
        lm = Counting()
        other = replace(RUN, model=replace(RUN.model, id="b-model"))
        with pytest.raises(SystemExit, match="the model id was a-model and is now b-model") as stopped:
            generate(lm, ask(range(2)), other)
        assert str(stopped.value).startswith("CRYSTAL: The journal in ")
        assert "\n" not in str(stopped.value)
        assert not lm.generated

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"model": IDENTITY["model"] | {"id": "b"}}, "the model id was a and is now b"),
            ({"model": IDENTITY["model"] | {"dtype": "bfloat16"}}, "the model dtype was float32 and is now bfloat16"),
            (
                {"model": IDENTITY["model"] | {"arguments": {"pretrained": "org/a", "max_pixels": "9"}}},
                "the model arguments max_pixels was not set and is now 9",
            ),
            ({"tasks": {"crystal": CRYSTAL | {"prompt": "p2"}}}, "the prompt of crystal was p1 and is now p2"),
            ({"tasks": {"crystal": CRYSTAL | {"dataset": "d2"}}}, "the dataset of crystal was d1 and is now d2"),
            (
                {"tasks": {"crystal": CRYSTAL | {"generation setting": {"max_new_tokens": 32}}}},
                "the generation setting max_new_tokens of crystal was 16 and is now 32",
            ),
        ],
    )
    def test_is_refused_with_the_difference_named(self, tmp_path: Path, changed: dict, said: str):
        Journal(tmp_path, IDENTITY)
        with pytest.raises(CrystalError, match=said):
            Journal(tmp_path, {**IDENTITY, **changed})

    def test_more_or_fewer_tasks_are_no_other_run(self):
        assert differences(IDENTITY, {**IDENTITY, "tasks": {"other": {"version": "1"}}}) == []

    def test_another_image_is_another_dataset(self, ask: Ask, folder: Path):
        def resumption(sha256: str, lm: Any) -> Resumption:
            return Resumption(lm, Journal(folder, IDENTITY, 0, lambda key: sha256), lambda key: sha256)

        resumption("one", Counting()).generate_until(ask(range(1)))
        before = list(folder.rglob("*.jsonl"))
        with pytest.raises(CrystalError, match="the image of item 0 of crystal_mini was one and is now two"):
            resumption("two", Counting())
        assert list(folder.rglob("*.jsonl")) == before

    def test_a_checkpoint_that_was_trained_on_is_another_model(self, tmp_path: Path):
        weights = tmp_path / "model.safetensors"
        arguments = Namespace(model="crystal_hf", model_args=f"pretrained={tmp_path}")
        weights.write_bytes(b"before")
        before = run_identity(RUN, arguments)
        (tmp_path / "train.log").write_text("a log is no part of a model")
        assert run_identity(RUN, arguments) == before
        weights.write_bytes(b"after!")
        assert differences(before, run_identity(RUN, arguments))

    @pytest.mark.parametrize("more", ["batch_size=8", "num_concurrent=2", "device=cuda:1", "timeout=9", "api_key=x"])
    def test_arguments_that_only_change_the_way_to_a_response_may_differ(self, more: str):
        def identity(text: str) -> dict:
            return run_identity(RUN, Namespace(model="m", model_args=text))

        assert identity(f"pretrained=org/a,{more}") == identity("pretrained=org/a")
        assert identity("pretrained=org/a,max_pixels=9") != identity("pretrained=org/a")


class TestSecrets:
    def test_are_never_written(self, ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("AZURE_API_KEY", "topsecret6")

        class Failing(Counting):
            def text(self, request: Instance) -> str:
                return "[LMMS_EVAL_REQUEST_FAILED after 5 retries] No: sk-abcdefghijklmnopqrstuv, nor topsecret6"

        arguments = (
            "model_version=m,api_key=topsecret1,hf_token=topsecret2,openai_api_key=topsecret3,"
            "base_url=http://me:topsecret4@host/v1?key=topsecret5,note=hf_abcdefghijklmnopqrstuvwxyz,max_tokens=5"
        )
        generate(Failing(), ask(range(1)), cli_args=Namespace(model="openai", model_args=arguments))
        [file] = (folder / "open").glob("*.jsonl")
        written = file.read_text()
        assert not any(secret in written for secret in ("topsecret", "hf_abc", "sk-abc"))
        assert '"base_url": "http://host/v1"' in written
        assert '"max_tokens": "5"' in written

    def test_of_generation_settings_are_never_written(self, tmp_path: Path):
        settings = {
            "api_key": "topsecret1",
            "extra_headers": {"Authorization": "topsecret2"},
            "extra_body": {"auth": "topsecret3", "seed": 7, "servers": ["http://me:topsecret4@host/v1?key=topsecret5"]},
            "note": "hf_abcdefghijklmnopqrstuvwxyz",
            "max_new_tokens": 16,
            "temperature": 0.5,
            "do_sample": False,
            "top_p": None,
            "until": ["\n\n"],
        }
        task = SimpleNamespace(task_name="other", VERSION=1, config=SimpleNamespace(generation_kwargs=settings))
        identity = run_identity(replace(RUN, tasks={"other": task}))
        assert identity["tasks"]["other"]["generation setting"] == {
            "extra_body": {"seed": 7, "servers": ["http://host/v1"]},
            "note": "",
            "max_new_tokens": 16,
            "temperature": 0.5,
            "do_sample": False,
            "top_p": None,
            "until": ["\n\n"],
        }
        Journal(tmp_path, identity)
        [file] = (tmp_path / "open").glob("*.jsonl")
        assert not any(secret in file.read_text() for secret in ("topsecret", "hf_abc"))
