"""5,000 calls with one fault in five, 32 at once: nothing lost, nothing doubled, every attempt on the books, no growth."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

from branchwise.budget import Budget
from branchwise.errors import ModelError
from branchwise.ledger import Ledger
from branchwise.model.base import Reply, Request
from branchwise.model.layers.limited import Limited
from branchwise.model.layers.metered import Metered
from branchwise.model.layers.retrying import Retrying, RetryPolicy
from branchwise.model.openai_http import OpenAIChat
from fault_quirks import BILLED, CUT, drawn

CALLS = 5_000
PARALLEL = 32


async def test_a_long_run_under_faults(faults: Any, ask: Callable[..., Request]) -> None:
    ledger = Ledger(Budget(), None)
    policy = RetryPolicy(attempts=10, base=0.0001, deadline=60)
    sizes: list[int] = []
    replies: dict[int, Reply | ModelError] = {}
    async with OpenAIChat("m", faults.url("mixed:20")) as chat:
        model = Retrying(Limited(Metered(chat, ledger), PARALLEL), policy)
        pending = iter(range(CALLS))

        async def worker() -> None:
            for i in pending:
                assert i not in replies
                replies[i] = await model.sample(ask(f"item {i};", seeds=(i,), max_tokens=10))
                if i % 1000 == 500:
                    gc.collect()
                    sizes.append(len(gc.get_objects()) - 3 * len(replies))

        await asyncio.gather(*(worker() for _ in range(PARALLEL)))
    assert len(replies) == CALLS
    for i, reply in replies.items():
        assert isinstance(reply, Reply)
        (text,) = reply.texts
        assert f"item {i};" in text
        assert f"(seed {i})" in text
    asked = len(faults.seen["mixed:20"])
    assert asked > CALLS * 1.15
    assert ledger.spent.calls == ledger.spent.requests == asked
    billed = sum(drawn(body, count, 20) in (BILLED, CUT) for count, body in enumerate(faults.seen["mixed:20"]))
    assert ledger.spent.completion_tokens == 10 * (CALLS + billed), "a spoiled reply is paid too: as it says, or for the 40 bytes of it that came"
    assert faults.most_open <= PARALLEL
    assert sizes[-1] - sizes[1] < 20_000, sizes
