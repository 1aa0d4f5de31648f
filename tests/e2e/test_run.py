"""``crystal-eval run`` and ``crystal-eval check`` as processes, on tiny models and a hub on 127.0.0.1."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from harness import metrics, run, samples
from lmms_eval_crystal.model_adapters.tiny import FAMILIES

pytestmark = pytest.mark.e2e

SHORT = ["--tasks", "crystal_mini", "--limit", "3", "--gen-kwargs", "max_new_tokens=8"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return FAMILIES["qwen2_5_vl"](tmp_path_factory.mktemp("models") / "tiny-qwen")


@pytest.fixture(scope="module")
def hub() -> Iterator[str]:
    """A hub with one gated model and no other."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            gated = "/owner/gated" in self.path
            self.send_response(403 if gated else 404)
            self.send_header("X-Error-Code", "GatedRepo" if gated else "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_HEAD

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_run_in_two_processes_prints_its_command_and_ends_with_its_table(tiny, tmp_path):
    done = run(["crystal-eval", "run", str(tiny), "--nproc", "2", "--batch-size", "2", *SHORT], tmp_path)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.strip().splitlines()
    assert "torchrun --standalone --nproc_per_node 2 -m lmms_eval --model crystal_hf" in lines[0]
    assert f"pretrained={tiny}" in lines[0]
    assert "--tasks crystal_mini --batch_size 2 --gen_kwargs max_new_tokens=8 --limit 3" in lines[0]
    assert any(line.split()[:2] == [tiny.name, "3/50"] for line in lines)
    assert lines[-1].startswith("Results and samples: out/tiny-qwen/")
    assert sorted(samples(tmp_path)) == [0, 1, 2]
    assert metrics(tmp_path)["truncated"] == 1.0


def test_a_run_that_the_harness_calls_a_success_fails_where_it_wrote_nothing(tiny, tmp_path):
    """Even beside the results of an earlier run."""
    old = tmp_path / "out/tiny-qwen/model/20200101_000000_results.json"
    old.parent.mkdir(parents=True)
    old.write_text('{"results": {"crystal_mini": {}}}')
    model = ["--backend", "qwen2_5_vl", "--model-args", "device=cpu,device_map=cpu,nonsense=1"]
    done = run(["crystal-eval", "run", str(tiny), *model, *SHORT], tmp_path)
    assert done.returncode == 1
    assert "Traceback" in done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("crystal-eval: The run wrote no results for crystal_mini under out/tiny-qwen")


@pytest.mark.parametrize(
    ("model", "says"), [("owner/gated", "is gated: accept its terms"), ("owner/missing", "The hub has no model")]
)
def test_a_model_that_the_hub_does_not_give_is_one_sentence(model, says, hub, tmp_path):
    online = {"HF_ENDPOINT": hub, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "home")}
    done = run(["crystal-eval", "run", model, *SHORT], tmp_path, **online)
    assert done.returncode == 1, done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("crystal-eval: ")
    assert says in last
    assert "Traceback" not in done.stdout


def test_a_check_runs_one_item_end_to_end(tiny, tmp_path):
    done = run(["crystal-eval", "check", str(tiny), "--tasks", "crystal_mini"], tmp_path)
    assert done.returncode == 0, done.stdout
    states = {name.strip(): state for state, name in re.findall(r"^(OK|WARN|FAIL) +(\w[\w ]{7}) ", done.stdout, re.M)}
    passed = ("command", "dataset", "model", "encoder", "disk", "one item")
    assert all(states[name] == "OK" for name in passed), done.stdout
    assert not (tmp_path / "out").exists()


def test_a_check_that_fails_says_what_to_do_and_exits_with_1(tmp_path):
    done = run(["crystal-eval", "check", "gemma3-4b", "--tasks", "crystal_mini"], tmp_path)
    assert done.returncode == 1
    assert "FAIL  model     google/gemma-3-4b-it is not in the hub cache" in done.stdout
    assert "Traceback" not in done.stdout
