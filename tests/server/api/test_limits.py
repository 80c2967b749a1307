"""Searches at once, the queue, sizes and budgets: what is too much is 429 or 4xx with the reason, and the rest is served."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from branchwise import Budget, Reply, Request, read_trace
from branchwise.server.keys import Account, Keys
from branchwise.trace import Started, Stopped
from support.models import FakeModel
from support.pace import slowness
from support.program import wait_for
from support.serving import QUESTION, Served, say, scripted, serving

ANN, BOB = "ann-0123456789abcdef", "bob-0123456789abcdef"


def keys(**limits: float) -> Keys:
    return Keys([(ANN, Account("ann", limits)), (BOB, Account("bob"))])


class Held:
    """A model that answers nothing until it is let go."""

    name = identity = "held"

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.flying = self.most = 0

    async def sample(self, request: Request) -> Reply:
        self.flying += 1
        self.most = max(self.most, self.flying)
        while not self.go_on.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        self.flying -= 1
        return await scripted().sample(request)


def waiting(served: Served) -> int:
    found = served.call(lambda: served.service.gate.waiting)
    assert isinstance(found, int)
    return found


def test_beyond_the_places_requests_wait_and_beyond_the_queue_they_are_429(tmp_path: Path) -> None:
    model = Held()
    with serving(tmp_path, model, searches=2, queue=3) as served, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(served.chat) for _ in range(8)]
        wait_for(lambda: waiting(served) == 3 and sum(each.done() for each in asked) == 3)
        model.go_on.set()
        replies = [each.result() for each in asked]
    assert sorted(reply.status_code for reply in replies) == [200] * 5 + [429] * 3
    assert model.most == 2
    for reply in replies:
        if reply.status_code == 429:
            assert int(reply.headers["retry-after"]) >= 1
            assert reply.json()["error"]["code"] == "queue_full"
            assert reply.json()["error"]["type"] == "rate_limit_error"


def test_the_keys_take_turns_and_each_has_a_queue_of_its_own(tmp_path: Path) -> None:
    model = Held()
    with serving(tmp_path, model, keys=keys(), searches=1, queue=8) as served, ThreadPoolExecutor(16) as pool:
        greedy = [pool.submit(served.chat, ANN) for _ in range(12)]
        wait_for(lambda: waiting(served) == 8 and sum(each.done() for each in greedy) == 3)
        modest = [pool.submit(served.chat, BOB) for _ in range(2)]
        wait_for(lambda: waiting(served) == 10)
        model.go_on.set()
        assert sorted(each.result().status_code for each in greedy) == [200] * 9 + [429] * 3
        assert [each.result().status_code for each in modest] == [200, 200]
    starts = [next(iter(read_trace(trace))) for trace in sorted(tmp_path.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)]
    order = [start.about["server"]["key"] for start in starts if isinstance(start, Started)]
    assert [place for place, key in enumerate(order) if key == "bob"] == [2, 4]


def test_a_key_spends_its_budget_exactly_and_then_it_is_429(tmp_path: Path) -> None:
    model = scripted()
    with serving(tmp_path, model, keys=keys(calls=20)) as served:
        replies = [served.chat(ANN, model="best_first", branchwise={"evaluate": "score"}) for _ in range(12)]
        last = replies[-1]
        assert last.status_code == 429
        assert last.json()["error"]["code"] == "insufficient_quota"
        assert "retry-after" not in last.headers
        assert model.calls == 20
        assert served.chat(BOB).status_code == 200


def test_searches_of_one_key_at_once_never_pass_its_budget(tmp_path: Path) -> None:
    model = FakeModel(say, seconds=0.02)
    with serving(tmp_path, model, keys=keys(calls=30), searches=8, budget=Budget(calls=12)) as served, ThreadPoolExecutor(12) as pool:
        codes = [reply.status_code for reply in pool.map(lambda _: served.chat(ANN, model="tot_bfs"), range(12))]
    assert model.calls <= 30
    assert 429 in codes
    assert set(codes) <= {200, 422, 429}


def test_a_body_that_is_too_large_is_413_with_and_without_its_length(tmp_path: Path) -> None:
    with serving(tmp_path, body=10_000) as served, served.http() as client:
        big = b'{"model": "io", "messages": [{"role": "user", "content": "' + b"x" * 20_000 + b'"}]}'
        json = {"Content-Type": "application/json"}
        for content in (big, iter([big[:5000], big[5000:]])):
            reply = client.post("/v1/chat/completions", content=content, headers=json)
            assert reply.status_code == 413
            assert reply.json()["error"]["code"] == "http_413"
            assert reply.headers["x-content-type-options"] == "nosniff"
        assert served.chat().status_code == 200


def test_the_ceilings_of_the_server_are_each_requests_default(tmp_path: Path) -> None:
    model = scripted()
    with serving(tmp_path, model, budget=Budget(calls=4)) as served:
        body = served.chat(model="best_first", branchwise={"evaluate": "score"}).json()
        assert body["branchwise"]["searches"][0]["stop_reason"] == "budget:calls"
        assert model.calls <= 4


def test_a_limit_in_seconds_ends_the_search_with_its_best_answer(tmp_path: Path) -> None:
    with serving(tmp_path, FakeModel(say, seconds=0.2)) as served:
        began = time.monotonic()
        reply = served.chat(model="tot_bfs", branchwise={"max_seconds": 0.5})
        assert time.monotonic() - began < 10 * slowness()
        run = (reply.json()["branchwise"].get("searches") or [reply.json()["branchwise"]])[0]
        assert run["stop_reason"] == "budget:seconds"


def test_no_more_model_calls_at_once_than_the_server_allows(tmp_path: Path) -> None:
    from branchwise.model.layers.limited import Limited

    model = FakeModel(say, seconds=0.02)
    with serving(tmp_path, Limited(model, 3), searches=8) as served, ThreadPoolExecutor(8) as pool:
        assert {reply.status_code for reply in pool.map(lambda _: served.chat(model="best_first"), range(8))} == {200}
    assert model.most <= 3


def test_a_stopping_server_saves_its_searches_and_says_so(tmp_path: Path) -> None:
    model, replies = FakeModel(say, seconds=0.3), list[Any]()
    with serving(tmp_path, model, searches=2) as served:
        threads = [threading.Thread(target=lambda: replies.append(served.chat(model="tot_bfs"))) for _ in range(3)]
        for thread in threads:
            thread.start()
        wait_for(lambda: served.call(lambda: (served.service.gate.running, served.service.gate.waiting)) == (2, 1) and model.calls > 0)
        served.call(served.service.stop)
        for thread in threads:
            thread.join()
        assert [reply.status_code for reply in replies] == [503] * 3
        assert {reply.json()["error"]["code"] for reply in replies} == {"stopping"}
        assert served.chat().status_code == 503
        with served.http() as client:
            assert client.get("/health").status_code == 503
    traces = list(tmp_path.glob("*.jsonl"))
    assert len(traces) == 2
    for trace in traces:
        *_, end = read_trace(trace)
        assert isinstance(end, Stopped)
        assert end.reason == "cancelled"


def test_metrics_count_requests_searches_calls_and_tokens(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.http() as client:
        body = served.chat(model="best_first").json()
        served.chat(model="nothing")
        page = client.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = dict(line.rsplit(" ", 1) for line in page.text.splitlines() if not line.startswith("#"))
    assert lines['branchwise_requests_total{status="200"}'] == "1.0"
    assert lines['branchwise_requests_total{status="404"}'] == "1.0"
    assert float(lines["branchwise_model_calls_total"]) == body["branchwise"]["calls"]
    assert float(lines['branchwise_tokens_total{kind="prompt"}']) == body["usage"]["prompt_tokens"]
    assert lines['branchwise_searches_total{method="best_first",stop="budget:nodes",task="open"}'] == "1.0"
    assert lines["branchwise_searches_running"] == "0.0"
    assert QUESTION[0]["content"] not in page.text
