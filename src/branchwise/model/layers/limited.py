"""At most `parallel` model calls at once, in order of arrival as far as that leaves no place empty. Knows no budget."""

from __future__ import annotations

import asyncio
from collections import deque

from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel, Reply, Request, identity_of

__all__ = ["Limited"]


class Limited:
    """Bounds calls in flight: a request of n samples takes n places (all of them where n is larger than `parallel`).

    Places are taken all at once, so two large requests cannot deadlock. While the first in the queue waits for more places than are free, later
    ones that fit may pass it, so that no place is empty for its sake; after `parallel` calls have passed, none may, so it is not starved.
    """

    def __init__(self, inner: LanguageModel, parallel: int) -> None:
        if parallel < 1:
            raise UsageError(f"parallel must be at least 1, not {parallel}: it is the number of model calls at once")
        self._inner, self._parallel, self._free = inner, parallel, parallel
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._passed = 0

    @property
    def name(self) -> str:
        """That of the backend."""
        return self._inner.name

    @property
    def identity(self) -> str:
        """That of the backend."""
        return self._inner.identity

    def identity_of(self, role: str) -> str:
        """That of what serves `role`."""
        return identity_of(self._inner, role)

    async def sample(self, request: Request) -> Reply:
        """The backend's reply, once there is room."""
        need = min(request.n, self._parallel)
        await self._take(need)
        try:
            return await self._inner.sample(request)
        finally:
            self._free += need
            self._wake()

    async def _take(self, need: int) -> None:
        if not self._waiting and self._free >= need:
            self._free -= need
            return
        turn = asyncio.get_running_loop().create_future()
        entry = (need, turn)
        self._waiting.append(entry)
        self._wake()
        if turn.done():
            return
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._free += need
            elif entry in self._waiting:  # not when a place was freed in the same turn of the loop: then it is out already
                self._passed = 0 if entry is self._waiting[0] else self._passed
                self._waiting.remove(entry)
            self._wake()
            raise

    def _wake(self) -> None:
        while (entry := self._next()) is not None:
            self._waiting.remove(entry)
            need, turn = entry
            if not turn.done():
                self._free -= need
                turn.set_result(None)

    def _next(self) -> tuple[int, asyncio.Future[None]] | None:
        """The first that fits; the first of all, unless it may be passed once more."""
        if not self._waiting or not self._free:
            return None
        first = self._waiting[0]
        if first[0] <= self._free:
            self._passed = 0
            return first
        for entry in self._waiting:
            if entry[0] <= self._free and self._passed + entry[0] <= self._parallel:
                self._passed += entry[0]
                return entry
        return None
