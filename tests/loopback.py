"""Servers on 127.0.0.1 for tests, over real HTTP: an API that answers each question with its own text, and a hub."""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: Status, headers and JSON of an answer.
Answer = tuple[int, dict[str, str], object]
NOT_FOUND: Answer = (404, {"X-Error-Code": "RepoNotFound"}, {})
GATED: Answer = (403, {"X-Error-Code": "GatedRepo"}, {})


class Quiet(BaseHTTPRequestHandler):
    """A handler that keeps no log."""

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """While the context lasts, the handler answers at the address that it gives; calls that hang end with the test."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def hub(answers: dict[str, Answer]) -> Iterator[str]:
    """A hub, or the part of an API that is only read: paths by how they begin; anything else is not found."""

    class Handler(Quiet):
        def do_GET(self) -> None:
            found = (answer for start, answer in answers.items() if self.path.startswith(start))
            status, headers, body = next(found, NOT_FOUND)
            reply_json(self, status, body, headers)

        do_HEAD = do_GET

    with serving(Handler) as address:
        yield address


class Loopback:
    """``asked`` holds the question texts as they came; ``fails`` says which get status 400; ``busiest`` counts."""

    def __init__(self, delay: float = 0.0) -> None:
        self.asked: list[str] = []
        self.fails: Callable[[str], bool] = lambda question: False
        self.delay = delay
        self.busiest = 0
        self._busy = 0
        self._lock = threading.Lock()
        self.url = ""

    @contextmanager
    def running(self) -> Iterator["Loopback"]:
        with serving(self._handler()) as address:
            self.url = f"{address}/v1"
            yield self

    def _answer(self, question: str) -> tuple[int, dict]:
        with self._lock:
            self.asked.append(question)
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
        time.sleep(self.delay)
        with self._lock:
            self._busy -= 1
        if self.fails(question):
            return 400, {"error": {"message": "refused", "type": "invalid_request_error"}}
        return 200, {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": answer_to(question)}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8},
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(Quiet):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                content = request["messages"][-1]["content"]
                question = next(part["text"] for part in content if part["type"] == "text")
                status, body = answer(question)
                reply_json(self, status, body)

        return Handler


def reply_json(
    handler: BaseHTTPRequestHandler, status: int, body: object, headers: Mapping[str, str] | None = None
) -> None:
    """Answers a request with a status and a body as JSON, which a HEAD goes without."""
    data = json.dumps(body).encode()
    handler.send_response(status)
    own = {"Content-Type": "application/json", "Content-Length": str(len(data))}
    for name, value in {**(headers or {}), **own}.items():
        handler.send_header(name, value)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(data)


def answer_to(question: str) -> str:
    steps = [f"The question has the mark {hashlib.sha256(question.encode()).hexdigest()[:8]}."]
    return json.dumps({"reasoning_steps": steps, "answer": "4"})
