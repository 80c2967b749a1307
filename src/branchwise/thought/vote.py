"""Evaluator "vote": one prompt compares all states of a group. Knows no search.

Yao et al. 2023, section 3 (3b). Values hold only inside the group that was compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.thought import parsing
from branchwise.thought.asking import MOST, Sampling, ask, ask_bound, render
from branchwise.thought.base import Evaluation, Size

__all__ = ["Vote"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Vote:
    """The value of a state is its share of the `votes` that could be read; a lone state gets 1 without a call."""

    votes: int = 5
    prompt: str = "vote"
    sampling: Sampling = Sampling(max_tokens=512)

    def __post_init__(self) -> None:
        if not 1 <= self.votes <= MOST:
            raise UsageError(f"vote needs 1 to {MOST} votes, not {self.votes}")

    @property
    def joint(self) -> bool:
        """States are compared with one another."""
        return True

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """Shares of the votes, in the order of `states`. The group has one parent or one level in common."""
        if len(states) < 2:
            return [Evaluation(1.0, (), "nothing to compare with") for _ in states]
        choices = "\n\n".join(f"Choice {number}:\n" + "\n".join(state) for number, state in enumerate(states, 1))
        messages = render(problem, self.prompt, states[0][:-1], {"choices": choices, "k": str(len(states))})
        reply = await ask(model, messages, self.votes, "evaluate", self.sampling)
        picks = [parsing.vote(sample.text, len(states)) if sample.usable else None for sample in reply.samples]
        valid = sum(pick is not None for pick in picks)
        return [self._share(number, picks, valid) for number in range(1, len(states) + 1)]

    def _share(self, number: int, picks: list[int | None], valid: int) -> Evaluation:
        samples = tuple(None if pick is None else float(pick == number) for pick in picks)
        votes = sum(pick == number for pick in picks)
        return Evaluation(votes / valid if valid else None, samples, f"{votes} of {valid} votes")

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """`votes` calls for the whole group."""
        return ask_bound(problem, self.prompt, size, self.votes, self.sampling, choices=n) if n > 1 else Bound()
