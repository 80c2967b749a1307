"""One budget and one rate over all units: what was promised holds exactly, also while much runs at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from branchwise.bench.book import Book, booked
from branchwise.bench.purse import Pace, Purse, Pursed, Sum
from branchwise.budget import Budget, Price
from branchwise.errors import MissingCall, OutOfBudget, TransientError, UsageError
from branchwise.model.base import Message, Reply, Request
from branchwise.model.scripted import Scripted

ASK = Request((Message("user", "a question"),), max_tokens=20)


class Clock:
    """Time that passes when somebody waits: an event loop's sleeps are real, but short."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("seed", range(20))
def test_what_is_spent_and_held_never_exceeds_the_limits(seed: int) -> None:
    random = Random(seed)
    limits = Budget(calls=random.randint(5, 60), tokens=random.randint(500, 6000))
    assert limits.calls is not None
    assert limits.tokens is not None

    async def go() -> tuple[Purse, int]:
        purse = Purse(limits)
        refused = 0

        async def one(number: int) -> None:
            nonlocal refused
            worst = Sum(random.randint(1, 4), random.randint(50, 400))
            if not await purse.reserve(f"w/{number}", worst):
                refused += 1
                return
            for _ in range(random.randint(1, 4)):
                total = purse.spent + purse.held
                assert total.calls <= (limits.calls or 0)
                assert total.tokens <= (limits.tokens or 0)
                await asyncio.sleep(0)
            await purse.settle(f"w/{number}", Sum(worst.calls, random.randint(0, worst.tokens)))

        await asyncio.gather(*map(one, range(40)))
        return purse, refused

    purse, refused = asyncio.run(go())
    assert purse.spent.calls <= limits.calls
    assert purse.spent.tokens <= limits.tokens
    assert bool(refused) == bool(purse.empty)
    assert purse.held == Sum()


def test_a_request_waits_for_what_others_may_give_back() -> None:
    async def go() -> list[str]:
        purse, order = Purse(Budget(tokens=100)), list[str]()
        assert await purse.reserve("a", Sum(1, 80))

        async def second() -> None:
            assert await purse.reserve("b", Sum(1, 60))
            order.append("b")

        task = asyncio.ensure_future(second())
        for _ in range(5):
            await asyncio.sleep(0)
        order.append("a is over")
        await purse.settle("a", Sum(1, 30))
        await task
        assert not purse.empty
        return order

    assert asyncio.run(go()) == ["a is over", "b"]


def test_when_nothing_may_come_back_it_is_empty_and_stays_so() -> None:
    async def go() -> None:
        purse = Purse(Budget(calls=3), spent=Sum(2))
        assert not await purse.reserve("a", Sum(2))
        assert purse.empty == "calls"
        assert not await purse.reserve("b", Sum(1))

    asyncio.run(go())


def test_what_a_lost_worker_held_counts_as_spent() -> None:
    async def go() -> Purse:
        purse = Purse(Budget(tokens=1000))
        for ticket in ("w1/1", "w1/2", "w10/1"):
            assert await purse.reserve(ticket, Sum(1, 100))
        await purse.lost("w1")
        return purse

    purse = asyncio.run(go())
    assert (purse.spent, purse.held) == (Sum(2, 200), Sum(1, 100))


def test_what_a_lost_worker_still_waits_for_is_never_held() -> None:
    async def go() -> Purse:
        purse = Purse(Budget(tokens=100))
        assert await purse.reserve("w2/1", Sum(1, 90))
        waiting = asyncio.ensure_future(purse.reserve("w1/1", Sum(1, 50)))
        behind = asyncio.ensure_future(purse.reserve("w3/1", Sum(1, 10)))
        await asyncio.sleep(0)
        await purse.lost("w1")
        assert not await waiting
        assert await behind
        return purse

    purse = asyncio.run(go())
    assert purse.held == Sum(2, 100)


def test_a_pace_lets_no_minute_have_more() -> None:
    clock, random = Clock(), Random(3)
    pace = Pace(600, clock)
    starts: list[tuple[float, int]] = []
    for _ in range(500):
        clock.now += pace.wait() if random.random() < 0.9 else pace.wait() + random.random()
        size = random.randint(1, 5)
        pace.take(size)
        starts.append((clock.now, size))
    for at, _ in starts:
        window = sum(size for time, size in starts if at <= time < at + 60)
        assert window <= 600 + 5, "a minute, and the request that opens it"
    assert sum(size for _, size in starts) / (starts[-1][0] / 60) > 450


def test_tokens_that_were_not_needed_are_given_back_to_the_rate() -> None:
    clock = Clock()
    pace = Pace(60, clock)
    pace.take(30)
    assert pace.wait() == 30
    pace.give_back(29)
    assert pace.wait() == 1


def test_the_rate_of_calls_is_kept_in_real_time() -> None:
    async def go() -> float:
        purse = Purse(Budget(), calls_per_minute=6000)
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*[purse.reserve(str(n), Sum(1)) for n in range(21)])
        return asyncio.get_running_loop().time() - began

    assert 0.19 <= asyncio.run(go()) < 2


@pytest.mark.parametrize("rate", [0, -1, float("nan")])
def test_a_rate_that_allows_nothing_is_refused(rate: float) -> None:
    with pytest.raises(UsageError, match="allows nothing"):
        Purse(Budget(), tokens_per_minute=rate)


def test_a_request_is_charged_what_it_took_also_when_it_fails() -> None:
    class Fails:
        name = identity = "m"

        async def sample(self, request: Request) -> object:
            error = TransientError("cut off")
            error.spent = (7, 3)
            raise error

    async def go() -> Purse:
        purse, emptied = Purse(Budget(calls=3)), list[bool]()
        price = Price(1e6, 1e6)
        good = Pursed(Scripted([{"replies": ["four"]}]), purse, price, lambda: emptied.append(True), "w")
        bad = Pursed(Fails(), purse, price, lambda: emptied.append(True), "v")  # type: ignore[arg-type]
        await good.sample(ASK)
        with pytest.raises(TransientError):
            await bad.sample(ASK)
        await good.sample(ASK)
        with pytest.raises(OutOfBudget):
            await good.sample(ASK)
        assert emptied == [True]
        return purse

    purse = asyncio.run(go())
    assert purse.spent == Sum(3, 2 * (2 + 1) + 10, (2 * 3 + 10) * 1_000_000)
    assert purse.held == Sum()


WORST = Sum(1, len("a question") + 64 + 20, (10 + 64) * 2 + 20 * 4 + 1)
"""Of `ASK` at 2 and 4 dollars a million tokens: as many prompt tokens as bytes and what a template adds; a millionth for rounding up."""
DEAR = Price(2, 4)


def test_a_request_that_is_cut_off_counts_at_its_worst() -> None:
    """Nobody tells what it cost: 1 call, 94 tokens, 229 millionths. One that still waits for its turn costs nothing."""

    async def go() -> Purse:
        purse, sent = Purse(Budget(tokens=100)), asyncio.Event()

        async def forever(request: Request) -> None:
            sent.set()
            await asyncio.sleep(60)

        model = Pursed(Scripted([{"replies": ["x"]}], latency=forever), purse, DEAR, lambda: None)
        task, behind = (asyncio.ensure_future(model.sample(ASK)) for _ in range(2))
        await sent.wait()
        assert (purse.held, purse.spent) == (WORST, Sum())
        for one in (behind, task):
            one.cancel()
            await asyncio.gather(one, return_exceptions=True)
        return purse

    purse = asyncio.run(go())
    assert (purse.held, purse.spent) == (Sum(), WORST)


@pytest.mark.parametrize(
    ("error", "spent", "estimated", "charged"),
    [
        (TransientError("reset while it was read"), (4, 1), True, WORST),
        (TransientError("could not be read"), (7, 3), False, Sum(1, 10, 7 * 2 + 3 * 4)),
        (TransientError("no connection"), (0, 0), False, Sum(1)),
        (MissingCall("not on the tape"), (0, 0), False, Sum()),
        (ValueError("a bug"), None, None, WORST),
    ],
)
def test_a_failed_request_costs_what_the_server_told_and_its_worst_where_that_is_a_guess(
    error: Any, spent: tuple[int, int] | None, estimated: bool | None, charged: Sum
) -> None:
    if spent is not None:
        error.spent, error.estimated = spent, estimated

    class Fails:
        name = identity = "m"

        async def sample(self, request: Request) -> object:
            raise error

    async def go() -> Purse:
        purse = Purse(Budget())
        with pytest.raises(type(error)):
            await Pursed(Fails(), purse, DEAR, lambda: None).sample(ASK)  # type: ignore[arg-type]
        return purse

    assert asyncio.run(go()).spent == charged


def test_samples_are_priced_one_by_one_as_in_the_rows() -> None:
    """Three samples of half a millionth each are three millionths."""

    async def go() -> Purse:
        purse, ask = Purse(Budget()), replace(ASK, n=3)
        model = Pursed(Scripted([{"replies": ["four"] * 3}]), purse, Price(0, 0.5), lambda: None)
        reply = await model.sample(ask)
        assert [sample.usage.completion_tokens for sample in reply.samples] == [1, 1, 1]
        return purse

    assert asyncio.run(go()).spent.cost == 3


class Billing:
    """A server that takes all that it may for what was cut off or reset, and what it tells for a reply."""

    name = identity = "m"

    def __init__(self, random: Random) -> None:
        self._random, self._inner = random, Scripted([{"replies": ["x" * 40]}])
        self.billed = Sum()

    async def sample(self, request: Request) -> Reply:
        cost = WORST
        try:
            await asyncio.sleep(self._random.random() * 0.003)
            if self._random.random() < 0.2:
                error = TransientError("reset")
                error.spent, error.estimated = (2, 0), True
                raise error
            reply = await self._inner.sample(request)
            cost = Sum(1, 2 + 10, 2 * 2 + 10 * 4)
            return reply
        finally:
            self.billed += cost


@pytest.mark.parametrize("seed", range(10))
def test_a_server_that_bills_what_was_cut_off_never_gets_more_than_the_limits(seed: int, tmp_path: Path) -> None:
    """Ten starts with one book, every other one killed in the middle: what the book has is never less than the bill, nor more than the limits."""
    random, limits = Random(seed), Budget(calls=60, tokens=2500, cost=0.012)
    server = Billing(random)

    async def start(purse: Purse, killed: bool) -> None:
        model = Pursed(server, purse, DEAR, lambda: None)
        tasks = [asyncio.ensure_future(model.sample(ASK)) for _ in range(8)]
        for task in tasks[::3]:
            asyncio.get_running_loop().call_later(random.random() * 0.004, task.cancel)
        await asyncio.wait(tasks, timeout=0.002 if killed else None)
        if killed:
            book.close()  # nothing that comes later is written
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    for number in range(10):
        book = Book(tmp_path)
        asyncio.run(start(Purse(limits, book=book), bool(number % 2)))
        book.close()
        known, billed = booked(tmp_path), server.billed
        assert known is not None
        for paid, kept, most in ((billed.calls, known.calls, 60), (billed.tokens, known.tokens, 2500), (billed.cost, known.cost, 12_000)):
            assert paid <= kept <= most
    assert server.billed.calls > 20
