"""Downloads of public sets, from a server on this machine: progress, resume, and a wrong hash."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from branchwise.data import sets, store
from branchwise.errors import DataError

CONTENT = bytes(range(256)) * 2000


class Server:
    """What the server sends, and what it was asked for."""

    def __init__(self) -> None:
        self.content, self.ranges, self.served, self.url = CONTENT, True, list[str](), ""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of one file, which is registered as the set gsm8k."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            state.served.append(asked)
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and state.ranges else 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(state.content) - start))
            self.end_headers()
            self.wfile.write(state.content[start:])

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_address[1]}/test.jsonl"
    entry = dataclasses.replace(sets.DATASETS["gsm8k"], size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setitem(sets.DATASETS, "gsm8k", entry)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


def part(folder: Path) -> Path:
    return folder / "gsm8k" / ".test.jsonl.part"


def test_a_download_is_verified_and_reports_its_progress(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = store.pull("gsm8k", tmp_path, lambda done, total, label: seen.append((done, total)), url=server.url)
    assert path == tmp_path / "gsm8k" / "test.jsonl"
    assert path.read_bytes() == CONTENT
    assert seen[-1][0] == seen[-1][1] == len(CONTENT)
    assert sorted(done for done, _ in seen) == [done for done, _ in seen]
    assert [file.name for file in path.parent.iterdir()] == ["test.jsonl"]
    store.pull("gsm8k", tmp_path, url=server.url)
    assert len(server.served) == 1
    assert store.find("gsm8k", tmp_path) == path


def test_a_broken_off_download_goes_on_where_it_was(server: Server, tmp_path: Path) -> None:
    part(tmp_path).parent.mkdir()
    part(tmp_path).write_bytes(CONTENT[:100_000])
    assert store.pull("gsm8k", tmp_path, url=server.url).read_bytes() == CONTENT
    assert server.served == ["bytes=100000-"]


def test_an_interrupted_download_keeps_its_part(server: Server, tmp_path: Path) -> None:
    def stop(done: int, total: int, label: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.pull("gsm8k", tmp_path, stop, url=server.url)
    assert 0 < part(tmp_path).stat().st_size < len(CONTENT)
    assert store.pull("gsm8k", tmp_path, url=server.url).read_bytes() == CONTENT


def test_a_server_that_cannot_go_on_begins_anew(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    part(tmp_path).parent.mkdir()
    part(tmp_path).write_bytes(CONTENT[:100_000])
    assert store.pull("gsm8k", tmp_path, url=server.url).read_bytes() == CONTENT


def test_a_wrong_file_is_refused_and_deleted(server: Server, tmp_path: Path) -> None:
    server.content = b"<html>not here</html>"
    with pytest.raises(DataError, match="wrong hash and was deleted"):
        store.pull("gsm8k", tmp_path, url=server.url)
    assert list((tmp_path / "gsm8k").iterdir()) == []


def test_a_wrong_file_in_its_place_is_replaced(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "gsm8k" / "test.jsonl"
    path.parent.mkdir()
    path.write_text("old", "utf-8")
    assert store.pull("gsm8k", tmp_path, url=server.url).read_bytes() == CONTENT


def test_no_connection_is_told_with_a_way_out(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="try again when online"):
        store.pull("gsm8k", tmp_path, url="http://127.0.0.1:9/nothing")
