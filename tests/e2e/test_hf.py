"""``crystal_hf`` through the real command: six tiny families, batches of 1, 3 and 8, one process and two.

Each run costs the harness five seconds for its index of tasks, so the batches of 3 are those of the two
processes; ``test_hf_batches`` has all sizes in one process.
"""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from harness import metrics, results, run, samples
from lmms_eval_crystal.model_adapters.tiny import FAMILIES

pytestmark = pytest.mark.e2e

# One more than the largest batch, and not the same number for both processes.
ITEMS, TOKENS = 9, 12
# Each run must generate for itself, and torch must not fight over the cores.
SETTINGS = {"CRYSTAL_JOURNAL": "off", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for family, build in FAMILIES.items():
        build(folder / family)
    return folder


def run_all(models: Path, out: Path, batch: int, launcher: tuple[str, ...] = ("lmms-eval",)) -> Path:
    """All families in one command, each into a folder of its own under ``out``, which it returns."""
    plan = [
        {
            "model": "crystal_hf",
            "model_args": f"pretrained={models / family}",
            "tasks": "crystal_mini",
            "limit": ITEMS,
            "gen_kwargs": f"max_new_tokens={TOKENS}",
            "batch_size": str(batch),
            "log_samples": True,
            "output_path": str(out / family),
        }
        for family in FAMILIES
    ]
    (out / "plan.yaml").write_text(yaml.safe_dump(plan))
    done = run([*launcher, "--config", str(out / "plan.yaml")], out, **SETTINGS)
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout
    return out


@pytest.fixture(scope="module")
def alone(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_all(models, tmp_path_factory.mktemp("alone"), batch=1)


@pytest.fixture(scope="module")
def eights(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_all(models, tmp_path_factory.mktemp("eights"), batch=8)


@pytest.fixture(scope="module")
def two_processes(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    launcher = ("torchrun", "--nproc_per_node", "2", "-m", "lmms_eval")
    return run_all(models, tmp_path_factory.mktemp("two"), batch=3, launcher=launcher)


@pytest.mark.parametrize("other", ["eights", "two_processes"])
def test_batches_and_processes_change_nothing(alone: Path, other: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(other)
    for family in FAMILIES:
        assert samples(folder / family) == samples(alone / family), family
        assert metrics(folder / family) == metrics(alone / family), family


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_each_sample_says_how_it_was_made(alone: Path, family: str) -> None:
    made = samples(alone / family)
    assert len({sample["crystal"]["response"] for sample in made.values()}) == ITEMS
    for sample in made.values():
        assert sample["crystal"]["output_tokens"] <= TOKENS
        assert sample["truncated"] == (sample["crystal"]["output_tokens"] == TOKENS)
    signature = results(alone / family)["crystal"]["crystal_mini"]["generation"]
    expected = rf"prompt:\w{{8}}\|system:none\|model:{family}@unknown\|adapter:CrystalHF/chat\|dtype:float32"
    assert re.match(expected + rf"\|tokens:{TOKENS}\|temperature:0\|pixels:[\dx-]+\|scripted:no$", signature), signature


REFUSALS = {"gated": (403, "GatedRepo"), "missing": (401, "RepoNotFound"), "old": (404, "RevisionNotFound")}


class Hub(BaseHTTPRequestHandler):
    """Refuses every file as the hub does, for the reason that the owner's name says."""

    def answer(self) -> None:
        status, code = next(REFUSALS[owner] for owner in REFUSALS if f"/{owner}/" in self.path)
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = answer

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_gated_model_stops_the_command_with_one_sentence(hub: str, tmp_path: Path) -> None:
    command = ["lmms-eval", "--tasks", "crystal_mini", "--model", "crystal_hf", "--model_args"]
    online = {"HF_ENDPOINT": hub, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path)}
    done = run([*command, "pretrained=gated/model"], tmp_path, **SETTINGS, **online)
    assert done.returncode == 1
    sentence = "CRYSTAL: The model gated/model is gated: accept its terms at https://huggingface.co/gated/model"
    assert done.stdout.splitlines()[-1].startswith(sentence)
    assert "Traceback" not in done.stdout


def test_what_the_hub_does_not_have_is_said_in_one_sentence(hub: str, tmp_path: Path) -> None:
    script = """
from lmms_eval_crystal.model_adapters.hf import CrystalHF
for arguments in ({"pretrained": "missing/model"}, {"pretrained": "old/model", "revision": "v9"}):
    try:
        CrystalHF(**arguments)
    except SystemExit as stop:
        print(stop)
"""
    online = {"HF_ENDPOINT": hub, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path)}
    done = run(["python", "-c", script], tmp_path, **SETTINGS, **online)
    assert "The hub has no model missing/model, or it is private" in done.stdout
    assert "The model old/model has no revision v9" in done.stdout
    assert "Traceback" not in done.stdout
