"""Who searches next: so many at once, the others wait in a queue for each key, and the keys take turns. Knows no HTTP and no search."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Busy", "Gate"]

_FIRST_GUESS = 2.0
"""Seconds that a search is taken to last before the first has ended."""


class Busy(Exception):
    """The queue of this key is full; `wait` is how many seconds it will take, by the pace of late, until there is room."""

    def __init__(self, wait: float) -> None:
        super().__init__("too many searches are waiting")
        self.wait = wait


class Gate:
    """`places` searches at once, `waiting` more of each key in a queue. Within a key first come, first served; the keys take turns."""

    def __init__(self, places: int, waiting: int) -> None:
        self.places, self.limit = places, waiting
        self.running = 0
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._pace = 0.0

    @property
    def waiting(self) -> int:
        """Searches that wait, of all keys."""
        return sum(map(len, self._queues.values()))

    def admit(self, key: str, n: int = 1) -> list[Turn]:
        """Places for `n` searches, free at once or in the queue, all or none. Raises `Busy`. Each turn must be used or given up."""
        mine = len(self._queues.get(key, ()))
        free = max(0, self.places - self.running - self.waiting)
        if n > free and mine + n - free > self.limit:
            raise Busy(self._wait(mine))
        return [self._turn(key) for _ in range(n)]

    def _wait(self, ahead: int) -> float:
        return max(1.0, (self._pace or _FIRST_GUESS) * (ahead + 1) * max(1, len(self._queues)) / (self.places * 2))

    def _turn(self, key: str) -> Turn:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.running < self.places and not self._queues:
            self.running += 1
            turn.set_result(None)
        else:
            self._queues.setdefault(key, deque()).append(turn)
        return Turn(self, key, turn)

    def _leave(self, seconds: float | None) -> None:
        """A place is free."""
        self.running -= 1
        if seconds is not None:
            self._pace = seconds if not self._pace else 0.9 * self._pace + 0.1 * seconds
        while self.running < self.places and self._queues:
            key, queue = next(iter(self._queues.items()))
            turn = queue.popleft()
            if queue:
                self._queues.move_to_end(key)
            else:
                del self._queues[key]
            if not turn.done():  # cancelled, and not out of the queue yet
                self.running += 1
                turn.set_result(None)

    def _give_up(self, key: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(key)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[key]


class Turn:
    """A place that was promised."""

    def __init__(self, gate: Gate, key: str, turn: asyncio.Future[None]) -> None:
        self._gate, self._key, self._turn = gate, key, turn
        self._used = False

    @property
    def waits(self) -> bool:
        """Whether it has not come yet."""
        return not self._turn.done()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """The body runs when the turn has come."""
        loop, self._used = asyncio.get_running_loop(), True
        try:
            await self._turn
        except asyncio.CancelledError:
            self._drop()
            raise
        begun = loop.time()
        try:
            yield
        finally:
            self._gate._leave(loop.time() - begun)

    def give_up(self) -> None:
        """Let others have it, unless it was used."""
        if not self._used:
            self._used = True
            self._drop()

    def _drop(self) -> None:
        if self._turn.done() and not self._turn.cancelled():
            self._gate._leave(None)
        else:
            self._gate._give_up(self._key, self._turn)
            self._turn.cancel()
