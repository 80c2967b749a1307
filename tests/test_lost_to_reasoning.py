"""Replies lost to reasoning and asked for once more with more tokens: caps still hold, and a smaller cap gives a prefix (case 60)."""

from dataclasses import replace
from random import Random

import pytest

from branchwise import Budget, Outcome, Reply, Request, RetryPolicy
from support.models import FakeModel
from support.runs import SMALL, random_budget, random_method, run
from support.trees import is_prefix
from support.worlds import Toy

POLICY = RetryPolicy(attempts=2, base=0, jitter=0)


class Thinking(FakeModel):
    """Loses about every third sample to its reasoning, unless it has more room than usual. Spends all that it may."""

    def _reply(self, request: Request) -> Reply:
        reply = super()._reply(request)
        if request.max_tokens > SMALL.max_tokens:
            return reply
        lost = [Random(f"{request.id} {request.first + i}").random() < 0.3 for i in range(request.n)]
        changed = (
            replace(s, text="", outcome=Outcome.TRUNCATED_IN_REASONING, finish="length") if bad else s
            for s, bad in zip(reply.samples, lost, strict=True)
        )
        return replace(reply, samples=tuple(changed))


@pytest.mark.parametrize("seed", range(60))
async def test_caps_hold_whatever_is_lost(seed: int) -> None:
    rng = Random(seed)
    toy, method, budget = Toy(seed, dead=0.05), random_method(rng), random_budget(rng)
    model = Thinking(toy.reply, jitter=seed, greedy=True)
    result, _ = await run(toy, method, model=model, budget=budget, retry=POLICY, parallel=6)
    assert budget.calls is None or result.usage.calls <= budget.calls
    assert budget.tokens is None or result.usage.tokens <= budget.tokens
    assert model.calls == result.usage.calls


@pytest.mark.parametrize("seed", range(20))
async def test_a_smaller_cap_gives_a_prefix(seed: int) -> None:
    rng = Random(seed)
    toy, method = Toy(seed, dead=0.05), random_method(rng, answer=False)
    trees = []
    for tokens in (2_000, 6_000, 18_000):
        model = Thinking(toy.reply, jitter=tokens, greedy=True)
        result, _ = await run(toy, method, model=model, budget=Budget(tokens=tokens), retry=POLICY, parallel=6)
        assert result.usage.tokens <= tokens
        trees.append(result.tree)
    assert is_prefix(trees[0], trees[1], True)
    assert is_prefix(trees[1], trees[2], True)
