"""A chain goes one thought after the other, and refines what is complete."""

from __future__ import annotations

import pytest

from branchwise import COMPLETE, SOLVED, Chain, Method, MethodError, Sample, UsageError, Vote, dead, last, preset, solve
from support.frontiers import Driver
from support.models import FakeModel, Known, Listed, silent
from support.worlds import Drawn, Toy


def chain(depth: int) -> Method:
    return Method(generate=Listed(), search=Chain(depth=depth), pick=last)


async def test_a_complete_answer_is_refined_up_to_the_depth() -> None:
    children = {tuple("abcd"[:n]): ["abcd"[n]] for n in range(4)}
    problem = Drawn(children, statuses={state: COMPLETE for state in children if state})
    result = await solve(problem, chain(3), FakeModel(silent))
    assert result.path == ["a", "b", "c"]
    assert (result.answer, result.stop_reason) == ("c", "max_depth")


@pytest.mark.parametrize(("status", "stop", "answer"), [(SOLVED, "solved", "b"), (dead("x"), "exhausted", "a")])
async def test_it_ends_at_a_proof_and_at_a_dead_end(status: object, stop: str, answer: str) -> None:
    problem = Drawn({(): ["a"], ("a",): ["b"], ("a", "b"): ["c"]}, statuses={("a",): COMPLETE, ("a", "b"): status})  # type: ignore[dict-item]
    result = await solve(problem, chain(9), FakeModel(silent))
    assert (result.stop_reason, result.answer) == (stop, answer)


async def test_a_rewrite_that_is_an_earlier_state_ends_it() -> None:
    problem = Drawn({(): ["a"], ("a",): ["b"], ("a", "b"): ["a"]}, canon=lambda state: state[-1:])
    result = await solve(problem, chain(9), FakeModel(silent))
    assert (result.path, result.stop_reason, result.tree.counts().merged) == (["a", "b"], "exhausted", 1)


async def test_one_thought_is_asked_for_whatever_k_is() -> None:
    toy = Toy(1, dead=0, complete=0, malformed=0)
    model = FakeModel(toy.reply)
    await solve(toy, Method(generate=Sample(k=7), search=Chain(depth=2)), model)
    assert [request.n for request in model.requests] == [1] * len(model.requests)


async def test_refining_stops_when_the_model_says_the_same_again() -> None:
    toy = Toy(1, dead=0, complete=0, merge=False)
    model = FakeModel(lambda request, i: "same")
    result = await solve(toy, preset("refine").make(rounds=10), model)
    assert model.calls == 2
    assert result.stop_reason == "exhausted"


def test_a_failed_step_ends_it() -> None:
    driver = Driver(Chain(depth=3))
    driver.expand(["a"])
    driver.expand([], failed="down")
    assert driver.pending == []
    assert driver.frontier.ended == "exhausted"


def test_a_vote_on_a_chain_is_refused_by_name() -> None:
    with pytest.raises(MethodError, match="vote × chain"):
        Method(generate=Sample(), evaluate=Vote(), search=Chain())
    Method(generate=Sample(), evaluate=Known(), search=Chain())


def test_bad_settings_are_refused() -> None:
    with pytest.raises(UsageError):
        Chain(depth=0)
