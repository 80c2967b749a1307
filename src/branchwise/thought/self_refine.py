"""Generator of MCT Self-Refine: a critique of an answer, then a better answer. Knows no search.

Zhang et al. 2024 (MCTSr), section 3.2: at the root a naive answer and a dummy; below, two calls a rewrite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from branchwise.budget import Bound
from branchwise.errors import Unsupported, UsageError
from branchwise.model.base import LanguageModel, Request
from branchwise.model.base import Sample as Said
from branchwise.problem import DUMMY, Problem, State
from branchwise.thought.asking import BYTES_PER_TOKEN, Sampling, ask, ask_bound, render
from branchwise.thought.base import Dropped, Proposal, Proposals, Size
from branchwise.thought.sample import Sample, said, unusable

__all__ = ["DUMMY", "SelfRefine"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfRefine:
    """On the empty state: the roots, without more calls than the naive answer. On an answer: a critique m of it, then an answer a'."""

    roots: Literal["both", "naive", "dummy"] = "both"
    first: str = "cot"
    """Prompt of the naive answer."""
    critique: str = "critique"
    rewrite: str = "rewrite"
    confident: bool = False
    """Give each rewrite the model's own confidence in it, for `stop_confidence`. Raises `Unsupported` without log-probabilities."""
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
        messages, sampling = render(problem, self.rewrite, state, {"critique": critique}), self.sampling
        request = Request(messages, 1, "generate", sampling.temperature, sampling.max_tokens, sampling.stop, logprobs=int(self.confident))
        reply = await model.sample(request)
        if not reply.samples or not reply.samples[0].usable:
            return unusable(reply.samples[0]) if reply.samples else Dropped("", "no rewrite came")
        sample = reply.samples[0]
        found = said(sample, problem, state, True, self.thought_bytes)
        if not self.confident or isinstance(found, Dropped):
            return found
        if not sample.logprobs:
            raise Unsupported(f"{model.name} gives no log-probabilities, which the confidence of an answer is read from")
        return replace(found, confidence=_confidence(sample))

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """One call for the roots; two a rewrite."""
        if size.state == 0:
            return Bound() if self.roots == "dummy" else self._naive().bound(problem, size, 1)
        critique = ask_bound(problem, self.critique, size, 1, self.sampling)
        return (critique + ask_bound(problem, self.rewrite, size, 1, self.sampling, extra=self.thought_bytes)) * k


def _confidence(sample: Said) -> float:
    """The geometric mean of the probabilities of the tokens that were drawn: of the drawn and the likeliest token, the less likely one."""
    tokens = [min(token.values()) for token in sample.logprobs or () if token]
    return math.exp(sum(tokens) / len(tokens)) if tokens else 0.0
