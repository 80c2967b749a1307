"""Generator of MCT Self-Refine: a critique of an answer, then a better answer. Knows no search.

Zhang et al. 2024 (MCTSr), section 3.2: at the root a naive answer and a dummy; below, two calls a rewrite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.thought.asking import BYTES_PER_TOKEN, Sampling, ask, ask_bound, render
from branchwise.thought.base import Dropped, Proposal, Proposals, Size
from branchwise.thought.sample import Sample, thought_of, unusable

__all__ = ["DUMMY", "SelfRefine"]

DUMMY = "I don't know."
"""The dummy root: it keeps the model from clinging to its first answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfRefine:
    """On the empty state: the roots, without more calls than the naive answer. On an answer: a critique m of it, then an answer a'."""

    roots: Literal["both", "naive", "dummy"] = "both"
    first: str = "cot"
    """Prompt of the naive answer."""
    critique: str = "critique"
    rewrite: str = "rewrite"
    sampling: Sampling = Sampling()

    rewrites = True

    def __post_init__(self) -> None:
        if self.roots not in ("both", "naive", "dummy"):
            raise UsageError(f"roots are 'both', 'naive' or 'dummy', not {self.roots!r}")

    @property
    def k(self) -> int:
        """One rewrite a step."""
        return 1

    @property
    def thought_bytes(self) -> int:
        """As long as a reply can be."""
        return BYTES_PER_TOKEN * self.sampling.max_tokens

    async def __call__(self, model: LanguageModel, problem: Problem, state: State, k: int) -> Proposals:
        """The roots, or `k` rewrites of the last answer, each with a critique of its own."""
        if not state:
            naive = Proposals()
            if self.roots != "dummy":
                naive = await self._naive()(model, problem, state, 1)
            dummy = (Proposal(DUMMY),) if self.roots != "naive" else ()
            return Proposals((*naive.thoughts, *dummy), naive.dropped)
        thoughts: list[Proposal] = []
        dropped: list[Dropped] = []
        for _ in range(k):
            found = await self._rewrite(model, problem, state)
            (thoughts if isinstance(found, Proposal) else dropped).append(found)  # type: ignore[arg-type]
        return Proposals(tuple(thoughts), tuple(dropped))

    def _naive(self) -> Sample:
        return Sample(k=1, prompt=self.first, whole=True, sampling=self.sampling)

    async def _rewrite(self, model: LanguageModel, problem: Problem, state: State) -> Proposal | Dropped:
        reply = await ask(model, render(problem, self.critique, state, {}), 1, "generate", self.sampling)
        critique = next(iter(reply.texts), "").strip()
        if not critique:
            return unusable(reply.samples[0]) if reply.samples else Dropped("", "no critique came")
        reply = await ask(model, render(problem, self.rewrite, state, {"critique": critique}), 1, "generate", self.sampling)
        if not reply.samples or not reply.samples[0].usable:
            return unusable(reply.samples[0]) if reply.samples else Dropped("", "no rewrite came")
        return thought_of(problem, state, reply.samples[0].text.strip(), True, self.thought_bytes)

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """One call for the roots; two a rewrite."""
        if size.state == 0:
            return Bound() if self.roots == "dummy" else self._naive().bound(problem, size, 1)
        critique = ask_bound(problem, self.critique, size, 1, self.sampling)
        return (critique + ask_bound(problem, self.rewrite, size, 1, self.sampling, extra=self.thought_bytes)) * k
