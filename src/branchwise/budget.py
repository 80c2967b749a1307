"""Limits, and what was spent: Usage, Bound, Budget, Ledger. Knows no model and never waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from branchwise.errors import OutOfBudget, UsageError

__all__ = ["Bound", "Budget", "Ledger", "Price", "Usage"]


@dataclass(frozen=True, slots=True)
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
        total = (prompt - cached) * _nano(self.prompt) + cached * _nano(discount) + completion * _nano(self.completion)
        return -(-total // _NANO)


@dataclass(frozen=True, slots=True)
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
            if value is not None and not value > 0:
                raise UsageError(f"a budget of {value} {f.name} allows nothing; give a positive number, or leave it out for no limit")

    def to_json(self) -> dict[str, Any]:
        """The limits that are set."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}


class Ledger:
    """Keeps the budget of one run exactly. It answers at once and never waits: waiting is the engine's.

    Invariant: `spent + every hold + reserve` stays within each cap as long as no single request spends more than its own bound.
    """

    def __init__(
        self, budget: Budget, price: Price | Mapping[str, Price | None] | None, clock: Callable[[], float] = time.monotonic,
        recorded: bool = False,
    ) -> None:  # fmt: skip
        self._recorded = recorded
        self._prices: Mapping[str, Price | None] = price if isinstance(price, Mapping) else {}
        price = _dearest(price.values()) if isinstance(price, Mapping) else price
        if budget.cost is not None and price is None:
            raise UsageError("--max-cost needs a known price: this model is not in the price table; give --prices FILE, or limit tokens")
        self.budget, self.price, self.closed = budget, price, False
        self.capped = budget.calls is not None or budget.tokens is not None or budget.cost is not None
        self.spent: Usage = Usage()
        self.by_role: dict[str, Usage] = {}
        self.reserve = Bound()
        self.by_step: dict[int, int] | None = None
        """Tokens charged to each step; a dict turns the counting on."""
        self._holds: dict[int, Bound] = {}
        self._flying: dict[int, Bound] = {}
        self._held = Bound()
        self._clock = clock
        self._start = clock()

    @property
    def seconds(self) -> float:
        """Seconds since the run began (this process)."""
        return self._clock() - self._start

    def _cost(self, bound: Bound) -> int:
        """Each call is rounded up by itself, so each can cost one millionth more than its share."""
        cost = 0 if self.price is None else self.price.cost(bound.prompt_tokens, bound.completion_tokens)
        return cost + bound.calls if cost else 0

    def _breaks(self, bound: Bound) -> str | None:
        """The limit that `bound` on top of what is spent would break."""
        budget, spent = self.budget, self.spent
        if budget.calls is not None and spent.calls + bound.calls > budget.calls:
            return "calls"
        if budget.tokens is not None and spent.tokens + bound.tokens > budget.tokens:
            return "tokens"
        if budget.cost is not None and (spent.cost or 0) + self._cost(bound) > round(budget.cost * 1e6, 3):
            return "cost"
        return self.overtime()

    def overtime(self) -> str | None:
        """"seconds" when the time is up."""
        return "seconds" if self.budget.seconds is not None and self.seconds >= self.budget.seconds else None

    def fits(self, bound: Bound) -> bool:
        """Whether a step with this worst case can start beside those that run."""
        return not self.capped or self._breaks(bound + self._held + self.reserve) is None

    def hold(self, step: int, bound: Bound) -> None:
        """Set `bound` aside for `step` until it is released."""
        if not self.capped:
            return
        self._holds[step] = bound
        self._held += bound

    def release(self, step: int) -> None:
        """Give back what `step` did not spend."""
        self._flying.pop(step, None)
        if (rest := self._holds.pop(step, None)) is not None:
            self._subtract(rest)

    def _subtract(self, bound: Bound) -> None:
        held = self._held
        self._held = Bound(held.calls - bound.calls, held.prompt_tokens - bound.prompt_tokens, held.completion_tokens - bound.completion_tokens)

    def admit(self, step: int | None, bound: Bound) -> None:
        """Let one request start. Raises `OutOfBudget` when the run is closed, or when the request fits neither what `step` holds nor the rest.

        A step that asks for more than it announced holds more from then on, so that a wrong worst case cannot break a cap.
        """
        if self.closed:
            raise OutOfBudget("closed")
        if (limit := self.overtime()) is not None:
            raise OutOfBudget(limit)
        if not self.capped:
            return
        if step is not None and (hold := self._holds.get(step)) is not None:
            flying = self._flying.get(step, Bound()) + bound
            bound = flying.beyond(hold)
            if bound.calls or bound.tokens:
                if (limit := self._breaks(bound + self._held + self.reserve)) is not None:
                    raise OutOfBudget(limit)
                self._holds[step] = hold + bound
                self._held += bound
            self._flying[step] = flying
        elif (limit := self._breaks(bound + self._held + self.reserve)) is not None:
            raise OutOfBudget(limit)

    def landed(self, step: int | None, bound: Bound) -> None:
        """A request that was admitted with `bound` is over; what it spent is charged by itself."""
        if step is not None and (flying := self._flying.get(step)) is not None:
            self._flying[step] = flying.beyond(bound)

    def charge(self, step: int | None, role: str, usage: Usage) -> None:
        """Record what was spent, and take it off the hold of `step`."""
        self.spent += usage
        self.by_role[role] = self.by_role[role] + usage if role in self.by_role else usage
        if step is None:
            return
        if self.by_step is not None:
            self.by_step[step] = self.by_step.get(step, 0) + usage.tokens
        if (old := self._holds.get(step)) is not None:
            new = old.less(usage)
            self._holds[step] = new
            self._subtract(Bound(old.calls - new.calls, old.prompt_tokens - new.prompt_tokens, old.completion_tokens - new.completion_tokens))

    def close(self) -> None:
        """No call starts from now on; calls in flight are still charged."""
        self.closed = True

    def _price(self, role: str) -> Price | None:
        return self._prices.get(role, self.price)

    def priced(self, usage: Usage, role: str = "") -> Usage:
        """`usage` with its cost at the price of `role`: unknown without a price; as it is where it was recorded."""
        if self._recorded:
            return self.replayed(usage, role)
        price = self._price(role)
        unknown = None if usage.calls else 0
        cost = price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_prompt_tokens) if price else unknown
        return usage if cost == usage.cost else usage.costing(cost)

    def replayed(self, usage: Usage, role: str = "") -> Usage:
        """Recorded `usage`: its cost stays, but one that was unknown then is known once there is a price (an unknown one is never 0)."""
        price = self._price(role)
        if usage.cost is not None or price is None:
            return usage
        return usage.costing(price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_prompt_tokens))


def _dearest(prices: Iterable[Price | None]) -> Price | None:
    """A price that none of `prices` exceeds, for worst cases; unknown where one of them is."""
    known = list(prices)
    found = [price for price in known if price is not None]
    if not found or len(found) < len(known):
        return None
    return Price(max(price.prompt for price in found), max(price.completion for price in found))
