"""One budget and one rate for all units of a bench, wherever they run: a request is paid for in advance, at its worst, and settled when it ends.

Knows no model and no cluster. What was promised holds exactly: what is spent and what is held never exceed the limits together. So a request
whose cost nobody tells, because it was cut off, counts with its worst case.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from itertools import count

from branchwise.bench.book import NOTHING, Book, Sum, sum_of
from branchwise.budget import Budget, Price
from branchwise.errors import MissingCall, ModelError, OutOfBudget, UsageError
from branchwise.model.base import LanguageModel, Reply, Request, identity_of
from branchwise.model.layers.metered import request_bound
from branchwise.solve import Stop

__all__ = ["Pace", "Purse", "Pursed", "Sum", "Till", "drain", "sum_of"]


class Pace:
    """At most `per_minute` in every minute, evenly spaced: the first at once, then each as late as those before it are large."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._each = None if per_minute is None else 60.0 / per_minute
        self._clock, self._next = clock, clock()

    def wait(self) -> float:
        """Seconds until something may start."""
        return 0.0 if self._each is None else max(0.0, self._next - self._clock())

    def take(self, size: int) -> None:
        """Something of this size starts now."""
        if self._each is not None:
            self._next = max(self._next, self._clock()) + size * self._each

    def give_back(self, size: int) -> None:
        """It was smaller by so much."""
        if self._each is not None:
            self._next -= size * self._each


class Till:
    """Where requests are paid for. `Purse` is one; under Ray it is another process."""

    async def reserve(self, ticket: str, worst: Sum) -> bool:
        """Wait until `worst` may be spent; false when it never may be again."""
        raise NotImplementedError

    async def settle(self, ticket: str, spent: Sum) -> None:
        """The request of `ticket` is over."""
        raise NotImplementedError


class Purse(Till):
    """The budget and the rates; first come, first served. `book` has what earlier sessions have spent of it, and is told of every request;
    without one `spent` says it."""

    def __init__(
        self, budget: Budget, *, book: Book | None = None, spent: Sum = NOTHING, calls_per_minute: float | None = None,
        tokens_per_minute: float | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        for rate in (calls_per_minute, tokens_per_minute):
            if rate is not None and not rate > 0:
                raise UsageError(f"a rate of {rate} a minute allows nothing")
        self._budget, self._book = budget, book
        self.spent = spent if book is None else book.before
        self._holds: dict[str, Sum] = {}
        self._gone: set[str] = set()
        self._calls, self._tokens = Pace(calls_per_minute, clock), Pace(tokens_per_minute, clock)
        self._turn, self._changed = asyncio.Lock(), asyncio.Event()
        self.empty = ""
        """The limit that ended it: total calls, tokens or cost."""

    @property
    def held(self) -> Sum:
        """Set aside for requests that run."""
        return sum(self._holds.values(), Sum())

    async def reserve(self, ticket: str, worst: Sum) -> bool:
        """Wait for the rate, and for what others hold and may give back; false when `worst` does not fit into what is left."""
        async with self._turn:
            while not self.empty and ticket.partition("/")[0] not in self._gone:
                limit = self._breaks(worst)
                if limit and not self._holds:
                    self.empty = limit
                    break
                wait = max(self._calls.wait(), self._tokens.wait())
                if not limit and wait <= 0:
                    self._hold(ticket, worst)
                    return True
                self._changed.clear()
                try:
                    await asyncio.wait_for(self._changed.wait(), wait if wait > 0 else None)
                except TimeoutError:
                    continue
        return False

    def at_once(self, ticket: str, worst: Sum) -> bool | None:
        """As `reserve`, where that needs no waiting; `None` where it does, or where others wait."""
        if self.empty or ticket.partition("/")[0] in self._gone:
            return False
        if self._turn.locked() or self._breaks(worst) or max(self._calls.wait(), self._tokens.wait()) > 0:
            return None
        self._hold(ticket, worst)
        return True

    def _hold(self, ticket: str, worst: Sum) -> None:
        if self._book is not None:
            self._book.hold(ticket, worst)
        self._holds[ticket] = worst
        self._calls.take(worst.calls)
        self._tokens.take(worst.tokens)

    async def settle(self, ticket: str, spent: Sum) -> None:
        """Charge what was spent, and give the rest of the hold back. A ticket that is not held is charged all the same."""
        held = self._holds.pop(ticket, Sum())
        self.spent += spent
        self._tokens.give_back(max(0, held.tokens - spent.tokens))
        self._changed.set()
        if self._book is not None:
            self._book.paid(ticket, spent)

    async def lost(self, owner: str) -> None:
        """A worker is gone: what its requests held may have been spent, and counts as spent; those that wait get nothing.

        Tickets begin with the name of their owner.
        """
        self._gone.add(owner)
        self._changed.set()
        for ticket in [ticket for ticket in self._holds if ticket.startswith(f"{owner}/")]:
            await self.settle(ticket, self._holds[ticket])

    def _breaks(self, worst: Sum) -> str:
        total, budget = self.spent + self.held + worst, self._budget
        if budget.calls is not None and total.calls > budget.calls:
            return "calls"
        if budget.tokens is not None and total.tokens > budget.tokens:
            return "tokens"
        if budget.cost is not None and total.cost > round(budget.cost * 1e6):
            return "cost"
        return ""


def drain(stop: Stop) -> None:
    """Begin nothing more, and let what was sent come back: it is paid for. (`stop.now` would break it off.)"""
    stop.asked = True


_NUMBERS = count(1)
"""Of tickets: different in a process, whatever models it opens."""


class Pursed:
    """Every request of `inner` is reserved before it starts and settled when it ends. `on_empty` is told when there is nothing left.

    Raises `OutOfBudget` then. `owner` begins every ticket.
    """

    def __init__(
        self, inner: LanguageModel, till: Till, price: Price | Mapping[str, Price | None] | None, on_empty: Callable[[], None], owner: str = ""
    ) -> None:
        self._inner, self._till, self._price, self._on_empty, self._owner = inner, till, price, on_empty, owner

    @property
    def name(self) -> str:
        """That of `inner`."""
        return self._inner.name

    @property
    def identity(self) -> str:
        """That of `inner`."""
        return self._inner.identity

    def identity_of(self, role: str) -> str:
        """That of what serves `role`."""
        return identity_of(self._inner, role)

    async def sample(self, request: Request) -> Reply:
        """The reply of `inner`. What ends otherwise than in a reply, or an error that says what it cost, is charged at its worst."""
        if request.free:
            return await self._inner.sample(request)
        ticket, price = f"{self._owner}/{next(_NUMBERS)}", self._price_of(request.role)
        spent = worst = _worst(request, price)
        if not await self._till.reserve(ticket, worst):
            self._on_empty()
            raise OutOfBudget("total")
        try:
            reply = await self._inner.sample(request)
            spent = _paid(reply, price)
        except ModelError as error:
            spent = _failed(error, request, price, worst)
            raise
        else:
            return reply
        finally:
            await self._till.settle(ticket, spent)

    def _price_of(self, role: str) -> Price | None:
        return self._price.get(role) if isinstance(self._price, Mapping) else self._price


def _worst(request: Request, price: Price | None) -> Sum:
    """The most that a request can cost; each sample is rounded up by itself, so each can cost one millionth more than its share."""
    bound = request_bound(request)
    cost = 0 if price is None else price.cost(bound.prompt_tokens, bound.completion_tokens)
    return Sum(bound.calls, bound.tokens, cost + bound.calls if cost else 0)


def _paid(reply: Reply, price: Price | None) -> Sum:
    """What a reply cost, each sample for itself, as in the rows."""
    usages = [sample.usage for sample in reply.samples]
    if price is not None:
        usages = [usage.costing(price.cost(usage.prompt_tokens, usage.completion_tokens, usage.cached_prompt_tokens)) for usage in usages]
    return sum(map(sum_of, usages), Sum())


def _failed(error: ModelError, request: Request, price: Price | None, worst: Sum) -> Sum:
    """What a failed request cost: what the server told, or nothing but its calls; the worst where that is an estimate of what was cut off."""
    if isinstance(error, MissingCall):
        return Sum()
    if error.estimated:
        return worst
    prompt, completion = error.spent
    return Sum(request.n, prompt + completion, 0 if price is None else price.cost(prompt, completion))
