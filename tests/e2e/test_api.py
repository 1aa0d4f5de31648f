"""Models behind an API: what is sent, and what becomes of calls that fail, against a real server on 127.0.0.1."""

import base64
import io
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import datasets
import pytest
from harness import metrics, run, samples
from lmms_eval_crystal.crystal_task.data import MINI_FILE
from lmms_eval_crystal.crystal_task.prompt import PROMPT_FILE, as_rgb
from loopback import Quiet, reply_json, serving
from PIL import Image, ImageChops

pytestmark = pytest.mark.e2e

KEY = "sk-a-key-that-nobody-may-see"
ITEMS = 6
CALLS = 2
RATE_LIMITED, BROKEN_ONCE, REFUSED, HUNG, SPEECHLESS, FINE = range(ITEMS)
#: The client tries a call three times by itself, each time that the adapter tries.
CLIENT_TRIES = 3
ADAPTER_TRIES = 2
ANSWER = json.dumps({"reasoning_steps": ["The sign is red.", "It has eight sides."], "answer": "4"})

Reply = tuple[int, dict]


class Server:
    """Answers the questions as ``behave`` says, given the item and how often it was asked; keeps what came."""

    def __init__(self, behave: Callable[[int, int], Reply]) -> None:
        self.behave = behave
        self.requests: list[dict] = []
        self.keys: set[str] = set()
        self.asked: Counter[int] = Counter()
        self.busiest = 0
        self._busy = 0
        self._lock = threading.Lock()

    def answer(self, request: dict, key: str) -> Reply:
        item = item_of(request)
        with self._lock:
            self.requests.append(request)
            self.keys.add(key)
            self.asked[item] += 1
            times = self.asked[item]
            # A call that timed out is over for the caller, while the server sleeps on.
            counts = item != HUNG
            self._busy += counts
            self.busiest = max(self.busiest, self._busy)
        try:
            return self.behave(item, times)
        finally:
            with self._lock:
                self._busy -= counts

    @contextmanager
    def running(self) -> Iterator[str]:
        """While the context lasts, the server is there; gives its address."""
        answer = self.answer

        class Handler(Quiet):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, body = answer(request, self.headers["Authorization"])
                reply_json(self, status, body)

        with serving(Handler) as address:
            yield f"{address}/v1"


def rows() -> datasets.Dataset:
    return datasets.load_dataset("parquet", data_files=str(MINI_FILE), split="train")


ROWS = rows()
QUESTIONS = ROWS["question"][:ITEMS]


def parts(request: dict) -> tuple[str, str]:
    """The text and the image address of a request."""
    [message] = request["messages"]
    text, image = message["content"]
    return text["text"], image["image_url"]["url"]


def item_of(request: dict) -> int:
    return next(index for index, question in enumerate(QUESTIONS) if question in parts(request)[0])


def said(text: str | None, finish: str = "stop", tokens: int = 5) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 3, "completion_tokens": tokens, "total_tokens": 3 + tokens}
    return 200, {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def refused(message: str) -> dict:
    return {"error": {"message": message, "type": "server_error"}}


def troubled(item: int, times: int) -> Reply:
    """One kind of trouble for each item."""
    if item == HUNG:
        time.sleep(60)
    time.sleep(0.2)
    if item == RATE_LIMITED and times == 1:
        return 429, refused("slow down")
    if item == BROKEN_ONCE and times == 1:
        return 500, refused("try again")
    if item == REFUSED:
        return 500, refused(f"cannot serve {KEY}")
    if item == SPEECHLESS:
        return said(None, "length", 64)
    return said(ANSWER)


@pytest.fixture(scope="module")
def trouble(tmp_path_factory) -> tuple[Server, str, Path]:
    """A server that makes trouble, what the run printed, and where it wrote."""
    folder = tmp_path_factory.mktemp("api")
    server = Server(troubled)
    with server.running() as url:
        model_args = f"base_url={url},timeout=1,max_retries={ADAPTER_TRIES},retry_backoff_s=0"
        command = ["crystal-eval", "run", "gpt-5-mini", "--tasks", "crystal_mini", "--limit", str(ITEMS)]
        command += ["--batch-size", str(CALLS), "--model-args", model_args]
        done = run(command, folder, OPENAI_API_KEY=KEY, HF_TOKEN="hf_a-token-that-nobody-may-see")
    assert done.returncode == 0, done.stdout
    return server, done.stdout, folder


def test_each_request_holds_the_prompt_and_the_picture_as_they_are(trouble):
    server, _, _ = trouble
    wording = PROMPT_FILE.read_text("utf-8").split("{question}")[0].strip()
    for request in server.requests:
        text, address = parts(request)
        row = ROWS[item_of(request)]
        assert wording in text
        assert row["question"] in text
        sent = Image.open(io.BytesIO(base64.b64decode(address.partition("base64,")[2]))).convert("RGB")
        kept = as_rgb(row["image"])
        assert sent.size == kept.size
        assert ImageChops.difference(sent, kept).getbbox() is None


def test_a_reasoning_model_gets_its_whole_budget_and_no_temperature(trouble):
    server, _, _ = trouble
    assert {request["model"] for request in server.requests} == {"gpt-5-mini"}
    assert {request["max_completion_tokens"] for request in server.requests} == {16384}
    assert not any("temperature" in request or "max_tokens" in request for request in server.requests)


def test_calls_that_fail_once_are_made_again_and_no_others(trouble):
    server, _, folder = trouble
    assert server.asked[RATE_LIMITED] == server.asked[BROKEN_ONCE] == 2
    assert server.asked[FINE] == 1
    status = {index: sample["crystal"]["status"] for index, sample in samples(folder).items()}
    assert [status[index] for index in (RATE_LIMITED, BROKEN_ONCE, FINE)] == ["valid"] * 3


def test_a_call_that_never_succeeds_is_a_failed_item(trouble):
    server, _, folder = trouble
    assert server.asked[REFUSED] == CLIENT_TRIES * ADAPTER_TRIES
    assert samples(folder)[REFUSED]["crystal"]["status"] == "failed"


def test_a_call_that_hangs_times_out_and_is_a_failed_item(trouble):
    server, _, folder = trouble
    assert server.asked[HUNG] == CLIENT_TRIES * ADAPTER_TRIES
    record = samples(folder)[HUNG]["crystal"]
    assert record["status"] == "failed"
    assert "timed out" in record["response"]


def test_a_budget_spent_on_hidden_reasoning_leaves_an_empty_item(trouble):
    _, _, folder = trouble
    assert samples(folder)[SPEECHLESS]["crystal"]["status"] == "empty"


def test_as_many_calls_run_at_once_as_were_asked_for(trouble):
    server, _, _ = trouble
    assert server.busiest == CALLS


def test_no_key_shows_anywhere(trouble):
    server, printed, folder = trouble
    assert server.keys == {f"Bearer {KEY}"}
    written = [file for file in folder.rglob("*") if file.is_file()]
    assert len(written) >= 2
    for secret in (KEY, "hf_a-token-that-nobody-may-see"):
        assert secret not in printed
        assert not [file for file in written if secret.encode() in file.read_bytes()]


def test_the_run_ends_with_its_table_and_where_it_wrote(trouble):
    _, printed, folder = trouble
    assert "gpt-5-mini" in printed.splitlines()[0]
    assert printed.strip().splitlines()[-1] == "Results and samples: out/gpt-5-mini/gpt-5-mini"
    assert list((folder / "out/gpt-5-mini/gpt-5-mini").glob("*_results.json"))


def test_the_key_of_google_goes_to_gemini_only_and_that_of_openai_to_the_judge_only(tmp_path):
    seen: dict[str, set[str]] = {"google": set(), "judge": set()}
    words = {"google": json.dumps({"reasoning_steps": ["It is there."], "answer": "some other thing"}), "judge": "no"}

    class Handler(Quiet):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            side = self.path.split("/")[1]
            seen[side].add(self.headers["Authorization"])
            reply_json(self, *said(words[side]))

    keys = {"GEMINI_API_KEY": "AIza-for-google-only", "OPENAI_API_KEY": "sk-for-openai-only"}
    with serving(Handler) as address:
        command = ["crystal-eval", "run", "gemini-2.5-flash", "--tasks", "crystal_mini", "--limit", "20"]
        judge = {"CRYSTAL_JUDGE": "openai:m", "OPENAI_API_URL": f"{address}/judge"}
        done = run([*command, "--model-args", f"base_url={address}/google"], tmp_path, **keys, **judge)
    assert done.returncode == 0, done.stdout
    assert seen == {"google": {"Bearer AIza-for-google-only"}, "judge": {"Bearer sk-for-openai-only"}}
    assert metrics(tmp_path)["accuracy_judged"] >= 0
    for key in keys.values():
        assert key not in done.stdout
        assert not [file for file in tmp_path.rglob("*") if file.is_file() and key.encode() in file.read_bytes()]
