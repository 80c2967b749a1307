"""Evaluator "rollout": play a state to its end, then judge the end. Knows no search.

Monte-Carlo evaluation (Kocsis and Szepesvari 2006): the simulation phase of MCTS, for searches that take values from an evaluator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel
from branchwise.problem import Kind, Problem, State
from branchwise.thought.base import Evaluation, Evaluator, Generator, Size
from branchwise.thought.check import known
from branchwise.thought.sample import Sample

__all__ = ["Rollout"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollout:
    """`samples` times: sample one thought after the other until the program says that the state is no longer open, or `depth` thoughts were
    added; the value is the program's verdict, else `judge`'s value of the end, else unknown. The mean of the known ones counts."""

    generate: Generator = field(default_factory=lambda: Sample(k=1))
    judge: Evaluator | None = None
    samples: int = 1
    depth: int = 5

    def __post_init__(self) -> None:
        if self.samples < 1 or self.depth < 1:
            raise UsageError("rollout needs at least 1 sample and a depth of at least 1")
        if self.judge is not None and self.judge.joint:
            raise UsageError("a rollout ends in one state, so it cannot be judged by a vote")

    @property
    def joint(self) -> bool:
        """Each state alone."""
        return False

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """One evaluation a state."""
        return [await self._one(model, problem, state) for state in states]

    async def _one(self, model: LanguageModel, problem: Problem, state: State) -> Evaluation:
        samples = [await self._play(model, problem, state) for _ in range(self.samples)]
        values = [value for value in samples if value is not None]
        reason = f"{len(values)} of {self.samples} rollouts ended in a verdict"
        return Evaluation(sum(values) / len(values) if values else None, tuple(samples), reason)

    async def _play(self, model: LanguageModel, problem: Problem, state: State) -> float | None:
        for _ in range(self.depth):
            if problem.status(state).kind is not Kind.OPEN:
                break
            proposals = await self.generate(model, problem, state, 1)
            if not proposals.thoughts:
                return None
            state = (*state, proposals.thoughts[0].thought)
        verdict = known(problem, problem.status(state))
        if verdict is None and self.judge is not None:
            verdict = (await self.judge(model, problem, [state]))[0]
        return None if verdict is None else verdict.value

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """`depth` generations and one judgement, `samples` times, for each state."""
        total = Bound()
        for _ in range(self.depth):
            total += self.generate.bound(problem, size, 1)
            size = size.deeper(self.generate.thought_bytes)
        if self.judge is not None:
            total += self.judge.bound(problem, size, 1)
        return total * self.samples * n
