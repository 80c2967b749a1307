"""Evaluator "self-reward": the model grades an answer from -100 to 100 under the strictest standard. Knows no search.

Zhang et al. 2024 (MCTSr), section 3.3. Q is the search's: this gives single samples, mapped to [0, 1].
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

__all__ = ["SelfReward", "suppress"]

_SCALE = parsing.Scale(-100, 100)
_TIE = 1e-6


def suppress(reward: float) -> float:
    """Full-score suppression that keeps order: a reward above 95 is recorded as max(95, reward - 5), and a millionth of what it had above 95.

    On this scale max(95, r - 5) is 95 for all of 95 to 100, which would make 96 no better than 95: the millionth only breaks that tie.
    """
    return max(95.0, reward - 5) + (reward - 95) * _TIE if reward > 95 else reward


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfReward:
    """`samples` grades a visit; each is suppressed, then (r + 100) / 200."""

    samples: int = 1
    prompt: str = "reward"
    sampling: Sampling = Sampling(max_tokens=512)

    def __post_init__(self) -> None:
        if not 1 <= self.samples <= MOST:
            raise UsageError(f"self-reward needs 1 to {MOST} samples, not {self.samples}")

    @property
    def joint(self) -> bool:
        """Each answer alone."""
        return False

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """One evaluation a state: the mean of the grades that could be read, unknown where none could."""
        return [await self._one(model, problem, state) for state in states]

    async def _one(self, model: LanguageModel, problem: Problem, state: State) -> Evaluation:
        reply = await ask(model, render(problem, self.prompt, state, {}), self.samples, "evaluate", self.sampling)
        grades = [parsing.score(sample.text, _SCALE) if sample.usable else None for sample in reply.samples]
        samples = tuple(None if grade is None else _SCALE.unit(suppress(grade)) for grade in grades)
        known = [sample for sample in samples if sample is not None]
        return Evaluation(sum(known) / len(known) if known else None, samples)

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """`samples` calls a state."""
        return ask_bound(problem, self.prompt, size, self.samples, self.sampling) * n
