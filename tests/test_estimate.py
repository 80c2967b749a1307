"""The worst case is never exceeded, and exact where nothing is pruned or merged."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from branchwise import (
    METHODS,
    Adaptive,
    AStar,
    Beam,
    BestFirst,
    Budget,
    Chain,
    Check,
    Combine,
    DepthFirst,
    Estimate,
    Mcts,
    Method,
    MethodError,
    Price,
    Propose,
    Result,
    Sample,
    Sampling,
    Value,
    Vote,
    estimate,
    preset,
    solve,
)
from branchwise.budget import Bound
from support.models import FakeModel
from support.runs import random_method
from support.worlds import Toy

SMALL = Sampling(max_tokens=60)
NAMES = list(METHODS)
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "cot_sc": [{"k": 3}],
    "refine": [{"rounds": 3}],
    "tot_bfs": [{"k": 3, "breadth": 2, "depth": 4}, {"k": 2, "breadth": 9}],
    "best_first": [{"k": 2, "max_nodes": 40, "prune_below": 0.0}, {"backtrack": True}, {"evaluate": "score", "samples": 2}],
    "a_star": [{"k": 3, "max_nodes": 7}, {"cost": "log"}],
    "mcts": [{"k": 2, "rollouts": 30, "depth": 4}, {"puct": True, "backup": "max", "rollouts": 3}],
    "mctsr": [{"roots": "naive", "rollouts": 3}, {"choice": "importance"}, {"roots": "dummy", "patience": 0, "samples": 2}],
    "adaptive": [{"rollouts": 7, "depth": 1}, {"samples": 1}],
    "tot_bfs_refine": [{"rounds": 1}, {"breadth": 3, "depth": 1, "evaluate": "value"}],
    "tot_dfs": [{"max_steps": 1}, {"max_steps": 3}, {"depth": 2}, {"depth": 1, "max_steps": 1, "k": 5}],
}


def assert_within(result: Result, worst: Estimate) -> None:
    usage = result.usage
    assert usage.calls <= worst.calls
    assert usage.prompt_tokens <= worst.prompt_tokens
    assert usage.completion_tokens <= worst.completion_tokens
    counts = result.tree.counts()
    answers = sum(node.role == "answer" for node in result.tree)
    assert len(result.tree) + counts.merged - answers <= worst.states
    assert (usage.cost or 0) <= round((worst.cost_usd or 0) * 1e6) + usage.calls
    for role, spent in result.by_role.items():
        bound = worst.by_role.get(role, Bound())
        assert spent.calls <= bound.calls
        assert spent.prompt_tokens <= bound.prompt_tokens
        assert spent.completion_tokens <= bound.completion_tokens


async def check(toy: Toy, method: Method, *, greedy: bool, seed: int = 0) -> None:
    price = Price(0.3, 0.9)
    worst = estimate(toy, method, price=price)
    result = await solve(toy, method, FakeModel(toy.reply, greedy=greedy), price=price, seed=seed)
    assert_within(result, worst)


@pytest.mark.parametrize("name", NAMES)
async def test_the_estimate_is_never_exceeded_over_fifty_runs(name: str) -> None:
    for seed in range(50):
        rng = Random(seed)
        toy = Toy(
            seed, branching=8, dead=rng.choice((0, 0.1)), complete=rng.choice((0, 0.1)), malformed=rng.choice((0, 0.2)), merge=seed % 3 > 0
        )
        settings = ({}, *VARIANTS.get(name, []))[seed % (1 + len(VARIANTS.get(name, [])))]
        await check(toy, preset(name).make(**settings), greedy=seed % 2 == 0, seed=seed)


async def test_the_estimate_holds_for_methods_put_together_by_chance() -> None:
    for seed in range(150):
        rng = Random(seed)
        toy = Toy(seed, branching=6, dead=rng.choice((0, 0.1)), complete=0.05, malformed=rng.choice((0, 0.2)))
        await check(toy, random_method(rng), greedy=seed % 2 == 0, seed=seed)


async def test_the_estimate_holds_for_a_vote_in_dfs() -> None:
    for seed in range(20):
        toy = Toy(seed, branching=4, dead=0, complete=0, malformed=0, full=True, merge=False)
        for search in (DepthFirst(depth=2), DepthFirst(depth=3, max_steps=7), DepthFirst(depth=3, prune_at=-1, max_steps=30)):
            await check(toy, Method(generate=Propose(k=4), evaluate=Vote(votes=3), search=search), greedy=True, seed=seed)
            both = Combine(Value(samples=1, sampling=SMALL), Vote(votes=2, sampling=SMALL))
            await check(toy, Method(generate=Propose(k=4), evaluate=both, search=search), greedy=True, seed=seed)


async def test_the_estimate_holds_when_max_steps_is_no_more_than_the_depth() -> None:
    for k in (1, 2, 5):
        for depth in (1, 2, 3):
            for steps in (1, 2, 3):
                toy = Toy(k, branching=k, dead=0, complete=0, malformed=0, full=True, merge=False)
                method = Method(
                    generate=Sample(k=k, sampling=SMALL),
                    evaluate=Value(samples=2),
                    search=DepthFirst(depth=depth, max_steps=steps, prune_at=-1),
                )
                await check(toy, method, greedy=True)


@pytest.mark.parametrize(
    "method",
    [
        Method(generate=Propose(k=4), evaluate=Value(samples=2), search=Beam(breadth=2, depth=3)),
        Method(generate=Sample(k=3), evaluate=Value(samples=1), search=Beam(breadth=3, depth=4)),
        Method(
            generate=Sample(k=3),
            evaluate=Value(samples=1),
            search=Beam(breadth=99, depth=3),
            answer=Sample(k=1, prompt="answer", whole=True),
        ),
        Method(generate=Sample(k=3), evaluate=Vote(votes=4), search=Beam(breadth=2, depth=3)),
        Method(
            generate=Propose(k=4, repeats=3), evaluate=Combine(Check(), Value(samples=2), Vote(votes=3)), search=Beam(breadth=2, depth=2)
        ),
        Method(generate=Propose(k=3), evaluate=Value(samples=2), search=DepthFirst(depth=3, prune_at=-1, max_steps=1000)),
        Method(generate=Sample(k=3), evaluate=Vote(votes=2), search=DepthFirst(depth=3, prune_at=-1, max_steps=1000)),
        Method(generate=Propose(k=3), evaluate=Value(samples=2), search=DepthFirst(depth=3, prune_at=-1, max_steps=7)),
        Method(generate=Sample(k=5), evaluate=Value(samples=2), search=Chain(depth=4)),
        Method(generate=Propose(k=3), evaluate=Value(samples=2), search=BestFirst(depth=3, prune_below=0, max_nodes=None)),
        Method(generate=Propose(k=3), evaluate=Value(samples=2), search=BestFirst(depth=4, prune_below=0, max_nodes=9)),
        Method(generate=Propose(k=3), evaluate=Vote(votes=2), search=BestFirst(depth=2, prune_below=0, max_nodes=None)),
        Method(generate=Propose(k=2), evaluate=Value(samples=1), search=AStar(depth=3)),
        Method(generate=Propose(k=2), evaluate=Value(samples=2), search=Mcts(rollouts=5, depth=3)),
        Method(generate=Propose(k=2), evaluate=Value(samples=2), search=Mcts(rollouts=500, depth=3, puct=True, backup="max")),
        preset("io").make(),
        preset("cot_sc").make(k=4),
    ],
    ids=lambda m: f"{type(m.generate).__name__} {type(m.evaluate).__name__} {type(m.search).__name__} {m.name}",
)
async def test_states_and_calls_are_exact_where_nothing_is_pruned_or_merged(method: Method) -> None:
    for seed in range(3):
        toy = Toy(seed, branching=method.generate.k, dead=0, complete=0, malformed=0, full=True, merge=False)
        worst = estimate(toy, method)
        result = await solve(toy, method, FakeModel(toy.reply), seed=seed)
        answers = sum(node.role == "answer" for node in result.tree)
        assert len(result.tree) - answers == worst.full_states
        assert result.usage.calls == worst.full_calls
        assert worst.full_calls <= worst.calls


async def test_adaptive_costs_a_thought_and_its_grades_a_rollout() -> None:
    """Every reply is another thought, so nothing is merged."""
    for rollouts, depth in ((1, 1), (9, 3), (20, 5)):
        method = Method(generate=Sample(k=1), evaluate=Value(samples=2), search=Adaptive(rollouts=rollouts, depth=depth))
        toy = Toy(1, dead=0, complete=0, malformed=0, merge=False)
        model = FakeModel(lambda request, i: "likely" if request.role == "evaluate" else f"thought {request.seeds[i]}")
        result = await solve(toy, method, model)
        assert result.usage.calls == estimate(toy, method).full_calls == estimate(toy, method).calls == 3 * rollouts


def test_the_arithmetic_of_the_paper() -> None:
    toy = Toy(1)
    for breadth, states in ((2, 21), (3, 30)):
        worst = estimate(toy, Method(generate=Propose(k=3), evaluate=Value(samples=1), search=Beam(breadth=breadth, depth=4)))
        assert (worst.states, worst.judged) == (states, states)
    six = estimate(toy, Method(generate=Propose(k=6), evaluate=Value(samples=5), search=Beam(breadth=5, depth=1)))
    assert six.by_role["evaluate"].calls == 30
    full = estimate(toy, Method(generate=Propose(k=3), evaluate=Value(samples=1), search=Beam(breadth=10**6, depth=3)))
    assert full.states == 3 + 9 + 27
    assert estimate(toy, Method(generate=Propose(k=5), evaluate=Value(samples=1), search=Beam(breadth=10**6, depth=3))).states == 155


def test_the_formula_is_shown_and_a_branch_explosion_is_warned_of() -> None:
    method = Method(generate=Propose(k=5), evaluate=Value(samples=3), search=Beam(breadth=10**6, depth=6))
    worst = estimate(Toy(1), method)
    assert worst.formula[-1].endswith(f"= {worst.calls:,} calls")
    assert "branch explosion" in worst.warnings[0]
    bounded = estimate(Toy(1), method, budget=Budget(calls=50))
    assert (bounded.warnings, bounded.calls, bounded.bounded) == ((), 50, True)


def test_a_budget_cuts_the_estimate_and_an_unknown_price_stays_unknown() -> None:
    method = preset("tot_bfs").make()
    free = estimate(Toy(1), method)
    assert free.cost_usd is None
    assert not free.bounded
    for tokens in (100, 50_000, 10**9):
        cut = estimate(Toy(1), method, budget=Budget(tokens=tokens), price=Price(1, 1))
        assert cut.prompt_tokens == min(free.prompt_tokens, tokens), "each can be as much as the cap"
        assert cut.completion_tokens == min(free.completion_tokens, tokens)
        assert cut.tokens == cut.to_json()["tokens"] == min(free.prompt_tokens + free.completion_tokens, tokens)
    assert estimate(Toy(1), method, budget=Budget(cost=0.001), price=Price(1, 1)).cost_usd == 0.001


async def test_a_capped_run_stays_within_its_capped_estimate() -> None:
    for seed in range(30):
        toy, method, budget = Toy(seed), preset("tot_bfs").make(k=4), Budget(calls=7, tokens=20_000)
        worst = estimate(toy, method, budget=budget, price=Price(1, 1))
        result = await solve(toy, method, FakeModel(toy.reply, greedy=True), budget=budget, price=Price(1, 1))
        assert result.usage.calls <= worst.calls
        assert result.usage.prompt_tokens <= worst.prompt_tokens
        assert result.usage.completion_tokens <= worst.completion_tokens
        assert result.usage.tokens <= worst.to_json()["tokens"]


def test_what_cannot_be_run_cannot_be_estimated() -> None:
    with pytest.raises(MethodError):
        estimate(Toy(1, reversible=False), preset("tot_dfs").make())


async def test_k_can_be_given(tmp_path: Any) -> None:
    assert estimate(Toy(1), preset("tot_bfs").make(k=8), k=3).states == estimate(Toy(1), preset("tot_bfs").make(k=3)).states
