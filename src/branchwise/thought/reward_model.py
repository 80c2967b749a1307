"""Evaluator "reward": a reward model behind an endpoint values each state. Knows no HTTP and no search.

The endpoint is the model of the role evaluate (`model/reward.py`), or any other that replies with such an object.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel, Message, Request
from branchwise.problem import Problem, State
from branchwise.thought import parsing
from branchwise.thought.base import Evaluation, Evaluator, Size
from branchwise.thought.prompts import MESSAGE_BYTES

__all__ = ["RewardModel", "needs_endpoint"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardModel:
    """One call a state: the problem as the user's message, the thoughts as the assistant's, a line each; the reply has `{"value": number}`.

    `squash="none"`: the value must be in [0, 1], another is unknown and never clamped. `squash="sigmoid"`: a raw reward r counts as
    1 / (1 + e^-r).
    """

    squash: Literal["none", "sigmoid"] = "none"

    def __post_init__(self) -> None:
        if self.squash not in ("none", "sigmoid"):
            raise UsageError(f"a reward is squashed by 'none' or 'sigmoid', not {self.squash!r}")

    @property
    def joint(self) -> bool:
        """Each state alone."""
        return False

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """One evaluation a state, with the endpoint's reason where it gives one."""
        return [await self._one(model, problem, state) for state in states]

    async def _one(self, model: LanguageModel, problem: Problem, state: State) -> Evaluation:
        messages = (Message("user", problem.prompt), Message("assistant", "\n".join(state)))
        reply = await model.sample(Request(messages, 1, "evaluate", 0.0, 1))
        data = parsing.json_object(reply.samples[0].text) if reply.samples and reply.samples[0].usable else None
        raw = None if data is None else data.get("value")
        if data is None or isinstance(raw, bool) or not isinstance(raw, (int, float)):
            return Evaluation(None, (None,), "the endpoint gave no value")
        value = _sigmoid(float(raw)) if self.squash == "sigmoid" else float(raw)
        if not 0 <= value <= 1:
            return Evaluation(None, (None,), f"the endpoint gave {raw:g}, which is not in [0, 1]")
        reason = data.get("reason")
        return Evaluation(value, (value,), reason[:500] if isinstance(reason, str) else "")

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """One call of one token a state, in two messages."""
        return Bound(n, n * (size.prompt + size.state + 2 * MESSAGE_BYTES), n)


def _sigmoid(reward: float) -> float:
    return math.nan if math.isnan(reward) else 1 / (1 + math.exp(-max(-700.0, min(700.0, reward))))


def needs_endpoint(evaluate: Evaluator | None) -> bool:
    """Whether `evaluate`, or a part of it, is valued by an endpoint that writes no text."""
    return isinstance(evaluate, RewardModel) or any(map(needs_endpoint, getattr(evaluate, "parts", ())))
