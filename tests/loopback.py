"""An OpenAI-compatible server on 127.0.0.1 for tests: answers each question with a text of its own, over real HTTP."""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Loopback:
    """``asked`` holds the question texts as they came; ``fails`` says which get status 400; ``busiest`` counts."""

    def __init__(self, delay: float = 0.0) -> None:
        self.asked: list[str] = []
        self.fails: Callable[[str], bool] = lambda question: False
        self.delay = delay
        self.busiest = 0
        self._busy = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    @contextmanager
    def running(self) -> Iterator["Loopback"]:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()

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

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                content = request["messages"][-1]["content"]
                question = next(part["text"] for part in content if part["type"] == "text")
                status, body = answer(question)
                reply_json(self, status, body)

            def log_message(self, *arguments: object) -> None:
                pass

        return Handler


def reply_json(handler: BaseHTTPRequestHandler, status: int, body: object) -> None:
    """Answers a request with a status and a body as JSON."""
    data = json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def answer_to(question: str) -> str:
    steps = [f"The question has the mark {hashlib.sha256(question.encode()).hexdigest()[:8]}."]
    return json.dumps({"reasoning_steps": steps, "answer": "4"})
