"""Another evaluator or pick over a finished tree, and a second run from the beginning of a first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from branchwise import (
    BestFirst,
    Budget,
    Method,
    MethodError,
    Propose,
    Score,
    Scripted,
    TraceError,
    UsageError,
    Vote,
    best_path,
    best_value,
    deepest,
    read_trace,
    solve,
)
from branchwise.fork import fork
from branchwise.rescore import rescore
from branchwise.tasks import task
from branchwise.trace import Call, Started
from branchwise.tree import Tree

OPEN = task("open")
PROBLEM = OPEN.problem("Which way?")
METHOD = OPEN.method("best_first", {"depth": 2, "prune_below": 0.4})


def model(scores: dict[str, float] | None = None) -> Scripted:
    def reply(request: Any, index: int) -> str:
        prompt = request.messages[-1].content
        if request.role == "answer":
            return "Answer: written"
        if request.role == "evaluate":
            if "The best choice" in prompt:
                return "The best choice is 2"
            last = prompt.strip().splitlines()[-1]
            return f'{{"reason": "r", "score": {(scores or {}).get(last, 0.5)}}}'
        return "1. x then\n2. y then" if "Line of thought" in prompt else "1. Therefore left, because\n2. perhaps right"

    return Scripted(reply)


async def made(tmp_path: Path, **settings: Any) -> Path:
    trace = tmp_path / "run.jsonl"
    await solve(PROBLEM, METHOD, model(), trace=trace, **settings)
    return trace


def judge(**settings: Any) -> Method:
    return OPEN.method("best_first", {"depth": 2, "evaluate": "score"}) if not settings else Method(generate=Propose(), **settings)


async def test_the_thoughts_stay_and_the_values_are_new(tmp_path: Path) -> None:
    trace, out = await made(tmp_path), tmp_path / "new.jsonl"
    before = trace.read_bytes()
    scores = {"Therefore left, because": 0.2, "perhaps right": 0.9, "x then": 0.3}
    done = await rescore(trace, PROBLEM, judge(), model(scores), out=out)
    assert trace.read_bytes() == before
    assert done.before is not None
    old, new = done.before.tree, done.result.tree
    thoughts = [(node.label, node.thought) for node in old if node.role != "answer"]
    assert [(node.label, node.thought) for node in new] == thoughts
    assert [node.value for node in new] == [0.2, 0.9, 0.3, 0.5]
    assert [node.fate.value for node in new] == ["undecided"] * 4
    assert done.changed
    assert done.result.path == ["perhaps right"]
    assert done.result.answer is None
    assert "no answer has been written" in done.result.warnings[-1]
    assert done.result.usage.calls == 4
    assert set(done.result.by_role) == {"evaluate"}


async def test_the_new_trace_can_be_shown_but_not_gone_on_with(tmp_path: Path) -> None:
    trace, out = await made(tmp_path), tmp_path / "new.jsonl"
    done = await rescore(trace, PROBLEM, judge(), model(), out=out)
    assert [n.value for n in Tree.fold(read_trace(out))] == [n.value for n in done.result.tree]
    assert sum(isinstance(event, Call) for event in read_trace(out)) == 4
    with pytest.raises(TraceError, match="another method"):
        await solve(PROBLEM, METHOD, model(), resume=out)
    with pytest.raises(TraceError, match="exists already"):
        await rescore(trace, PROBLEM, judge(), model(), out=out)


async def test_the_written_answer_is_kept_where_its_path_is_chosen_again(tmp_path: Path) -> None:
    trace = await made(tmp_path)
    done = await rescore(trace, PROBLEM, judge(), model({"x then": 0.9}))
    assert not done.changed
    assert done.result.answer == "written"


async def test_another_pick_alone_costs_nothing_and_keeps_the_values(tmp_path: Path) -> None:
    trace = await made(tmp_path)
    for pick in (best_value, deepest, best_path):
        fake = model()
        done = await rescore(trace, PROBLEM, judge(evaluate=Score(), search=BestFirst(), pick=pick), fake, values=False)
        assert fake.calls == 0
        assert done.before is not None
        old = [node.value for node in done.before.tree if node.role != "answer"]
        assert [node.value for node in done.result.tree][: len(old)] == old


async def test_a_vote_compares_the_children_of_each_thought(tmp_path: Path) -> None:
    trace = await made(tmp_path)
    done = await rescore(trace, PROBLEM, judge(evaluate=Vote(votes=3), search=BestFirst(), pick=best_path), model())
    assert [node.value for node in done.result.tree][:4] == [0.0, 1.0, 0.0, 1.0]
    assert done.result.usage.calls == 6


@pytest.mark.parametrize("calls", [1, 2, 3])
async def test_a_budget_holds_and_what_was_judged_counts(tmp_path: Path, calls: int) -> None:
    trace = await made(tmp_path)
    done = await rescore(trace, PROBLEM, judge(), model(), budget=Budget(calls=calls))
    assert done.result.usage.calls == calls
    assert done.result.stop_reason == "budget:calls"
    assert done.result.unfinished
    assert sum(node.value is not None for node in done.result.tree if node.role != "answer") == calls


async def test_what_cannot_be_judged_is_refused(tmp_path: Path) -> None:
    trace = await made(tmp_path)
    with pytest.raises(TraceError, match="another problem"):
        await rescore(trace, OPEN.problem("Another?"), judge(), model())
    with pytest.raises(MethodError, match="no evaluator"):
        await rescore(trace, PROBLEM, OPEN.method("io"), model())
    empty = tmp_path / "empty.jsonl"
    await solve(PROBLEM, METHOD, Scripted([{"replies": [""]}]), trace=empty)
    with pytest.raises(TraceError, match="no thoughts"):
        await rescore(empty, PROBLEM, judge(), model())


async def test_a_finished_run_goes_on_with_more_nodes_and_pays_only_the_difference(tmp_path: Path) -> None:
    trace = await made(tmp_path, budget=Budget(nodes=3))
    again = model()
    result = await solve(PROBLEM, METHOD, again, resume=trace, budget=Budget(nodes=8))
    fresh = model()
    whole = await solve(PROBLEM, METHOD, fresh, budget=Budget(nodes=8))
    assert result.to_json()["nodes"] == whole.to_json()["nodes"]
    assert again.calls < fresh.calls


async def test_a_fork_replays_up_to_its_event_and_leaves_the_first_run_alone(tmp_path: Path) -> None:
    trace = await made(tmp_path)
    before, calls = trace.read_bytes(), [n for n, event in enumerate(read_trace(trace), 1) if isinstance(event, Call)]
    for at, left in ((1, len(calls)), (calls[0], len(calls) - 1), (None, 0)):
        out = tmp_path / f"fork{at}.jsonl"
        assert fork(trace, out, at=at) == len(calls) - left
        fake = model()
        result = await solve(PROBLEM, METHOD, fake, resume=out)
        assert fake.calls == left
        assert result.answer == "written"
    assert trace.read_bytes() == before


async def test_a_fork_with_another_seed_keeps_the_old_replies_and_draws_new_ones(tmp_path: Path) -> None:
    trace, out = await made(tmp_path), tmp_path / "fork.jsonl"
    first = next(n for n, event in enumerate(read_trace(trace), 1) if isinstance(event, Call))
    fork(trace, out, seed=7, at=first)
    started = next(iter(read_trace(out)))
    assert isinstance(started, Started)
    assert (started.run["seed"], started.about["forked"]) == (7, str(trace))
    fake = model()
    await solve(PROBLEM, METHOD, fake, resume=out, seed=7)
    old = [event for event in read_trace(trace) if isinstance(event, Call)]
    assert len(fake.requests) == len(old) - 1
    with pytest.raises(TraceError, match="seed"):
        await solve(PROBLEM, METHOD, fake, resume=out, seed=0)


async def test_a_fork_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    trace = await made(tmp_path)
    with pytest.raises(UsageError, match="counted from 1"):
        fork(trace, tmp_path / "new.jsonl", at=0)
    with pytest.raises(UsageError, match="cannot be forked at event 9999"):
        fork(trace, tmp_path / "new.jsonl", at=9999)
    with pytest.raises(TraceError, match="exists already"):
        fork(trace, trace)
