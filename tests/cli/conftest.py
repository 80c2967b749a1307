"""What the CLI tests share: a home of their own, the program in this process, and a slow server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from branchwise.cli.main import cli
from support.program import Program, SlowServer, end_children


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A BRANCHWISE_HOME that only this test has."""
    folder = tmp_path / "home"
    monkeypatch.setenv("BRANCHWISE_HOME", str(folder))
    monkeypatch.setenv("BRANCHWISE_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("BRANCHWISE_CACHE", str(tmp_path / "replies.sqlite"))
    monkeypatch.delenv("BRANCHWISE_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return folder


@pytest.fixture
def program() -> Program:
    """The program, in this process; the flags of SCRIPT are not added."""

    def call(*arguments: object, input: str | None = None) -> Result:
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=input)

    return call


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    yield
    end_children()


@pytest.fixture
def slow() -> Iterator[SlowServer]:
    """The server, on a port of its own."""
    state = SlowServer()

    class Handler(BaseHTTPRequestHandler):
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

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()
