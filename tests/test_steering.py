"""A person steers a run: what an act does in every search, counted in calls; acts are repeated by replay and resume, whatever the latency."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from branchwise import (
    Beam,
    BestFirst,
    Budget,
    Chain,
    DepthFirst,
    Method,
    Node,
    Price,
    Request,
    Result,
    Steering,
    Stop,
    TapeModel,
    Tree,
    UsageError,
    read_trace,
    solve,
)  # fmt: skip
from branchwise.search.base import Expand
from branchwise.trace import Call, Expanded, Judged, Started, Steered, Stopped
from support.models import FakeModel, silent
from support.runs import random_budget
from support.steered import METHODS, ONCE, PROPOSE, VALUE, Watch, is_below, named, steered, toy
from support.steered_killed import ACTS as KILLED_ACTS
from support.steered_killed import run as steered_run
from support.tapes import samples_of
from support.trees import snapshot
from support.worlds import Toy

SEED = 27
TESTS = Path(__file__).parent
CHAINS = ("chain", "refine")


class At:
    """Calls `act(steering, model)` when the model is asked for the `n`-th time, while the loop waits: an act takes effect at once."""

    def __init__(self, problem: Toy, method: Method, n: int, act: Any, **settings: Any) -> None:
        self.steering, self.watch = Steering(), Watch(FakeModel(problem.reply, jitter=settings.pop("jitter", None)))
        self.problem, self.method, self.n, self.act, self.settings = problem, method, n, act, settings
        self.seen = 0
        self.outcome: Any = None
        self.refused = ""
        self.watch.then = self._then

    def _then(self, request: Request) -> None:
        self.seen += 1
        if self.seen == self.n and self.steering.active:
            try:
                self.outcome = self.act(self.steering)
            except UsageError as error:
                self.refused = str(error)

    async def run(self) -> Result:
        settings = {"seed": SEED, "retry": ONCE, "parallel": 3, **self.settings}
        result = await asyncio.wait_for(solve(self.problem, self.method, self.watch, steering=self.steering, **settings), 20)
        assert self.watch.model.flying == 0
        assert not self.steering.active
        return result


def asked_below(requests: list[Request], label: str) -> int:
    return sum(is_below(request.id.node, label) for request in requests if request.id is not None)


async def plain(problem: Toy, method: Method, **settings: Any) -> tuple[Result, FakeModel]:
    model = FakeModel(problem.reply)
    return await solve(problem, method, model, **{"seed": SEED, "retry": ONCE, "parallel": 3, **settings}), model


@pytest.mark.parametrize("name", list(METHODS))
async def test_after_a_prune_no_call_is_made_below_it(name: str) -> None:
    problem, method = toy(SEED, dead=0, complete=0.05), METHODS[name]
    _, whole = await plain(problem, method)
    saved = 0
    for n, pick in itertools.product(range(2, len(whole.requests), 2), range(3)):

        def act(steering: Steering, pick: int = pick) -> str:
            children = steering.tree.root.children
            if len(children) <= pick:
                return ""
            steering.prune(children[pick])
            return children[pick].label

        at = At(problem, method, n, act)
        result = await at.run()
        if not at.outcome:
            continue
        later = at.watch.model.requests[n:]
        assert asked_below(later, at.outcome) == 0, (n, at.outcome)
        below = Tree.below(named(result.tree, at.outcome))
        assert result.node not in below, "nor is any of it the answer"
        assert {node.birth for node in below} == result.tree.closed
        assert all(node.fate == "pruned" for node in below if node.status.kind != "dead")
        saved += asked_below(whole.requests[n:], at.outcome)
    assert saved > 0, "without the act there were calls to make there"


@pytest.mark.parametrize("parallel", [1, 3, 32])
async def test_a_step_that_waits_for_a_place_makes_no_call_after_the_prune_and_one_that_was_sent_is_charged(parallel: int) -> None:
    """A beam has all judgements of a level on their way; the calls of most of them still wait."""
    problem, method = toy(1, dead=0, complete=0, malformed=0, full=True), METHODS["beam"]
    at = At(problem, method, 5, lambda steering: steering.prune(1) or steering.tree.nodes[1].label, parallel=parallel)
    result = await at.run()
    requests = at.watch.model.requests
    sent = asked_below(requests[:5], "0")
    assert asked_below(requests, "0") == sent
    assert result.usage.calls == sum(request.n for request in requests), "all that was sent is charged"


@pytest.mark.parametrize("name", list(METHODS))
async def test_after_a_favour_the_next_expansion_is_that_node(name: str, tmp_path: Path) -> None:
    problem, method = toy(SEED, dead=0, complete=0.05), METHODS[name]
    _, whole = await plain(problem, method)
    accepted, turned, reasons = 0, 0, set()
    for n in range(2, len(whole.requests)):
        for pick in range(4):

            def act(steering: Steering, n: int = n, pick: int = pick) -> tuple[int, int]:
                run = steering._acts.run  # type: ignore[union-attr]
                before = run.window.number
                node = Random(f"{n} {pick}").choice(steering.tree.nodes)
                steering.favour(node)
                return node.birth, before

            at = At(problem, method, n, act)
            events: list[Any] = []
            at.settings["on_event"] = events.append
            await at.run()
            if at.outcome is None:
                reasons.add(at.refused)
                continue
            birth, before = at.outcome
            accepted += 1
            expansions = sorted((e.step, e.node) for e in events if isinstance(e, Expanded) and e.role == "generate" and e.step > before)
            if expansions:
                assert expansions[0][1] == birth, (n, pick)
                turned += 1
    if name in CHAINS:
        assert not accepted
        assert any("its last thought only" in reason for reason in reasons)
    else:
        assert turned > 0, reasons
    assert "" not in reasons


@pytest.mark.parametrize("name", list(METHODS))
async def test_a_thought_of_a_persons_is_checked_and_judged_as_others_are(name: str) -> None:
    problem, method = toy(SEED, dead=0, complete=0), METHODS[name]
    _, whole = await plain(problem, method)
    taken = 0
    for n in range(2, len(whole.requests)):
        for pick in range(2):

            def act(steering: Steering, n: int = n, pick: int = pick) -> Node:
                node = Random(f"{n} {pick}").choice(steering.tree.nodes)
                steering.add(node, "  my own word ")
                return node

            at = At(problem, method, n, act)
            result = await at.run()
            if at.outcome is None:
                assert at.refused
                continue
            mine = [node for node in result.tree if node.role == "person"]
            assert len(mine) <= 1
            if not mine:
                continue  # the run ended before
            taken += 1
            assert mine[0].thought == "my own word"
            assert mine[0].parent is at.outcome
            requests = [request for request in at.watch.model.requests if request.id is not None and request.id.node == mine[0].label]
            assert "my own word" in repr(mine[0].state)
            if method.evaluate is not None and not method.evaluate.joint and name != "dfs":
                others = {node.count + node.unknown for node in result.tree if node.role == "generate" and node.count + node.unknown}
                assert mine[0].count + mine[0].unknown in {0, *others} or name == "mctsr"
                assert any(request.role == "evaluate" for request in requests) or mine[0].fate == "undecided" or mine[0].birth in result.tree.closed
    assert taken > 0


async def test_a_dead_thought_is_not_judged_and_a_proven_one_ends_the_run() -> None:
    problem = toy(SEED, dead=0, complete=0, merge=False)

    class Strict(Toy):
        def status(self, state: Any) -> Any:
            from branchwise import SOLVED, dead

            if state and state[-1] == "wrong":
                return dead("it is wrong")
            return SOLVED if state and state[-1] == "right" else super().status(state)

    strict = Strict(SEED, dead=0, complete=0, malformed=0, prompts=problem.prompts)
    at = At(strict, METHODS["best_first"], 8, lambda steering: steering.add(1, "wrong"))
    result = await at.run()
    mine = next(node for node in result.tree if node.role == "person")
    assert (mine.status.kind, mine.status.reason) == ("dead", "it is wrong")
    assert not [r for r in at.watch.model.requests if r.id is not None and r.id.node == mine.label]
    result = await At(strict, METHODS["best_first"], 8, lambda steering: steering.add(1, "right")).run()
    assert (result.stop_reason, result.solved) == ("solved", True)
    assert result.node is not None
    assert result.node.role == "person"


@pytest.mark.parametrize("name", list(METHODS))
async def test_an_approved_thought_is_the_answer_and_no_step_is_made_after_it(name: str) -> None:
    method, approved = METHODS[name], 0
    for seed, n in itertools.product(range(8), (3, 5, 9, 22)):
        problem = toy(seed, dead=0, complete=0.4)

        def act(steering: Steering, problem: Toy = problem) -> int:
            answers = [node for node in steering.tree if problem.answer(node.state) is not None]
            node = (answers or steering.tree.nodes)[-1]
            steering.approve(node)
            return node.birth

        at = At(problem, method, n, act)
        result = await at.run()
        if at.outcome is None:
            continue
        approved += 1
        assert (result.stop_reason, result.unfinished) == ("approved", False)
        assert result.node is not None
        own = result.node.parent if result.node.role == "answer" else result.node
        assert own is not None
        assert own.birth == at.outcome
        assert [r for r in at.watch.model.requests[n:] if r.role != "answer"] == []
        assert result.usage.calls == sum(request.n for request in at.watch.model.requests)
    assert approved > 0


async def test_a_raised_budget_gives_what_a_larger_one_would_have_given() -> None:
    for name in ("beam", "dfs", "best_first", "mcts", "mctsr", "chain", "then_refine", "adaptive"):
        problem, method = toy(SEED), METHODS[name]
        small = (await plain(problem, method, budget=Budget(calls=9)))[0]
        large = (await plain(problem, method, budget=Budget(calls=21)))[0]
        assert small.usage.calls <= 9
        for n in (2, 4):
            at = At(problem, method, n, lambda steering: steering.raise_budget(calls=12), budget=Budget(calls=9))
            result = await at.run()
            assert not at.refused
            assert snapshot(result.tree) == snapshot(large.tree), (name, n)
            assert (result.stop_reason, result.answer, result.usage.calls) == (large.stop_reason, large.answer, large.usage.calls)


async def test_every_limit_can_be_raised_and_what_is_no_limit_cannot() -> None:
    budget = Budget(calls=500, tokens=10**6, cost=1.0, seconds=500, nodes=6)
    seen: dict[str, Any] = {}

    def act(steering: Steering) -> None:
        for wrong in ({"calls": 0}, {"calls": 1.5}, {"nodes": -1}, {"tokens": True}, {"seconds": float("nan")}, {"cost": float("inf")}):
            with pytest.raises(UsageError, match="positive"):
                steering.raise_budget(**wrong)
        with pytest.raises(UsageError, match="by how much"):
            steering.raise_budget()
        steering.raise_budget(calls=1, tokens=2, cost=0.5, seconds=3, nodes=5)
        run = steering._acts.run  # type: ignore[union-attr]
        seen["budget"] = run.budget

    problem = toy(SEED, dead=0)
    method = replace(METHODS["best_first"], search=BestFirst(depth=4, prune_below=0))
    result = await At(problem, method, 3, act, budget=budget, price=Price(1, 1)).run()
    assert seen["budget"] == Budget(calls=501, tokens=10**6 + 2, cost=1.5, seconds=503, nodes=11)
    assert len(result.tree) == 11
    at = At(problem, method, 3, lambda steering: steering.raise_budget(tokens=5), budget=Budget(calls=50))
    await at.run()
    assert "no limit of tokens" in at.refused


async def test_a_pause_starts_nothing_and_changes_no_tree() -> None:
    for name, method in METHODS.items():
        problem = toy(SEED)
        whole, model = await plain(problem, method)
        for n in range(2, len(model.requests), 5):
            at = At(problem, method, n, lambda steering: steering.pause(), jitter=n)
            task = asyncio.create_task(at.run())
            while not at.steering.paused and not task.done():  # noqa: ASYNC110
                await asyncio.sleep(0)
            if task.done():
                continue
            for _ in range(300):
                await asyncio.sleep(0)
            assert at.watch.model.flying == 0, "what was on its way has come"
            count, nodes = len(at.watch.model.requests), len(at.steering.tree.nodes)
            for _ in range(100):
                await asyncio.sleep(0)
            assert (len(at.watch.model.requests), len(at.steering.tree.nodes)) == (count, nodes)
            at.steering.go_on()
            assert snapshot((await task).tree) == snapshot(whole.tree), (name, n)


async def test_the_clock_stands_still_in_a_pause_and_a_run_can_be_ended_in_one() -> None:
    problem, method = toy(SEED), METHODS["best_first"]
    at = At(problem, method, 4, lambda steering: steering.pause(), budget=Budget(seconds=2))
    task = asyncio.create_task(at.run())
    await asyncio.sleep(2.2)
    assert at.steering.paused
    at.steering.go_on()
    result = await task
    assert not result.stop_reason.startswith("budget:seconds")
    assert result.seconds < 2
    stop = Stop()
    at = At(problem, method, 4, lambda steering: steering.pause(), stop=stop)
    task = asyncio.create_task(at.run())
    while not at.steering.paused:  # noqa: ASYNC110
        await asyncio.sleep(0)
    stop.now()
    assert (await task).stop_reason == "cancelled"


async def test_what_cannot_be_done_is_refused_with_its_reason_and_changes_nothing() -> None:
    problem = toy(SEED, dead=0, complete=0)
    expected: dict[str, tuple[Any, str]] = {
        "prune root": (lambda s: s.prune(0), "problem itself"),
        "no such node": (lambda s: s.prune(999), "no such thought"),
        "negative": (lambda s: s.favour(-1), "no such thought"),
        "another run's": (lambda s: s.prune(Node(1, None, 0, "", s.tree.root.status)), "another run"),
        "empty": (lambda s: s.add(1, "  "), "empty"),
        "twice": (lambda s: s.add(s.tree.nodes[1].parent, s.tree.nodes[1].thought), "says the same"),
        "too long": (lambda s: s.add(1, "x" * 10_000), "longer than"),
        "no answer": (lambda s: s.approve(1), "no answer yet"),
        "the problem": (lambda s: s.approve(0), "no answer"),
        "no limit": (lambda s: s.raise_budget(calls=3), "no limit of calls"),
    }
    whole, _ = await plain(problem, METHODS["best_first"])
    for what, (act, reason) in expected.items():
        events: list[Any] = []
        at = At(problem, METHODS["best_first"], 8, act, on_event=events.append)
        result = await at.run()
        assert reason in at.refused, what
        assert snapshot(result.tree) == snapshot(whole.tree)
        assert not [event for event in events if isinstance(event, Steered)]


async def test_pruned_is_pruned_and_an_irreversible_problem_is_not_led_elsewhere() -> None:
    def twice(steering: Steering) -> None:
        steering.prune(1)
        acts: tuple[Any, ...] = (steering.prune, steering.favour, steering.approve, lambda node: steering.add(node, "x"))
        for act in acts:
            with pytest.raises(UsageError, match="stays so"):
                act(1)

    at = At(toy(SEED, dead=0), METHODS["mcts"], 8, twice)
    await at.run()
    assert not at.refused
    method = Method(generate=PROPOSE, evaluate=VALUE, search=Beam(breadth=1, depth=3))
    at = At(toy(SEED, dead=0, reversible=False), method, 6, lambda steering: steering.favour(1))
    await at.run()
    assert "not reversible" in at.refused


@dataclass(frozen=True)
class Plain:
    """A search of somebody's who has not heard of steering."""

    goes_back, mixes_groups, refines, window, max_depth = True, False, False, 1, 3

    def start(self, tree: Tree, rng: Any) -> Any:
        class Frontier:
            ended = "exhausted"

            def __init__(self) -> None:
                self.steps = [Expand(tree.root, judge=True)]

            def ask(self) -> Any:
                return self.steps.pop() if self.steps else None

            def tell(self, done: Any) -> Any:
                self.steps += [Expand(node, judge=True) for node in done.born[:1] if node.depth < 3]
                return ()

        return Frontier()

    def plan(self, k: int, worst: bool = False) -> Any:
        return []


async def test_a_search_that_says_nothing_of_steering_is_refused_by_name() -> None:
    method = Method(generate=PROPOSE, evaluate=VALUE, search=Plain())  # type: ignore[arg-type]
    acts: tuple[Any, ...] = (lambda s: s.prune(1), lambda s: s.favour(1), lambda s: s.add(1, "x"))
    for act in acts:
        at = At(toy(SEED, dead=0, complete=0, malformed=0), method, 5, act)
        await at.run()
        assert "search Plain cannot be steered" in at.refused


async def test_a_steering_has_one_run_its_own_loop_and_its_time() -> None:
    steering = Steering()
    assert (steering.active, steering.paused) == (False, False)
    with pytest.raises(UsageError, match="no run to steer"):
        steering.pause()
    at = At(toy(SEED), METHODS["beam"], 3, lambda s: asyncio.get_running_loop().run_in_executor(None, s.pause))
    await at.run()
    with pytest.raises(UsageError, match=r"its own event loop|no run to steer"):
        await at.outcome
    with pytest.raises(UsageError, match="no run to steer"):
        at.steering.go_on()

    async def second(s: Steering) -> Result:
        return await solve(toy(SEED), METHODS["beam"], FakeModel(toy(SEED).reply), steering=s)

    at = At(toy(SEED), METHODS["beam"], 3, lambda s: asyncio.ensure_future(second(s)), jitter=1)
    await at.run()
    with pytest.raises(UsageError, match="has a run already"):
        await at.outcome


ACTS: dict[int, Any] = {
    1: lambda s: s.prune(1),
    3: lambda s: s.add(2, "my own"),
    4: lambda s: s.favour(3),
}


async def test_an_act_within_on_event_waits_until_the_commit_is_whole(tmp_path: Path) -> None:
    """So it has the same place whatever the latency: the same tree live, not only in a replay."""
    problem = toy(SEED, dead=0, complete=0)
    for name in ("best_first", "mcts", "a_star"):
        trees = []
        for jitter, parallel in ((None, 1), (2, 4), (7, 16)):
            steering = Steering()

            def listen(event: Any, steering: Steering = steering) -> None:
                if isinstance(event, (Expanded, Judged)) and event.step in ACTS:
                    ACTS[event.step](steering)

            trace = tmp_path / f"{name}{parallel}.jsonl"
            result = await solve(
                problem, METHODS[name], FakeModel(problem.reply, jitter=jitter), seed=SEED, trace=trace, parallel=parallel, steering=steering,
                on_event=listen,
            )  # fmt: skip
            places = [(event.act, event.after) for event in read_trace(trace) if isinstance(event, Steered)]
            trees.append((snapshot(result.tree), places, result.warnings))
        assert trees[0] == trees[1] == trees[2], name
        assert trees[0][1][0] == ("prune", 1)


async def test_an_act_within_on_event_that_cannot_be_done_is_a_warning() -> None:
    steering = Steering()

    def listen(event: Any) -> None:
        if isinstance(event, Expanded) and event.step == 1:
            steering.prune(0)

    result = await solve(toy(SEED), METHODS["beam"], FakeModel(toy(SEED).reply), steering=steering, on_event=listen)
    assert any("prune could not be done" in warning for warning in result.warnings)


FURTHER: dict[str, Any] = {
    "pause": lambda s, node: s.pause(),
    "go_on": lambda s, node: s.go_on(),
    "prune": lambda s, node: s.prune(node),
    "prune, another": lambda s, node: s.prune(0),
    "favour": lambda s, node: s.favour(1),
    "add": lambda s, node: s.add(0, "zebra"),
    "approve": lambda s, node: s.approve(node),
    "budget": lambda s, node: s.raise_budget(calls=5),
    "limits": lambda s, node: s.limits({"calls": 5}),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("when", ["at once", "in a pause", "within on_event"])
@pytest.mark.parametrize("further", list(FURTHER))
async def test_after_an_approval_every_act_is_refused_and_the_run_ends_with_that_thought(further: str, when: str) -> None:
    later, ended = when == "within on_event", 0
    for name, (seed, n) in itertools.product(("mcts", "beam", "dfs", "best_first"), ((0, 5), (2, 9), (2, 22))):
        problem, events = toy(seed, dead=0, complete=0.4), list[Any]()

        def act(s: Steering, problem: Toy = problem) -> Node | None:
            found = next((node for node in s.tree if problem.answer(node.state) is not None), None)
            if found is not None:
                if when == "in a pause":
                    s.pause()
                s.approve(found)
                if later:  # both wait for the end of the commit
                    FURTHER[further](s, found)
                else:
                    with pytest.raises(UsageError, match="was approved"):
                        FURTHER[further](s, found)
            return found

        at = At(problem, METHODS[name], n, (lambda s: None) if later else act, budget=Budget(calls=500))

        def listen(event: Any, at: At = at, act: Any = act, events: list[Any] = events) -> None:
            events.append(event)
            if later and at.outcome is None and isinstance(event, (Expanded, Judged)) and at.steering.active:
                at.outcome = act(at.steering)

        at.settings["on_event"] = listen
        result = await at.run()
        if at.outcome is None:
            continue
        ended += 1
        assert result.stop_reason == "approved"
        own = result.node.parent if result.node is not None and result.node.role == "answer" else result.node
        assert own is at.outcome
        assert own.birth not in result.tree.closed
        assert [event.act for event in events if isinstance(event, Steered)][-1] == "approve"
        assert not later or further == "limits" or any("was approved" in warning for warning in result.warnings)
    assert ended > 2


WRONG = ("1", [1], 1.0, b"x", None, True, {}, object())


async def test_a_value_of_a_wrong_type_is_refused_at_once_and_is_a_warning_within_on_event() -> None:
    problem, method = toy(SEED, dead=0, complete=0), METHODS["best_first"]
    whole, _ = await plain(problem, method)
    of_a_node: tuple[Any, ...] = (lambda s, w: s.prune(w), lambda s, w: s.favour(w), lambda s, w: s.approve(w), lambda s, w: s.add(w, "zebra"))
    texts: tuple[Any, ...] = (lambda s, w: s.add(0, w), lambda s, w: s.prune(1, by=w), lambda s, w: s.pause(by=w), lambda s, w: s.add(0, "z", by=w))
    cases = [*itertools.product(of_a_node, WRONG), *((do, wrong) for do in texts for wrong in WRONG if not isinstance(wrong, str))]
    for do, wrong in cases:
        events: list[Any] = []
        at = At(problem, method, 8, lambda s, do=do, wrong=wrong: do(s, wrong), on_event=events.append)
        result = await at.run()
        assert "not by" in at.refused or "is a text" in at.refused, (wrong, at.refused)
        assert snapshot(result.tree) == snapshot(whole.tree)
        assert not [event for event in events if isinstance(event, Steered)]

        steering = Steering()

        def listen(event: Any, steering: Steering = steering, do: Any = do, wrong: Any = wrong) -> None:
            if isinstance(event, Expanded) and event.step == 1:
                do(steering, wrong)

        result = await solve(problem, method, FakeModel(problem.reply), seed=SEED, retry=ONCE, parallel=3, steering=steering, on_event=listen)
        assert result.error == ""
        assert any("could not be done" in warning for warning in result.warnings), wrong
        assert snapshot(result.tree)["nodes"] == snapshot(whole.tree)["nodes"]


@pytest.mark.parametrize("within", [False, True], ids=["at once", "within on_event"])
async def test_a_lone_surrogate_in_a_persons_text_is_replaced_before_it_is_in_the_tree(within: bool, tmp_path: Path) -> None:
    problem, trace = toy(SEED, dead=0, complete=0, malformed=0), tmp_path / "run.jsonl"
    at = At(problem, METHODS["best_first"], 8, lambda s: None if within else s.add(0, "zebra \ud83d", by="ann\ud800"), trace=trace)

    def listen(event: Any) -> None:
        if within and isinstance(event, Expanded) and event.step == 1:
            at.steering.add(0, "zebra \ud83d", by="ann\ud800")

    at.settings["on_event"] = listen
    result = await at.run()
    assert [node.thought for node in result.tree if node.role == "person"] == ["zebra ?"]
    assert [event.by for event in read_trace(trace) if isinstance(event, Steered)] == ["ann?"]
    model = FakeModel(problem.reply)
    again = await solve(problem, METHODS["best_first"], model, seed=SEED, resume=trace, retry=ONCE)
    assert snapshot(again.tree) == snapshot(result.tree)
    assert model.calls == 0


SEEDS = 16


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.parametrize("capped", [False, True], ids=["free", "capped"])
async def test_random_acts_never_break_replay_budget_or_resume(name: str, capped: bool, tmp_path: Path) -> None:
    """Whatever a person does whenever: the tape and the acts give the same tree at the same cost, and a resumed run makes no call."""
    method, acted = METHODS[name], 0
    for seed in range(SEEDS):
        problem, trace = toy(seed), tmp_path / f"{seed}.jsonl"
        budget = random_budget(Random(seed)) if capped else None
        kinds = ("prune", "prune", "favour", "favour", "add", "pause", "budget", *(["approve"] if seed % 3 == 0 else []))
        settings: dict[str, Any] = {"seed": seed, "budget": budget, "retry": ONCE, "price": Price(3, 5)}
        result, person = await steered(problem, method, seed, trace, kinds=kinds, budget=budget)
        assert result.stop_reason != "failed", result.error
        acted += len(person.done)
        raised = next((e.budget for e in reversed(list(read_trace(trace))) if isinstance(e, Steered) and e.budget), {})
        if budget is not None:
            limits = {**budget.to_json(), **raised}
            assert result.usage.calls <= limits.get("calls", 10**9)
            assert result.usage.tokens <= limits.get("tokens", 10**9)
            assert len(result.tree) <= limits.get("nodes", 10**9)
        settings["price"] = Price(0, 0)
        for parallel in (1, 9):
            again = await asyncio.wait_for(solve(problem, method, TapeModel.open(trace), parallel=parallel, **settings), 20)
            assert snapshot(again.tree) == snapshot(result.tree), (seed, again.stop_reason, again.error, again.warnings)
            assert (again.stop_reason, again.answer, again.usage) == (result.stop_reason, result.answer, result.usage), seed
        copy = tmp_path / "copy.jsonl"
        shutil.copy(trace, copy)
        for _ in range(2):
            resumed = await asyncio.wait_for(solve(problem, method, FakeModel(silent), resume=copy, parallel=3, **settings), 20)
            assert snapshot(resumed.tree) == snapshot(result.tree), (seed, resumed.error)
            assert (resumed.stop_reason, resumed.usage) == (result.stop_reason, result.usage), seed
    assert acted >= SEEDS // 4


@pytest.mark.parametrize("name", list(METHODS))
async def test_a_run_cut_after_its_acts_goes_on_to_the_same_tree(name: str, tmp_path: Path) -> None:
    cuts = 0
    for seed in range(8):
        problem, method, trace = toy(seed), METHODS[name], tmp_path / f"{seed}.jsonl"
        result, _ = await steered(problem, method, seed, trace)
        lines, everything = trace.read_bytes().splitlines(keepends=True), samples_of(trace)
        final = max((i for i, line in enumerate(lines) if b'"event":"steered"' in line), default=0)
        for at in {final + 1, (final + len(lines)) // 2, len(lines) - 1}:
            if at < 1:
                continue
            cut = tmp_path / "cut.jsonl"
            cut.write_bytes(b"".join(lines[:at]))
            taped = samples_of(cut)
            model = FakeModel(problem.reply, jitter=at)
            again = await asyncio.wait_for(solve(problem, method, model, seed=seed, resume=cut, parallel=5, retry=ONCE), 20)
            assert snapshot(again.tree) == snapshot(result.tree), (seed, at)
            assert (again.stop_reason, again.answer) == (result.stop_reason, result.answer)
            assert set(model.samples) <= everything - taped, "what was paid is not paid again, and ended steps ask for nothing"
            assert len(model.samples) == len(set(model.samples))
            cuts += 1
    assert cuts >= 16


async def test_a_limit_given_anew_on_resume_is_not_raised_by_the_record(tmp_path: Path) -> None:
    problem, method, trace = toy(SEED), METHODS["best_first"], tmp_path / "t.jsonl"
    at = At(problem, method, 2, lambda steering: steering.raise_budget(calls=12), budget=Budget(calls=9), trace=trace)
    result = await at.run()
    assert 9 < result.usage.calls <= 21
    assert "raised" not in next(iter(read_trace(trace))).about  # type: ignore[union-attr]
    for limit, most in ((9, 21), (11, 11), (15, 15), (60, 60)):
        copy = tmp_path / f"{limit}.jsonl"
        shutil.copy(trace, copy)
        model = FakeModel(problem.reply)
        again = await solve(problem, method, model, seed=SEED, resume=copy, budget=Budget(calls=limit), retry=ONCE)
        assert again.usage.calls <= most
        starts = [event for event in read_trace(copy) if isinstance(event, Started)]
        assert starts[1].about["raised"] == {"calls": 21}
        assert (again.usage.calls > result.usage.calls) == (limit == 60)
        assert bool(model.calls) == (limit == 60)


async def test_acts_are_kept_over_many_resumes_and_a_fork_has_them(tmp_path: Path) -> None:
    from branchwise import fork
    from branchwise.model.tape import Tape

    problem, method, trace = toy(SEED, dead=0, complete=0), METHODS["mcts"], tmp_path / "t.jsonl"
    at = At(problem, method, 9, lambda s: (s.prune(1, by="ann"), s.add(2, "my own"), s.pause(), s.go_on()), trace=trace)
    result = await at.run()
    acts = Tape.load(trace).acts
    assert [act.act for act in acts] == ["prune", "add", "pause", "go_on"]
    assert acts[0].by == "ann"
    for _ in range(3):
        await solve(problem, method, FakeModel(silent), seed=SEED, resume=trace)
        assert [act.act for act in Tape.load(trace).acts] == ["prune", "add", "pause", "go_on"]
    fork(trace, tmp_path / "fork.jsonl")
    again = await solve(problem, method, FakeModel(silent), seed=SEED, resume=tmp_path / "fork.jsonl")
    assert snapshot(again.tree) == snapshot(result.tree)
    assert snapshot(Tree.fold(read_trace(trace))) == snapshot(result.tree)


async def test_a_run_can_be_steered_again_after_a_resume_and_not_while_it_repeats(tmp_path: Path) -> None:
    problem, method, trace = toy(SEED, dead=0, complete=0), METHODS["mcts"], tmp_path / "t.jsonl"
    at = At(problem, method, 5, lambda s: s.prune(1), trace=trace, budget=Budget(calls=14))
    first = await at.run()
    assert first.stop_reason == "budget:calls"
    early: list[str] = []
    steering = Steering()

    def listen(event: Any) -> None:
        if isinstance(event, Expanded) and event.step == 1:
            try:
                steering.prune(2)
            except UsageError as error:
                early.append(str(error))

    model = Watch(FakeModel(problem.reply))
    model.then = lambda request: steering.prune(2) if steering.active and 2 not in steering.tree.closed else None
    second = await solve(
        problem, method, model, seed=SEED, resume=trace, budget=Budget(calls=90), steering=steering, on_event=listen, retry=ONCE
    )
    assert "still repeating" in early[0]
    assert {1, 2} <= second.tree.closed
    third = await solve(problem, method, FakeModel(silent), seed=SEED, resume=trace, budget=Budget(calls=90), retry=ONCE)
    assert snapshot(third.tree) == snapshot(second.tree)


async def test_a_run_without_acts_has_the_trace_that_it_always_had(tmp_path: Path) -> None:
    problem, method = toy(SEED), METHODS["beam"]
    for name, steering in (("a", None), ("b", Steering())):
        await solve(problem, method, FakeModel(problem.reply), seed=SEED, trace=tmp_path / name, steering=steering)
    kinds = [{type(event) for event in read_trace(tmp_path / name)} for name in "ab"]
    assert kinds[0] == kinds[1]
    assert Steered not in kinds[0]
    tops = [[event for event in read_trace(tmp_path / name) if not isinstance(event, (Started, Stopped, Call))] for name in "ab"]
    assert tops[0] == tops[1]
    assert next(iter(read_trace(tmp_path / "a"))).format == 1  # type: ignore[union-attr]


async def test_dfs_and_chain_accept_what_their_order_allows() -> None:
    """A dfs takes up what it pruned for its value; a chain goes on from a person's thought in place of the model's."""
    problem = toy(SEED, dead=0, complete=0, malformed=0)
    method = Method(generate=PROPOSE, evaluate=VALUE, search=DepthFirst(depth=3, prune_at=0.9))
    def favour(steering: Steering) -> int:
        node = next(node for node in steering.tree if node.fate == "pruned")
        steering.favour(node)
        return node.birth

    events: list[Any] = []
    at = At(problem, method, 4, favour, on_event=events.append)
    await at.run()
    assert at.outcome in [event.node for event in events if isinstance(event, Expanded)][1:3]
    chain = Method(generate=METHODS["chain"].generate, evaluate=VALUE, search=Chain(depth=4))
    at = At(problem, chain, 4, lambda steering: steering.add(steering.tree.nodes[-1], "my own"))
    result = await at.run()
    mine = next(node for node in result.tree if node.role == "person")
    assert mine.children, "the chain went on from it"
    assert mine.parent is not None
    assert list(mine.parent.children) == [mine]


@pytest.mark.parametrize("name", ["beam", "dfs", "best_first", "mcts", "mctsr", "adaptive"])
async def test_a_steered_run_killed_at_every_event_goes_on_with_the_acts_that_were_done(name: str, tmp_path: Path) -> None:
    """The tree is that of an unbroken run with the same acts, and only what is missing is paid."""
    command = [sys.executable, str(TESTS / "support" / "steered_killed.py"), str(tmp_path), name, str(SEED)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(TESTS)})  # noqa: ASYNC221
    assert done.returncode == 0, done.stderr
    events = int(done.stdout)
    assert events > 15
    unbroken: dict[int, tuple[Result, set[Any]]] = {}
    seen = set()
    for n in range(2, events + 1):
        trace = tmp_path / f"{n}.jsonl"
        acts = [event for event in read_trace(trace) if isinstance(event, Steered)]
        count = max((sorted(KILLED_ACTS).index(act.after) + 1 for act in acts if act.after in KILLED_ACTS), default=0)
        if count not in unbroken:
            model = FakeModel(toy(SEED, dead=0).reply)
            unbroken[count] = (await steered_run(name, SEED, model, count), set(model.samples))
        whole, everything = unbroken[count]
        taped = samples_of(trace)
        model = FakeModel(toy(SEED, dead=0).reply, jitter=n)
        again = await solve(
            toy(SEED, dead=0), METHODS[name], model, seed=SEED, resume=trace, budget=Budget(calls=60), parallel=1 + n % 5,
        )  # fmt: skip
        assert snapshot(again.tree) == snapshot(whole.tree), (n, count, again.warnings)
        assert (again.stop_reason, again.answer) == (whole.stop_reason, whole.answer)
        assert not set(model.samples) & taped, "what was paid is not paid again"
        assert everything <= set(model.samples) | taped
        seen.add(count)
    assert len(seen) >= 2


async def test_show_prints_the_acts_and_rescore_keeps_what_was_pruned(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from branchwise import rescore
    from branchwise.cli.main import cli
    from branchwise.cli.record import Record
    from branchwise.server.progress import Narrator

    problem, method, trace = toy(SEED, dead=0, complete=0), METHODS["mcts"], tmp_path / "t.jsonl"

    def act(steering: Steering) -> None:
        steering.prune(1, by="ann")
        steering.add(2, "my\x1b[31m own")
        steering.raise_budget(calls=5)

    at = At(problem, method, 9, act, trace=trace, budget=Budget(calls=40))
    await at.run()
    assert not at.refused
    shown = CliRunner().invoke(cli, ["show", str(trace)]).output
    assert "Acts of a person: 3" in shown
    assert "prune 0 by ann" in shown
    assert "in flight ended" in shown
    assert "budget to calls 45" in shown
    assert "\x1b[31m" not in shown
    told = Record.read(trace).to_json()["acts"]
    assert [(act["act"], act["node"], act["by"]) for act in told] == [("prune", "0", "ann"), ("add", "1", None), ("budget", None, None)]
    narrator = Narrator()
    assert "A person: prune" in "".join(narrator.tell(event) for event in read_trace(trace))
    model = FakeModel(problem.reply)
    again = await rescore(trace, problem, method, model)
    assert model.calls
    assert not asked_below(model.requests, "0")
    assert again.result.tree.closed == Tree.fold(read_trace(trace)).closed
    assert again.result.node not in Tree.below(again.result.tree.nodes[1])
