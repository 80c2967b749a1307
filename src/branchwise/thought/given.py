"""Generator "given": a thought that a person wrote. Knows no model beyond the protocol, and calls none."""

from __future__ import annotations

from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.thought.base import Proposal, Proposals, Size

__all__ = ["Given"]


@dataclass(frozen=True, slots=True)
class Given:
    """Proposes `thought` and nothing else."""

    thought: str

    @property
    def k(self) -> int:
        """One."""
        return 1

    @property
    def thought_bytes(self) -> int:
        """Its own length."""
        return len(self.thought.encode("utf-8", "replace"))

    async def __call__(self, model: LanguageModel, problem: Problem, state: State, k: int) -> Proposals:
        """No call is made."""
        return Proposals((Proposal(self.thought),))

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """Nothing."""
        return Bound()
