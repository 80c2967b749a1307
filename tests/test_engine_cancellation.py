"""However a run ends, its trace says so, what was paid is kept, and nothing is left running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from branchwise import (
    Beam,
    Chain,
    DepthFirst,
    Evaluation,
    Message,
    Method,
    Propose,
    Reply,
    Request,
    Result,
    RetryPolicy,
    Sample,
    Status,
    Stop,
    Tree,
    Value,
    dead,
    preset,
    read_trace,
    solve,
    watch,
)  # fmt: skip
from branchwise.budget import Bound
from branchwise.errors import ContextOverflow, PermanentError, TransientError
from branchwise.model.layers.limited import Limited
from branchwise.trace import Stopped
from support.models import FakeModel, silent
from support.trees import snapshot
from support.worlds import Toy

ONCE = RetryPolicy(attempts=1)
TOY = Toy(4, dead=0, complete=0, malformed=0, full=True, merge=False)
BEAM = Method(name="beam", generate=Propose(k=4), evaluate=Value(samples=2), search=Beam(breadth=2, depth=3))


@pytest.fixture(autouse=True)
async def _nothing_is_left_running() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    assert not left, left


def last_event(trace: Path) -> Stopped:
    event = list(read_trace(trace))[-1]
    assert isinstance(event, Stopped)
    return event


async def until(condition: Any) -> None:
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to that")


async def test_stop_ends_the_run_at_once_with_the_best_so_far_and_it_can_be_resumed(tmp_path: Path) -> None:
    whole = await solve(TOY, BEAM, FakeModel(TOY.reply))
    for at in range(1, whole.usage.calls, 5):
        trace = tmp_path / f"{at}.jsonl"
        stop, model = Stop(), FakeModel(TOY.reply, jitter=at, turns=30)
        task = asyncio.create_task(solve(TOY, BEAM, model, stop=stop, trace=trace, parallel=4))
        await until(lambda: model.calls >= at)  # noqa: B023
        stop.now()
        stop.now()
        result = await task
        assert result.stop_reason == "cancelled"
        assert result.unfinished
        assert model.flying == 0
        assert result.usage.calls == model.calls, "a call that was never sent is not paid, one that was cancelled is"
        assert last_event(trace).reason == "cancelled"
        assert snapshot(Tree.fold(read_trace(trace))) == snapshot(result.tree)
        again = await solve(TOY, BEAM, FakeModel(TOY.reply), resume=trace)
        assert snapshot(again.tree) == snapshot(whole.tree)


@pytest.mark.parametrize("method", [BEAM, preset("refine").make(), preset("mctsr_4").make()], ids=lambda m: m.name)
async def test_a_listener_can_stop_the_run_at_any_event_and_who_waits_for_it_is_not_cancelled(method: Method, tmp_path: Path) -> None:
    seen: list[Any] = []
    whole = await solve(TOY, method, FakeModel(TOY.reply), on_event=seen.append)
    for at in range(1, len(seen)):
        stop, count = Stop(), iter(range(1, len(seen) + 1))
        trace = tmp_path / f"{at}.jsonl"

        def listen(_: Any, at: int = at, stop: Stop = stop, count: Iterator[int] = count) -> None:
            if next(count, 0) == at:
                stop.now()

        result = await solve(TOY, method, FakeModel(TOY.reply), stop=stop, trace=trace, on_event=listen)
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()
        await asyncio.sleep(0)
        assert result.stop_reason in ("cancelled", whole.stop_reason)
        assert snapshot(Tree.fold(read_trace(trace))) == snapshot(result.tree)
        assert snapshot((await solve(TOY, method, FakeModel(TOY.reply), resume=trace)).tree) == snapshot(whole.tree)


async def test_a_chain_that_is_answered_at_once_lets_others_have_their_turn() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    result = await solve(TOY, Method(generate=Sample(k=1), search=Chain(depth=200)), FakeModel(TOY.reply))
    task.cancel()
    assert len(result.tree) == 200
    assert turns > 10


async def test_stop_before_the_start_makes_no_call() -> None:
    stop = Stop()
    stop.now()
    result = await solve(TOY, BEAM, FakeModel(silent), stop=stop)
    assert (result.stop_reason, result.usage.calls, result.answer) == ("cancelled", 0, None)


async def test_stop_also_ends_the_answering_call() -> None:
    stop = Stop()
    model = FakeModel(TOY.reply, jitter=1)
    plain = model.sample

    async def sample(request: Any) -> Any:
        if request.role == "answer":
            asyncio.get_running_loop().call_soon(stop.now)
            await asyncio.sleep(60)
        return await plain(request)

    model.sample = sample  # type: ignore[method-assign]
    result = await asyncio.wait_for(solve(TOY, preset("tot_bfs").make(k=2), model, stop=stop), 5)
    assert result.stop_reason == "cancelled"
    assert result.path


async def test_one_stop_ends_several_runs() -> None:
    stop = Stop()
    models = [FakeModel(TOY.reply, seconds=60) for _ in range(3)]
    tasks = [asyncio.create_task(solve(TOY, BEAM, model, stop=stop)) for model in models]
    await until(lambda: all(model.flying for model in models))
    stop.now()
    assert [result.stop_reason for result in await asyncio.gather(*tasks)] == ["cancelled"] * 3


@pytest.mark.parametrize("method", [BEAM, preset("tot_dfs").make(), preset("refine").make(), preset("cot_sc").make()], ids=lambda m: m.name)
async def test_cancelling_the_task_cancels_what_is_in_flight_and_says_so_in_the_trace(method: Method, tmp_path: Path) -> None:
    for at in (1, 3, 9):
        trace = tmp_path / f"{at}.jsonl"
        model = FakeModel(TOY.reply, jitter=at, turns=40)
        task = asyncio.create_task(solve(TOY, method, model, trace=trace, parallel=3))
        await until(lambda: model.calls >= at or task.done())  # noqa: B023
        if task.done():
            continue
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert model.flying == 0
        assert last_event(trace).reason == "cancelled"
        again = await solve(TOY, method, FakeModel(TOY.reply), resume=trace)
        assert snapshot(again.tree) == snapshot((await solve(TOY, method, FakeModel(TOY.reply))).tree)


async def test_cancelling_while_the_answer_is_written_says_so_in_the_trace(tmp_path: Path) -> None:
    model = FakeModel(TOY.reply, fault=None)
    plain = model.sample

    async def sample(request: Any) -> Any:
        if request.role == "answer":
            await asyncio.sleep(60)
        return await plain(request)

    model.sample = sample  # type: ignore[method-assign]
    events: list[Any] = []
    task = asyncio.create_task(solve(TOY, preset("tot_bfs").make(k=2), model, trace=tmp_path / "t.jsonl", on_event=events.append))
    await until(lambda: len(asyncio.all_tasks()) > 2 and sum(getattr(e, "event", "") == "marked" for e in events) >= 3)
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert last_event(tmp_path / "t.jsonl").reason == "cancelled"


async def test_solving_ends_what_is_in_flight_without_starting_more() -> None:
    for seed in range(30):
        toy = Toy(seed, dead=0, complete=0, solved=0.15, malformed=0, full=True, branching=6, merge=False)
        model = FakeModel(toy.reply, jitter=seed)
        calls_at_end: list[int] = []

        def seen(event: Any, model: FakeModel = model, calls: list[int] = calls_at_end) -> None:
            if any(birth.status == "solved" for birth in getattr(event, "births", ())):
                calls.append(model.calls)

        method = Method(generate=Sample(k=6), search=Beam(breadth=6, depth=2), evaluate=Value(samples=1))
        result = await solve(toy, method, model, parallel=2, on_event=seen)
        assert result.usage.calls == model.calls
        if result.stop_reason == "solved":
            assert model.calls == calls_at_end[0], "no call begins after the proof"
            assert result.solved is True


class Boom(Exception):
    """A bug of the user's."""


@dataclass(frozen=True)
class Breaking:
    """A problem with a bug in one method."""

    where: str
    prompt: str = "x"

    def _maybe(self, where: str, state: tuple[str, ...], depth: int) -> None:
        if self.where == where and len(state) >= depth:
            raise Boom(where)

    def status(self, state: tuple[str, ...]) -> Status:
        self._maybe("status", state, 2)
        return Toy(1, dead=0, complete=0).status(state)

    def key(self, state: tuple[str, ...]) -> tuple[str, ...]:
        self._maybe("key", state, 2)
        self._maybe("root key", state, 0)
        return state

    def answer(self, state: tuple[str, ...]) -> str | None:
        self._maybe("answer", state, 1)
        return state[-1] if state else None

    def read(self, state: tuple[str, ...], text: str) -> str:
        self._maybe("read", state, 1)
        return text

    def fields(self, state: tuple[str, ...]) -> dict[str, str]:
        self._maybe("fields", state, 1)
        return {}


@pytest.mark.parametrize("where", ["status", "key", "root key", "answer", "read", "fields"])
@pytest.mark.parametrize("search", [Beam(breadth=3, depth=3), DepthFirst(prune_at=-1), Chain(depth=3)], ids=["beam", "dfs", "chain"])
async def test_an_error_in_the_problem_is_raised_as_it_is_and_the_trace_ends_with_failed(where: str, search: Any, tmp_path: Path) -> None:
    from support.worlds import PROMPTS

    problem = Breaking(where)
    object.__setattr__(problem, "prompts", PROMPTS)
    model = FakeModel(TOY.reply, jitter=1, turns=50)
    with pytest.raises(Boom, match=where):
        await solve(
            problem, Method(generate=Sample(k=3), evaluate=Value(samples=1), search=search), model, trace=tmp_path / "t.jsonl", parallel=3
        )
    assert model.flying == 0
    stopped = last_event(tmp_path / "t.jsonl")
    assert stopped.reason == "failed"
    assert where in stopped.error


@dataclass(frozen=True)
class BrokenJudge:
    """Fails on one state; says how many are being judged."""

    error: Exception
    at: str = "2"
    joint: bool = False

    async def __call__(self, model: Any, problem: Any, states: Sequence[tuple[str, ...]]) -> list[Evaluation]:
        found = await Value(samples=1)(model, problem, states)
        if any(state[-1].endswith(self.at) for state in states):
            raise self.error
        return found

    def bound(self, problem: Any, size: Any, n: int) -> Bound:
        return Value(samples=1).bound(problem, size, n)


async def test_one_failing_evaluation_of_five_keeps_the_other_four() -> None:
    """Case 95."""
    toy = Toy(4, dead=0, complete=0, malformed=0, full=True, branching=5, merge=False)
    method = Method(generate=Propose(k=5), evaluate=BrokenJudge(TransientError("lost")), search=Beam(breadth=5, depth=1))
    result = await solve(toy, method, FakeModel(toy.reply, jitter=1), retry=ONCE)
    lost = [node for node in result.tree if node.value is None]
    assert [node.thought[-1] for node in lost] == ["2"]
    assert len(result.tree) == 5
    assert "TransientError: lost" in lost[0].reason
    assert result.stop_reason == "max_depth"
    assert result.tree.unparsed == 1


async def test_an_error_of_the_users_own_judge_is_raised_and_the_others_are_cancelled_and_awaited(tmp_path: Path) -> None:
    toy = Toy(4, dead=0, complete=0, malformed=0, full=True, branching=5, merge=False)
    model = FakeModel(toy.reply, jitter=1, turns=200)
    method = Method(generate=Propose(k=5), evaluate=BrokenJudge(Boom("mine"), at="0"), search=Beam(breadth=5, depth=1))
    with pytest.raises(Boom, match="mine"):
        await solve(toy, method, model, trace=tmp_path / "t.jsonl")
    assert model.flying == 0
    assert last_event(tmp_path / "t.jsonl").reason == "failed"
    assert last_event(tmp_path / "t.jsonl").error == "mine"


async def test_a_prompt_that_is_too_long_closes_its_node_only() -> None:
    """Case 72."""
    for search in (Beam(breadth=2, depth=3), DepthFirst(depth=3, prune_at=-1, max_steps=30)):
        first = await solve(TOY, Method(generate=Propose(k=4), evaluate=Value(samples=2), search=search), FakeModel(TOY.reply))
        victim = next(node for node in first.tree if node.depth == 1 and node.children)

        def fault(request: Any, tried: int, label: str = victim.label) -> Exception | None:
            return ContextOverflow("too long") if request.role == "generate" and request.id.node == label else None

        model = FakeModel(TOY.reply, jitter=1, fault=fault)
        result = await solve(TOY, Method(generate=Propose(k=4), evaluate=Value(samples=2), search=search), model)
        assert result.stop_reason in ("max_depth", "exhausted", "budget:steps")
        assert not result.tree.nodes[victim.birth].children
        assert any(node.depth == 3 for node in result.tree), "the search goes on elsewhere"
        assert result.tree.failures == 1
        assert sum(request.id.node == victim.label and request.role == "generate" for request in model.requests) == 1, "no retry"


async def test_a_permanent_error_ends_the_run_failed_with_the_best_so_far(tmp_path: Path) -> None:
    def fault(request: Any, tried: int) -> Exception | None:
        return PermanentError("no such model") if request.id.node.count(".") == 1 else None

    model = FakeModel(TOY.reply, jitter=1, turns=30, fault=fault)
    result = await solve(TOY, BEAM, model, trace=tmp_path / "t.jsonl")
    assert result.stop_reason == "failed"
    assert result.error == "no such model"
    assert result.node is not None
    assert result.unfinished
    assert model.flying == 0
    assert result.usage.calls == model.calls
    assert last_event(tmp_path / "t.jsonl").reason == "failed"
    again = await solve(TOY, BEAM, FakeModel(TOY.reply), resume=tmp_path / "t.jsonl")
    assert snapshot(again.tree) == snapshot((await solve(TOY, BEAM, FakeModel(TOY.reply))).tree)


@pytest.mark.parametrize("name", ["io", "cot", "cot_sc", "refine", "tot_bfs", "tot_dfs"])
async def test_a_model_that_is_down_fails_the_run_and_says_why(name: str) -> None:
    for error in (TransientError("no connection"), PermanentError("bad key")):
        model = FakeModel(TOY.reply, fault=lambda request, tried: error)  # noqa: B023
        result = await solve(TOY, preset(name).make(), model, retry=RetryPolicy(attempts=2, base=0))
        assert result.stop_reason == "failed"
        assert str(error) in result.error
        assert result.answer is None


async def test_a_fault_of_the_answering_call_keeps_what_was_found() -> None:
    model = FakeModel(TOY.reply, fault=lambda request, tried: TransientError("down") if request.role == "answer" else None)
    result = await solve(TOY, preset("tot_bfs").make(k=2), model, retry=ONCE)
    assert result.path
    assert "down" in result.error
    assert result.answer is None


@dataclass(frozen=True)
class Strict(Toy):
    """Answers that the model writes are found wrong by the program."""

    def status(self, state: tuple[str, ...]) -> Status:
        return dead("wrong") if state and state[-1].startswith("answer") else super().status(state)

    def answer(self, state: tuple[str, ...]) -> str | None:
        return state[-1] if state and state[-1].startswith("answer") else None


async def test_a_dead_answer_is_no_answer() -> None:
    toy = Strict(4, dead=0, complete=0, malformed=0, full=True)
    result = await solve(toy, preset("tot_bfs").make(k=2), FakeModel(toy.reply))
    assert any(node.role == "answer" for node in result.tree)
    assert result.answer is None
    assert result.node is not None
    assert result.node.status.kind != "dead"


async def test_watching_gives_every_event_and_then_the_result() -> None:
    seen = [event async for event in watch(TOY, BEAM, FakeModel(TOY.reply, jitter=1))]
    assert isinstance(seen[-1], Result)
    assert isinstance(seen[-2], Stopped)
    assert snapshot(Tree.fold(event for event in seen if not isinstance(event, Result))) == snapshot(seen[-1].tree)


async def test_leaving_a_watched_run_early_cancels_it() -> None:
    model = FakeModel(TOY.reply, jitter=1)
    async with aclosing(watch(TOY, BEAM, model)) as events:
        async for event in events:
            if getattr(event, "event", "") == "expanded":
                break
    calls = model.calls
    await asyncio.sleep(0.01)
    assert model.calls == calls
    assert model.flying == 0


async def test_a_watched_run_that_cannot_start_raises() -> None:
    from branchwise import UsageError

    with pytest.raises(UsageError):
        async for _ in watch(TOY, BEAM, FakeModel(silent), parallel=0):
            pass


async def test_cancelling_those_who_wait_for_a_place_with_those_who_have_one_loses_no_place() -> None:
    """Every waiter that is cancelled in the turn of the loop in which a place is freed ends cancelled, and the place is free again."""
    model = FakeModel(TOY.reply, seconds=60)
    limited = Limited(model, 2)
    from branchwise import Message, Request

    request = Request((Message("user", "SAMPLE\nx"),))
    tasks = [asyncio.create_task(limited.sample(request)) for _ in range(6)]
    await until(lambda: model.flying == 2)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * 6
    quick = Limited(FakeModel(TOY.reply), 2)
    limited._inner = quick  # type: ignore[assignment]
    assert len(await asyncio.wait_for(asyncio.gather(*[limited.sample(request) for _ in range(5)]), 5)) == 5


async def test_a_listener_that_fails_ends_the_run_with_its_own_error() -> None:
    def listen(event: Any) -> None:
        if event.event == "judged":
            raise Boom("listener")

    model = FakeModel(TOY.reply, jitter=1)
    with pytest.raises(Boom):
        await solve(TOY, BEAM, model, on_event=listen)
    assert model.flying == 0


async def test_a_small_request_passes_a_large_one_that_waits_but_not_for_ever() -> None:
    """Four places. Three are taken; a request of two waits for a second one; requests of one pass it, four in all, and then it has its turn."""
    begun: list[str] = []
    ends: dict[str, asyncio.Event] = {}

    class Held:
        name = identity = "held"

        async def sample(self, request: Any) -> Any:
            who = request.messages[0].content
            begun.append(who)
            ends[who] = asyncio.Event()
            await ends[who].wait()
            return Reply(())

    limited = Limited(Held(), 4)

    def ask(who: str, n: int) -> asyncio.Task[Any]:
        return asyncio.ensure_future(limited.sample(Request((Message("user", who),), n)))

    async def turn() -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    tasks = [ask("three", 3), ask("two", 2), *(ask(f"one{i}", 1) for i in range(6))]
    await turn()
    assert begun == ["three", "one0"]
    for i in range(4):
        ends[f"one{i}"].set()
        await turn()
    assert begun == ["three", "one0", "one1", "one2", "one3"], "four have passed; the fifth waits, though a place is free"
    ends["three"].set()
    await turn()
    assert begun[5:] == ["two", "one4", "one5"]
    for end in ends.values():
        end.set()
    await asyncio.gather(*tasks)


class Nervous(Beam):
    """Stops its run when it is asked for a step for the n-th time."""

    def stopping(self, stop: Stop, at: int) -> Nervous:
        object.__setattr__(self, "_then", (stop, at))
        return self

    def start(self, tree: Any, rng: Any) -> Any:
        frontier: Any = super().start(tree, rng)
        stop, at = self._then  # type: ignore[attr-defined]
        asked, count = frontier.ask, iter(range(1, 1000))

        def ask() -> Any:
            if next(count) == at:
                stop.now()
            return asked()

        frontier.ask = ask
        return frontier


@pytest.mark.parametrize("window", [None, 1])
async def test_a_run_that_is_stopped_while_the_search_is_asked_is_cancelled_and_no_budget_is_spent(window: int | None) -> None:
    seen = set()
    for at in range(1, 12):
        stop = Stop()
        search = Nervous(breadth=2, depth=3).stopping(stop, at)
        method = Method(name="nervous", generate=Propose(k=4), evaluate=Value(samples=2), search=search, window=window)
        result = await solve(TOY, method, FakeModel(TOY.reply), stop=stop)
        if stop.asked:
            seen.add(result.stop_reason)
    assert seen - {"max_depth"} == {"cancelled"}, "asked once more, the search may have been at its end"
