"""Who is let in: tokens, host names and origins; and that no key is in a reply, a trace, a metric or a line of the log."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from branchwise import Scripted
from branchwise.errors import PermanentError
from branchwise.server.guard import host_name, is_loopback
from branchwise.server.keys import Account, Keys
from support.serving import QUESTION, Served, say, serving

TOKEN = "token-0123456789-abcdef"
PATHS = ("/v1/models", "/v1/models/io", "/metrics", "/openapi.json", "/runs", "/nothing")


@pytest.fixture
def served(tmp_path: Path) -> Any:
    with serving(tmp_path) as found:
        yield found


@pytest.fixture
def closed(tmp_path: Path) -> Any:
    with serving(tmp_path, keys=Keys([(TOKEN, Account("ann"))])) as found:
        yield found


def test_without_the_token_nothing_is_told_but_that_it_is_there(closed: Served) -> None:
    with closed.http() as client:
        for path in PATHS:
            for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}, {"Authorization": TOKEN}):
                reply = client.get(path, headers=header)
                assert reply.status_code == 401, path
                assert reply.json()["error"]["code"] == "invalid_api_key"
                assert reply.headers["www-authenticate"] == "Bearer"
        assert client.get("/health").status_code == 200
    assert closed.chat().status_code == 401
    assert closed.chat(TOKEN).status_code == 200


# Case 101
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.7", "", "[::2]", "@", "a b"]
)
def test_a_foreign_host_name_is_403(served: Served, host: str) -> None:
    with served.http() as client:
        reply = client.get("/health", headers={"Host": host})
    assert reply.status_code in (400, 403)
    assert "version" not in reply.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8321", "[::1]:8321", "localhost."])
def test_the_own_host_names_are_let_in(served: Served, host: str) -> None:
    with served.http() as client:
        assert client.get("/health", headers={"Host": host}).status_code == 200


BROKEN = ["http://[", "http://[::1", "http://]", "http://[x]", "http://a]b", "//[", "http://\u2100".encode("latin-1", "replace").decode()]


FOREIGN = ["http://evil.example", "null", "http://localhost", "http://127.0.0.1:1", "https://evil.example", "file://", "x"]


@pytest.mark.parametrize("origin", [*FOREIGN, *BROKEN])
def test_a_page_of_another_origin_may_not_call(served: Served, origin: str) -> None:
    with served.http() as client:
        for path in ("/health", "/v1/models", "/", "/runs"):
            reply = client.get(path, headers={"Origin": origin})
            assert reply.status_code == 403, path
        reply = client.post("/v1/chat/completions", json={"model": "io", "messages": QUESTION}, headers={"Origin": origin})
        assert reply.status_code == 403
        assert "access-control-allow-origin" not in reply.headers
        assert client.get("/v1/models", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}).status_code == 403
        assert client.options("/v1/chat/completions", headers={"Origin": origin, "Access-Control-Request-Method": "POST"}).status_code == 403


def test_the_own_page_may_call(served: Served) -> None:
    with served.http() as client:
        assert client.get("/v1/models", headers={"Origin": served.url}).status_code == 200


def test_a_page_that_was_named_may_call_and_its_browser_is_told_so(tmp_path: Path) -> None:
    page = "http://localhost:3000"
    with serving(tmp_path, origins=frozenset({page})) as served, served.http() as client:
        reply = client.post("/v1/chat/completions", json={"model": "io", "messages": QUESTION}, headers={"Origin": page})
        assert reply.status_code == 200
        assert reply.headers["access-control-allow-origin"] == page
        asks = {"Origin": page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
        assert client.options("/v1/chat/completions", headers=asks).status_code == 200
        assert client.get("/v1/models", headers={"Origin": "http://localhost:3001"}).status_code == 403


def test_a_form_of_a_foreign_page_is_no_request(served: Served) -> None:
    with served.http() as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            reply = client.post("/v1/chat/completions", content=b'{"model": "io", "messages": []}', headers={"Content-Type": kind})
            assert reply.status_code == 415


def test_there_is_no_page_of_settings(served: Served) -> None:
    with served.http() as client:
        for path in ("/config", "/settings", "/v1/config", "/.env", "/v1/../etc/passwd", "/docs"):
            assert client.get(path).status_code == 404
        assert client.put("/v1/models", json={}).status_code == 405
        assert client.get("/v1/chat/completions").status_code == 405


def test_no_key_is_in_a_reply_a_trace_a_metric_or_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def leaks(request: Any, index: int) -> str:
        if "fail" in request.messages[-1].content:
            raise PermanentError("refused: sk-live-0123456789abcdef at https://me:hunter22@up.example/v1")
        return say(request, index)

    with serving(tmp_path, Scripted(leaks), keys=Keys([(TOKEN, Account("ann"))])) as served, served.http(TOKEN) as client:
        told = [served.chat(TOKEN, messages=[{"role": "user", "content": "fail"}], stream=stream).text for stream in (False, True)]
        told += [served.chat(TOKEN, model="best_first").text, *(client.get(path).text for path in ("/", *PATHS))]
    told += [record.getMessage() for record in caplog.records]
    traces = [path.read_text() for path in tmp_path.glob("*.jsonl")]
    assert any('"key":"ann"' in text for text in traces)
    assert not any(TOKEN in text for text in (*told, *traces))
    assert not any(secret in text for text in told for secret in ("sk-live", "hunter22"))


def test_no_text_of_a_user_or_a_model_is_in_the_log(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "branchwise.server")
    served.chat(model="best_first", user="someone@example.org")
    served.chat(model="evil\nINFO forged line")
    served.chat(messages=[{"role": "user", "content": "a secret question"}])
    lines = [record.getMessage() for record in caplog.records if record.name == "branchwise.server"]
    assert len(lines) == 3
    for line in lines:
        assert "\n" not in line
        for text in ("cache", "someone", "forged", "secret question"):
            assert text not in line


@pytest.mark.parametrize(
    ("host", "name"),
    [("Example.org:80", "example.org"), ("[::1]:9", "::1"), ("a@b", "b"), ("", ""), ("[", ""), ("x:y:z", "x"), ("localhost.", "localhost")],
)  # fmt: skip
def test_names_in_a_host_header(host: str, name: str) -> None:
    assert host_name(host) == name


def test_loopback_addresses() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "example.org", "192.168.0.1", "")))
