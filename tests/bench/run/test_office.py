"""What workers share: traces come home line by line, belong to one worker at a time, and are never mixed. No cluster is needed here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from branchwise.bench.book import Book, booked
from branchwise.bench.office import Link, Mirror, Office
from branchwise.bench.purse import Sum
from branchwise.bench.rows import TRACES
from branchwise.budget import Budget


class Handle:
    """What Ray makes of an actor: `handle.method.remote(...)`; counts messages."""

    def __init__(self, actor: Any) -> None:
        self.actor, self.messages = actor, list[str]()

    def __getattr__(self, name: str) -> Any:
        def remote(*arguments: Any) -> Coroutine[Any, Any, Any]:
            self.messages.append(name)
            made: Callable[..., Coroutine[Any, Any, Any]] = getattr(self.actor, name)
            return made(*arguments)

        return SimpleNamespace(remote=remote)


OPEN: list[Office] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Offices that a test opened are closed after it."""
    yield
    while OPEN:
        OPEN.pop().close()


def office(folder: Path, limits: Budget | None = None) -> Handle:
    OPEN.append(Office(str(folder), limits or Budget(), None, None))
    return Handle(OPEN[-1])


def add(path: Path, line: bytes) -> None:
    with open(path, "ab") as file:
        file.write(line)


def test_a_trace_comes_home_as_it_grows_and_goes_out_again(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home")
        mine = Mirror(Link(home, "w1", False), "unit", tmp_path / "w1")
        await mine.fetch()
        local, kept = tmp_path / "w1" / TRACES / "unit.0.jsonl", tmp_path / "home" / TRACES / "unit.0.jsonl"
        for line in (b'{"a":1}\n', b'{"b":2}\n', b'{"c":3}\n'):
            add(local, line)
            await mine.sync()
            assert kept.read_bytes() == local.read_bytes()
        messages = len(home.messages)
        await mine.sync()
        assert len(home.messages) == messages, "nothing new, nothing sent"
        other = Mirror(Link(home, "w2", False), "unit", tmp_path / "w2")
        await other.fetch()
        assert (tmp_path / "w2" / TRACES / "unit.0.jsonl").read_bytes() == kept.read_bytes()
        mine.remove()
        assert not list((tmp_path / "w1" / TRACES).iterdir())

    asyncio.run(go())


def test_a_worker_that_was_taken_for_dead_cannot_write_any_more(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home")
        old, new = (Mirror(Link(home, name, False), "unit", tmp_path / name) for name in ("w1", "w2"))
        await old.fetch()
        (tmp_path / "w1" / TRACES / "unit.jsonl").write_bytes(b"1\n")
        await old.sync()
        await new.fetch()
        add(tmp_path / "w1" / TRACES / "unit.jsonl", b"late\n")
        with pytest.raises(PermissionError, match="another worker's"):
            await old.sync()
        add(tmp_path / "w2" / TRACES / "unit.jsonl", b"2\n")
        await new.sync()
        assert (tmp_path / "home" / TRACES / "unit.jsonl").read_bytes() == b"1\n2\n"

    asyncio.run(go())


def test_a_line_that_a_kill_left_unfinished_is_cut_off(tmp_path: Path) -> None:
    async def go() -> None:
        kept = tmp_path / "home" / TRACES / "unit.jsonl"
        kept.parent.mkdir(parents=True)
        kept.write_bytes(b"whole\nhal")
        home = office(tmp_path / "home")
        mine = Mirror(Link(home, "w", False), "unit", tmp_path / "w")
        await mine.fetch()
        assert kept.read_bytes() == (tmp_path / "w" / TRACES / "unit.jsonl").read_bytes() == b"whole\n"

    asyncio.run(go())


def test_a_trace_that_begins_anew_leaves_the_old_one_aside(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home")
        mine = Mirror(Link(home, "w", False), "unit", tmp_path / "w")
        await mine.fetch()
        local = tmp_path / "w" / TRACES / "unit.jsonl"
        local.write_bytes(b"of other settings\n")
        await mine.sync()
        local.rename(local.with_suffix(".old"))
        local.write_bytes(b"new\n")
        await mine.sync()
        kept = tmp_path / "home" / TRACES
        assert (kept / "unit.jsonl").read_bytes() == b"new\n"
        assert (kept / "unit.old").read_bytes() == b"of other settings\n"

    asyncio.run(go())


def test_many_things_are_told_in_one_message_and_none_is_lost(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home")
        link = Link(home, "w", False)
        for _ in range(100):
            assert await link.reserve("t", Sum(1, 10))
            await link.settle("t", Sum(1, 7))
        assert home.messages == []
        await asyncio.gather(link.send(), link.send(), link.send())
        assert home.messages == ["post"]
        assert (await home.actor.state())[0] == Sum(100, 700)

    asyncio.run(go())


def test_while_a_message_is_on_its_way_the_next_one_gathers(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home")
        link = Link(home, "w", False)
        post, running = home.actor.post, 0

        async def slow(owner: str, ops: Any) -> None:
            nonlocal running
            running += 1
            assert running == 1, "one at a time, so that the order is kept"
            for _ in range(50):
                await asyncio.sleep(0)
            await post(owner, ops)
            running -= 1

        home.actor.post = slow

        async def one(number: int) -> None:
            for _ in range(5):
                await link.settle(f"w/{number}", Sum(1, 1))
                await link.send()

        await asyncio.gather(*map(one, range(40)))
        assert (await home.actor.state())[0] == Sum(200, 200)
        assert home.messages.count("post") <= 12

    asyncio.run(go())


def test_what_is_refused_of_one_unit_is_not_lost_for_another(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home")
        link = Link(home, "w1", False)
        await link.take("mine")
        link.tell(("trace", "theirs", "theirs.jsonl", 0, b"1\n"))
        link.tell(("trace", "mine", "mine.jsonl", 0, b"1\n"))
        await link.settle("w1/1", Sum(1, 2))
        with pytest.raises(PermissionError):
            await link.send()
        await link.send()
        assert sorted(path.name for path in (tmp_path / "home" / TRACES).glob("*.jsonl")) == ["mine.jsonl"]
        assert (await home.actor.state())[0] == Sum(1, 2)

    asyncio.run(go())


def test_requests_that_wait_are_asked_for_together_in_their_order(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home", Budget(calls=30))
        link, order, refused = Link(home, "w", True), list[int](), list[int]()

        async def one(number: int) -> None:
            if not await link.reserve(f"w/{number}", Sum(2, 1)):
                refused.append(number)
                return
            order.append(number)
            await asyncio.sleep(0)
            await link.settle(f"w/{number}", Sum(1, 1))

        await asyncio.gather(*map(one, range(40)))
        spent, empty = await home.actor.state()
        assert order == list(range(len(order)))
        assert (spent.calls, empty) == (len(order), "calls")
        assert len(order) in (29, 30)
        assert len(order) + len(refused) == 40
        assert home.messages.count("reserve") < 25

    asyncio.run(go())


def test_what_is_granted_to_one_who_is_gone_is_given_back(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home", Budget(calls=4))
        link = Link(home, "w", True)
        assert await link.reserve("w/1", Sum(3))
        gone = asyncio.ensure_future(link.reserve("w/2", Sum(3)))
        stays = asyncio.ensure_future(link.reserve("w/3", Sum(2)))
        for _ in range(5):
            await asyncio.sleep(0)
        gone.cancel()
        await link.settle("w/1", Sum(1))
        assert await stays
        assert home.actor._purse.held == Sum(2)

    asyncio.run(go())


def test_what_is_granted_to_one_who_is_cancelled_in_that_moment_is_given_back(tmp_path: Path) -> None:
    """The answer is there and its task has not seen it yet: nothing was sent."""

    async def go() -> None:
        home = office(tmp_path / "home", Budget(calls=4))
        link = Link(home, "w", True)
        for turns in range(8):
            ticket = f"w/{turns}"
            late = asyncio.ensure_future(link.reserve(ticket, Sum(3)))
            for _ in range(turns):
                await asyncio.sleep(0)
            late.cancel()
            await asyncio.gather(late, return_exceptions=True)
            if not late.cancelled():
                await link.settle(ticket, Sum())
            for _ in range(20):
                await asyncio.sleep(0)  # the answer to one who is gone comes after it
            assert home.actor._purse.held == Sum()
        assert await home.actor.state() == (Sum(), "")

    asyncio.run(go())


def test_what_was_paid_before_counts_and_what_is_paid_is_kept(tmp_path: Path) -> None:
    """Five calls and 40 tokens of an earlier session, and two calls of 10 tokens now: seven and 60; four more do not fit into ten."""
    book = Book(tmp_path / "home")
    book.paid("/1", Sum(5, 40))
    book.close()

    async def go() -> None:
        home = office(tmp_path / "home", Budget(calls=10))
        link = Link(home, "w", True)
        assert await link.reserve("w/1", Sum(2, 50))
        await link.settle("w/1", Sum(2, 20))
        assert booked(tmp_path / "home") == Sum(7, 60)
        assert not await link.reserve("w/2", Sum(4, 50))
        assert await home.actor.state() == (Sum(7, 60), "calls")

    asyncio.run(go())


def test_what_a_worker_that_died_held_is_in_the_book_at_its_worst(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home", Budget(calls=10))
        assert await Link(home, "w", True).reserve("w/1", Sum(2, 50, 7))
        await home.actor.lost("w")

    asyncio.run(go())
    assert booked(tmp_path / "home") == Sum(2, 50, 7)


def test_an_office_that_fails_fails_those_who_wait(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home", Budget(calls=4))

        async def broken(wanted: Any) -> Any:
            raise ConnectionError("gone")

        home.actor.reserve = broken
        link = Link(home, "w", True)
        said = await asyncio.gather(*[link.reserve(f"w/{n}", Sum(1)) for n in range(3)], return_exceptions=True)
        assert [type(one) for one in said] == [ConnectionError] * 3

    asyncio.run(go())


def test_with_limits_every_request_asks_first(tmp_path: Path) -> None:
    async def go() -> None:
        home = office(tmp_path / "home", Budget(calls=2))
        link = Link(home, "w", True)
        assert await link.reserve("w/1", Sum(2, 10))
        await link.settle("w/1", Sum(1, 7))
        assert await link.reserve("w/2", Sum(1, 10))
        await link.settle("w/2", Sum(1, 7))
        assert not await link.reserve("w/3", Sum(1, 10))
        assert await home.actor.state() == (Sum(2, 14), "calls")

    asyncio.run(go())
