"""A run that came to a proven answer costs nothing when it is resumed; requests that are cut off are charged, and what they may have cost is said."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from branchwise import Budget, Price, RetryPolicy, Stop, read_trace, solve
from branchwise.errors import TransientError
from branchwise.trace import Stopped
from support.models import FakeModel, request_bytes
from support.steered import METHODS
from support.trees import snapshot
from support.worlds import PROMPTS, Toy

TASK = {**PROMPTS, "rewrite": "REWRITE\n{{prompt}}\n{{last}}\n{{critique}}"}


@pytest.mark.parametrize("name", ["adaptive", "mctsr", "mcts", "beam", "a_star", "dfs"])
async def test_a_solved_run_sends_nothing_when_it_is_resumed(name: str, tmp_path: Path) -> None:
    solved = 0
    for seed in range(16):
        toy, trace = Toy(seed, prompts=TASK, solved=0.05), tmp_path / f"{seed}.jsonl"
        first = await solve(toy, METHODS[name], FakeModel(toy.reply, jitter=seed), trace=trace, seed=seed, parallel=4)
        if first.stop_reason != "solved":
            continue
        solved += 1
        model = FakeModel(toy.reply, jitter=seed + 1)
        again = await solve(toy, METHODS[name], model, resume=trace, seed=seed, parallel=4)
        assert (model.calls, again.answer, again.stop_reason) == (0, first.answer, "solved")
        assert snapshot(again.tree) == snapshot(first.tree)
    assert solved >= 2


async def test_what_was_cut_off_is_charged_its_prompt_and_said_to_have_cost_more(tmp_path: Path) -> None:
    toy, stop, trace = Toy(1), Stop(), tmp_path / "t.jsonl"
    hanging: list[int] = []

    async def latency(request: object) -> None:
        hanging.append(request_bytes(request))  # type: ignore[arg-type]
        if len(hanging) == 3:
            asyncio.get_running_loop().call_soon(stop.now)
            await asyncio.sleep(60)

    from branchwise import Scripted

    model = Scripted(toy.reply, latency=latency)
    result = await solve(toy, METHODS["dfs"], model, trace=trace, stop=stop, price=Price(1, 2), retry=RetryPolicy(attempts=1))
    end = [event for event in read_trace(trace) if isinstance(event, Stopped)][-1]
    assert result.stop_reason == "cancelled"
    assert result.usage.estimated
    assert end.usage["estimated"] is True
    assert end.usage["cut_off"]["completion_tokens"] >= 1
    assert end.usage["cut_off"]["prompt_tokens"] > 0
    role = "generate" if result.by_role["generate"].estimated else "evaluate"
    assert result.by_role[role].estimated
    assert result.usage.cost is not None
    assert result.usage.cost > 0


async def test_a_reply_that_is_lost_in_transit_may_have_cost_more_too(tmp_path: Path) -> None:
    """The server took the request and fell silent, or broke off: it may have written up to the limit of the reply."""
    toy, trace = Toy(1), tmp_path / "t.jsonl"
    lost: list[int] = []

    async def latency(request: object) -> None:
        if not lost:
            lost.append(request_bytes(request))  # type: ignore[arg-type]
            error = TransientError("no reply in time")
            error.spent, error.estimated = (lost[0] // 4, 0), True
            raise error

    from branchwise import Scripted

    model = Scripted(toy.reply, latency=latency)
    await solve(toy, METHODS["dfs"], model, trace=trace, retry=RetryPolicy(attempts=2, base=0), budget=Budget(calls=9))
    end = [event for event in read_trace(trace) if isinstance(event, Stopped)][-1]
    assert end.usage["estimated"] is True
    assert end.usage["cut_off"]["completion_tokens"] >= 1
    assert end.usage["cut_off"]["prompt_tokens"] >= lost[0] - lost[0] // 4


async def test_a_run_that_ends_by_itself_has_nothing_cut_off(tmp_path: Path) -> None:
    toy, trace = Toy(1), tmp_path / "t.jsonl"
    await solve(toy, METHODS["dfs"], FakeModel(toy.reply), trace=trace, budget=Budget(calls=9))
    end = [event for event in read_trace(trace) if isinstance(event, Stopped)][-1]
    assert "cut_off" not in end.usage
    assert "estimated" not in end.usage
