"""``crystal-eval check``: each check by itself, with a hub and an API on 127.0.0.1."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from lmms_eval_crystal.cli import check as module
from lmms_eval_crystal.cli.check import Check, Subject, checks
from lmms_eval_crystal.errors import CrystalError
from lmms_eval_crystal.model_adapters.commands import Wishes, find_target
from lmms_eval_crystal.model_adapters.hardware import Gpu

KEY = "sk-0123456789"


@contextmanager
def server(answers: dict[str, tuple[int, dict, dict]]) -> Iterator[str]:
    """Answers GET requests whose path begins as given with status, headers and JSON; anything else is not found."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = (answer for start, answer in answers.items() if self.path.startswith(start))
            status, headers, body = next(found, (404, {"X-Error-Code": "RepoNotFound"}, {}))
            data = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Type": "application/json", "Content-Length": len(data)}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_port}"
    finally:
        running.shutdown()
        running.server_close()


@pytest.fixture(autouse=True)
def settings(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("CRYSTAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def subject(name: str, gpus: tuple[Gpu, ...] = (), **wishes: object) -> Subject:
    given = Wishes(**{"tasks": "crystal_mini", **wishes})
    return Subject(find_target(name, given.backend), given, gpus, full=False)


def found(name: str, **more: object) -> dict[str, Check]:
    return {check.name: check for check in checks(subject(name, **more))}


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "preprocessor_config.json"):
        (folder / name).write_text("{}")
    return folder


def test_a_folder_with_all_its_parts_is_fine(checkpoint):
    assert module._model(subject(str(checkpoint))).state == "OK"


@pytest.mark.parametrize(
    ("missing", "says"),
    [
        ("config.json", "no config.json"),
        ("model.safetensors", "no weights"),
        ("preprocessor_config.json", "no processor"),
    ],
)
def test_a_folder_without_one_of_its_parts_fails(checkpoint, missing, says):
    (checkpoint / missing).unlink()
    check = module._model(subject(str(checkpoint)))
    assert check.state == "FAIL"
    assert says in check.message


def test_offline_a_model_that_is_not_cached_fails_and_nothing_is_run():
    result = found("qwen3-vl-2b")
    assert result["model"].state == "FAIL"
    assert "HF_HUB_OFFLINE is set" in result["model"].message
    assert result["one item"] == Check("one item", "WARN", "not run, since something above fails")
    assert result["encoder"].state == result["dataset"].state == "OK"


def test_the_dataset_of_the_hub_fails_with_what_to_do():
    with pytest.raises(CrystalError, match="accept its terms"):
        module._dataset(subject("qwen3-vl-2b", tasks="crystal"))


def test_an_encoder_that_does_not_exist_fails(monkeypatch):
    monkeypatch.setenv("CRYSTAL_ENCODER", "minlm")
    assert found("qwen3-vl-2b")["encoder"].state == "FAIL"


@pytest.mark.parametrize(
    ("free", "state", "says"),
    [(80.0, "OK", "about 24 GB are needed"), (20.0, "WARN", "about 24 GB"), (10.0, "FAIL", "free the GPUs first")],
)
def test_the_free_memory_of_the_gpus_is_held_against_the_preset(free, state, says):
    check = module._gpu(subject("qwen2.5-vl-7b", (Gpu("GPU", free, 80.0),)))
    assert check.state == state
    assert says in check.message


def test_a_machine_without_a_gpu_is_a_warning():
    assert module._gpu(subject("qwen2.5-vl-7b")).state == "WARN"


def test_gpus_that_do_not_suffice_fail():
    check = found("qwen2.5-vl-32b", gpus=(Gpu("GPU", 80.0, 80.0),))["command"]
    assert check.state == "FAIL"
    assert "needs about 84 GB" in check.message


MODELS = {"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "me"}]}


@pytest.mark.parametrize(
    ("model", "answer", "state", "says"),
    [
        ("m", (200, {}, MODELS), "OK", "answers and knows m"),
        ("n", (200, {}, MODELS), "WARN", "does not list n"),
        ("m", (401, {}, {"error": {"message": f"wrong key {KEY}"}}), "FAIL", "refuses the key in OPENAI_API_KEY"),
        ("m", (500, {}, {"error": {"message": f"broken for {KEY}"}}), "FAIL", "does not answer"),
        ("m", (404, {}, {}), "WARN", "does not list its models"),
    ],
)
def test_the_api_is_asked_for_its_models(model, answer, state, says):
    with server({"/v1/models": answer}) as address:
        check = module._api(subject(model, backend="api", model_args=f"base_url={address}/v1"))
    assert check.state == state
    assert says in check.message
    assert KEY not in check.message


def test_an_api_that_is_not_there_fails():
    check = module._api(subject("m", backend="api", model_args="base_url=http://127.0.0.1:9/v1"))
    assert check.state == "FAIL"
    assert "does not answer" in check.message


def test_an_api_model_without_a_key_fails(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    result = found("gpt-5")
    assert result["command"].state == "FAIL"
    assert "OPENAI_API_KEY is not set" in result["command"].message
    assert result["api"].state == "WARN"


def test_the_hub_says_who_may_read_what_and_at_which_commit(tmp_path):
    """Online, in a process of its own: the hub's address is read once."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    info = {"id": "owner/open", "sha": commit, "siblings": [], "private": False, "tags": [], "downloads": 0, "likes": 0}
    hub = {
        "/api/models/owner/open/auth-check": (200, {}, {}),
        "/api/models/owner/open": (200, {}, info),
        "/api/models/owner/gated/auth-check": (403, {"X-Error-Code": "GatedRepo"}, {}),
    }
    program = """
from test_check import *
for name in ("owner/open", "owner/gated", "owner/missing"):
    check = module._model(subject(name))
    print(check.state, check.message)
"""
    with server(hub) as address:
        environment = {
            **os.environ,
            "HF_ENDPOINT": address,
            "HF_HUB_OFFLINE": "0",
            "HF_HOME": str(tmp_path),
            "HF_TOKEN": "hf_none",
            "PYTHONPATH": str(Path(__file__).parent),
        }
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True
        )
    opened, gated, missing = done.stdout.splitlines()
    assert opened.startswith(f"OK owner/open may be read; revision {commit[:12]}; not fetched yet")
    assert gated.startswith("FAIL owner/gated: GatedRepoError")
    assert "accept its terms at https://huggingface.co/owner/gated" in gated
    assert missing.startswith("FAIL owner/missing: RepositoryNotFoundError")
