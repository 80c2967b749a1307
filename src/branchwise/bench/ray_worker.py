"""A worker of a bench on a cluster: opens models, runs units, sends traces home. Knows no Ray: what it is called by is the runner's affair."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from branchwise.bench.grading.pool import Worker
from branchwise.bench.grid import Route, Unit
from branchwise.bench.marking import Marker, Truth
from branchwise.bench.models import RoutePrice, route_opened
from branchwise.bench.office import Link, Mirror
from branchwise.bench.purse import drain
from branchwise.bench.spec import Contestant
from branchwise.bench.unit import Bench, Cut, run_first, run_unit
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel, Reply, Request, identity_of
from branchwise.model.layers.retrying import RetryPolicy
from branchwise.model.registry import open_model, parse_spec
from branchwise.solve import Stop

__all__ = ["Bencher", "Job"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What every worker of a bench is told. `environ` holds the keys of model servers."""

    contestants: Mapping[str, Contestant]
    prices: Mapping[str, RoutePrice]
    """By label of the route."""
    parallel: int
    limited: bool
    """Whether a budget or rate of the whole is set."""
    command: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    key_file: str = ""
    retry: RetryPolicy = field(default_factory=RetryPolicy)


class _Mirrored:
    """Before a request goes out, everything that came so far is on the disk of the run folder."""

    def __init__(self, inner: LanguageModel, mirror: Mirror) -> None:
        self._inner, self._mirror = inner, mirror

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def identity(self) -> str:
        return self._inner.identity

    def identity_of(self, role: str) -> str:
        return identity_of(self._inner, role)

    async def sample(self, request: Request) -> Reply:
        await self._mirror.sync()
        return await self._inner.sample(request)


class Bencher:
    """One process of a bench. Its units run at once, on one event loop; models stay open until it ends."""

    def __init__(self, job: Job, office: Any, owner: str, number: int) -> None:
        self._job, self._owner, self._number = job, owner, number
        self._link = Link(office, owner, job.limited)
        self._folder = Path(tempfile.mkdtemp(prefix="branchwise-bench-"))
        self._stop, self._stack = Stop(), AsyncExitStack()
        self._models: dict[str, asyncio.Task[LanguageModel]] = {}
        self._marker, self._lock = Marker(self._stack.enter_context(Worker())), asyncio.Lock()
        self._says: list[str] = []

    async def pid(self) -> int:
        """Of this process."""
        return os.getpid()

    async def stop(self) -> None:
        """End what runs: it has no rows, and goes on another time."""
        self._stop.now()

    async def unit(self, unit: Unit, truth: Truth, amount: float | None) -> tuple[dict[str, Any] | None, list[str]]:
        """The row of a unit (`None` where it was broken off), and what is to be said."""
        mirror = Mirror(self._link, unit.id, self._folder)
        await mirror.fetch()
        try:
            row = await run_unit(unit, truth, await self._bench(unit, mirror), amount)
        except Cut:
            await mirror.sync()
            return None, self._said()
        await mirror.sync()
        mirror.remove()
        return row.to_json(), self._said()

    async def first(self, unit: Unit) -> tuple[float | None, bool]:
        """What the first run of a unit costs, and whether it was broken off."""
        mirror = Mirror(self._link, unit.id, self._folder)
        await mirror.fetch()
        try:
            return await run_first(unit, await self._bench(unit, mirror)), False
        except Cut:
            return None, True
        finally:
            await mirror.sync()

    def _said(self) -> list[str]:
        said, self._says = self._says, []
        return said

    async def _bench(self, unit: Unit, mirror: Mirror) -> Bench:
        job, label = self._job, unit.route.label
        if label not in self._models:
            self._models[label] = asyncio.ensure_future(self._open(unit.route))
        model = _Mirrored(await asyncio.shield(self._models[label]), mirror)
        return Bench(
            folder=self._folder, model=model, marker=self._marker, lock=self._lock, clock=time.monotonic, price=job.prices[label],
            stop=self._stop, parallel=job.parallel, retry=job.retry, notice=self._says.append, command=job.command, data=job.data,
        )  # fmt: skip

    async def _open(self, route: Route) -> LanguageModel:
        job = self._job

        def open_one(server: str) -> Any:
            if parse_spec(server).kind == "local":
                raise UsageError("on a cluster models are servers: start one, and give its address, http://HOST:PORT/v1#NAME")
            return open_model(server, environ=job.environ, key_file=Path(job.key_file) if job.key_file else None)

        opening = route_opened(
            route, job.contestants, open_one, self._link, job.prices[route.label], lambda: drain(self._stop), parallel=job.parallel,
            owner=self._owner, first=self._number,
        )  # fmt: skip
        return await self._stack.enter_async_context(opening)

