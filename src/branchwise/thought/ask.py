"""Evaluator "ask": a person judges. Knows no terminal and no search: who is asked is the model of the role evaluate (`model/person.py`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.model.base import LanguageModel, Request
from branchwise.problem import Problem, State
from branchwise.thought.asking import render
from branchwise.thought.base import Evaluation, Evaluator, Size

__all__ = ["LABELS", "Ask", "asks", "read_judgement"]

LABELS = (("sure", 1.0), ("likely", 0.5), ("unlikely", 0.2), ("impossible", 0.0))
"""What a person can say in place of a number."""
_SKIP = ("skip", "s", "?", "")


def read_judgement(text: str) -> float | None:
    """The value in [0, 1] that a person typed: a number, a label or the beginning of one; `None` for skip. Raises `ValueError`."""
    said = text.strip().casefold().replace(",", ".")
    if said in _SKIP:
        return None
    fits = [value for label, value in LABELS if label.startswith(said)]
    if len(fits) == 1:
        return fits[0]
    try:
        number = float(said[:-1]) / 100 if said.endswith("%") else float(said)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        labels = ", ".join(label for label, _ in LABELS)
        raise ValueError(f"not a judgement: {text.strip()[:40]!r}; type a number from 0 to 1, {labels}, or skip")
    return number


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One question a state, free of charge. What was typed goes on the tape, so that nobody is asked again on resume; skip is unknown."""

    prompt: str = "ask"

    @property
    def joint(self) -> bool:
        """Each state alone."""
        return False

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """One evaluation a state, one after the other."""
        return [await self._one(model, problem, state) for state in states]

    async def _one(self, model: LanguageModel, problem: Problem, state: State) -> Evaluation:
        request = Request(render(problem, self.prompt, state, {}), 1, "evaluate", 0.0, 16, free=True)
        reply = await model.sample(request)
        try:
            value = read_judgement(reply.samples[0].text)
        except (ValueError, IndexError):
            return Evaluation(None, (None,), "the judgement cannot be read")
        return Evaluation(None, (), "skipped by a person") if value is None else Evaluation(value, (value,), "judged by a person")

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """Nothing."""
        return Bound()


def asks(evaluate: Evaluator | None) -> bool:
    """Whether `evaluate`, or a part of it, asks a person."""
    return isinstance(evaluate, Ask) or any(map(asks, getattr(evaluate, "parts", ())))
