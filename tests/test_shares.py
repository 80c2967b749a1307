"""The token budget of a thought: remaining tokens / remaining nodes, recomputed as the run goes, the same whatever the latency."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from branchwise import (
    BestFirst,
    Budget,
    Heuristic,
    Method,
    Propose,
    Request,
    Result,
    RetryPolicy,
    Sample,
    Sampling,
    Usage,
    best_path,
    solve,
)
from branchwise.budget import Bound, Price
from branchwise.ledger import Ledger
from branchwise.model.base import Message
from branchwise.model.layers.seeded import Seeded, Turn
from branchwise.shares import LEAST, Shares
from branchwise.trace import Call, read_trace
from support.models import FakeModel
from support.worlds import Toy

ONCE = RetryPolicy(attempts=1)
TOY = Toy(3, dead=0, complete=0, malformed=0, full=True)


def method(lists: bool = True) -> Method:
    sampling = Sampling(max_tokens=400)
    generate = Propose(k=2, sampling=sampling) if lists else Sample(k=2, sampling=sampling)
    return Method(generate=generate, evaluate=Heuristic(), search=BestFirst(depth=4, prune_below=0.0, max_nodes=12), pick=best_path, window=2)


async def run(what: Method, **settings: Any) -> tuple[Result, FakeModel]:
    model = FakeModel(TOY.reply, jitter=settings.pop("jitter", 0))
    return await solve(TOY, what, model, retry=ONCE, **settings), model


def limits(model: FakeModel) -> list[int]:
    return [request.max_tokens for request in sorted(model.requests, key=lambda request: request.step or 0)]


def ledger(tokens: int) -> Ledger:
    return Ledger(Budget(tokens=tokens), Price(0, 0))


def test_the_share_of_a_thought_is_what_is_left_of_the_tokens_over_what_is_left_of_the_nodes() -> None:
    """1200 tokens, 12 nodes: 100 each. A step for 3 takes 300 until it is committed; it spent 120, so 1080 are left for 9: 120 each."""
    book = ledger(1200)
    shares = Shares(book, 12, {})
    assert shares.share(0) == 100
    assert shares.limit(("", 0), 1, 3, True, 0) == 300
    assert shares.share(3) == 100
    assert shares.limit(("0", 1), 2, 2, False, 3) == 100
    book.charge(1, "generate", Usage(calls=1, prompt_tokens=100, completion_tokens=20))
    assert shares.share(5) == 100
    shares.committed(1)
    assert shares.share(5) == (1200 - 120 - 200) // 7
    shares.committed(2)
    assert shares.share(3) == 120


def test_what_is_held_back_for_the_answer_is_not_shared_and_no_reply_is_held_to_nothing() -> None:
    book = ledger(1000)
    book.reserve = Bound(1, 300, 100)
    assert Shares(book, 6, {}).share(0) == 100
    assert Shares(ledger(10), 10, {}).limit(("", 0), 1, 1, False, 0) == LEAST


def test_a_recorded_limit_is_kept() -> None:
    assert Shares(ledger(1000), 10, {("0", 1): 77}).limit(("0", 1), 1, 1, False, 0) == 77


async def test_replies_are_held_to_the_share_of_their_thoughts() -> None:
    _, model = await run(method(), budget=Budget(tokens=1200))
    assert limits(model)[0] == 200
    assert all(limit <= 400 for limit in limits(model))
    _, single = await run(method(lists=False), budget=Budget(tokens=1200))
    assert limits(single)[0] == 100


@pytest.mark.parametrize("budget", [Budget(), Budget(calls=9), Budget(nodes=5)])
async def test_without_both_budgets_nothing_is_held(budget: Budget) -> None:
    _, model = await run(method(), budget=budget)
    assert set(limits(model)) == {400}


async def test_other_searches_and_roles_are_not_held() -> None:
    from branchwise import Beam, Value

    beam = Method(generate=Propose(k=2), evaluate=Value(samples=1), search=Beam(breadth=2, depth=2))
    _, model = await run(beam, budget=Budget(tokens=100_000, nodes=12))
    assert {request.max_tokens for request in model.requests} == {512, 256}


async def test_the_shares_do_not_depend_on_latency_or_parallelism() -> None:
    settings = [{"jitter": 1, "parallel": 8}, {"jitter": 2, "parallel": 8}, {"jitter": 3, "parallel": 1}]
    runs = [await run(method(), budget=Budget(tokens=1200), **one) for one in settings]
    first = limits(runs[0][1])
    assert len(set(first)) > 1
    for result, model in runs:
        assert limits(model) == first
        assert [node.thought for node in result.tree] == [node.thought for node in runs[0][0].tree]


async def test_the_token_budget_holds() -> None:
    for tokens in range(200, 4000, 300):
        model = FakeModel(TOY.reply, greedy=True)
        result = await solve(TOY, method(), model, retry=ONCE, budget=Budget(tokens=tokens))
        assert result.usage.tokens <= tokens


async def test_a_run_goes_on_to_the_same_tree_from_every_event(tmp_path: Path) -> None:
    trace = tmp_path / "whole.jsonl"
    whole, model = await run(method(), budget=Budget(tokens=1200), trace=trace)
    lines = trace.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        part = tmp_path / f"{cut}.jsonl"
        part.write_bytes(b"".join(lines[:cut]))
        taken = sum(isinstance(event, Call) for event in read_trace(part))
        again, fresh = await run(method(), budget=Budget(tokens=1200), resume=part)
        assert [(n.label, n.thought, n.value) for n in again.tree] == [(n.label, n.thought, n.value) for n in whole.tree]
        assert len(fresh.requests) == len(model.requests) - taken


async def test_with_more_tokens_it_pays_only_what_is_missing(tmp_path: Path) -> None:
    """The limits that the replies on the tape were held to are recorded, so that they fit the larger budget too."""
    trace = tmp_path / "run.jsonl"
    first, _ = await run(method(), budget=Budget(tokens=600), trace=trace)
    taken = sum(isinstance(event, Call) for event in read_trace(trace))
    assert first.stop_reason == "budget:tokens"
    more, model = await run(method(), budget=Budget(tokens=5000), resume=trace)
    assert taken
    assert len(more.tree) > len(first.tree)
    asked = {str(request.id) for request in model.requests}
    old = {f"{event.role} at {event.node or 'root'} (step {event.occurrence}" for event in read_trace(trace) if isinstance(event, Call)}
    assert len(old) == taken + len(asked)


async def test_the_limit_is_part_of_the_request_and_of_its_fingerprint() -> None:
    model = FakeModel(TOY.reply)
    request = Request((Message("user", "PROPOSE 2\ntoy 3\n"),), max_tokens=400)
    for limit in (None, 500, 100):
        await Seeded(model, 0, Turn(1), "", 0, limit=limit).sample(request)
    assert [asked.max_tokens for asked in model.requests] == [400, 400, 100]
    digests = [asked.id.digest for asked in model.requests if asked.id is not None]
    assert digests[0] == digests[1] != digests[2]
