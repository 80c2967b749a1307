"""Streams are valid server-sent events, progress is reasoning, the answer comes once, and a client that goes away ends its search."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest

from branchwise import Price, Reply, Request, Scripted, Usage, read_trace
from branchwise.errors import PermanentError
from branchwise.server.keys import Account, Keys
from branchwise.server.streaming import Outbox, comment, data
from branchwise.trace import Call, Stopped
from support.models import FakeModel
from support.program import wait_for
from support.serving import QUESTION, TOLD, Served, say, scripted, serving


def events(text: str) -> list[Any]:
    """The data of a stream, which must be nothing but events and comments."""
    found = []
    assert text.endswith("\n\n")
    for block in text[:-2].split("\n\n"):
        for line in block.split("\n"):
            assert line.startswith(("data: ", ":")), line
            if line.startswith("data: "):
                found.append(line[6:] if line == "data: [DONE]" else json.loads(line[6:]))
    return found


@pytest.fixture
def served(tmp_path: Path) -> Any:
    with serving(tmp_path) as found:
        yield found


# Case 91
def test_a_stream_has_progress_then_the_answer_then_the_end(served: Served) -> None:
    reply = served.chat(model="best_first", stream=True)
    assert reply.headers["content-type"].startswith("text/event-stream")
    *chunks, done = events(reply.text)
    assert done == "[DONE]"
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0]["role"] == "assistant"
    assert [delta["content"] for delta in deltas if delta.get("content")] == [TOLD]
    told = "".join(delta.get("reasoning_content", "") for delta in deltas)
    for words in ("Thought 1\n", "measure the hits of a cache", "value 0.", "kept:", "Stopped: "):
        assert words in told
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert "usage" not in chunks[-1]
    assert chunks[-1]["branchwise"]["calls"] > 5


def test_usage_comes_last_where_it_is_asked_for(served: Served) -> None:
    *chunks, _ = events(served.chat(stream=True, stream_options={"include_usage": True}).text)
    assert all(chunk["usage"] is None and chunk["choices"] for chunk in chunks[:-1])
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == served.chat().json()["usage"]


def test_progress_is_off_where_it_is_not_wanted(served: Served) -> None:
    *chunks, _ = events(served.chat(model="best_first", stream=True, branchwise={"progress": False}).text)
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [{"role": "assistant", "content": TOLD}, {}]


def test_each_choice_of_a_stream_has_its_index_and_its_end(served: Served) -> None:
    *chunks, _ = events(served.chat(model="best_first", n=3, stream=True).text)
    for index in range(3):
        own = [chunk["choices"][0] for chunk in chunks if chunk["choices"][0]["index"] == index]
        assert own[0]["delta"]["role"] == "assistant"
        assert [choice["delta"]["content"] for choice in own if choice["delta"].get("content")] == [TOLD]
        assert own[-1]["finish_reason"] == "stop"
        assert "Thought 1\n" in "".join(choice["delta"].get("reasoning_content", "") for choice in own)


def test_no_text_of_a_model_breaks_out_of_its_event(tmp_path: Path) -> None:
    text = "Answer: one\n\ndata: [DONE]\n\ndata: {\"error\": 1}\r\n\r\n: \u2028 </script>"
    with serving(tmp_path, Scripted(lambda request, index: text)) as served:
        *chunks, done = events(served.chat(stream=True).text)
    assert done == "[DONE]"
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == text.removeprefix("Answer: ")


def test_a_failure_after_the_first_thought_is_an_error_in_the_stream(tmp_path: Path) -> None:
    def fails_later(request: Request, index: int) -> str:
        if "Line of thought" in request.messages[-1].content:
            raise PermanentError("the key was revoked")
        return say(request, index)

    with serving(tmp_path, Scripted(fails_later)) as served:
        reply = served.chat(model="best_first", stream=True)
        *chunks, last = events(reply.text)
        assert reply.status_code == 200
        assert "reasoning_content" in chunks[0]["choices"][0]["delta"]
        assert last["error"]["code"] == "upstream_error"
        assert "[DONE]" not in reply.text


def test_a_stream_starts_with_the_first_thought_and_not_at_the_end(tmp_path: Path) -> None:
    go_on = threading.Event()

    class Held:
        name = identity = "held"

        async def sample(self, request: Request) -> Reply:
            while request.role == "answer" and not go_on.is_set():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            return await scripted().sample(request)

    with serving(tmp_path, Held()) as served, served.http() as client:
        body = {"model": "best_first", "messages": QUESTION, "stream": True}
        with client.stream("POST", "/v1/chat/completions", json=body) as reply:
            lines = reply.iter_lines()
            assert "measure the hits" in next(lines)
            go_on.set()
            assert "data: [DONE]" in list(lines)


async def test_silence_is_filled_with_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.server.streaming._SILENCE", 0.01)
    outbox = Outbox()
    pieces = outbox.pieces()
    assert await anext(pieces) == comment("searching") == b": searching\n\n"
    outbox.put(data({"a": 1}))
    assert await anext(pieces) == b'data: {"a":1}\n\n'
    outbox.close()
    assert [piece async for piece in pieces] == []


def test_progress_for_a_slow_client_is_left_out_and_the_answer_is_not() -> None:
    outbox = Outbox()
    piece = b"x" * 100_000
    assert [outbox.offer(piece) for _ in range(4)] == [True, True, False, False]
    outbox.put(piece)


# Case 97
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("progress", [False, True])
def test_a_client_that_goes_away_ends_its_search_within_one_call(
    tmp_path: Path, stream: bool, progress: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "branchwise.server")
    model = FakeModel(say, seconds=0.3)
    with serving(tmp_path, model) as served:
        body = json.dumps({
            "model": "tot_bfs", "messages": QUESTION, "stream": stream, "branchwise": {"progress": progress, "k": 3, "depth": 9, "max_calls": 300}
        }).encode()  # fmt: skip
        with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2]))) as plug:
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            plug.sendall(head.encode() + body)
            wait_for(lambda: len(list(tmp_path.glob("*.jsonl"))) == 1 and model.calls >= 3)
        wait_for(lambda: served.call(lambda: served.service.gate.running) == 0, 20)
        asked = model.calls
        time.sleep(0.5)
        assert model.calls == asked
        assert model.flying == 0
        assert model.cancelled > 0
    (trace,) = tmp_path.glob("*.jsonl")
    *_, end = read_trace(trace)
    assert isinstance(end, Stopped)
    assert end.reason == "cancelled"
    assert end.usage["calls"] == asked
    (line,) = [record.getMessage() for record in caplog.records if "client_gone" in record.getMessage()]
    assert f": {asked} calls" in line
    assert trace.stem in line


def test_a_client_that_goes_away_while_it_waits_leaves_the_queue(tmp_path: Path) -> None:
    model = FakeModel(say, seconds=2.0)
    with serving(tmp_path, model, searches=1) as served:
        gate = served.service.gate
        first = threading.Thread(target=served.chat)
        first.start()
        wait_for(lambda: gate.running == 1)
        with pytest.raises(Exception, match="timed out"), served.http() as client:
            client.post("/v1/chat/completions", json={"model": "io", "messages": QUESTION}, timeout=0.1)
        wait_for(lambda: gate.waiting == 0, 20)
        first.join()
        assert model.calls == 1
        assert served.chat().status_code == 200


def test_an_abandoned_search_closes_its_own_request_to_the_backend(tmp_path: Path) -> None:
    from branchwise.model.openai_http import OpenAIChat

    came, left = threading.Event(), threading.Event()

    def backend(listener: socket.socket) -> None:
        plug, _ = listener.accept()
        with plug:
            plug.settimeout(10)
            plug.recv(65536)
            came.set()
            while plug.recv(65536):
                pass
            left.set()

    class Opened:
        """A client that is made in the loop of the server."""

        name = identity = "up"

        async def sample(self, request: Request) -> Reply:
            async with OpenAIChat("m", f"http://127.0.0.1:{port}/v1") as chat:
                return await chat.sample(request)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=backend, args=(listener,))
        thread.start()
        with serving(tmp_path, Opened()) as served:
            with pytest.raises(Exception, match="timed out"), served.http() as client:
                client.post("/v1/chat/completions", json={"model": "io", "messages": QUESTION}, timeout=5)
            assert came.is_set()
            assert left.wait(120)
        thread.join()


def test_what_was_paid_is_in_the_trace_of_a_search_that_was_left(tmp_path: Path) -> None:
    model = FakeModel(say, seconds=0.6)
    with serving(tmp_path, model) as served:
        with pytest.raises(Exception, match="timed out"), served.http() as client:
            client.post("/v1/chat/completions", json={"model": "tot_bfs", "messages": QUESTION}, timeout=2)
        wait_for(lambda: served.call(lambda: served.service.gate.running) == 0, 20)
        spent = served.service.keys.accounts[0].spent
    (trace,) = tmp_path.glob("*.jsonl")
    read = list(read_trace(trace))
    assert sum(len(event.samples) for event in read if isinstance(event, Call)) > 0
    assert isinstance(read[-1], Stopped)
    assert spent.calls == read[-1].usage["calls"] == model.calls


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("limit", ["tokens", "cost"])
def test_a_key_pays_for_what_it_leaves_in_flight(tmp_path: Path, stream: bool, limit: str) -> None:
    most = {"tokens": 12_000, "cost": 0.03}[limit]
    account, model = Account("ann", {limit: most}), FakeModel(say, seconds=30, greedy=True)
    with serving(tmp_path, model, keys=Keys([("ann-0123456789abcdef", account)]), searches=1) as served:
        served.service.price = lambda settings: {"generate": Price(1, 2), "evaluate": Price(1.5, 1)}  # type: ignore[method-assign]
        codes = []
        for _ in range(40):
            asked, reply = model.calls, None
            with served.http("ann-0123456789abcdef") as client, suppress(httpx2.ReadTimeout):
                body = {"model": "io", "messages": [{"role": "user", "content": "word " * 400}], "stream": stream}
                reply = client.post("/v1/chat/completions", json=body, timeout=0.3)
            wait_for(lambda: served.call(lambda: served.service.gate.running) == 0, 20)
            codes.append(0 if reply is None else reply.status_code)
            if reply is not None:
                break
            assert model.calls == asked + 1
        assert 1 < len(codes) < 40
        assert codes[-1] in (422, 429)
        spent = account.spent
    worst = sum((model._usage(request, "", 0) for request in model.requests), Usage())
    assert worst.tokens <= spent.tokens
    assert spent.calls == model.calls
    assert account.used(limit) <= most
    assert not account.holds
    totals = [end.usage for end in ends(tmp_path)]
    booked = sum(usage["prompt_tokens"] + usage["completion_tokens"] + sum(usage.get("cut_off", {}).values()) for usage in totals)
    assert spent.tokens == booked
    assert spent.cost is not None
    assert spent.cost >= spent.prompt_tokens + 2 * spent.completion_tokens


async def test_a_storm_of_clients_that_go_away_leaves_nothing_behind(tmp_path: Path) -> None:
    random, model = Random(1), FakeModel(say, seconds=0.03)
    account = Account("ann", {"calls": 100_000})
    with serving(tmp_path, model, keys=Keys([("ann-0123456789abcdef", account)]), searches=3, queue=20) as served:
        async with httpx2.AsyncClient(base_url=served.url, headers={"Authorization": "Bearer ann-0123456789abcdef"}) as client:

            async def one() -> int:
                body = {"model": random.choice(["io", "tot_bfs", "best_first"]), "messages": QUESTION, "n": random.randint(1, 3),
                        "stream": random.random() < 0.5}  # fmt: skip
                try:
                    reply = await client.post("/v1/chat/completions", json=body, timeout=random.choice([0.02, 0.1, 0.3, 1.0, 30.0]))
                    return reply.status_code
                except httpx2.TimeoutException:
                    return 0

            codes = Counter(await asyncio.gather(*(one() for _ in range(120))))
        assert codes[0] > 20
        assert codes[429] > 5
        assert codes[200] > 0
        assert set(codes) <= {0, 200, 429}
        gate = served.service.gate
        wait_for(lambda: served.call(lambda: (gate.running, gate.waiting)) == (0, 0))
        assert not served.service.runs.live
        assert not account.holds
        assert account.spent.calls == model.calls
        assert model.flying == 0
        assert served.chat("ann-0123456789abcdef").status_code == 200
    assert all(isinstance(end, Stopped) for end in ends(tmp_path))


def ends(folder: Path) -> list[Any]:
    return [list(read_trace(trace))[-1] for trace in folder.glob("*.jsonl")]
