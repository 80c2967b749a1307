"""Evaluators: weights and shares as published, unknown is not zero, and a program's word costs no call."""

from __future__ import annotations

from typing import Any

import pytest

from branchwise import (
    COMPLETE,
    OPEN,
    SOLVED,
    Check,
    Combine,
    Evaluation,
    Kind,
    MethodError,
    Outcome,
    Scale,
    Size,
    Status,
    UsageError,
    Value,
    Vote,
    dead,
)
from branchwise.budget import Bound
from branchwise.model.base import Sample as Said
from branchwise.problem import State
from branchwise.thought.check import known
from support.models import FakeModel, Says, silent
from support.worlds import PROMPTS, Drawn


class Task(Drawn):
    prompts = PROMPTS


TASK = Task({})


async def value(evaluator: Any, *replies: str | Said) -> Evaluation:
    return (await evaluator(Says(*replies), TASK, [("a",)]))[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        (("sure", "sure", "sure"), 1.0),
        (("sure", "likely", "impossible"), (20 + 1 + 0.001) / 60),
        (("likely", "likely", "likely"), 3 / 60),
        (("impossible", "impossible", "impossible"), 0.003 / 60),
        (("It is sure.", "**Likely**", "So: impossible!"), 21.001 / 60),
    ],
)
async def test_the_value_of_a_state_is_the_sum_of_the_weights_over_20_n(replies: tuple[str, ...], expected: float) -> None:
    assert (await value(Value(samples=3), *replies)).value == pytest.approx(expected)


async def test_what_cannot_be_read_is_left_out_and_counted_and_never_zero() -> None:
    """Case 9."""
    found = await value(Value(samples=3), "sure", "I cannot judge", Said("", Outcome.EMPTY))
    assert found.value == 1.0
    assert found.samples == (1.0, None, None)
    assert found.unparsed == 2
    nothing = await value(Value(samples=3), "high", "", "I cannot judge")
    assert nothing.value is None
    assert nothing.unparsed == 3


async def test_a_number_is_placed_on_the_declared_scale_and_one_out_of_it_is_no_value() -> None:
    """Case 8."""
    scale = Value(samples=1, scale=Scale(1, 10))
    assert (await value(scale, "Score: 10")).value == 1.0
    assert (await value(scale, "Score: 1")).value == 0.0
    assert (await value(scale, "Score: 5.5")).value == 0.5
    assert (await value(scale, "Score: 85")).value is None


async def test_other_labels_can_be_given() -> None:
    own = Value(samples=2, labels=(("good", 2.0), ("poor", 1.0), ("useless", 0.0)))
    assert (await value(own, "good", "poor")).value == 0.75
    assert (await value(own, "useless", "useless")).value == 0.0


@pytest.mark.parametrize("bad", [{"samples": 0}, {"labels": ()}, {"labels": (("a", -1.0), ("b", 1.0))}, {"labels": (("a", 0.0),)}])
def test_bad_settings_of_value_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Value(**bad)


async def test_the_value_of_a_vote_is_the_share_of_the_votes_that_could_be_read() -> None:
    model = Says("The best choice is 2", "best choice: 1", "The best choice is 2.", "all are fine", Said("", Outcome.EMPTY))
    found = await Vote(votes=5)(model, TASK, [("a",), ("b",), ("c",)])
    assert [e.value for e in found] == pytest.approx([1 / 3, 2 / 3, 0.0])
    assert found[1].samples == (1.0, 0.0, 1.0, None, None)
    assert found[1].reason == "2 of 3 votes"
    prompt = model.requests[0].messages[-1].content
    assert "Choice 1:\na" in prompt
    assert "Choice 3:\nc" in prompt


async def test_a_vote_for_a_choice_that_is_not_there_is_no_vote() -> None:
    found = await Vote(votes=2)(Says("The best choice is 7", "The best choice is 0"), TASK, [("a",), ("b",)])
    assert [e.value for e in found] == [None, None]


async def test_a_lone_state_needs_no_vote() -> None:
    assert [e.value for e in await Vote()(FakeModel(silent), TASK, [("a",)])] == [1.0]
    assert await Vote()(FakeModel(silent), TASK, []) == []
    assert Vote().bound(TASK, Size(5, 5), 1) == Bound()


def test_bad_settings_of_vote_are_refused() -> None:
    with pytest.raises(UsageError):
        Vote(votes=0)


@pytest.mark.parametrize(
    ("status", "provable", "expected"),
    [
        (SOLVED, False, 1.0),
        (dead("why"), False, 0.0),
        (COMPLETE, True, 0.0),
        (COMPLETE, False, None),
        (OPEN, True, None),
    ],
)
async def test_a_programs_word(status: Status, provable: bool, expected: float | None) -> None:
    problem = Task({}, statuses={("a",): status}, provable=provable)
    (found,) = await Check()(FakeModel(silent), problem, [("a",)])
    assert found.value == expected
    assert found.samples == ()
    word = known(problem, status)
    assert (word is None) == (expected is None)
    if status.kind is Kind.DEAD:
        assert found.reason == "why"
    assert Check().bound(problem, Size(1, 1), 9) == Bound()


class Fixed:
    """A judge that says the same of every state."""

    def __init__(self, value: float | None, joint: bool = False) -> None:
        self.value, self.joint, self.asked = value, joint, 0

    async def __call__(self, model: Any, problem: Any, states: list[State]) -> list[Evaluation]:
        self.asked += len(states)
        return [Evaluation(self.value, (self.value,), f"said {self.value}") for _ in states]

    def bound(self, problem: Any, size: Size, n: int) -> Bound:
        return Bound(n, 10 * n, n)


@pytest.mark.parametrize(
    ("how", "values", "weights", "expected"),
    [
        ("sum", (0.8, 0.4), None, 0.6),
        ("sum", (0.8, 0.4), (3, 1), 0.7),
        ("sum", (0.8, None), (1, 1), 0.8),
        ("sum", (None, None), None, None),
        ("sum", (0.5, None), (0, 1), None),
        ("product", (0.8, 0.5), None, 0.4),
        ("product", (0.5, 0.5), (2, 1), 0.125),
        ("product", (0.8, None), None, 0.8),
        ("product", (0.0, 1.0), (0, 1), 1.0),
        ("product", (None, None), None, None),
    ],
)
async def test_combining(how: Any, values: tuple[float | None, ...], weights: Any, expected: float | None) -> None:
    both = Combine(*(Fixed(value) for value in values), weights=weights, how=how)
    (found,) = await both(FakeModel(silent), TASK, [("a",)])
    assert found.value == (None if expected is None else pytest.approx(expected))
    assert found.samples == values
    assert both.bound(TASK, Size(1, 1), 3) == Bound(6, 60, 6)


async def test_states_that_the_program_knows_cost_no_call_and_values_stay_with_their_states() -> None:
    """Case 42."""
    statuses = {("won",): SOLVED, ("lost",): dead("pit")}
    judge = Fixed(0.5)
    found = await Combine(Check(), judge)(FakeModel(silent), Task({}, statuses=statuses), [("lost",), ("a",), ("won",), ("b",)])
    assert [e.value for e in found] == [0.0, 0.5, 1.0, 0.5]
    assert judge.asked == 2


def test_a_combination_is_joint_when_a_part_is() -> None:
    assert Combine(Fixed(1.0), Fixed(1.0, joint=True)).joint
    assert not Combine(Fixed(1.0)).joint


@pytest.mark.parametrize(
    "bad",
    [
        ((), {}),
        ((Fixed(1),), {"weights": (1, 2)}),
        ((Fixed(1),), {"weights": (-1,)}),
        ((Fixed(1),), {"weights": (0,)}),
        ((Fixed(1),), {"how": "max"}),
    ],
)
def test_bad_combinations_are_refused(bad: Any) -> None:
    parts, settings = bad
    with pytest.raises(MethodError):
        Combine(*parts, **settings)


@pytest.mark.parametrize(
    "evaluator", [Value(samples=2), Vote(votes=3), Combine(Value(), Vote(), Check())], ids=["value", "vote", "combine"]
)
async def test_an_evaluator_asks_for_no_more_than_its_bound(evaluator: Any) -> None:
    from branchwise.model.layers.metered import request_bound

    for states in ([("a",)], [("a", "b"), ("a", "木" * 40)], [(f"{n}" * n,) for n in range(1, 14)]):
        model = FakeModel(lambda request, i: "sure")
        await evaluator(model, TASK, states)
        size = Size(len(TASK.prompt.encode()), max(sum(len(t.encode()) + 1 for t in state) for state in states))
        worst = evaluator.bound(TASK, size, len(states))
        asked = [request_bound(request) for request in model.requests]
        assert sum(b.calls for b in asked) <= worst.calls
        assert sum(b.prompt_tokens for b in asked) <= worst.prompt_tokens
        assert sum(b.completion_tokens for b in asked) <= worst.completion_tokens
