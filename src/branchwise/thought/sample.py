"""Generator "sample": k independent samples of the next thought. Knows no search.

Yao et al. 2023, section 3 (2a): for rich thought spaces, such as plans, passages and whole answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel, Outcome, Reply
from branchwise.model.base import Sample as Said
from branchwise.problem import Problem, Rejected, State, finished, read, whole
from branchwise.thought.asking import BYTES_PER_TOKEN, MOST, Sampling, ask, ask_bound, render
from branchwise.thought.base import Dropped, Proposal, Proposals, Size

__all__ = ["Sample", "read_samples", "said", "thought_of", "unusable"]


def thought_of(problem: Problem, state: State, text: str, is_whole: bool, longest: int) -> Proposal | Dropped:
    """The thought in one reply, canonical, or why it is none; `longest` in bytes."""
    try:
        thought = whole(problem, state, text) if is_whole else read(problem, state, text)
    except Rejected as reason:
        return Dropped(text[:200], str(reason))
    too_long = len(thought.encode("utf-8", "replace")) > longest
    return Dropped(thought[:200], f"longer than {longest} bytes") if too_long else Proposal(thought)


def unusable(sample: Said) -> Dropped:
    """A sample without content, as a dropped proposal with its outcome for a reason."""
    return Dropped(sample.text[:200], f"reply {sample.outcome.value}{': ' + sample.error if sample.error else ''}")


def said(sample: Said, problem: Problem, state: State, is_whole: bool, longest: int) -> Proposal | Dropped:
    """The thought in one sample, or why it is none. An answer that was cut off at its limit before it was given is none: what it says last is a
    step on the way, which would count, and vote, as the answer."""
    if not sample.usable:
        return unusable(sample)
    if (is_whole or state) and sample.outcome is Outcome.LENGTH and not finished(problem, sample.text):
        return Dropped(sample.text[:200], "cut off at its limit before the answer; give it more tokens (--max-tokens)")
    return thought_of(problem, state, sample.text.strip(), is_whole, longest)


def read_samples(reply: Reply, problem: Problem, state: State, is_whole: bool, longest: int) -> Proposals:
    """A thought from each sample of `reply`, in order, and what is none."""
    thoughts: list[Proposal] = []
    dropped: list[Dropped] = []
    for sample in reply.samples:
        found = said(sample, problem, state, is_whole, longest)
        if isinstance(found, Proposal):
            thoughts.append(found)
        else:
            dropped.append(found)
    return Proposals(tuple(thoughts), tuple(dropped))


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One request for `k` samples; each reply's content is one thought.

    `whole` says that it is a whole answer, or a passage: it is taken as it is, unless the problem has its own `whole`. Otherwise the
    problem's `read` makes it canonical or rejects it.
    """

    k: int = 5
    prompt: str = "sample"
    """Name of the prompt, the problem's own or a generic one."""
    whole: bool = False
    sampling: Sampling = Sampling()

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MOST:
            raise UsageError(f"sample needs k of at least 1 and at most {MOST}, not {self.k}")

    @property
    def thought_bytes(self) -> int:
        """As long as a reply can be."""
        return BYTES_PER_TOKEN * self.sampling.max_tokens

    async def __call__(self, model: LanguageModel, problem: Problem, state: State, k: int) -> Proposals:
        """Up to `k` thoughts, in the order of the samples."""
        reply = await ask(model, render(problem, self.prompt, state, {"k": str(k)}), k, "generate", self.sampling)
        return read_samples(reply, problem, state, self.whole, self.thought_bytes)

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """k calls."""
        return ask_bound(problem, self.prompt, size, k, self.sampling)
