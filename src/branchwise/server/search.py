"""Searches of a request, from a place in the queue to their results. Knows no HTTP.

Whatever becomes of a search, what it spent is counted and settled with its key, and its trace is whole.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from branchwise.budget import Price, Usage
from branchwise.cli.ends import reason
from branchwise.cli.settings import Settings
from branchwise.model.base import LanguageModel
from branchwise.model.routed import Routed
from branchwise.result import Result
from branchwise.server.asked import Asked, Request
from branchwise.server.config import Config
from branchwise.server.faults import Refusal, failure, upstream_failure
from branchwise.server.gate import Busy, Gate, Turn
from branchwise.server.keys import Account, Keys, Spent
from branchwise.server.metrics import Metrics
from branchwise.server.runs import Live, Runs
from branchwise.server.watching import Ear, Keeping, Watched
from branchwise.solve import solve
from branchwise.trace import Event

__all__ = ["LOG", "Found", "Job", "Service", "Upstream"]

LOG = logging.getLogger("branchwise.server")

Listener = Callable[[int, Event], None]
"""Called with the number of the search within its request, and each event of it."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A model that the server was started with."""

    spec: str
    model: LanguageModel


@dataclass
class Service:
    """Everything that requests share."""

    config: Config
    upstreams: Mapping[str, Upstream]
    """By the name behind the @ of a model; the first is the default."""
    runs: Runs
    keys: Keys = field(default_factory=Keys)
    roles: Mapping[str, LanguageModel] = field(default_factory=dict)
    """Models of `config.role_models`."""
    prices: Path | None = None
    stopping: bool = False
    started: int = field(default_factory=lambda: int(time.time()))

    def __post_init__(self) -> None:
        self._known: dict[tuple[Any, ...], Price | Mapping[str, Price | None] | None] = {}
        self.gate = Gate(self.config.searches, self.config.queue)
        self.metrics = Metrics(self.gate)

    def over(self, upstreams: Mapping[str, Upstream]) -> Service:
        """The same service, queue and books with other models behind it."""
        other = copy.copy(self)
        other.upstreams = upstreams
        return other

    def price(self, settings: Settings) -> Price | Mapping[str, Price | None] | None:
        """The prices of a search; each model is looked up once."""
        key = (settings.model, *sorted(settings.models.items()))
        if key not in self._known:
            self._known[key] = settings.price(self.prices)
        return self._known[key]

    def model(self, asked: Asked) -> LanguageModel:
        """The model of a search, with those of other roles behind it."""
        model = self.upstreams[asked.upstream].model
        roles = {role: self.roles[role] for role in asked.settings.models}
        return Routed(model, roles) if roles else model

    def admit(self, request: Request, account: Account) -> Job:
        """Places for the searches of `request`. Raises `Refusal` (429, 503)."""
        if self.stopping:
            raise _stopping()
        try:
            account.hold(request.searches[0].budget)[1].settle(Usage())
            turns = self.gate.admit(account.name, len(request.searches))
        except Spent as spent:
            raise _spent(spent) from None
        except Busy as busy:
            text = f"{self.config.searches} searches run and {self.gate.waiting} wait; try again later"
            raise Refusal(429, text, code="queue_full", wait=busy.wait) from None
        return Job(self, request, account, turns)

    def stop(self) -> None:
        """No request is taken any more; every search ends now and keeps what it has."""
        self.stopping = True
        self.runs.stop_all()


def _stopping() -> Refusal:
    return Refusal(503, "the server is stopping", code="stopping", wait=5)


def _spent(spent: Spent) -> Refusal:
    return Refusal(429, str(spent), code="insufficient_quota", wait=10.0 if spent.held else None)


@dataclass
class Found:
    """What became of one search. `refusal` is set where it gives no answer."""

    asked: Asked
    run: str = ""
    result: Result | None = None
    refusal: Refusal | None = None
    usage: Usage = field(default_factory=Usage)
    queued: float = 0.0
    """Seconds in the queue."""
    seconds: float = 0.0
    """Seconds of the search."""
    cut: tuple[str, ...] = ()
    """Replies that ended at their limit of tokens."""


class Job:
    """The searches of one request."""

    def __init__(self, service: Service, request: Request, account: Account, turns: Sequence[Turn]) -> None:
        self.service, self.request, self.account = service, request, account
        self._turns = turns
        self._tasks: list[asyncio.Task[Found]] = []
        self._lives: list[Live] = []
        self.gone = False
        """Whether the client went away."""

    async def run(self, listen: Listener | None = None, each: Callable[[int, Found], None] | None = None) -> list[Found]:
        """All of them, in order; `each` is told as each ends. Never raises but on cancellation, and then every search has been ended."""
        self._tasks = [asyncio.create_task(self._one(i, turn, listen, each)) for i, turn in enumerate(self._turns)]
        try:
            return list(await asyncio.gather(*self._tasks))
        except asyncio.CancelledError:
            self.abandon()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            raise
        finally:
            for turn in self._turns:  # a task that was cancelled before it began has used none
                turn.give_up()

    def abandon(self) -> None:
        """Nobody waits for the answer: calls in flight are cancelled, and no other is made."""
        self.gone = True
        for live in self._lives:
            live.stop.now()
        for task, turn in zip(self._tasks, self._turns, strict=True):
            if turn.waits:
                task.cancel()

    async def _one(self, index: int, turn: Turn, listen: Listener | None, each: Callable[[int, Found], None] | None) -> Found:
        asked, begun = self.request.searches[index], time.monotonic()
        found = Found(asked)
        try:
            async with turn.taken():
                found.queued = time.monotonic() - begun
                await self._search(found, None if listen is None else lambda event: listen(index, event))
        except asyncio.CancelledError:
            if not self.gone:
                raise
            found.refusal = Refusal(499, "the client went away while it waited", code="client_gone")
        if each is not None:
            each(index, found)
        return found

    async def _search(self, found: Found, also: Callable[[Event], None] | None) -> None:
        service, asked = self.service, found.asked
        settings, begun = asked.settings, time.monotonic()
        if service.stopping:
            found.refusal = _stopping()
            return
        try:
            budget, hold = self.account.hold(asked.budget)
        except Spent as spent:
            found.refusal = _spent(spent)
            return
        about = {"server": {"key": self.account.name}} | ({} if asked.own else {"settings": settings.to_json()})
        with service.runs.writing(about={"task": asked.task, "method": settings.method}) as live:
            self._lives.append(live)
            live.owner, live.grow = self.account.name, hold.grow
            live.stop = stop = Keeping()
            if self.gone:
                live.stop.now()
            price = service.price(settings)
            found.run, ear, model = live.id, Ear(live, also, price), Watched(service.model(asked))
            try:
                found.result = await solve(
                    asked.problem, asked.method, model, budget=budget, seed=settings.seed, trace=live.path,
                    parallel=settings.parallel, price=price, retry=service.config.retry, on_event=ear, stop=live.stop, about=about,
                    steering=live.steering,
                )  # fmt: skip
            except Exception as error:
                found.refusal = failure(error)
                if found.refusal.status >= 500:
                    LOG.error("run %s: %s", live.id, type(error).__name__, exc_info=error)
            finally:
                found.seconds, found.cut = time.monotonic() - begun, tuple(ear.cut)
                found.usage = ear.usage if found.result is None else found.result.usage
                hold.settle(found.usage + ear.unsure)
                ended = "failed" if found.result is None else found.result.stop_reason
                service.metrics.searched(asked.task, settings.method, ended, found.usage)
        found.refusal = found.refusal or self._verdict(found, stop.raised or model.fault)

    def _verdict(self, found: Found, fault: Exception | None) -> Refusal | None:
        """Why a search that ended gives no answer; `None` where it does."""
        result, more = found.result, described(found)
        assert result is not None
        if result.stop_reason == "failed":
            return upstream_failure(fault, result.error or "nothing came of it", more)
        if result.stop_reason == "cancelled" and self.service.stopping:
            return Refusal(503, f"the server is stopping; run {found.run} is saved and can be gone on with", code="stopping", wait=5, more=more)
        if result.answer is None:
            text = f"the search ended without an answer ({result.stop_reason}: {reason(result.stop_reason, result.method, answered=False)})"
            return Refusal(422, text, code="no_answer", more=more)
        return None


def described(found: Found) -> dict[str, Any]:
    """What is told of a search beside its answer."""
    result, settings = found.result, found.asked.settings
    told: dict[str, Any] = {
        "run": found.run, "task": found.asked.task, "method": settings.method, "upstream": found.asked.upstream, "seed": settings.seed,
        "usage": found.usage.to_json(), "seconds": {"queued": round(found.queued, 3), "search": round(found.seconds, 3)},
    }  # fmt: skip
    if result is not None:
        told |= {
            "stop_reason": result.stop_reason, "solved": result.solved, "unfinished": result.unfinished,
            "confidence": round(result.confidence, 6), "path": result.path, "warnings": list(result.warnings),
        }  # fmt: skip
    return told
