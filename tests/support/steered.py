"""Runs with a person who acts at any time, every search, and what must hold of their calls. Knows no test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from branchwise import (
    Adaptive,
    AStar,
    Beam,
    BestFirst,
    Budget,
    Chain,
    DepthFirst,
    Mcts,
    Method,
    Node,
    Price,
    Propose,
    Refine,
    Request,
    Result,
    RetryPolicy,
    Sample,
    Sampling,
    SelfRefine,
    SelfRefineSearch,
    SelfReward,
    Staged,
    Steering,
    ThenRefine,
    UsageError,
    Value,
    Vote,
    last,
    solve,
)  # fmt: skip
from branchwise.search.pick import best_refined
from support.models import FakeModel
from support.worlds import PROMPTS, Toy

ONCE = RetryPolicy(attempts=1)
FREE = Price(0, 0)
SMALL = Sampling(max_tokens=40)
PROPOSE, VALUE = Propose(k=3, sampling=SMALL), Value(samples=2, sampling=SMALL)
ANSWER = Sample(k=1, prompt="answer", whole=True, sampling=SMALL)
ONE = Sample(k=1, sampling=SMALL)
REFINE = Refine(sampling=SMALL)
METHODS = {
    "beam": Method(name="beam", generate=PROPOSE, evaluate=VALUE, search=Beam(breadth=3, depth=3), answer=ANSWER),
    "beam, narrow window": Method(name="beam", generate=PROPOSE, evaluate=VALUE, search=Beam(breadth=3, depth=3, select="sample"), window=2),
    "beam, vote": Method(name="vote", generate=PROPOSE, evaluate=Vote(votes=2, sampling=SMALL), search=Beam(breadth=3, depth=3)),
    "dfs": Method(name="dfs", generate=PROPOSE, evaluate=VALUE, search=DepthFirst(depth=3, prune_at=0.01, max_steps=20)),
    "dfs, vote": Method(name="dfs", generate=PROPOSE, evaluate=Vote(votes=2, sampling=SMALL), search=DepthFirst(depth=3, max_steps=20)),
    "best_first": Method(name="best_first", generate=PROPOSE, evaluate=VALUE, search=BestFirst(depth=4, prune_below=0.02, max_nodes=30), window=2),
    "best_first, back": Method(
        name="back", generate=PROPOSE, evaluate=VALUE, search=BestFirst(depth=4, prune_below=0.02, max_nodes=24, backtrack=True), answer=ANSWER,
    ),
    "a_star": Method(name="a_star", generate=PROPOSE, evaluate=VALUE, search=AStar(depth=3, max_nodes=25), window=3),
    "mcts": Method(name="mcts", generate=PROPOSE, evaluate=VALUE, search=Mcts(rollouts=20, depth=4), window=4),
    "puct, max": Method(name="puct", generate=PROPOSE, evaluate=VALUE, search=Mcts(rollouts=14, depth=4, puct=True, backup="max"), window=3),
    "mctsr": Method(
        name="mctsr", generate=SelfRefine(sampling=SMALL), evaluate=SelfReward(sampling=SMALL), pick=best_refined,
        search=SelfRefineSearch(rollouts=8, patience=0),
    ),
    "adaptive": Method(name="adaptive", generate=ONE, evaluate=VALUE, search=Adaptive(rollouts=18, depth=4)),
    "chain": Method(name="chain", generate=ONE, evaluate=VALUE, search=Chain(depth=5), pick=last, answer=ANSWER),
    "refine": Method(name="refine", generate=REFINE, search=Chain(depth=5), pick=last),
    "then_refine": Method(
        name="then_refine", generate=Staged(open=PROPOSE, complete=REFINE), evaluate=VALUE, pick=last,
        search=ThenRefine(first=Beam(breadth=2, depth=2), rounds=3),
    ),
}  # fmt: skip
"""Every search, and the settings of each that steering has to do with."""


def toy(seed: int = 0, **more: Any) -> Toy:
    return Toy(seed, **{"dead": 0.05, "complete": 0.1, "malformed": 0.05, "prompts": PROMPTS, **more})


def is_below(label: str, top: str) -> bool:
    return label == top or label.startswith(f"{top}.")


@dataclass
class Watch:
    """A model that knows what was pruned when each request came."""

    model: FakeModel
    closed: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    then: Callable[[Request], None] = lambda request: None

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def identity(self) -> str:
        return self.model.identity

    async def sample(self, request: Request) -> Any:
        assert request.id is not None
        self.broken += [f"{request.id} under {top}" for top in self.closed if is_below(request.id.node, top)]
        self.then(request)
        return await self.model.sample(request)


@dataclass
class Person:
    """Acts at random moments, `acts` times at the most; what was refused is counted, not done."""

    steering: Steering
    watch: Watch
    rng: Random
    acts: int = 6
    pace: int = 6
    """Requests between two acts, at the most."""
    kinds: tuple[str, ...] = ("prune", "prune", "favour", "favour", "add", "pause", "budget")
    done: list[tuple[str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    async def act(self) -> None:
        for _ in range(self.acts):
            more, requests = self.rng.randint(1, self.pace), self.watch.model.requests
            until = len(requests) + more
            while len(requests) < until:  # noqa: ASYNC110
                await asyncio.sleep(0)
            for _ in range(self.rng.randrange(20)):
                await asyncio.sleep(0)
            if not self.steering.active:
                return
            await self._one(self.rng.choice(self.kinds))

    async def _one(self, kind: str) -> None:
        steering, rng = self.steering, self.rng
        nodes = steering.tree.nodes
        node = rng.choice(nodes[1:] or nodes) if rng.random() < 0.9 else nodes[0]
        before = len(nodes)
        try:
            if kind == "pause":
                steering.pause()
                for _ in range(rng.randrange(4)):
                    await asyncio.sleep(0)
                if rng.random() < 0.7:
                    await self._one(rng.choice(("prune", "favour", "add")))
                if steering.active:
                    steering.go_on()
            elif kind == "add":
                steering.add(node, f"own{rng.randrange(9)}")
            elif kind == "budget":
                steering.raise_budget(calls=rng.randint(1, 9))
            else:
                getattr(steering, kind)(node)
            if kind == "prune":
                self.watch.closed.append(node.label)
            assert len(nodes) == before, "an act itself commits nothing"
            self.done.append((kind, node.label))
        except UsageError as error:
            self.refused.append(f"{kind}: {error}")


async def steered(
    problem: Toy, method: Method, seed: int, trace: Path | None, *, kinds: tuple[str, ...] | None = None, acts: int = 6, budget: Budget | None = None,
    parallel: int = 4, limit: float = 20.0, price: Price = FREE,
) -> tuple[Result, Person]:  # fmt: skip
    """A run with a random person."""
    watch, steering = Watch(FakeModel(problem.reply, jitter=seed, turns=25)), Steering()
    person = Person(steering, watch, Random(seed), acts, (2, 6, 12)[seed % 3], **({"kinds": kinds} if kinds else {}))
    task = asyncio.create_task(person.act())
    result = await asyncio.wait_for(
        solve(problem, method, watch, seed=seed, trace=trace, parallel=parallel, steering=steering, budget=budget, retry=ONCE, price=price), limit
    )
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not watch.broken, watch.broken[:3]
    assert watch.model.flying == 0
    return result, person


def named(tree: Any, label: str) -> Node:
    return next(node for node in tree.nodes if node.label == label)
