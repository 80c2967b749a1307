"""Generator "propose": one call that lists several different next thoughts. Knows no search.

Yao et al. 2023, section 3 (2b): for tight thought spaces, such as a word or an equation.
"""

from __future__ import annotations

from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, Rejected, State, read, revise
from branchwise.thought import parsing
from branchwise.thought.asking import MOST, Sampling, ask, ask_bound, render
from branchwise.thought.base import Dropped, Proposal, Proposals, Size
from branchwise.thought.sample import unusable

__all__ = ["Propose"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Propose:
    """`repeats` calls, each listing up to `k` thoughts; equal thoughts are merged and their confidences summed.

    A line may end in the model's own confidence: certain 1, high 0.5, medium 0.2, low 0.1. Thoughts with a confidence come first, highest
    first; the others keep the order in which they were first listed.
    """

    k: int = 8
    """Different thoughts taken at the most."""
    repeats: int = 1
    """n, calls whose lists are merged."""
    prompt: str = "propose"
    revises: bool = False
    """A thought may change what earlier ones set, where the problem can tell (its `revise`)."""
    longest: int = 500
    """A longer line is no thought; bytes."""
    sampling: Sampling = Sampling(max_tokens=512)

    lists = True

    def __post_init__(self) -> None:
        if not (1 <= self.k <= MOST and 1 <= self.repeats <= MOST):
            raise UsageError(f"propose needs k and repeats of at least 1 and at most {MOST}, not {self.k} and {self.repeats}")

    @property
    def thought_bytes(self) -> int:
        """As set by `longest`."""
        return self.longest

    async def __call__(self, model: LanguageModel, problem: Problem, state: State, k: int) -> Proposals:
        """Up to `k` different thoughts; the rest of the list is dropped with the reason."""
        reply = await ask(model, render(problem, self.prompt, state, {"k": str(k)}), self.repeats, "generate", self.sampling)
        found: dict[str, float | None] = {}
        dropped: list[Dropped] = []
        for sample in reply.samples:
            if not sample.usable:
                dropped.append(unusable(sample))
                continue
            seen: set[str] = set()
            for item in parsing.list_items(sample.text):
                text, confidence = parsing.confidence(item)
                try:
                    thought = self._read(problem, state, text)
                except Rejected as reason:
                    dropped.append(Dropped(item[:200], str(reason)))
                    continue
                if thought in seen:
                    continue
                seen.add(thought)
                old = found.get(thought)
                found[thought] = old if confidence is None else (old or 0.0) + confidence
        order = sorted(found, key=lambda thought: -(found[thought] or 0.0))
        dropped.extend(Dropped(thought, f"beyond the {k} asked for") for thought in order[k:])
        return Proposals(tuple(Proposal(thought, found[thought]) for thought in order[:k]), tuple(dropped))

    def _read(self, problem: Problem, state: State, text: str) -> str:
        thought = (revise if self.revises else read)(problem, state, text.strip())
        if not thought:
            raise Rejected("empty")
        if len(thought.encode("utf-8", "replace")) > self.longest:
            raise Rejected(f"longer than {self.longest} bytes")
        return thought

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """`repeats` calls, whatever k is."""
        return ask_bound(problem, self.prompt, size, self.repeats, self.sampling)
