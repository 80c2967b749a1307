"""Caps hold exactly in whole runs; a smaller cap gives a prefix; resuming with more pays the difference; nothing ever hangs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from branchwise import (
    Beam,
    Budget,
    Chain,
    Check,
    Combine,
    DepthFirst,
    Evaluation,
    Method,
    Price,
    Proposal,
    Proposals,
    Propose,
    Result,
    RetryPolicy,
    Sample,
    Sampling,
    Size,
    State,
    UsageError,
    Value,
    Vote,
    preset,
    solve,
)  # fmt: skip
from branchwise.budget import Bound
from branchwise.errors import TransientError
from support.models import FakeModel
from support.pace import slowness
from support.runs import ANSWER, ONCE, SMALL, TWICE, random_budget, random_method, run
from support.trees import generated, is_prefix, snapshot
from support.worlds import Toy


def assert_within(result: Result, budget: Budget) -> None:
    usage = result.usage
    assert budget.calls is None or usage.calls <= budget.calls
    assert budget.tokens is None or usage.tokens <= budget.tokens
    assert budget.cost is None or (usage.cost or 0) <= round(budget.cost * 1e6)
    assert budget.nodes is None or len(result.tree) <= budget.nodes


@pytest.mark.parametrize("name", ["io", "cot", "cot_sc", "refine", "tot_bfs", "tot_dfs"])
async def test_ten_calls_and_eight_at_once_never_make_an_eleventh(name: str) -> None:
    for seed in range(10):
        toy = Toy(seed, dead=0.05)
        result, model = await run(toy, preset(name).make(), parallel=8, jitter=seed, budget=Budget(calls=10))
        assert model.calls <= 10
        assert result.usage.calls == model.calls
        if result.stop_reason == "budget:calls":
            assert result.unfinished


async def test_a_thousand_random_runs_break_no_cap_never_hang_and_leave_nothing_running() -> None:
    reasons = set()
    for seed in range(1000):
        rng = Random(seed)
        toy = Toy(seed, solved=rng.choice((0, 0.02)), malformed=rng.choice((0, 0.1)))
        method, budget = random_method(rng), random_budget(rng)
        result, model = await run(
            toy, method, budget=budget, price=Price(0.3, 0.7), greedy=rng.random() < 0.5, jitter=seed, parallel=rng.choice((1, 3, 8)),
            retry=rng.choice((ONCE, TWICE)),
        )  # fmt: skip
        assert_within(result, budget)
        assert result.usage.calls == model.calls
        assert sum(usage.calls for usage in result.by_role.values()) == model.calls
        reasons.add(result.stop_reason)
    assert {"budget:calls", "budget:tokens", "budget:cost", "budget:nodes", "max_depth", "exhausted", "solved"} <= reasons


async def test_faults_under_a_cap_are_counted_and_never_hang() -> None:
    for seed in range(200):
        rng = Random(seed)
        toy, budget = Toy(seed), random_budget(rng)

        def fault(request: object, tried: int, rng: Random = rng) -> Exception | None:
            return TransientError("down") if rng.random() < 0.3 else None

        model = FakeModel(toy.reply, jitter=seed, fault=fault, greedy=True)
        result, _ = await run(toy, random_method(rng), model=model, budget=budget, price=Price(0.3, 0.7), retry=TWICE, parallel=4)
        assert_within(result, budget)
        assert result.usage.calls == model.calls


async def test_a_capped_run_is_the_same_for_every_latency_and_parallelism() -> None:
    for seed in range(60):
        rng = Random(seed)
        toy, method, budget = Toy(seed), random_method(rng), random_budget(rng)
        first, one = await run(toy, method, budget=budget, price=Price(0.3, 0.7), parallel=1, jitter=0)
        for parallel, jitter in ((4, 1), (16, 2)):
            again, other = await run(toy, method, budget=budget, price=Price(0.3, 0.7), parallel=parallel, jitter=jitter)
            assert snapshot(again.tree) == snapshot(first.tree), seed
            assert (again.stop_reason, again.answer, again.usage) == (first.stop_reason, first.answer, first.usage), seed
            assert sorted(other.samples) == sorted(one.samples), seed


def one_at_a_time(method: Method) -> Method:
    """For caps on nodes: near one fewer steps are in flight, which searches that choose by value notice; with a window of 1 nothing is to
    notice.

    Going back is the node budget's own, so another cap is another method there. (Calls and tokens with a full window:
    tests/test_matrix.py.)
    """
    search: Any = method.search
    search = replace(search, backtrack=False) if getattr(search, "backtrack", False) else search
    return replace(method, search=search, window=None if isinstance(search, (Beam, DepthFirst, Chain)) else 1)


async def test_a_smaller_cap_gives_a_prefix_of_a_larger_one() -> None:
    for seed in range(60):
        rng = Random(seed)
        toy, method = Toy(seed), one_at_a_time(random_method(rng, answer=False))
        whole, model = await run(toy, method)
        paid = set(model.samples)
        shares = getattr(method.search, "shares_tokens", False) and method.search.max_nodes is not None  # type: ignore[attr-defined]
        for kind in ("calls", "nodes") if shares else ("calls", "tokens", "nodes"):  # a share of the tokens makes other requests of the same step
            most = {"calls": whole.usage.calls, "tokens": whole.usage.tokens * 2, "nodes": len(whole.tree)}[kind]
            for cap in {max(1, most // 4), max(1, most // 2), max(1, most - 1)}:
                short, small = await run(toy, method, budget=Budget(**{kind: cap}), parallel=4)
                assert is_prefix(short.tree, whole.tree, partial=True), (seed, kind, cap)
                assert set(small.samples) <= paid, (seed, kind, cap)
                assert len(small.samples) == len(set(small.samples))


async def test_a_cap_that_is_just_enough_changes_nothing() -> None:
    for seed in range(40):
        rng = Random(seed)
        toy, method = Toy(seed), one_at_a_time(random_method(rng, answer=False))
        whole, _ = await run(toy, method)
        for budget in (Budget(calls=max(1, whole.usage.calls)), Budget(nodes=max(1, len(whole.tree)))):
            again, _ = await run(toy, method, budget=budget, parallel=8)
            assert generated(again.tree) == generated(whole.tree), (seed, budget)
            if not budget.nodes:  # what would bring nothing more is not tried at a full node budget, so not everything is decided
                assert snapshot(again.tree) == snapshot(whole.tree), (seed, budget)
            assert again.usage.calls == whole.usage.calls or (budget.nodes and again.stop_reason == "budget:nodes")
            assert again.answer == whole.answer or not len(whole.tree)


async def test_resuming_with_more_pays_exactly_the_difference_and_ends_like_an_uncapped_run(tmp_path: Path) -> None:
    for seed in range(50):
        rng = Random(seed)
        toy, method = Toy(seed, solved=0.01), one_at_a_time(random_method(rng, answer=False))
        whole, model = await run(toy, method, parallel=4)
        kind = rng.choice(("calls", "tokens", "nodes"))
        most = {"calls": model.calls, "tokens": whole.usage.tokens * 2, "nodes": len(whole.tree)}[kind]
        trace = tmp_path / f"{seed}.jsonl"
        _, one = await run(toy, method, budget=Budget(**{kind: rng.randint(1, max(1, most))}), trace=trace, parallel=8)
        _, two = await run(toy, method, budget=Budget(**{kind: max(1, most)}), resume=trace, parallel=2, jitter=3)
        last, three = await run(toy, method, resume=trace, parallel=16, jitter=4)
        assert snapshot(last.tree) == snapshot(whole.tree), seed
        assert (last.stop_reason, last.answer) == (whole.stop_reason, whole.answer)
        if whole.stop_reason != "solved":
            assert sorted(one.samples + two.samples + three.samples) == sorted(model.samples), seed
            assert last.usage.calls == whole.usage.calls


async def test_the_answering_call_is_reserved_from_the_start() -> None:
    for seed in range(30):
        toy = Toy(seed, dead=0, complete=0, malformed=0, full=True)
        method = preset("tot_bfs").make(k=3, breadth=2, samples=2, prune_below=0)
        for calls in (1, 2, 3, 7, 20):
            result, model = await run(toy, method, budget=Budget(calls=calls), parallel=8)
            roles = [request.role for request in model.requests]
            assert roles.count("answer") == 1, (seed, calls)
            assert model.calls <= calls
            assert result.answer is not None
            assert result.answer.startswith("answer")
            assert calls == 20 or result.stop_reason == "budget:calls"


async def test_the_answering_call_has_its_tokens_and_its_node_reserved_too() -> None:
    toy = Toy(3, dead=0, complete=0, malformed=0)
    method = Method(
        generate=Propose(k=3, sampling=SMALL, longest=20), evaluate=Value(samples=1, sampling=SMALL), search=Beam(), answer=ANSWER
    )
    for tokens in range(900, 5000, 250):
        result, _ = await run(toy, method, budget=Budget(tokens=tokens), greedy=True)
        assert result.answer is not None, tokens
        assert result.usage.tokens <= tokens
    for nodes in range(1, 12):
        result, _ = await run(toy, method, budget=Budget(nodes=nodes))
        assert result.answer is not None, nodes
        assert result.answer.startswith("answer")
        assert len(result.tree) <= nodes
        assert result.stop_reason == "budget:nodes"


async def test_too_few_tokens_for_the_answer_are_said_and_do_not_hang() -> None:
    toy = Toy(3, dead=0, complete=0, malformed=0)
    result, _ = await run(toy, preset("tot_bfs").make(), budget=Budget(tokens=3000), greedy=True)
    assert result.usage.tokens <= 3000
    assert any("3000 tokens" in warning for warning in result.warnings)


async def test_judgements_of_thoughts_that_fit_the_node_budget_are_still_made() -> None:
    toy = Toy(5, dead=0, complete=0, malformed=0, full=True, merge=False)
    method = Method(generate=Propose(k=4), evaluate=Value(samples=2), search=Beam(breadth=2, depth=1))
    result, _ = await run(toy, method, budget=Budget(nodes=4))
    assert [node.value is not None for node in result.tree] == [True] * 4
    assert result.stop_reason == "max_depth"


async def test_thoughts_beyond_the_node_budget_end_the_run_by_that_name() -> None:
    toy = Toy(5, dead=0, complete=0, malformed=0, full=True, merge=False)
    method = Method(generate=Sample(k=6), search=Beam(breadth=6, depth=1))
    result, _ = await run(toy, method, budget=Budget(nodes=4))
    assert len(result.tree) == 4
    assert result.stop_reason == "budget:nodes"
    assert result.tree.counts().dropped == 2


async def test_a_worst_case_that_fills_the_budget_makes_progress_one_by_one() -> None:
    """Case 58: 10,000 tokens, replies may take 8,000 and take 50: waiting for settlement, not failing."""
    toy = Toy(1, dead=0, complete=0, malformed=0, full=True, merge=False)
    method = Method(generate=Sample(k=8, sampling=Sampling(max_tokens=8000)), search=Beam(breadth=1, depth=1))
    result, model = await run(toy, method, budget=Budget(tokens=10_000), parallel=8)
    assert model.calls == 8
    assert model.most == 1
    assert result.stop_reason == "max_depth"


async def test_tokens_overshoot_by_nothing_with_calls_in_flight() -> None:
    """Case 57: max_tokens 1,000, each call up to 400, four at once."""
    toy = Toy(1, dead=0, complete=0, malformed=0, full=True, merge=False)
    method = Method(generate=Sample(k=4, sampling=Sampling(max_tokens=150)), evaluate=Value(samples=1), search=Beam(breadth=4, depth=3))
    result, _ = await run(toy, method, budget=Budget(tokens=1000), parallel=4, greedy=True)
    assert result.usage.tokens <= 1000
    assert result.stop_reason == "budget:tokens"


async def test_every_attempt_is_paid() -> None:
    """Case 61: two failures and a success are three calls."""
    toy = Toy(1, malformed=0)
    model = FakeModel(toy.reply, fault=lambda request, tried: TransientError("again") if tried < 2 else None)
    result = await solve(toy, preset("io").make(), model, retry=RetryPolicy(attempts=3, base=0, jitter=0))
    assert result.usage.calls == model.calls == 3
    assert result.usage.requests == 3


class Liar:
    """A user's generator that asks for more than it said."""

    k, thought_bytes = 2, 100

    async def __call__(self, model: Any, problem: Any, state: State, k: int) -> Proposals:
        from branchwise.thought.asking import ask, render

        replies = [await ask(model, render(problem, "sample", state, {"k": "1"}), 2, "generate", SMALL) for _ in range(3)]
        return Proposals(tuple(Proposal(s.text.strip() or "x") for s in replies[0].samples))

    def bound(self, problem: Any, size: Size, k: int) -> Bound:
        return Bound(1, 10, 10)


async def test_a_part_that_asks_for_more_than_it_announced_cannot_break_a_cap() -> None:
    for calls in range(1, 16):
        result, model = await run(
            Toy(1), Method(generate=Liar(), evaluate=Check(), search=Beam(breadth=2, depth=4)), budget=Budget(calls=calls)
        )
        assert model.calls <= calls, calls
        assert result.usage.calls == model.calls


class Slow:
    """A judge that never comes back."""

    joint = False

    async def __call__(self, model: Any, problem: Any, states: Any) -> list[Evaluation]:
        await asyncio.sleep(60)
        return []

    def bound(self, problem: Any, size: Size, n: int) -> Bound:
        return Bound()


@pytest.mark.parametrize("search", [Beam(breadth=2, depth=2), DepthFirst(), Chain(depth=3)])
async def test_a_time_limit_ends_the_run_promptly_with_the_best_so_far(search: Any) -> None:
    toy, start = Toy(1, dead=0, malformed=0), time.monotonic()
    model = FakeModel(toy.reply, seconds=60)
    result, _ = await run(toy, Method(generate=Sample(k=2), search=search, evaluate=Value()), model=model, budget=Budget(seconds=0.3 * slowness()))
    assert time.monotonic() - start < 2 * slowness()
    assert result.stop_reason == "budget:seconds"
    assert result.unfinished
    assert model.cancelled == 1
    if not isinstance(search, Chain):
        result, _ = await run(toy, Method(generate=Sample(k=2), search=search, evaluate=Slow()), budget=Budget(seconds=0.3 * slowness()))
        assert result.stop_reason == "budget:seconds"
        assert len(result.tree)


async def test_a_time_limit_also_ends_the_answering_call() -> None:
    toy, start = Toy(1, dead=0, complete=0, malformed=0), time.monotonic()

    async def text(request: Any) -> None:
        await asyncio.sleep(60 if request.role == "answer" else 0)

    from branchwise import Scripted

    model = Scripted(lambda request, i: toy.reply(request, i - request.first), latency=text)
    result = await solve(toy, preset("tot_bfs").make(k=2, breadth=1, samples=1), model, budget=Budget(seconds=0.5 * slowness()))
    assert time.monotonic() - start < 5 * slowness()
    assert result.unfinished
    assert result.path


async def test_no_time_at_all_is_a_result() -> None:
    result, model = await run(Toy(1), preset("tot_bfs").make(), budget=Budget(seconds=1e-9))
    assert (result.stop_reason, model.calls, result.answer) == ("budget:seconds", 0, None)


async def test_settings_that_cannot_work_are_refused_before_the_first_call(tmp_path: Path) -> None:
    toy, model = Toy(1), FakeModel(Toy(1).reply)
    for settings in ({"budget": Budget(cost=1.0), "price": None}, {"parallel": 0}, {"parallel": -1}):
        with pytest.raises(UsageError):
            await solve(toy, preset("io").make(), model, trace=tmp_path / "t.jsonl", **settings)  # type: ignore[arg-type]
    assert model.calls == 0
    assert not (tmp_path / "t.jsonl").exists(), "nothing is left behind"


async def test_an_unknown_price_is_shown_as_unknown() -> None:
    result, _ = await run(Toy(1), preset("tot_dfs").make(), price=None)
    assert result.usage.tokens > 0
    assert result.usage.cost is None
    assert result.to_json()["usage"]["cost_usd"] is None
    assert all(role["cost_usd"] is None for role in result.to_json()["usage"]["by_role"].values())


async def test_a_nested_fan_out_under_one_slot_never_deadlocks() -> None:
    toy = Toy(2, dead=0, complete=0)
    method = Method(generate=Sample(k=6), evaluate=Combine(Value(samples=5), Vote(votes=7)), search=Beam(breadth=4, depth=3))
    for parallel in (1, 2, 3):
        result, _ = await run(toy, method, parallel=parallel)
        assert result.stop_reason in ("max_depth", "exhausted")
