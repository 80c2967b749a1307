"""Methods, budgets and runs drawn by chance. Knows no test."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from branchwise import (
    Adaptive,
    AStar,
    Beam,
    BestFirst,
    Budget,
    Chain,
    Check,
    Combine,
    DepthFirst,
    Mcts,
    Method,
    Propose,
    Refine,
    Result,
    RetryPolicy,
    Rollout,
    Sample,
    Sampling,
    Value,
    Vote,
    solve,
)  # fmt: skip
from support.models import FakeModel
from support.worlds import Toy

SMALL = Sampling(max_tokens=40)
ONCE = RetryPolicy(attempts=1)
TWICE = RetryPolicy(attempts=2, base=0, jitter=0)
ANSWER = Sample(k=1, prompt="answer", whole=True, sampling=SMALL)


def random_method(rng: Random, answer: bool | None = None) -> Method:
    search = rng.choice(
        (
            Beam(breadth=rng.randint(1, 4), depth=rng.randint(1, 3)),
            DepthFirst(depth=3, prune_at=0.01, max_steps=12),
            Chain(depth=rng.randint(1, 5)),
            BestFirst(depth=3, prune_below=0.02, max_nodes=rng.choice((None, 9)), backtrack=rng.random() < 0.5),
            AStar(depth=3, max_nodes=12, cost_model=rng.choice(("unit", "log"))),
            Mcts(rollouts=rng.randint(1, 8), depth=3, backup=rng.choice(("mean", "max")), puct=rng.random() < 0.5),
            Adaptive(rollouts=rng.randint(1, 10), depth=3),
        )
    )
    sample, propose = Sample(k=rng.randint(1, 4), sampling=SMALL), Propose(k=rng.randint(1, 5), repeats=rng.randint(1, 3), sampling=SMALL)
    generate = rng.choice([sample, propose, Refine(sampling=SMALL)] if isinstance(search, Chain) else [sample, propose])
    value = Value(samples=rng.randint(1, 3), sampling=SMALL)
    vote = Vote(votes=rng.randint(1, 4), sampling=SMALL)
    alone = isinstance(search, Chain) or search.mixes_groups
    played = Rollout(generate=Sample(k=1, sampling=SMALL), judge=value, samples=rng.randint(1, 3), depth=2)
    choices = [value, Combine(Check(), value), played] if alone else [value, vote, Combine(value, vote)]
    with_answer = rng.random() < 0.4 if answer is None else answer
    return Method(generate=generate, evaluate=rng.choice(choices), search=search, answer=ANSWER if with_answer else None)


def random_budget(rng: Random) -> Budget:
    limits: dict[str, Any] = {}
    while not limits:
        if rng.random() < 0.5:
            limits["calls"] = rng.randint(1, 40)
        if rng.random() < 0.35:
            limits["tokens"] = rng.randint(50, 12_000)
        if rng.random() < 0.2:
            limits["cost"] = rng.randint(50, 12_000) / 1e6
        if rng.random() < 0.2:
            limits["nodes"] = rng.randint(1, 20)
    return Budget(**limits)


async def run(toy: Toy, method: Method, *, limit: float = 10.0, **settings: Any) -> tuple[Result, FakeModel]:
    model = settings.pop("model", None) or FakeModel(toy.reply, jitter=settings.pop("jitter", 1), greedy=settings.pop("greedy", False))
    settings.setdefault("retry", ONCE)
    result = await asyncio.wait_for(solve(toy, method, model, **settings), limit)
    assert model.flying == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return result, model
