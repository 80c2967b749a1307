"""Generator "sample": k independent samples of the next thought. Knows no search.

Yao et al. 2023, section 3 (2a): for rich thought spaces, such as plans, passages and whole answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel, Sample as Reply
from branchwise.problem import Problem, Rejected, State, read
from branchwise.thought.asking import BYTES_PER_TOKEN, Sampling, ask, ask_bound, render
from branchwise.thought.base import Dropped, Proposal, Proposals, Size

__all__ = ["Sample", "unusable"]


def unusable(sample: Reply) -> Dropped:
    """A sample without content, as a dropped proposal with its outcome for a reason."""
    return Dropped(sample.text[:200], f"reply {sample.outcome.value}{': ' + sample.error if sample.error else ''}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One request for `k` samples; each reply's content is one thought.

    `whole` takes the content as it is (a whole answer, a passage); otherwise the problem's `read` makes it canonical or rejects it.
    """

    k: int = 5
    prompt: str = "sample"
    """Name of the prompt, the problem's own or a generic one."""
    whole: bool = False
    sampling: Sampling = Sampling()

    def __post_init__(self) -> None:
        if self.k < 1:
            raise UsageError(f"sample needs k of at least 1, not {self.k}")

    @property
    def thought_bytes(self) -> int:
        """As long as a reply can be."""
        return BYTES_PER_TOKEN * self.sampling.max_tokens

    async def __call__(self, model: LanguageModel, problem: Problem, state: State, k: int) -> Proposals:
        """Up to `k` thoughts, in the order of the samples."""
        reply = await ask(model, render(problem, self.prompt, state, {"k": str(k)}), k, "generate", self.sampling)
        thoughts: list[Proposal] = []
        dropped: list[Dropped] = []
        for sample in reply.samples:
            text = sample.text.strip()
            if not sample.usable:
                dropped.append(unusable(sample))
            elif len(text.encode("utf-8", "replace")) > self.thought_bytes:
                dropped.append(Dropped(text[:200], f"longer than {self.thought_bytes} bytes"))
            elif self.whole:
                thoughts.append(Proposal(text))
            else:
                try:
                    thoughts.append(Proposal(read(problem, state, text)))
                except Rejected as reason:
                    dropped.append(Dropped(text[:200], str(reason)))
        return Proposals(tuple(thoughts), tuple(dropped))

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """k calls."""
        return ask_bound(problem, self.prompt, size, k, self.sampling)
