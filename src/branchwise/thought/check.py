"""Evaluator "check": a program decides. Knows no model beyond the protocol, and calls none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.model.base import LanguageModel
from branchwise.problem import Kind, Problem, State, Status, is_provable
from branchwise.thought.base import Evaluation, Size

__all__ = ["Check", "check", "known"]


def known(problem: Problem, status: Status) -> Evaluation | None:
    """What needs no model: 1 for a proven state, 0 for a dead one and for a complete answer that the problem can tell is wrong."""
    if status.kind is Kind.SOLVED:
        return Evaluation(1.0, reason="proven by the program")
    if status.kind is Kind.DEAD:
        return Evaluation(0.0, reason=status.reason)
    if status.kind is Kind.COMPLETE and is_provable(problem):
        return Evaluation(0.0, reason=status.reason or "a complete answer, and the program cannot confirm it")
    return None


@dataclass(frozen=True, slots=True)
class Check:
    """The problem's own `status` as a value; unknown where the program cannot tell. Use it first in a `Combine`."""

    @property
    def joint(self) -> bool:
        """Each state alone."""
        return False

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """No call is made."""
        return [known(problem, problem.status(state)) or Evaluation(None, reason="the program cannot tell") for state in states]

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """Nothing."""
        return Bound()


check = Check()
