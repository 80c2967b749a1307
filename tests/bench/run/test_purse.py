"""One budget and one rate over all units: what was promised holds exactly, also while much runs at once."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from branchwise.bench.purse import Pace, Purse, Pursed, Sum
from branchwise.budget import Budget, Price
from branchwise.errors import OutOfBudget, TransientError, UsageError
from branchwise.model.base import Message, Request
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


def test_cancelled_requests_give_their_hold_back() -> None:
    async def go() -> Purse:
        purse = Purse(Budget(tokens=100_000))

        async def forever(request: Request) -> None:
            await asyncio.sleep(60)

        model = Pursed(Scripted([{"replies": ["x"]}], latency=forever), purse, None, lambda: None)
        task = asyncio.ensure_future(model.sample(ASK))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert purse.held.calls == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return purse

    purse = asyncio.run(go())
    assert (purse.held, purse.spent) == (Sum(), Sum(1))
