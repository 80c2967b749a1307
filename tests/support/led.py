"""A search of a real server that waits for each reply, and acts on it over HTTP. Knows no test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from branchwise import Request, Scripted
from branchwise.server.runs import Live
from support.serving import QUESTION, Served, say, serving

ASKED = {"model": "best_first", "messages": QUESTION, "branchwise": {"max_nodes": 30, "depth": 4, "window": 2, "evaluate": "score"}}


def different(request: Request, index: int) -> str:
    """Other thoughts in every place."""
    if request.role != "generate":
        return say(request, index)
    seed = request.seeds[0] if request.seeds else 0
    return "\n".join(f"{n}. step {seed % 100_000 + n} of the plan" for n in (1, 2, 3))


class Gated:
    """A model that answers as many requests as it was allowed."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._gate = asyncio.Semaphore(0)
        self.model = Scripted(different, latency=self._wait)

    async def _wait(self, request: Request) -> None:
        self.requests.append(request)
        await self._gate.acquire()

    def allow(self, served: Served, calls: int = 10_000) -> None:
        served.call(lambda: [self._gate.release() for _ in range(calls)])


def thoughts(live: Live) -> int:
    return len(live.steering.tree) if live.steering.active else 0


@contextmanager
def running(folder: Path, token: str = "", allow: int = 8, body: dict[str, Any] | None = None, **settings: Any) -> Iterator[Any]:
    """A server with one search that has had `allow` replies and waits for more; gives (server, gate, run id, future reply)."""
    gated = Gated()
    with serving(folder, gated.model, **settings) as served, ThreadPoolExecutor(1) as pool:
        reply = pool.submit(served.chat, token, **(body or ASKED))
        gated.allow(served, allow)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            live = list(served.service.runs.live.values())
            if live and len(gated.requests) > allow and served.call(partial(thoughts, live[0])) > 2:
                break
            time.sleep(0.01)
        else:
            raise AssertionError("the search did not begin")
        try:
            yield served, gated, live[0].id, reply
        finally:
            gated.allow(served)
            reply.result(240)


def act(served: Served, run: str, token: str = "", **body: Any) -> httpx2.Response:
    with served.http(token) as client:
        return client.post(f"/runs/{run}/steer", json=body)
