"""Parts that a user writes and that give something else than they must are named in the error; settings of a wrong kind are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import branchwise as bw
from branchwise.budget import Bound


class Plain:
    prompt = "p"

    def status(self, state: bw.State) -> Any:
        return bw.OPEN

    def key(self, state: bw.State) -> bw.State:
        return state

    def answer(self, state: bw.State) -> str | None:
        return state[-1] if state else None


class NoStatus(Plain):
    def status(self, state: bw.State) -> Any:
        return "open" if state else bw.OPEN


class Gives:
    """A generator that gives `what`."""

    k, thought_bytes = 2, 100

    def __init__(self, what: Any) -> None:
        self.what = what

    async def __call__(self, model: Any, problem: Any, state: Any, k: int) -> Any:
        return self.what

    def bound(self, problem: Any, size: Any, k: int) -> Bound:
        return Bound(k, 100, 100)


class Judges:
    """An evaluator that gives `what`."""

    def __init__(self, what: Any, joint: bool) -> None:
        self.what, self.joint = what, joint

    async def __call__(self, model: Any, problem: Any, states: Sequence[Any]) -> Any:
        return self.what

    def bound(self, problem: Any, size: Any, n: int) -> Bound:
        return Bound(n, 100, 100)


GOOD = Gives(bw.Proposals((bw.Proposal("a"), bw.Proposal("b"))))
ONE = bw.Evaluation(0.5)


@pytest.mark.parametrize(
    ("generate", "evaluate", "problem", "named"),
    [
        (Gives(["a"]), None, Plain(), "Gives must give Proposals; it gave"),
        (Gives(None), None, Plain(), "Gives must give Proposals; it gave None"),
        (Gives(bw.Proposals((bw.Proposal(7),))), None, Plain(), "Gives must give thoughts that are text; it gave 7"),  # type: ignore[arg-type]
        (GOOD, None, NoStatus(), "NoStatus must give a Status"),
        (GOOD, Judges([ONE, ONE], False), Plain(), "Judges must give a list of 1 evaluations"),
        (GOOD, Judges([ONE] * 3, True), Plain(), "Judges must give a list of 2 evaluations"),
        (GOOD, Judges([], True), Plain(), "Judges must give a list of 2 evaluations"),
        (GOOD, Judges([0.5], False), Plain(), "Judges must give evaluations; it gave 0.5"),
        (GOOD, Judges(0.5, False), Plain(), "Judges must give a list of 1 evaluations"),
    ],
)
async def test_the_part_is_named(generate: Any, evaluate: Any, problem: Any, named: str) -> None:
    method = bw.Method(generate=generate, evaluate=evaluate, search=bw.Beam(breadth=2, depth=2) if evaluate else bw.Chain(depth=2))
    result = await bw.solve(problem, method, bw.Scripted(lambda request, i: "x"))
    assert (result.stop_reason, named in result.error) == ("failed", True), result.error


@pytest.mark.parametrize("limits", [{"nodes": 1.5}, {"calls": "5"}, {"tokens": 2.0}, {"cost": "1"}, {"seconds": [1]}, {"calls": True}])
def test_a_limit_of_a_wrong_kind_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(bw.UsageError, match="number or None, not"):
        bw.Budget(**limits)


@pytest.mark.parametrize("seed", [None, "1", 1.0, True])
async def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(bw.UsageError, match="a seed is a whole number"):
        await bw.solve(Plain(), bw.Method(generate=GOOD, search=bw.Chain(depth=1)), bw.Scripted(lambda request, i: "x"), seed=seed)


async def test_a_thought_cannot_turn_the_direction_of_the_page() -> None:
    method = bw.Method(generate=Gives(bw.Proposals((bw.Proposal("\u202eabc"),))), search=bw.Chain(depth=1))
    result = await bw.solve(Plain(), method, bw.Scripted(lambda request, i: "x"))
    page = result._repr_html_()
    assert page.count("<bdi>\u202eabc</bdi>") == page.count("\u202e") == 2
