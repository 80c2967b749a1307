"""Several servers of one model: requests go where there is least to do, and not where nobody answers."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from branchwise.bench.balance import Balanced
from branchwise.errors import ContextOverflow, PermanentError, RateLimited, TransientError, UsageError
from branchwise.model.base import Message, Reply, Request, Sample
from branchwise.model.layers.retrying import Retrying, RetryPolicy

ASK = Request((Message("user", "a question"),))


class Server:
    """Counts what it is asked; `slow` turns of the event loop a request; `down` raises."""

    def __init__(self, name: str, slow: int = 1, down: Exception | None = None) -> None:
        self.name, self.slow, self.down = name, slow, down
        self.served = self.now = self.most = 0

    @property
    def identity(self) -> str:
        return self.name

    async def sample(self, request: Request) -> Reply:
        self.served += 1
        if self.down is not None:
            raise self.down
        self.now += request.n
        self.most = max(self.most, self.now)
        for _ in range(self.slow):
            await asyncio.sleep(0)
        self.now -= request.n
        return Reply((Sample(self.name),) * request.n)


def work(model: Balanced | Retrying, requests: int, at_once: int) -> None:
    async def go() -> None:
        left = requests

        async def one() -> None:
            nonlocal left
            while left:
                left -= 1
                await model.sample(ASK)

        await asyncio.gather(*[one() for _ in range(at_once)])

    asyncio.run(go())


def test_equal_servers_get_equal_work_and_equal_loads() -> None:
    servers = [Server(name) for name in "abcd"]
    work(Balanced("m", servers), 400, 16)
    assert [server.served for server in servers] == [100] * 4
    assert all(server.most <= 4 for server in servers)


def test_a_slow_server_gets_less() -> None:
    fast, slow = Server("fast", 1), Server("slow", 9)
    work(Balanced("m", [slow, fast]), 600, 10)
    assert fast.served > 3 * slow.served
    assert slow.served > 20


def test_one_at_a_time_takes_turns() -> None:
    servers = [Server(name) for name in "abc"]
    work(Balanced("m", servers), 30, 1)
    assert [server.served for server in servers] == [10, 10, 10]


def test_a_dead_server_is_left_alone_and_no_request_is_lost() -> None:
    dead, good = Server("dead", down=TransientError("no connection")), Server("good")

    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    work(Retrying(Balanced("m", [dead, good]), RetryPolicy(attempts=3), sleep=at_once), 200, 8)
    assert good.served == 200
    assert dead.served <= 8


def test_a_server_comes_back_when_its_time_is_up() -> None:
    now = 0.0
    bad, good = Server("bad", down=TransientError("no connection")), Server("good")
    model = Balanced("m", [bad, good], clock=lambda: now)

    def ask(times: int = 1) -> None:
        for _ in range(times):
            with contextlib.suppress(TransientError):
                asyncio.run(model.sample(ASK))

    ask(6)
    assert (bad.served, good.served) == (1, 5)
    now = 0.6
    ask(6)
    assert bad.served == 2, "asked again after half a second, then left alone for a second"
    now = 1.5
    ask(3)
    assert bad.served == 2
    now, bad.down = 1.7, None
    ask(10)
    assert bad.served == 12, "it had served least"


def test_the_wait_that_a_server_asks_for_is_honoured() -> None:
    now = 0.0
    busy, good = Server("busy", down=RateLimited("slow down", 30.0)), Server("good")
    model = Balanced("m", [busy, good], clock=lambda: now)
    with pytest.raises(RateLimited):
        asyncio.run(model.sample(ASK))
    now = 29.0
    for _ in range(4):
        asyncio.run(model.sample(ASK))
    assert busy.served == 1


def test_where_all_are_down_the_first_to_come_back_is_asked() -> None:
    servers = [Server(name, down=TransientError("no connection")) for name in "ab"]
    model = Balanced("m", servers, clock=lambda: 0.0)
    for _ in range(4):
        with pytest.raises(TransientError):
            asyncio.run(model.sample(ASK))
    assert [server.served for server in servers] == [2, 2]


def test_workers_begin_with_different_servers() -> None:
    servers = [Server(name) for name in "abc"]
    texts = [asyncio.run(Balanced("m", servers, first=first).sample(ASK)).texts[0] for first in range(4)]
    assert texts == ["a", "b", "c", "a"]


def test_it_is_the_model_and_not_a_server() -> None:
    one, two = Balanced("m", [Server("a")]), Balanced("m", [Server("b"), Server("c")])
    assert (one.name, one.identity) == (two.name, two.identity)
    with pytest.raises(UsageError, match="no server"):
        Balanced("m", [])


def test_what_one_server_refuses_for_good_is_asked_of_the_others() -> None:
    refuses, good = Server("refuses", down=PermanentError("no quota")), Server("good")
    work(Balanced("m", [refuses, good]), 100, 4)
    assert good.served == 100
    assert refuses.served <= 5
    both = [Server(name, down=PermanentError(f"{name} has no quota")) for name in "ab"]
    with pytest.raises(PermanentError, match="b has no quota"):
        asyncio.run(Balanced("m", both).sample(ASK))
    assert [server.served for server in both] == [1, 1]


def test_a_prompt_that_is_too_long_is_too_long_everywhere() -> None:
    one, other = Server("one", down=ContextOverflow("too long")), Server("other")
    model = Balanced("m", [one, other])
    with pytest.raises(ContextOverflow):
        asyncio.run(model.sample(ASK))
    assert (one.served, other.served, model.loads) == (1, 0, [0, 0])
