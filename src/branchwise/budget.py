"""Limits, and what was spent, as values: Usage, Price, Bound, Budget. Who keeps them is ledger.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

from branchwise.errors import UsageError
from branchwise.records import record

__all__ = ["Bound", "Budget", "Price", "Usage"]


@record(frozen=True, slots=True)
class Usage:
    """What was spent. A call is one reply sampled (n=5 is five calls); HTTP requests are counted apart.

    `cost` is in millionths of a dollar; `None` means that the price is unknown, which is never taken for 0. `estimated` says that the
    backend reported no token counts, so that they are our own estimate.
    """

    calls: int = 0
    requests: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cost: int | None = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.requests + other.requests,
            self.cached_calls + other.cached_calls,
            self.prompt_tokens + other.prompt_tokens,
            self.cached_prompt_tokens + other.cached_prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
            self.estimated or other.estimated,
        )

    def costing(self, cost: int | None) -> Usage:
        """The same at another cost, in millionths of a dollar (`None`: unknown)."""
        return Usage(
            self.calls, self.requests, self.cached_calls, self.prompt_tokens, self.cached_prompt_tokens, self.completion_tokens,
            self.reasoning_tokens, cost, self.estimated,
        )  # fmt: skip

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def to_json(self) -> dict[str, Any]:
        """Field names as documented, `cost_usd` in dollars or null."""
        out: dict[str, Any] = {
            "calls": self.calls, "requests": self.requests, "cached_calls": self.cached_calls, "prompt_tokens": self.prompt_tokens,
            "cached_prompt_tokens": self.cached_prompt_tokens, "completion_tokens": self.completion_tokens,
            "reasoning_tokens": self.reasoning_tokens, "cost_usd": None if self.cost is None else self.cost / 1e6,
        }  # fmt: skip
        if self.estimated:
            out["estimated"] = True
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Usage:
        """The inverse of `to_json`; unknown keys are left out."""
        known = {f.name for f in fields(cls)} - {"cost"}
        cost = data.get("cost_usd", 0)
        return cls(**{k: v for k, v in data.items() if k in known}, cost=None if cost is None else round(cost * 1e6))


_NANO = 10**9


def _nano(price: float) -> int:
    return round(price * _NANO)


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens, which is millionths of a dollar per token."""

    prompt: float
    completion: float
    cached_prompt: float | None = None

    def cost(self, prompt: int, completion: int, cached: int = 0) -> int:
        """Millionths of a dollar, rounded up; whole numbers throughout, so that 50 tokens at 0.14 are 7 and not 8."""
        discount = self.prompt if self.cached_prompt is None else self.cached_prompt
        if not (self.prompt or self.completion or discount):
            return 0
        total = (prompt - cached) * _nano(self.prompt) + cached * _nano(discount) + completion * _nano(self.completion)
        return -(-total // _NANO)


@record(frozen=True, slots=True)
class Bound:
    """The most that something can spend."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Bound) -> Bound:
        return Bound(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def __mul__(self, times: int) -> Bound:
        return Bound(self.calls * times, self.prompt_tokens * times, self.completion_tokens * times)

    def less(self, usage: Usage) -> Bound:
        """What is left of this bound after `usage`, never below zero."""
        return Bound(
            max(0, self.calls - usage.calls),
            max(0, self.prompt_tokens - usage.prompt_tokens),
            max(0, self.completion_tokens - usage.completion_tokens),
        )

    def beyond(self, other: Bound) -> Bound:
        """By how much this is more than `other`, never below zero."""
        return Bound(
            max(0, self.calls - other.calls),
            max(0, self.prompt_tokens - other.prompt_tokens),
            max(0, self.completion_tokens - other.completion_tokens),
        )

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run; `None` is no limit. `tokens` counts prompt and completion; `cost` is dollars; `nodes` counts committed thoughts."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None:
                continue
            whole = f.name in ("calls", "tokens", "nodes")
            number = isinstance(value, Integral if whole else Real)
            if isinstance(value, bool) or not number:
                raise UsageError(f"a budget's {f.name} is a {'whole ' if whole else ''}number or None, not {value!r}")
            if not getattr(self, f.name) > 0:
                raise UsageError(f"a budget of {value} {f.name} allows nothing; give a positive number, or leave it out for no limit")

    def to_json(self) -> dict[str, Any]:
        """The limits that are set."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}
