"""Generator "refine": the next thought is an improved version of the last one. Knows no search.

Yao et al. 2023, section 4.2 (iterative refinement): the model reflects on its mistakes and writes a better answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.thought.asking import Sampling
from branchwise.thought.base import Proposals, Size
from branchwise.thought.sample import Sample

__all__ = ["Refine"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Refine:
    """The first answer comes from prompt `first`; every further one from prompt `prompt`, which shows the earlier ones.

    What of the history the model sees is the prompt's choice: {{thoughts}} for all of it, {{last}} for the last answer only.
    """

    k: int = 1
    first: str = "io"
    prompt: str = "refine"
    sampling: Sampling = Sampling()

    rewrites = True

    def __post_init__(self) -> None:
        if self.k < 1:
            raise UsageError(f"refine needs k of at least 1, not {self.k}")

    @property
    def thought_bytes(self) -> int:
        """As long as a reply can be."""
        return self._at(()).thought_bytes

    def _at(self, state: State) -> Sample:
        return Sample(k=self.k, prompt=self.prompt if state else self.first, whole=True, sampling=self.sampling)

    async def __call__(self, model: LanguageModel, problem: Problem, state: State, k: int) -> Proposals:
        """`k` rewrites of the last answer; `final` when each of them says the same again."""
        proposals = await self._at(state)(model, problem, state, k)
        again = bool(state) and bool(proposals.thoughts) and all(p.thought == state[-1] for p in proposals.thoughts)
        return Proposals(proposals.thoughts, proposals.dropped, final=again)

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """k calls; the longer of the two prompts counts."""
        first, later = (self._at(state).bound(problem, size, k) for state in ((), ("x",)))
        return Bound(k, max(first.prompt_tokens, later.prompt_tokens), first.completion_tokens)
