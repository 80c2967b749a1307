"""Replies lost to reasoning and asked for once more with more tokens: caps still hold, and a smaller cap gives a prefix (case 60)."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from branchwise import Budget, Outcome, Reply, Request, RetryPolicy, TapeModel, solve
from branchwise.batch import spent_in
from support.models import FakeModel
from support.runs import SMALL, random_budget, random_method, run
from support.trees import is_prefix, snapshot
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


class Lossy(Thinking):
    """Loses them again with more room, now and then."""

    def _reply(self, request: Request) -> Reply:
        reply = super()._reply(request)
        if request.max_tokens == SMALL.max_tokens or Random(f"{request.id}").random() < 0.5:
            return reply
        return replace(reply, samples=tuple(replace(s, text="", outcome=Outcome.TRUNCATED_IN_REASONING) for s in reply.samples))


@pytest.mark.parametrize("seed", range(60))
async def test_caps_hold_whatever_is_lost(seed: int) -> None:
    rng = Random(seed)
    toy, method, budget = Toy(seed, dead=0.05), random_method(rng), random_budget(rng)
    model = Thinking(toy.reply, jitter=seed, greedy=True)
    result, _ = await run(toy, method, model=model, budget=budget, retry=POLICY, parallel=6)
    assert budget.calls is None or result.usage.calls <= budget.calls
    assert budget.tokens is None or result.usage.tokens <= budget.tokens
    assert model.calls == result.usage.calls


@pytest.mark.parametrize("seed", range(40))
async def test_what_had_no_room_for_a_second_try_is_kept_and_gone_on_from(seed: int, tmp_path: Path) -> None:
    """The first reply is paid for: it is on the tape, and a run that goes on asks for the second try alone."""
    rng = Random(seed)
    toy, method = Toy(seed, dead=0.05), random_method(rng, answer=False)
    whole = Thinking(toy.reply, jitter=seed, greedy=True)
    fresh, _ = await run(toy, method, model=whole, budget=Budget(tokens=12_000), retry=POLICY, parallel=6)
    trace = tmp_path / "trace.jsonl"
    models = [Thinking(toy.reply, jitter=i, greedy=True) for i in range(4)]
    caps = [*sorted(rng.sample(range(200, 12_000), 3)), 12_000]
    for i, (cap, model) in enumerate(zip(caps, models, strict=True)):
        go_on = {"resume": trace} if i else {"trace": trace}
        result, _ = await run(toy, method, model=model, budget=Budget(tokens=cap), retry=POLICY, parallel=6, **go_on)
        assert result.usage.tokens <= cap
        assert sum(m.calls for m in models) == result.usage.calls == spent_in(trace).calls
    assert snapshot(result.tree) == snapshot(fresh.tree)
    assert replace(result.usage, requests=0) == replace(fresh.usage, requests=0), "near a cap samples are asked for one by one"
    assert sum(m.calls for m in models) == whole.calls


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("cap", [None, 700, 3_000])
async def test_a_tape_is_replayed_at_the_recorded_cost_whatever_was_lost(seed: int, cap: int | None, tmp_path: Path) -> None:
    toy, method, budget = Toy(seed, dead=0.05), random_method(Random(seed)), Budget(tokens=cap)
    trace = tmp_path / "trace.jsonl"
    model = Lossy(toy.reply, jitter=seed, greedy=True)
    first, _ = await run(toy, method, model=model, budget=budget, retry=POLICY, parallel=4, trace=trace)
    again = await solve(toy, method, TapeModel.open(trace), budget=budget, retry=POLICY)
    assert snapshot(again.tree) == snapshot(first.tree)
    assert (again.usage, again.stop_reason) == (first.usage, first.stop_reason)


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
