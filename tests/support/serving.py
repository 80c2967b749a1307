"""A server in a thread of this process, over a model of the test's own. Knows no test."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import openai
import uvicorn

from branchwise import LanguageModel, Message, Request, RetryPolicy, Scripted
from branchwise.server.app import build
from branchwise.server.config import Config
from branchwise.server.keys import Keys
from branchwise.server.runs import Runs
from branchwise.server.search import Service, Upstream
from branchwise.server.start import _Server, bound

QUESTION = [{"role": "user", "content": "Should we cache the sessions?"}]
ANSWER = "Answer: Yes, for ten minutes."
TOLD = "Yes, for ten minutes."
PROPOSED = "1. look at how often sessions change\n2. measure the hits of a cache\n3. ask who pays for a stale one"


def say(request: Request, index: int) -> str:
    """A model for the task open: the same directions everywhere, one answer."""
    if request.role == "evaluate":
        return '{"score": 0.6, "reason": "sound"}'
    prompt = request.messages[-1].content
    if "4 9 10 13" in prompt:
        return "Answer: (10 - 4) * (13 - 9) = 24"
    return PROPOSED if "Name at most" in prompt else ANSWER


def scripted() -> Scripted:
    """A fresh one, so that its counts are this test's."""
    return Scripted(say)


@dataclass
class Served:
    """A running server."""

    url: str
    service: Service
    loop: asyncio.AbstractEventLoop
    end: Callable[[], None] = lambda: None

    def http(self, token: str = "", **settings: Any) -> httpx2.Client:
        """A plain client."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=240, **settings)

    def openai(self, token: str = "none", **settings: Any) -> openai.OpenAI:
        """The official client, without retries of its own."""
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=token, **{"max_retries": 0, "timeout": 30, **settings})

    def chat(self, token: str = "", **body: Any) -> httpx2.Response:
        """One request."""
        with self.http(token) as client:
            return client.post("/v1/chat/completions", json={"model": "io", "messages": QUESTION, **body})

    def call(self, what: Callable[[], Any]) -> Any:
        """`what`, called in the loop of the server."""

        async def called() -> Any:
            return what()

        return asyncio.run_coroutine_threadsafe(called(), self.loop).result(240)


@contextmanager
def serving(
    folder: Path, model: LanguageModel | Mapping[str, LanguageModel] | None = None, *, keys: Keys | None = None,
    retry: RetryPolicy | None = None, **settings: Any,
) -> Iterator[Served]:
    """A server with `settings` of `Config`, over `model` (or several by name), which is named `script:NAME` in traces."""
    given = scripted() if model is None else model
    models = given if isinstance(given, Mapping) else {"small": given}
    upstreams = {name: Upstream(f"script:{name}", each) for name, each in models.items()}
    begun: list[Served] = []
    ready, failed = threading.Event(), []

    async def main(plug: Any) -> None:
        service = Service(Config(**settings, retry=retry or RetryPolicy()), upstreams, Runs(folder), keys or Keys())
        server = _Server(uvicorn.Config(build(service), log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=5))
        host, port = plug.getsockname()[:2]
        begun.append(Served(f"http://{host}:{port}", service, asyncio.get_running_loop()))
        begun[0].end = lambda: setattr(server, "should_exit", True)
        task = asyncio.create_task(server.serve(sockets=[plug]))
        while not server.started and not task.done():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        ready.set()
        await task

    def work() -> None:
        try:
            with bound("127.0.0.1", 0) as plug:
                asyncio.run(main(plug))
        except BaseException as error:
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    ready.wait(120)
    if failed:
        raise failed[0]
    try:
        yield begun[0]
    finally:
        served = begun[0]
        served.loop.call_soon_threadsafe(served.service.stop)
        served.end()
        thread.join(120)
        assert not thread.is_alive(), "the server did not stop"
    if failed:
        raise failed[0]


@dataclass
class Backend:
    """An OpenAI-compatible server of 150 ms a reply. `served` counts replies."""

    model: str = ""
    served: int = 0


@contextmanager
def slow_backend() -> Iterator[Backend]:
    """The model behind the program, where that is a process of its own."""
    state, wake = Backend(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
            wake.wait(0.15)
            state.served += 1
            role = "evaluate" if prompt.startswith("Judge") else "generate"
            message = {"role": "assistant", "content": say(Request((Message("user", prompt),), 1, role), 0)}
            usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            reply = {"id": "x", "object": "chat.completion", "created": 1, "model": "slow", "usage": usage, "choices": choices}
            data = json.dumps(reply).encode()
            try:
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:  # the program was killed
                pass

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    state.model = f"http://127.0.0.1:{server.server_address[1]}/v1#slow"
    try:
        yield state
    finally:
        wake.set()
        server.shutdown()
        server.server_close()
        thread.join()
