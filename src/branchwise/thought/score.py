"""Evaluator "score": a judge writes {"score": 0..1, "reason": "..."}. Knows no search.

The judge is asked three things: is the logic coherent, does it move toward a solution, are there errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel, Request
from branchwise.problem import Problem, State
from branchwise.thought import parsing
from branchwise.thought.asking import MOST, Sampling, ask_bound, render
from branchwise.thought.base import Evaluation, Size

__all__ = ["SCHEMA", "Score"]

SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string", "maxLength": 300}, "score": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The mean of `samples` scores; a reply that is not such an object, or a score out of [0, 1], is unknown."""

    samples: int = 1
    prompt: str = "score"
    structured: bool = True
    """Ask the backend to hold the reply to the JSON schema; it is checked either way."""
    sampling: Sampling = Sampling(max_tokens=256)

    def __post_init__(self) -> None:
        if not 1 <= self.samples <= MOST:
            raise UsageError(f"score needs 1 to {MOST} samples, not {self.samples}")

    @property
    def joint(self) -> bool:
        """Each state alone."""
        return False

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """One evaluation a state, with the reason of its first readable score."""
        return [await self._one(model, problem, state) for state in states]

    async def _one(self, model: LanguageModel, problem: Problem, state: State) -> Evaluation:
        sampling = self.sampling
        messages = render(problem, self.prompt, state, {})
        schema = dict(SCHEMA) if self.structured else None
        request = Request(messages, self.samples, "evaluate", sampling.temperature, sampling.max_tokens, sampling.stop, schema)
        found = [read_score(sample.text) if sample.usable else None for sample in (await model.sample(request)).samples]
        samples = tuple(None if pair is None else pair[0] for pair in found)
        known = [sample for sample in samples if sample is not None]
        reason = next((pair[1] for pair in found if pair), "")
        return Evaluation(sum(known) / len(known) if known else None, samples, reason)

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """`samples` calls a state."""
        return ask_bound(problem, self.prompt, size, self.samples, self.sampling) * n


def read_score(text: str) -> tuple[float, str] | None:
    """The score in [0, 1] and the reason; `None` when there is no such object. Never clamped."""
    data = parsing.json_object(text)
    score = None if data is None else data.get("score")
    if data is None or isinstance(score, bool) or not isinstance(score, (int, float)) or not 0 <= score <= 1:
        return None
    reason = data.get("reason")
    return float(score), reason[:500] if isinstance(reason, str) else ""
