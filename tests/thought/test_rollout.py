"""Roll-outs: a state is played to its end, all samples at once, and what that costs stands where it is charged."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from branchwise import Beam, Combine, Evaluation, Method, Request, Rollout, Sample, Sampling, State, Status, Value, dead, solve
from branchwise.errors import ContextOverflow, PermanentError
from branchwise.estimate import estimate
from branchwise.model.base import Reply
from branchwise.model.base import Sample as Said
from branchwise.problem import COMPLETE, OPEN, SOLVED
from support.models import FakeModel
from support.runs import ONCE
from support.trees import snapshot
from support.worlds import Toy


@dataclass(frozen=True)
class Game:
    """A word ends it: "win" is proven, "lose" is dead, "end" is complete; any other is a move."""

    prompt: str = "game"

    def status(self, state: State) -> Status:
        last = state[-1] if state else ""
        return {"win": SOLVED, "lose": dead("lost"), "end": COMPLETE}.get(last, OPEN)

    def key(self, state: State) -> State:
        return state

    def answer(self, state: State) -> str | None:
        return None


class Scripted:
    """Gives the next reply of the script of each prompt's last line, and counts what is asked at once."""

    name = identity = "scripted"

    def __init__(self, **replies: list[str]) -> None:
        self._replies = {key: list(texts) for key, texts in replies.items()}
        self.flying = self.most = self.calls = 0

    async def sample(self, request: Request) -> Reply:
        self.calls += request.n
        self.flying += request.n
        self.most = max(self.most, self.flying)
        await asyncio.sleep(0)
        self.flying -= request.n
        said = [line for line in request.messages[-1].content.splitlines() if line in self._replies]
        return Reply((Said(self._replies[said[-1]].pop(0)),))


async def played(model: Scripted, rollout: Rollout, state: State = ("start",)) -> Evaluation:
    (evaluation,) = await rollout(model, Game(), [state])
    return evaluation


async def test_the_mean_of_what_is_known_counts() -> None:
    """Plays: start, win = 1; start, go, lose = 0; start, go, end = not known, as nobody judges it. (1 + 0) / 2."""
    model = Scripted(start=["win", "go", "go"], go=["lose", "end"])
    assert await played(model, Rollout(samples=3, depth=5)) == Evaluation(0.5, (1.0, 0.0, None), "2 of 3 rollouts ended in a verdict")
    assert (model.calls, model.most) == (5, 3)


async def test_it_ends_at_its_depth() -> None:
    """start, go, go: two thoughts were added, and the game is open still."""
    model = Scripted(start=["go"], go=["go"])
    assert await played(model, Rollout(samples=1, depth=2)) == Evaluation(None, (None,), "0 of 1 rollouts ended in a verdict")


async def test_a_state_that_is_over_is_not_played() -> None:
    model = Scripted()
    assert (await played(model, Rollout(samples=2), ("win",))).value == 1.0
    assert (await played(model, Rollout(samples=2), ("lose",))).value == 0.0
    assert model.calls == 0


async def test_where_no_thought_comes_the_play_is_not_known() -> None:
    model = Scripted(start=["", "win"])
    assert await played(model, Rollout(samples=2)) == Evaluation(1.0, (None, 1.0), "1 of 2 rollouts ended in a verdict")


def test_its_thoughts_are_estimated_under_the_role_that_is_charged() -> None:
    """2 thoughts and a grade of 3 samples, twice, for each state; a combination has the sum of its parts."""
    small = Sampling(max_tokens=40)
    rollout = Rollout(generate=Sample(k=1, sampling=small), judge=Value(samples=3, sampling=small), samples=2, depth=2)
    search = Beam(breadth=1, depth=1)
    for evaluate, judging in ((rollout, 6), (Combine(rollout, Value(samples=1, sampling=small)), 7)):
        found = estimate(Toy(), Method(generate=Sample(k=5, sampling=small), evaluate=evaluate, search=search))
        assert {role: bound.calls for role, bound in found.by_role.items()} == {"generate": 5 + 5 * 4, "evaluate": 5 * judging}
        assert found.calls == sum(bound.calls for bound in found.by_role.values())


async def test_what_is_spent_by_role_is_within_the_estimate_by_role() -> None:
    small = Sampling(max_tokens=40)
    rollout = Rollout(generate=Sample(k=1, sampling=small), judge=Value(samples=2, sampling=small), samples=3, depth=2)
    method = Method(generate=Sample(k=4, sampling=small), evaluate=rollout, search=Beam(breadth=2, depth=3))
    for seed in range(20):
        toy = Toy(seed)
        most = estimate(toy, method).by_role
        result = await solve(toy, method, FakeModel(toy.reply), seed=seed, retry=ONCE)
        assert set(result.by_role) == {"generate", "evaluate"}
        for role, usage in result.by_role.items():
            assert 0 < usage.calls <= most[role].calls, (seed, role)


class Faulty:
    """Fails at its first two requests: at once with `second` for the later one, later with `first` for the earlier one; others are answered."""

    name = identity = "faulty"

    def __init__(self, first: int, second: int) -> None:
        self.turns, self.asked, self.ended = (first, second, 5, 5), 0, 0

    async def sample(self, request: Request) -> Reply:
        number, self.asked = self.asked, self.asked + 1
        for _ in range(self.turns[number]):
            await asyncio.sleep(0)
        self.ended += 1
        if number == 0:
            raise ContextOverflow("too long")
        if number == 1:
            raise PermanentError("no such model")
        return Reply((Said("win"),))


async def test_the_first_error_by_place_counts_and_no_sample_is_cut_off_for_it() -> None:
    for turns in ((1, 3), (3, 1)):
        model = Faulty(*turns)
        with pytest.raises(ContextOverflow):
            await Rollout(samples=4)(model, Game(), [("start",)])
        assert (model.asked, model.ended) == (4, 4)


async def test_latency_shapes_no_value_where_a_judgement_takes_several_calls() -> None:
    small = Sampling(max_tokens=40)
    judge = Combine(Value(samples=1, sampling=small), Value(samples=1, sampling=small), how="product")
    rollout = Rollout(generate=Sample(k=1, sampling=small), judge=judge, samples=3, depth=3)
    method = Method(generate=Sample(k=3, sampling=small), evaluate=rollout, search=Beam(breadth=2, depth=2))
    for seed in range(6):
        toy = Toy(seed)
        trees = [snapshot((await solve(toy, method, FakeModel(toy.reply, jitter=jitter), seed=seed)).tree) for jitter in (None, 1, 2)]
        assert trees[0] == trees[1] == trees[2], seed


async def test_a_rollout_judged_by_rollouts_is_within_its_bound() -> None:
    small = Sampling(max_tokens=40)
    inner = Rollout(generate=Sample(k=1, sampling=small), samples=2, depth=1)
    outer = Rollout(generate=Sample(k=1, sampling=small), judge=inner, samples=2, depth=2)
    found = estimate(Toy(), Method(generate=Sample(k=1, sampling=small), evaluate=outer, search=Beam(breadth=1, depth=1)))
    assert {role: bound.calls for role, bound in found.by_role.items()} == {"generate": 1 + 2 * (2 + 2)}
