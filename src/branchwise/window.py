"""The steps in flight: numbered as they are issued, started as the ledger can hold them, awaited in their order. Knows no search and no trace."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Set

from branchwise.budget import Bound
from branchwise.ledger import Ledger
from branchwise.search.base import Step
from branchwise.steps import InFlight, Outcome, Worker
from branchwise.tree import Node

__all__ = ["Window"]

_NOTHING = Bound()
_LEAST_AT_WORK = 64
"""Steps at work at once, or four a place where that is more: enough to leave no place empty, and no more tasks than are of use."""


class Window:
    """`queue` holds the steps in the order in which they were issued: that in which they are committed."""

    def __init__(self, worker: Worker, ledger: Ledger, parallel: int) -> None:
        self.worker, self.ledger = worker, ledger
        self.queue: deque[InFlight] = deque()
        self.most = max(_LEAST_AT_WORK, 4 * parallel)
        """How many may be at work at once."""
        self.number = 0
        """That of the step that was issued last."""
        self._unstarted: deque[InFlight] = deque()
        self._serial = False
        self._working = 0

    @property
    def head(self) -> InFlight | None:
        """The step that is committed next."""
        return self.queue[0] if self.queue else None

    def push(self, step: Step, k: int, node: Node, base: int, limit: int | None = None) -> InFlight:
        """Issue a step."""
        self.number += 1
        worker = self.worker
        bound = worker.bound(step, worker.method.generate, k, limit) if self.ledger.capped else _NOTHING
        flight = InFlight(self.number, step, k, node.issued, base, len(worker.tree.nodes), bound, limit=limit)
        self.queue.append(flight)
        self._unstarted.append(flight)
        node.issued += 1
        return flight

    def start(self) -> None:
        """Start what fits, in issue order and without overtaking; nothing beside a serial step. Also whenever a step finishes."""
        waiting, ledger = self._unstarted, self.ledger
        while waiting and self._working < self.most and not self._serial and not ledger.closed and ledger.fits(waiting[0].bound):
            flight = waiting.popleft()
            ledger.hold(flight.number, flight.bound)
            flight.task = self.spawn(flight)

    def start_alone(self, head: InFlight) -> None:
        """Start a head that does not fit: one sample at a time, nothing beside it."""
        self._unstarted.popleft()
        self._serial = head.serial = True
        head.task = self.spawn(head)

    def spawn(self, flight: InFlight) -> asyncio.Task[Outcome]:
        """Begin a step."""
        self._working += 1
        return asyncio.get_running_loop().create_task(self._work(flight))

    async def _work(self, flight: InFlight) -> Outcome:
        try:
            return await self.worker.run(flight)
        finally:
            self._working -= 1
            self.ledger.release(flight.number)
            if flight.serial:
                self._serial = False  # the loop starts what comes next, unless this step has come to a limit
            elif self._unstarted:
                self.start()

    def forget(self, numbers: Set[int]) -> None:
        """Take steps out of it."""
        if numbers:
            self.queue = deque(flight for flight in self.queue if flight.number not in numbers)
            self._unstarted = deque(flight for flight in self._unstarted if flight.number not in numbers)

    def again(self, head: InFlight) -> None:
        """The head is to be made once more."""
        self.ledger.barred.discard(head.number)
        head.task, head.serial = None, False
        self._unstarted.appendleft(head)

    def cancel(self) -> None:
        """End what has begun."""
        for flight in self.queue:
            if flight.task is not None:
                flight.task.cancel()

    async def drain(self, strays: Iterable[asyncio.Task[Outcome]], cancel: bool) -> None:
        """Await what is in flight, and `strays`: those replies are taped and charged, not committed."""
        tasks = [*(flight.task for flight in self.queue if flight.task is not None), *strays]
        if cancel:
            for task in tasks:
                task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        for flight in self.queue:  # a task that was cancelled before it began has released nothing
            self.ledger.release(flight.number)
        self.queue.clear()
        self._unstarted.clear()
