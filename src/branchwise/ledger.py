"""Keeps the budget of one run: what may start, what is set aside, what was spent. Knows no model and never waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from branchwise.budget import Bound, Budget, Price, Usage
from branchwise.errors import OutOfBudget, UsageError

__all__ = ["BARRED", "Ledger"]

BARRED = "pruned"
"""In place of a limit: a person ended the step."""


class _Tally:
    """A sum of usages that changes in place."""

    __slots__ = (
        "cached_calls", "cached_prompt_tokens", "calls", "completion_tokens", "cost", "estimated", "prompt_tokens", "reasoning_tokens", "requests",
    )  # fmt: skip

    def __init__(self) -> None:
        self.calls = self.requests = self.cached_calls = 0
        self.prompt_tokens = self.cached_prompt_tokens = self.completion_tokens = self.reasoning_tokens = 0
        self.cost: int | None = 0
        self.estimated = False

    def add(self, usage: Usage) -> None:
        self.calls += usage.calls
        self.requests += usage.requests
        self.cached_calls += usage.cached_calls
        self.prompt_tokens += usage.prompt_tokens
        self.cached_prompt_tokens += usage.cached_prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.reasoning_tokens += usage.reasoning_tokens
        self.cost = None if self.cost is None or usage.cost is None else self.cost + usage.cost
        self.estimated = self.estimated or usage.estimated

    def usage(self) -> Usage:
        return Usage(
            self.calls, self.requests, self.cached_calls, self.prompt_tokens, self.cached_prompt_tokens, self.completion_tokens,
            self.reasoning_tokens, self.cost, self.estimated,
        )  # fmt: skip


class Ledger:
    """Keeps the budget of one run exactly. It answers at once and never waits: waiting is the engine's.

    Invariant: `spent + every hold + reserve` stays within each cap as long as no single request spends more than its own bound.
    """

    def __init__(
        self, budget: Budget, price: Price | Mapping[str, Price | None] | None, clock: Callable[[], float] = time.monotonic,
        recorded: bool = False,
    ) -> None:  # fmt: skip
        self.recorded = recorded
        """Whether a tape takes the place of the model."""
        self._prices: Mapping[str, Price | None] = price if isinstance(price, Mapping) else {}
        price = _dearest(price.values()) if isinstance(price, Mapping) else price
        if budget.cost is not None and price is None:
            raise UsageError(
                "a limit in dollars needs a known price: this model is not in the price table; give prices (--prices "
                "FILE, in Python price=...), or limit tokens"
            )
        self.budget, self.price, self.closed = budget, price, False
        self.capped = budget.calls is not None or budget.tokens is not None or budget.cost is not None
        self._spent = _Tally()
        self._roles: dict[str, _Tally] = {}
        self.reserve = Bound()
        self.by_step: dict[int, int] | None = None
        """Tokens charged to each step; a dict turns the counting on."""
        self._holds: dict[int, Bound] = {}
        self._flying: dict[int, Bound] = {}
        self._held = Bound()
        self.barred: set[int] = set()
        """Steps that may send no request any more: a person ended them. What they are replayed from a tape is charged."""
        self.cut = Bound()
        """The most that requests which were cut off in flight may have spent beyond what they are charged."""
        self.refused = False
        """Whether a limit has stopped a request, so that the run is about to end."""
        self._clock = clock
        self._start = clock()
        self._stopped: float | None = None

    @property
    def spent(self) -> Usage:
        """What was spent in all."""
        return self._spent.usage()

    @property
    def by_role(self) -> dict[str, Usage]:
        """What was spent, by the role of the requests."""
        return {role: tally.usage() for role, tally in self._roles.items()}

    def to_json(self) -> dict[str, Any]:
        """What was spent, in all and by role; `cut_off` is the most that requests cut off in flight may have spent beyond it."""
        out = self.spent.to_json() | {"by_role": {role: usage.to_json() for role, usage in sorted(self.by_role.items())}}
        if self.cut.tokens:
            out["cut_off"] = {"prompt_tokens": self.cut.prompt_tokens, "completion_tokens": self.cut.completion_tokens}
        return out

    @property
    def seconds(self) -> float:
        """Seconds since the run began (this process), those that it was paused left out."""
        return (self._clock() if self._stopped is None else self._stopped) - self._start

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time is up; `None` without such a limit."""
        return None if self.budget.seconds is None else max(0.0, self.budget.seconds - self.seconds)

    def pause(self) -> None:
        """Stop the clock."""
        self._stopped = self._clock()

    def go_on(self) -> None:
        """Let the clock run on."""
        if self._stopped is not None:
            self._start += self._clock() - self._stopped
            self._stopped = None

    def raised(self, limits: Mapping[str, Any]) -> None:
        """Put `limits`, by name, in the place of lower ones."""
        self.budget = replace(self.budget, **limits)

    def _cost(self, bound: Bound) -> int:
        """Each call is rounded up by itself, so each can cost one millionth more than its share."""
        cost = 0 if self.price is None else self.price.cost(bound.prompt_tokens, bound.completion_tokens)
        return cost + bound.calls if cost else 0

    def _breaks(self, bound: Bound) -> str | None:
        """The limit that `bound` on top of what is spent would break."""
        budget, spent = self.budget, self._spent
        if budget.calls is not None and spent.calls + bound.calls > budget.calls:
            return "calls"
        if budget.tokens is not None and spent.prompt_tokens + spent.completion_tokens + bound.tokens > budget.tokens:
            return "tokens"
        if budget.cost is not None and (spent.cost or 0) + self._cost(bound) > round(budget.cost * 1e6, 3):
            return "cost"
        return self.overtime()

    def overtime(self) -> str | None:
        """"seconds" when the time is up."""
        return "seconds" if self.budget.seconds is not None and self.seconds >= self.budget.seconds else None

    def late(self, wait: float) -> float | None:
        """The seconds that are left where a wait of `wait` seconds would pass them, so that the run is about to end; else `None`."""
        left = self.seconds_left
        if left is None or wait < left:
            return None
        self.refused = True
        return left

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
            self.refused = True
            raise OutOfBudget(limit)
        if not self.capped:
            return
        if step is not None and (hold := self._holds.get(step)) is not None:
            flying = self._flying.get(step, Bound()) + bound
            bound = flying.beyond(hold)
            if bound.calls or bound.tokens:
                if (limit := self._breaks(bound + self._held + self.reserve)) is not None:
                    self.refused = True
                    raise OutOfBudget(limit)
                self._holds[step] = hold + bound
                self._held += bound
            self._flying[step] = flying
        elif (limit := self._breaks(bound + self._held + self.reserve)) is not None:
            self.refused = True
            raise OutOfBudget(limit)

    def landed(self, step: int | None, bound: Bound) -> None:
        """A request that was admitted with `bound` is over; what it spent is charged by itself."""
        if step is not None and (flying := self._flying.get(step)) is not None:
            self._flying[step] = flying.beyond(bound)

    def charge(self, step: int | None, role: str, usage: Usage) -> None:
        """Record what was spent, and take it off the hold of `step`."""
        self._spent.add(usage)
        tally = self._roles.get(role)
        if tally is None:
            tally = self._roles[role] = _Tally()
        tally.add(usage)
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
        if self.recorded:
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
