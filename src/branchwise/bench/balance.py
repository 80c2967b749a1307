"""Several servers of one model as one model: each request goes to the one with the least to do. Knows no budget and no cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from branchwise.errors import ContextOverflow, PermanentError, RateLimited, TransientError, UsageError
from branchwise.model.base import LanguageModel, Reply, Request

__all__ = ["Balanced"]

_FIRST, _LONGEST = 0.5, 60.0
"""Seconds that a server is left alone after a fault; twice as long after each further one."""


@dataclass(slots=True, eq=False)
class _Server:
    model: LanguageModel
    load: int = 0
    """Samples that it works on."""
    faults: int = 0
    """In a row."""
    until: float = 0.0
    served: int = 0


class Balanced:
    """The server with the fewest samples in work; on ties the one that has served less. One that failed is left alone for a while.

    An error that may pass is raised as it is: the layer above tries again, and that attempt goes elsewhere. `label` is the identity, so that
    servers may come and go between sessions. `first` says which server is asked first of all, so that many workers do not begin with the same.
    """

    def __init__(
        self, label: str, servers: Sequence[LanguageModel], *, first: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not servers:
            raise UsageError(f"model {label} has no server")
        turn = first % len(servers)
        self._label, self._clock = label, clock
        self._servers = [_Server(model) for model in (*servers[turn:], *servers[:turn])]

    @property
    def name(self) -> str:
        """The label."""
        return self._label

    @property
    def identity(self) -> str:
        """The label, as of a model that may have several servers."""
        return f"servers of {self._label}"

    @property
    def loads(self) -> list[int]:
        """Samples in work by server."""
        return [server.load for server in self._servers]

    async def sample(self, request: Request) -> Reply:
        """The reply of one server. What one refuses for good (its key, its quota, its model) is asked of the others before it is raised."""
        tried: list[_Server] = []
        while True:
            server = self._next(tried)
            tried.append(server)
            server.load += request.n
            try:
                reply = await server.model.sample(request)
            except TransientError as error:
                self._rest(server, error.retry_after if isinstance(error, RateLimited) else None)
                raise
            except ContextOverflow:
                raise
            except PermanentError:
                self._rest(server, None)
                if len(tried) == len(self._servers):
                    raise
                continue
            finally:
                server.load -= request.n
            server.faults, server.served = 0, server.served + request.n
            return reply

    def _rest(self, server: _Server, seconds: float | None) -> None:
        """Leave a server alone, as long as it asks for or longer with each fault."""
        server.faults += 1
        pause = min(_LONGEST, _FIRST * 2.0 ** min(server.faults - 1, 16))
        server.until = self._clock() + (pause if seconds is None else seconds)

    def _next(self, tried: Sequence[_Server]) -> _Server:
        """Where all are left alone, the one whose time is up first."""
        now = self._clock()
        fresh = [server for server in self._servers if server not in tried]
        ready = [server for server in fresh if server.until <= now]
        if not ready:
            return min(fresh, key=lambda server: server.until)
        return min(ready, key=lambda server: (server.load, server.served))
