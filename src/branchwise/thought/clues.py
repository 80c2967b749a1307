"""Evaluator "clues": the open parts of a state are judged one by one, and one that is impossible decides. Knows no search.

Yao et al. 2023, section 4.3 (mini crosswords): each remaining clue with its letter constraints is sure, maybe or impossible to fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from branchwise.budget import Bound
from branchwise.errors import MethodError
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.thought import parsing
from branchwise.thought.asking import Sampling, ask, ask_bound, render
from branchwise.thought.base import Evaluation, Size

__all__ = ["LABELS", "Clues", "HasClues"]

LABELS = (("sure", 1.0), ("maybe", 0.5), ("impossible", 0.0))
"""Label and value; the one of value 0 decides alone."""


class HasClues(Protocol):
    """What a problem needs for this evaluator, beside `Problem`."""

    @property
    def most_clues(self) -> int:
        """The most clues that one state can have."""
        ...

    def clues(self, state: State) -> Sequence[str]:
        """What is to be judged of `state`, a text each; prompts show it as {{clue}}."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Clues:
    """0 as soon as one clue is impossible (the rest is not asked for), else the mean over the clues; a half where there is none to judge.

    Replies that cannot be read are left out of the mean; when none can be read the value is unknown. Raises `MethodError` on a problem
    without clues.
    """

    prompt: str = "value"
    sampling: Sampling = Sampling(max_tokens=256)

    @property
    def joint(self) -> bool:
        """Each state alone."""
        return False

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """One evaluation a state, in the order given."""
        return [await self._one(model, problem, state) for state in states]

    async def _one(self, model: LanguageModel, problem: Problem, state: State) -> Evaluation:
        values = dict(LABELS)
        samples: list[float | None] = []
        for clue in _clued(problem).clues(state):
            reply = await ask(model, render(problem, self.prompt, state, {"clue": clue}), 1, "evaluate", self.sampling)
            sample = reply.samples[0] if reply.samples else None
            label = parsing.label(sample.text, tuple(values)) if sample is not None and sample.usable else None
            samples.append(None if label is None else values[label])
            if samples[-1] == 0:
                return Evaluation(0.0, tuple(samples), f"impossible: {clue}")
        known = [sample for sample in samples if sample is not None]
        if not samples:
            return Evaluation(0.5, reason="no clue has enough letters to be judged")
        return Evaluation(sum(known) / len(known) if known else None, tuple(samples))

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """A call a clue."""
        most = _clued(problem).most_clues
        return ask_bound(problem, self.prompt, size, 1, self.sampling) * (n * most)

    def refuse(self, problem: Problem) -> None:
        """Raise `MethodError` for a problem without clues."""
        _clued(problem)


def _clued(problem: Problem) -> HasClues:
    if not hasattr(problem, "clues"):
        raise MethodError("the evaluator 'clues' judges the clues of a crossword, and this problem has none; use value or score")
    return cast(HasClues, problem)
