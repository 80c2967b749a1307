"""Runs the units of a bench on this machine: so many at once, model by model, a row each. Knows no terminal.

Rows do not depend on how many run at once. What is broken off has no row, and goes on with its trace the next time.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from branchwise.bench.desk import Desk
from branchwise.bench.grading.pool import Worker
from branchwise.bench.grid import Route, Unit
from branchwise.bench.marking import Marker
from branchwise.bench.rows import Row
from branchwise.bench.unit import Bench, Cut, run_first, run_unit
from branchwise.budget import Price
from branchwise.model.base import LanguageModel
from branchwise.model.layers.retrying import RetryPolicy
from branchwise.solve import Stop

__all__ = ["Events", "all_of", "amounts", "groups", "run_here"]

Opener = Callable[[Route], AbstractAsyncContextManager[LanguageModel]]
Prices = Callable[[Route], Price | Mapping[str, Price | None] | None]


@dataclass(frozen=True, slots=True)
class Events:
    """What the run tells: each new row, first runs for equal budgets, and amounts that were found."""

    row: Callable[[Row], None] = lambda row: None
    say: Callable[[str], None] = lambda text: None


async def run_here(
    desk: Desk, opened: Opener, prices: Prices, *, jobs: int = 8, parallel: int = 8, stop: Stop | None = None, seconds: float | None = None,
    events: Events | None = None, retry: RetryPolicy | None = None, clock: Callable[[], float] = time.monotonic, command: str = "",
) -> None:  # fmt: skip
    """Run the units that lack a row, `jobs` at once. `opened` gives the model of a route, already limited and paid for in advance.

    `seconds` ends the whole; what is in work then has no row. A row that cannot be written ends the run, and what is in work is cancelled.
    """
    stop, events = stop or Stop(), events or Events()
    timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, stop.now)
    data = {task: one["sha256"][:16] for task, one in desk.grid.data.items()}
    try:
        with Worker() as worker:
            marker, lock = Marker(worker), asyncio.Lock()
            for route, units in groups(desk.todo):
                if stop.asked:
                    return
                async with opened(route) as model:
                    bench = Bench(
                        folder=desk.folder, model=model, marker=marker, lock=lock, clock=clock, price=prices(route), stop=stop,
                        parallel=parallel, retry=retry or RetryPolicy(), notice=events.say, command=command, data=data,
                    )  # fmt: skip
                    await _group(desk, bench, units, jobs, events)
    finally:
        if timer is not None:
            timer.cancel()


async def _group(desk: Desk, bench: Bench, units: Sequence[Unit], jobs: int, events: Events) -> None:
    """The units of one route."""

    async def first(unit: Unit) -> float | None:
        return await run_first(unit, bench)

    if not await amounts(desk, units, first, jobs, bench.stop, events):
        return

    async def one(unit: Unit) -> None:
        try:
            row = await run_unit(unit, desk.grid.truths[unit.task, unit.item.id], bench, desk.amount(unit))
        except Cut:
            return
        if desk.append(row):
            events.row(row)

    await all_of(units, one, jobs, bench.stop)


async def amounts(
    desk: Desk, todo: Sequence[Unit], first: Callable[[Unit], Awaitable[float | None]], jobs: int, stop: Stop, events: Events
) -> bool:
    """Where budgets are equal and no amount was given: run every unit once, and take the mean cost of the dearest method of each task.

    All units of the route count, those with rows too. False where that was broken off.
    """
    lacking = {(unit.task, unit.route.label) for unit in todo if unit.equal and desk.amount(unit) is None}
    for task, label in sorted(lacking):
        units = [unit for unit in desk.grid.units if (unit.task, unit.route.label) == (task, label)]
        events.say(f"{task}, {label}: {len(units)} first runs, to see what the dearest method costs")
        costs: dict[str, list[float]] = {}

        async def one(unit: Unit, costs: dict[str, list[float]] = costs) -> None:
            try:
                cost = await first(unit)
            except Cut:
                return
            if cost is not None:
                costs.setdefault(unit.entry.label, []).append(cost)

        await all_of(units, one, jobs, stop)
        if stop.asked:
            return False
        if costs:
            means = {method: sum(found) / len(found) for method, found in costs.items()}
            dearest = max(means, key=lambda method: means[method])
            amount = round(means[dearest], 6) if units[0].equal == "cost" else float(round(means[dearest]))
            desk.set_amount(task, label, amount)
            events.say(f"{task}, {label}: {amount:g} {units[0].equal} for each item and method, as {dearest} takes on the mean")
    return True


def groups(units: Iterable[Unit]) -> list[tuple[Route, list[Unit]]]:
    """Units by route, in the order of the first of each: a model is opened once, and closed before the next."""
    found: dict[str, tuple[Route, list[Unit]]] = {}
    for unit in units:
        found.setdefault(unit.route.label, (unit.route, []))[1].append(unit)
    return list(found.values())


async def all_of(units: Sequence[Unit], one: Callable[[Unit], Awaitable[None]], jobs: int, stop: Stop) -> None:
    """`one` of each, `jobs` at once, until `stop`. On an error the others are cancelled and awaited."""
    waiting = deque(units)

    async def work() -> None:
        while waiting and not stop.asked:
            await one(waiting.popleft())

    tasks = [asyncio.ensure_future(work()) for _ in range(min(jobs, len(waiting)))]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise

