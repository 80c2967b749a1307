"""Generator "write_up": the answer from the picked path, told of the strongest branch that was rejected. Knows no search and no tree."""

from __future__ import annotations

from dataclasses import dataclass, replace

from branchwise.budget import Bound
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.thought.asking import BYTES_PER_TOKEN, Sampling, ask, ask_bound, render
from branchwise.thought.base import Proposals, Size
from branchwise.thought.sample import read_samples

__all__ = ["NOTE_BYTES", "NOTHING", "WriteUp"]

NOTE_BYTES = 2000
"""What is told of rejected branches is cut to so many bytes, so that the worst case of the call can be stated."""
NOTHING = "(none: there was no other branch)"


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteUp:
    """The answering call of methods that compare branches. Its prompt may name {{rejected}}; the engine fills that in by `noted`.

    The answer is written also where the picked state holds one already, because that one names no other branch.
    """

    prompt: str = "answer"
    rejected: str = NOTHING
    sampling: Sampling = Sampling()

    always = True

    @property
    def k(self) -> int:
        """One answer."""
        return 1

    @property
    def thought_bytes(self) -> int:
        """As long as a reply can be."""
        return BYTES_PER_TOKEN * self.sampling.max_tokens

    def noted(self, rejected: str) -> WriteUp:
        """The same, told of the strongest rejected branch and why, as plain text."""
        short = rejected.encode("utf-8", "replace")[:NOTE_BYTES].decode("utf-8", "ignore")
        return replace(self, rejected=short or NOTHING)

    async def __call__(self, model: LanguageModel, problem: Problem, state: State, k: int) -> Proposals:
        """One whole answer."""
        messages = render(problem, self.prompt, state, {"k": "1", "rejected": self.rejected})
        return read_samples(await ask(model, messages, 1, "answer", self.sampling), problem, state, True, self.thought_bytes)

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """One call."""
        return ask_bound(problem, self.prompt, size, 1, self.sampling, extra=NOTE_BYTES)
