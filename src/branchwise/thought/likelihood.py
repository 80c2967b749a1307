"""Evaluator "likelihood": the probability that the model puts on the label tokens, from one forward pass. Knows no search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.errors import Unsupported, UsageError
from branchwise.model.base import LanguageModel, Request
from branchwise.problem import Problem, State
from branchwise.thought.asking import Sampling, ask_bound, render
from branchwise.thought.base import Evaluation, Evaluator, Size
from branchwise.thought.value import LABELS

__all__ = ["Likelihood", "label_mass", "reads_alternatives"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Likelihood:
    """The expectation of the labels' weights (divided by the largest) under the model's first token, restricted to the labels.

    One call of one token in place of n samples. Raises `Unsupported` where the backend gives no log-probabilities: never a guess. Unknown when
    no label is among the `top` tokens.
    """

    labels: tuple[tuple[str, float], ...] = LABELS
    prompt: str = "likelihood"
    top: int = 20
    """Log-probabilities asked for, 1 to 20."""

    def __post_init__(self) -> None:
        if not 1 <= self.top <= 20 or not self.labels or max(weight for _, weight in self.labels) <= 0:
            raise UsageError("likelihood needs labels with a weight above 0, and top from 1 to 20")

    @property
    def joint(self) -> bool:
        """Each state alone."""
        return False

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """One evaluation a state."""
        return [await self._one(model, problem, state) for state in states]

    async def _one(self, model: LanguageModel, problem: Problem, state: State) -> Evaluation:
        request = Request(render(problem, self.prompt, state, {}), 1, "evaluate", 0.0, 1, logprobs=self.top)
        samples = (await model.sample(request)).samples
        logprobs = samples[0].logprobs if samples else None
        if not logprobs:
            raise Unsupported(f"{model.name} gives no log-probabilities, which the likelihood evaluator needs; use the value evaluator")
        mass = label_mass(logprobs[0], [label for label, _ in self.labels])
        total = sum(mass.values())
        if total <= 0:
            return Evaluation(None, (None,), "no label among the likeliest tokens")
        top = max(weight for _, weight in self.labels)
        value = sum(mass[label] * weight / top for label, weight in self.labels) / total
        return Evaluation(value, (value,), ", ".join(f"{label} {mass[label]:.2f}" for label, _ in self.labels))

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """One call of one token a state."""
        return ask_bound(problem, self.prompt, size, 1, Sampling(max_tokens=1)) * n


def reads_alternatives(evaluate: Evaluator | None) -> bool:
    """Whether `evaluate`, or a part of it, reads the log-probabilities of tokens that were not chosen."""
    return isinstance(evaluate, Likelihood) or any(map(reads_alternatives, getattr(evaluate, "parts", ())))


def label_mass(tokens: Mapping[str, float], labels: Sequence[str]) -> dict[str, float]:
    """Probability by label: of tokens that begin one label and no other ("sure", " Sure", "impos"), case and space aside."""
    mass = dict.fromkeys(labels, 0.0)
    for token, logprob in tokens.items():
        text = token.strip().casefold()
        fits = [label for label in labels if text and label.casefold().startswith(text)]
        if len(fits) == 1:
            mass[fits[0]] += math.exp(logprob)
    return mass
