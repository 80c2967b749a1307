"""Same seed, window and replies give the same tree, whatever the latency and the parallelism."""

from __future__ import annotations

from typing import Any

import pytest

from branchwise import (
    Adaptive,
    AStar,
    Beam,
    BestFirst,
    Chain,
    Check,
    Combine,
    DepthFirst,
    Mcts,
    Method,
    MethodError,
    Propose,
    Refine,
    RetryPolicy,
    Rollout,
    Sample,
    Value,
    Vote,
    solve,
)
from support.models import FakeModel
from support.trees import snapshot
from support.worlds import Toy

SEARCHES = {
    "beam": Beam(breadth=3, depth=3),
    "beam, sampled": Beam(breadth=2, depth=3, select="sample"),
    "beam, pruned": Beam(breadth=3, depth=3, prune_below=0.05),
    "dfs": DepthFirst(depth=3, prune_at=0.01, max_steps=15),
    "chain": Chain(depth=5),
}
WINDOWED = {
    "best_first": BestFirst(depth=4, prune_below=0.01, max_nodes=25),
    "a_star": AStar(depth=3, max_nodes=20),
    "mcts": Mcts(rollouts=12, depth=4),
    "puct": Mcts(rollouts=12, depth=3, puct=True, backup="max"),
    "adaptive": Adaptive(rollouts=12, depth=3),
}
"""Their window is part of the method; latency and `parallel` are not."""
GENERATORS = {"sample": Sample(k=4), "propose": Propose(k=4, repeats=2), "refine": Refine(k=3)}
EVALUATORS = {
    "none": None,
    "value": Value(samples=2),
    "vote": Vote(votes=3),
    "check": Check(),
    "sum": Combine(Check(), Value(samples=2), Value(samples=1), weights=(1, 2, 3)),
    "rollout": Rollout(samples=3, depth=2, judge=Value(samples=2)),
    "vote and value": Combine(Value(samples=2), Vote(votes=3), how="product"),
}
QUICK = RetryPolicy(attempts=2, base=0.0, jitter=0.0)


def methods(searches: dict[str, Any]) -> list[Method]:
    made = []
    for s, search in searches.items():
        for g, generate in GENERATORS.items():
            for e, evaluate in EVALUATORS.items():
                for answer in (None, Sample(k=1, prompt="answer", whole=True)):
                    if (s in WINDOWED and (answer or e not in ("value", "sum", "rollout"))) or (answer and s == "beam, pruned"):
                        continue
                    try:
                        name = f"{g} × {e} × {s}{' + answer' if answer else ''}"
                        made.append(Method(name=name, generate=generate, evaluate=evaluate, search=search, answer=answer))
                    except MethodError:
                        continue
    return made


async def run(toy: Toy, method: Method, *, parallel: int, jitter: int | None, seed: int = 0, **settings: object) -> tuple[object, ...]:
    model = FakeModel(toy.reply, jitter=jitter)
    result = await solve(toy, method, model, parallel=parallel, seed=seed, retry=QUICK, **settings)  # type: ignore[arg-type]
    assert model.most <= parallel or any(r.n > parallel for r in model.requests)
    assert model.flying == 0
    return snapshot(result.tree), result.stop_reason, result.answer, result.node and result.node.birth, model


@pytest.mark.parametrize("method", methods(SEARCHES | WINDOWED), ids=lambda m: m.name)
async def test_the_tree_depends_on_neither_latency_nor_parallelism(method: Method) -> None:
    for seed in range(2):
        toy = Toy(seed, solved=0.02 if seed % 2 else 0.0)
        first = await run(toy, method, parallel=1, jitter=None, seed=seed)
        for parallel, jitter in ((4, 2), (16, 3), (16, 4)):
            again = await run(toy, method, parallel=parallel, jitter=jitter, seed=seed)
            assert again[:4] == first[:4], (method.name, seed, parallel)


@pytest.mark.parametrize("method", methods(SEARCHES), ids=lambda m: m.name)
async def test_the_window_does_not_shape_beam_dfs_and_chain(method: Method) -> None:
    from dataclasses import replace

    for seed in (5, 6):
        toy = Toy(seed, solved=0.02)
        first = await run(toy, method, parallel=4, jitter=1, seed=seed)
        for window in (1, 3, 64):
            again = await run(toy, replace(method, window=window), parallel=8, jitter=window, seed=seed)
            assert again[:4] == first[:4], (method.name, seed, window)


async def test_another_seed_gives_another_tree_and_other_seeds_for_the_model() -> None:
    method = Method(generate=Sample(k=4), evaluate=Value(samples=2), search=Beam(breadth=2, depth=3))
    trees = [await run(Toy(1), method, parallel=4, jitter=1, seed=seed) for seed in range(4)]
    assert len({repr(tree[0]) for tree in trees}) == 4


async def test_no_two_samples_of_a_run_share_a_seed() -> None:
    method = Method(generate=Sample(k=4), evaluate=Value(samples=3), search=Beam(breadth=3, depth=3))
    *_, model = await run(Toy(2, merge=False), method, parallel=4, jitter=1)
    seeds = [seed for request in model.requests for seed in request.seeds]  # type: ignore[attr-defined]
    assert len(seeds) > 50
    assert len(set(seeds)) == len(seeds)


async def test_faults_that_are_retried_do_not_change_the_tree() -> None:
    from branchwise.errors import TransientError

    method = Method(generate=Propose(k=4), evaluate=Value(samples=2), search=Beam(breadth=3, depth=3))
    for seed in range(8):
        toy = Toy(seed)
        plain = await run(toy, method, parallel=4, jitter=1)

        def fault(request: object, tried: int) -> Exception | None:
            return TransientError("again") if tried == 0 and len(request.messages[-1].content) % 3 == 0 else None  # type: ignore[attr-defined]

        model = FakeModel(toy.reply, jitter=2, fault=fault)
        result = await solve(toy, method, model, parallel=8, retry=QUICK)
        assert snapshot(result.tree) == plain[0]
