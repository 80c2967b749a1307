"""Model servers for benches: each a chat-completions server on a port of its own, with replies that depend on prompt and seed only. Knows no test."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from branchwise.model.base import Message, Request
from support.bench_grid import noisy


@dataclass
class ModelServer:
    """What one server was asked: `times` of requests with their samples, `samples` given, `most` of them at once; `delay` seconds a request."""

    name: str
    delay: float = 0.02
    url: str = ""
    times: list[tuple[float, int]] = field(default_factory=list)
    samples: int = 0
    now: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """A completion with n choices."""
        n, seed = int(body.get("n") or 1), body.get("seed", 0)
        with self.lock:
            self.times.append((time.monotonic(), n))
            self.samples += n
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self.delay)
        messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
        role = "evaluate" if "best choice" in messages[-1].content else "generate"
        model = noisy(0.5)
        texts = [str(model._answer(Request(messages, 1, role, seeds=(seed + i,)), 0)) for i in range(n)]
        with self.lock:
            self.now -= 1
        prompt = sum(len(message.content) for message in messages) // 4
        usage = {"prompt_tokens": prompt, "completion_tokens": sum(len(text) // 4 for text in texts)}
        usage["total_tokens"] = sum(usage.values())
        choices = [{"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}} for i, text in enumerate(texts)]
        return {"id": "x", "object": "chat.completion", "created": 1, "model": "noisy-1", "choices": choices, "usage": usage}


@contextmanager
def serving(count: int, delay: float = 0.02) -> Iterator[list[ModelServer]]:
    """So many servers."""
    states = [ModelServer(f"server {number}", delay) for number in range(count)]
    servers = [_started(state) for state in states]
    try:
        yield states
    finally:
        for server, thread in servers:
            server.shutdown()
            server.server_close()
            thread.join()


def _started(state: ModelServer) -> tuple[ThreadingHTTPServer, threading.Thread]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(state.answer(body)).encode()
            try:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:  # the client was killed
                pass

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Clients are killed here."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    return server, thread
