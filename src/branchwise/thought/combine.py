"""Evaluator "combine": a weighted sum or product of evaluators. Knows no search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from branchwise.budget import Bound
from branchwise.errors import MethodError
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.thought.base import Evaluation, Evaluator, Size
from branchwise.thought.check import known

__all__ = ["Combine"]


@dataclass(frozen=True, slots=True, init=False)
class Combine:
    """`how="sum"`: the weighted mean of the known values; `how="product"`: the product of the known values to the power of their weights.

    States that the program already knows (proven, dead) are decided without a call, whatever the parts. A value is unknown only when every
    part's is.
    """

    parts: tuple[Evaluator, ...]
    weights: tuple[float, ...]
    how: Literal["sum", "product"]

    def __init__(self, *parts: Evaluator, weights: Sequence[float] | None = None, how: Literal["sum", "product"] = "sum") -> None:
        chosen = tuple(weights) if weights is not None else (1.0,) * len(parts)
        if not parts or len(chosen) != len(parts) or min(chosen) < 0 or max(chosen) <= 0:
            raise MethodError("combine needs at least one evaluator, and one weight of at least 0 for each (not all of them 0)")
        if how not in ("sum", "product"):
            raise MethodError(f"combine by 'sum' or 'product', not {how!r}")
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "weights", chosen)
        object.__setattr__(self, "how", how)

    @property
    def joint(self) -> bool:
        """When one of the parts compares states."""
        return any(part.joint for part in self.parts)

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """Every part on every state that the program does not decide."""
        found: list[Evaluation | None] = [known(problem, problem.status(state)) for state in states]
        rest = [index for index, evaluation in enumerate(found) if evaluation is None]
        if rest:
            columns = [await part(model, problem, [states[index] for index in rest]) for part in self.parts]
            for place, index in enumerate(rest):
                found[index] = self._join([column[place] for column in columns])
        return [evaluation for evaluation in found if evaluation is not None]

    def _join(self, parts: list[Evaluation]) -> Evaluation:
        pairs = [(part.value, weight) for part, weight in zip(parts, self.weights, strict=True) if part.value is not None]
        samples = tuple(sample for part in parts for sample in part.samples)
        reason = "; ".join(part.reason for part in parts if part.reason)
        total = sum(weight for _, weight in pairs)
        if not pairs or total == 0:
            return Evaluation(None, samples, reason)
        if self.how == "sum":
            return Evaluation(sum(value * weight for value, weight in pairs) / total, samples, reason)
        return Evaluation(prod(value**weight for value, weight in pairs), samples, reason)

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """The sum of the parts'."""
        total = Bound()
        for part in self.parts:
            total += part.bound(problem, size, n)
        return total

    def generating(self, problem: Problem, size: Size, n: int) -> Bound:
        """The part of `bound` that is spent on thoughts: that of roll-outs."""
        total = Bound()
        for part in self.parts:
            if (generating := getattr(part, "generating", None)) is not None:
                total += generating(problem, size, n)
        return total
