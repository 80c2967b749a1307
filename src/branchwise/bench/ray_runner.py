"""Runs the units of a bench on a Ray cluster: worker processes on its nodes, rows written here. An extra.

The run folder is on this machine: workers send home every line of their traces, and nothing of theirs is needed afterwards. So a worker that
dies loses nothing: its units go on with what the folder has, on another worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import signal
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, cast

from branchwise.bench.desk import Desk
from branchwise.bench.grid import Unit
from branchwise.bench.office import Office
from branchwise.bench.purse import Sum, drain
from branchwise.bench.ray_worker import Bencher, Job
from branchwise.bench.rows import Row
from branchwise.bench.runner import Events, all_of, amounts, groups
from branchwise.bench.unit import Cut
from branchwise.budget import Budget
from branchwise.engine import Run
from branchwise.errors import BranchwiseError, UsageError, install
from branchwise.solve import Stop

__all__ = ["Cluster", "connected", "run_on_cluster"]

_LIVES = 5
"""Workers that a unit may lose before it is taken for the cause."""
_SHARE = 0.01
"""CPUs that a worker asks for: it waits for servers nearly all the time."""
_WAITERS = 100_000


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected to the cluster at `address`; `auto`: the one that this machine belongs to, or a new one. Raises `UsageError`."""
    try:
        import ray
    except ImportError:
        raise UsageError(f"running on a cluster needs Ray; install it with: {install('ray')}") from None
    if address.startswith("ray://"):
        raise UsageError("--ray takes the address of the cluster itself, HOST:6379, from a machine that belongs to it; or auto")
    if ray.is_initialized():
        yield ray
        return
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
    joined = {name: value for name, value in settings.items() if name != "include_dashboard"}
    try:
        with warnings.catch_warnings(), _own_signals():
            warnings.simplefilter("ignore")
            try:
                ray.init(address=address, **joined)
            except ConnectionError:
                if address != "auto":
                    raise
                ray.init(**settings)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UsageError(f"no Ray cluster answers at {address}: {str(error).splitlines()[0]}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself when it connects; whoever had it has it again afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


@dataclass(slots=True)
class _Worker:
    handle: Any
    name: str
    dead: bool = False


class Cluster:
    """Workers, each with room for so many units at once. A dead one is replaced; what it was asked for is asked of another."""

    def __init__(self, ray: Any, job: Job, office: Any, workers: int, jobs: int, say: Callable[[str], None]) -> None:
        self._ray, self._job, self._office, self._jobs, self._say = ray, job, office, jobs, say
        self._slots: asyncio.Queue[_Worker] = asyncio.Queue()
        self._run = secrets.token_hex(3)
        self.workers: list[_Worker] = []
        self._number = 0
        for _ in range(workers):
            self._add()

    @property
    def room(self) -> int:
        """Units at once."""
        return sum(not worker.dead for worker in self.workers) * self._jobs

    def interrupt(self, reason: str) -> None:
        """End what runs on every worker; called by `Stop`."""
        for worker in self.workers:
            if not worker.dead:
                worker.handle.stop.remote()

    async def ask(self, method: str, *arguments: Any) -> Any:
        """What a worker answers. Raises `BranchwiseError` when several have died of it, and what the worker raised."""
        for _ in range(_LIVES):
            worker = await self._slots.get()
            while worker.dead:
                worker = await self._slots.get()
            try:
                answer = await getattr(worker.handle, method).remote(*arguments)
            except self._ray.exceptions.RayActorError:
                await self._replace(worker)
                continue
            except self._ray.exceptions.RayTaskError as error:
                self._slots.put_nowait(worker)
                raise (error.cause if isinstance(error.cause, BranchwiseError) else BranchwiseError(f"a worker failed: {error.cause}")) from None
            self._slots.put_nowait(worker)
            return answer
        raise BranchwiseError(f"{_LIVES} workers have died while they worked on it")

    async def _replace(self, worker: _Worker) -> None:
        if worker.dead:
            return
        worker.dead = True
        self._say(f"worker {worker.name} has died; another takes its place, and its units go on there")
        await self._office.lost.remote(worker.name)
        self._add()

    def _add(self) -> None:
        name = f"{self._run}-{self._number}"
        make = self._ray.remote(Bencher).options(num_cpus=_SHARE, scheduling_strategy="SPREAD", max_concurrency=max(16, 4 * self._jobs))
        worker = _Worker(make.remote(self._job, self._office, name, self._number), name)
        self._number += 1
        self.workers.append(worker)
        for _ in range(self._jobs):
            self._slots.put_nowait(worker)

    def end(self) -> None:
        """End every worker."""
        for worker in self.workers:
            with contextlib.suppress(Exception):
                self._ray.kill(worker.handle)


async def run_on_cluster(
    desk: Desk, ray: Any, job: Job, limits: Budget, *, calls_per_minute: float | None = None, tokens_per_minute: float | None = None,
    workers: int | None = None, jobs: int = 8, stop: Stop | None = None, seconds: float | None = None, events: Events | None = None,
    totals: Callable[[Sum], None] = lambda spent: None, on_cluster: Callable[[Cluster], None] = lambda cluster: None,
) -> str:  # fmt: skip
    """Run the units that lack a row; the limit of the whole that is used up, or "". `totals` is told what was spent, about once a second."""
    stop, events = stop or Stop(), events or Events()
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    make = ray.remote(Office).options(num_cpus=0, scheduling_strategy=here, max_concurrency=_WAITERS)
    office = make.remote(str(desk.folder.resolve()), limits, calls_per_minute, tokens_per_minute)
    cluster = Cluster(ray, job, office, workers or len([node for node in ray.nodes() if node["Alive"]]), jobs, events.say)
    on_cluster(cluster)
    timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, stop.now)
    stop.add(cast(Run, cluster))
    empty = ""
    try:
        async with _watched(office, totals):
            for _, units in groups(desk.todo):
                if not stop.asked:
                    empty = empty or await _group(desk, cluster, office, units, stop, events)
        spent, empty = await office.state.remote()
        totals(spent)
        return str(empty)
    finally:
        stop.remove(cast(Run, cluster))
        if timer is not None:
            timer.cancel()
        cluster.end()
        with contextlib.suppress(Exception):
            ray.kill(office)


async def _group(desk: Desk, cluster: Cluster, office: Any, units: list[Unit], stop: Stop, events: Events) -> str:
    """The units of one route."""
    empty = ""

    async def broken() -> None:
        nonlocal empty
        if not stop.asked:
            empty = (await office.state.remote())[1]
            if empty:
                drain(stop)

    async def first(unit: Unit) -> float | None:
        cost, cut = await cluster.ask("first", unit)
        if cut:
            await broken()
            raise Cut
        return None if cost is None else float(cost)

    async def one(unit: Unit) -> None:
        truth = desk.grid.truths[unit.task, unit.item.id]
        try:
            data, said = await cluster.ask("unit", unit, truth, desk.amount(unit))
        except UsageError:
            raise
        except BranchwiseError as error:
            row = _failed(unit, str(error), job_data(desk, unit))
        else:
            for text in said:
                events.say(text)
            if data is None:
                await broken()
                return
            row = Row.from_json(data)
        if desk.append(row):
            events.row(row)

    if await amounts(desk, units, first, cluster.room, stop, events):
        await all_of(units, one, cluster.room, stop)
    return empty


def _failed(unit: Unit, error: str, data: str) -> Row:
    return Row(
        unit=unit.id, task=unit.task, item=unit.item.id, rank=unit.item.rank, method=unit.entry.label, model=unit.route.label, seed=unit.seed,
        status="failed", error=error, stop_reason="failed", unfinished=True, data=data,
    )  # fmt: skip


def job_data(desk: Desk, unit: Unit) -> str:
    """The first digits of the SHA-256 of the data that a unit is from."""
    return desk.grid.data[unit.task]["sha256"][:16]


@asynccontextmanager
async def _watched(office: Any, totals: Callable[[Sum], None]) -> AsyncIterator[None]:
    """While the body runs, `totals` is told what was spent."""

    async def watch() -> None:
        while True:
            await asyncio.sleep(1.0)
            totals((await office.state.remote())[0])

    task = asyncio.ensure_future(watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
