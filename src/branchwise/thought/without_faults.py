"""Evaluator "without faults": what a program can find fault with is valued 0, and the others are judged. Knows no search.

The check comes first wherever a task has one: a judge is not paid for what is known, and cannot overrule it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from branchwise.budget import Bound
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.thought.base import Evaluation, Evaluator, Size

__all__ = ["WithoutFaults"]


@dataclass(frozen=True, slots=True)
class WithoutFaults:
    """States that the problem's `fault(state) -> str` names a fault of are valued 0 with that reason; the rest goes to `evaluate`.

    Where every state of a group has a fault, all of them go there: something has to be chosen. A judge that sees states alone never sees
    a group, so with it every fault counts.
    """

    evaluate: Evaluator

    @property
    def joint(self) -> bool:
        """As the evaluator behind it."""
        return self.evaluate.joint

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """One evaluation a state, in the order given."""
        found = [_fault(problem, state) for state in states]
        good = [state for state, fault in zip(states, found, strict=True) if not fault]
        if not good and self.joint:
            return await self.evaluate(model, problem, states)
        judged = iter(await self.evaluate(model, problem, good)) if good else iter(())
        return [Evaluation(0.0, reason=fault) if fault else next(judged) for fault in found]

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """That of the evaluator behind it."""
        return self.evaluate.bound(problem, size, n)


def _fault(problem: Problem, state: State) -> str:
    fault = getattr(problem, "fault", None)
    return "" if fault is None else cast(str, fault(state))
