"""Evaluator "value": each state is judged alone, several times. Knows no search.

Yao et al. 2023, section 3 (3a), and the published code's weights: sure 20, likely 1, impossible 0.001.
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

__all__ = ["LABELS", "Value"]

LABELS = (("sure", 20.0), ("likely", 1.0), ("impossible", 0.001))
"""Label and weight, of the paper's published code."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """The mean of `samples` judgements: weight / largest weight of a label, or the place of a number on `scale`.

    A reply that cannot be read is unknown and left out of the mean; when none can be read the value is unknown, never 0 or 0.5.
    """

    samples: int = 3
    labels: tuple[tuple[str, float], ...] = LABELS
    scale: parsing.Scale | None = None
    """Ask for a number on this scale in place of a label."""
    prompt: str = "value"
    sampling: Sampling = Sampling(max_tokens=256)

    def __post_init__(self) -> None:
        if not 1 <= self.samples <= MOST:
            raise UsageError(f"value needs 1 to {MOST} samples, not {self.samples}")
        if self.scale is None and (not self.labels or min(w for _, w in self.labels) < 0 or max(w for _, w in self.labels) <= 0):
            raise UsageError("value needs labels with weights of at least 0, one of them above 0")

    @property
    def joint(self) -> bool:
        """Each state alone."""
        return False

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """One evaluation a state; states one after the other (the engine asks for each state by itself)."""
        return [await self._one(model, problem, state) for state in states]

    async def _one(self, model: LanguageModel, problem: Problem, state: State) -> Evaluation:
        reply = await ask(model, render(problem, self.prompt, state, {}), self.samples, "evaluate", self.sampling)
        samples = tuple(self._read(sample.text) if sample.usable else None for sample in reply.samples)
        known = [sample for sample in samples if sample is not None]
        return Evaluation(sum(known) / len(known) if known else None, samples)

    def _read(self, text: str) -> float | None:
        if self.scale is not None:
            number = parsing.score(text, self.scale)
            return None if number is None else self.scale.unit(number)
        weights = dict(self.labels)
        label = parsing.label(text, tuple(weights))
        return None if label is None else weights[label] / max(weights.values())

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """`samples` calls a state."""
        return ask_bound(problem, self.prompt, size, self.samples, self.sampling) * n
