"""Generator "staged": one generator for open states, another for complete answers. Knows no search."""

from __future__ import annotations

from dataclasses import dataclass, field

from branchwise.budget import Bound
from branchwise.model.base import LanguageModel
from branchwise.problem import Kind, Problem, State
from branchwise.thought.base import Generator, Proposals, Size
from branchwise.thought.refine import Refine
from branchwise.thought.sample import Sample

__all__ = ["Staged"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Staged:
    """`open` until there is an answer, then `complete` (refinement of it). For searches that go on from complete answers."""

    open: Generator = field(default_factory=Sample)
    complete: Generator = field(default_factory=Refine)

    @property
    def k(self) -> int:
        """That of `open`."""
        return self.open.k

    @property
    def thought_bytes(self) -> int:
        """The longer of the two."""
        return max(self.open.thought_bytes, self.complete.thought_bytes)

    async def __call__(self, model: LanguageModel, problem: Problem, state: State, k: int) -> Proposals:
        """As the stage's generator."""
        stage = self.complete if problem.status(state).kind is Kind.COMPLETE else self.open
        return await stage(model, problem, state, k)

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """The worse of the two."""
        first, later = self.open.bound(problem, size, k), self.complete.bound(problem, size, k)
        return Bound(
            max(first.calls, later.calls),
            max(first.prompt_tokens, later.prompt_tokens),
            max(first.completion_tokens, later.completion_tokens),
        )
