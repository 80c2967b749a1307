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
from branchwise.together import settled

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
        """All samples a thought further at a time. The ends are judged one after the other, for the reason that `_further` has."""
        ends: list[State | None] = [state] * self.samples
        for _ in range(self.depth):
            going = [i for i, end in enumerate(ends) if end is not None and problem.status(end).kind is Kind.OPEN]
            further = await self._further(model, problem, [end for i in going if (end := ends[i]) is not None])
            for i, end in zip(going, further, strict=True):
                ends[i] = end
        samples = tuple([await self._verdict(model, problem, end) for end in ends])
        values = [value for value in samples if value is not None]
        reason = f"{len(values)} of {self.samples} rollouts ended in a verdict"
        return Evaluation(sum(values) / len(values) if values else None, samples, reason)

    async def _further(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[State | None]:
        """Each a thought further; at once where a thought is one call. Calls that follow each other would be numbered, and so seeded, as the
        replies before them come."""
        if isinstance(self.generate, Sample):
            return await settled([self._next(model, problem, state) for state in states])
        return [await self._next(model, problem, state) for state in states]

    async def _next(self, model: LanguageModel, problem: Problem, state: State) -> State | None:
        """One thought more; `None` where none comes."""
        proposals = await self.generate(model, problem, state, 1)
        return (*state, proposals.thoughts[0].thought) if proposals.thoughts else None

    async def _verdict(self, model: LanguageModel, problem: Problem, end: State | None) -> float | None:
        if end is None:
            return None
        verdict = known(problem, problem.status(end))
        if verdict is None and self.judge is not None:
            verdict = (await self.judge(model, problem, [end]))[0]
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

    def generating(self, problem: Problem, size: Size, n: int) -> Bound:
        """The part of `bound` that is spent on thoughts, and charged to the role of the generator."""
        total = Bound()
        for _ in range(self.depth):
            total += self.generate.bound(problem, size, 1)
            size = size.deeper(self.generate.thought_bytes)
        if (judging := getattr(self.judge, "generating", None)) is not None:
            total += judging(problem, size, 1)
        return total * self.samples * n
