"""At most `parallel` model calls at once, first come first served. Knows no budget."""

from __future__ import annotations

import asyncio
from collections import deque

from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel, Reply, Request

__all__ = ["Limited"]


class Limited:
    """Bounds calls in flight: a request of n samples takes n places (all of them where n is larger than `parallel`).

    Places are taken all at once and in order of arrival, so a large request is neither starved nor able to deadlock with another.
    """

    def __init__(self, inner: LanguageModel, parallel: int) -> None:
        if parallel < 1:
            raise UsageError(f"parallel must be at least 1, not {parallel}: it is the number of model calls at once")
        self._inner, self._parallel, self._free = inner, parallel, parallel
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def name(self) -> str:
        """That of the backend."""
        return self._inner.name

    @property
    def identity(self) -> str:
        """That of the backend."""
        return self._inner.identity

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
        self._waiting.append((need, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._free += need
            elif (need, turn) in self._waiting:  # not when a place was freed in the same turn of the loop: then it is out already
                self._waiting.remove((need, turn))
            self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self._free >= self._waiting[0][0]:
            need, turn = self._waiting.popleft()
            if not turn.done():
                self._free -= need
                turn.set_result(None)
