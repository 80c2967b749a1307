"""How far a cap can be passed (case 57): not at all by a server that keeps to its limits; by what is in flight where one does not."""

from dataclasses import replace
from random import Random

import pytest

from branchwise import Budget, Price, Reply, Request
from branchwise.model.layers.metered import request_bound
from support.models import FakeModel
from support.runs import random_method, run
from support.worlds import Toy

PRICE = Price(1.0, 1.0)
"""A token costs a millionth of a dollar, so that both caps are counted alike."""


class Careless(FakeModel):
    """Spends four times what a request may, and notes what was in flight when the cap was reached."""

    cap = 0

    def __init__(self, toy: Toy, seed: int) -> None:
        super().__init__(toy.reply, jitter=seed, greedy=True)
        self.spent = self.late = self.excess = 0

    async def sample(self, request: Request) -> Reply:
        self.late += self.spent >= self.cap
        return await super().sample(request)

    def _reply(self, request: Request) -> Reply:
        reply = super()._reply(request)
        changed = tuple(replace(s, usage=replace(s.usage, completion_tokens=4 * s.usage.completion_tokens)) for s in reply.samples)
        spent = sum(s.usage.tokens for s in changed)
        self.spent += spent
        self.excess = max(self.excess, spent - request_bound(request).tokens)
        return replace(reply, samples=changed)


@pytest.mark.parametrize("parallel", [1, 4])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("limit", ["tokens", "cost"])
async def test_a_server_that_ignores_its_limits_passes_the_cap_by_what_is_in_flight(seed: int, parallel: int, limit: str) -> None:
    toy, method = Toy(seed), random_method(Random(seed))
    model = Careless(toy, seed)
    model.cap = 3_000
    budget = Budget(tokens=3_000) if limit == "tokens" else Budget(cost=3_000 / 1e6)
    result, _ = await run(toy, method, model=model, budget=budget, price=PRICE, parallel=parallel)
    assert model.late == 0, "a request was sent after the cap was reached"
    assert result.usage.tokens <= 3_000 + parallel * model.excess


@pytest.mark.parametrize("seed", range(12))
async def test_alone_it_is_one_call(seed: int) -> None:
    toy = Toy(seed)
    model = Careless(toy, seed)
    model.cap = 3_000
    result, _ = await run(toy, random_method(Random(seed)), model=model, budget=Budget(tokens=3_000), parallel=1)
    last = model.requests[-1]
    assert result.usage.tokens <= 3_000 + 3 * last.max_tokens * last.n
