"""Server-sent events over a search: progress while it runs, the answer, the end. And how a client that went away is noticed.

Knows no method and no model.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import orjson
from starlette.types import Receive, Scope, Send

__all__ = ["Gone", "Outbox", "Stream", "comment", "data", "unless_gone"]

T = TypeVar("T")

_SILENCE = 10.0
"""Seconds without anything to say, after which a comment keeps the connection alive."""
_MOST = 1 << 18
"""Bytes that may wait for a slow client; progress beyond that is left out."""

DONE = b"data: [DONE]\n\n"


def data(value: Any) -> bytes:
    """One event. JSON has no line ends, so no text can break out of its event."""
    return b"data: " + orjson.dumps(value) + b"\n\n"


def comment(text: str) -> bytes:
    """A line that clients skip."""
    return f": {text}\n\n".encode()


class Gone(Exception):
    """The client went away."""


async def unless_gone(receive: Receive, task: asyncio.Task[T]) -> T:
    """The result of `task`. Raises `Gone` as soon as the client is gone; the task then goes on, and is its owner's to end."""
    watch = asyncio.ensure_future(gone(receive))
    try:
        await asyncio.wait((task, watch), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Gone
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watch


async def gone(receive: Receive) -> None:
    """Returns when the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Outbox:
    """What is to be sent, in order. `put` never waits; `close` ends it."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._size = 0
        self._more = asyncio.Event()
        self._closed = False
        self.failed: Exception | None = None
        """The error that ended it; `last` tells it where the stream has begun."""
        self.last = b""

    def put(self, piece: bytes) -> None:
        """Send this whatever waits."""
        self._waiting.append(piece)
        self._size += len(piece)
        self._more.set()

    def offer(self, piece: bytes) -> bool:
        """Send this unless too much waits already."""
        if self._size + len(piece) > _MOST:
            return False
        self.put(piece)
        return True

    def close(self) -> None:
        """Nothing more comes."""
        self._closed = True
        self._more.set()

    def fail(self, error: Exception, told: bytes) -> None:
        """It ends with `error`: raised if nothing was sent yet, else `told` is the last event."""
        self.failed, self.last = error, told
        self.close()

    async def pieces(self) -> AsyncIterator[bytes]:
        """What was put, joined where a client is slow, and a comment after each time of silence."""
        while True:
            try:
                await asyncio.wait_for(self._more.wait(), _SILENCE)
            except TimeoutError:
                yield comment("searching")
                continue
            self._more.clear()
            piece, self._waiting, self._size = b"".join(self._waiting), [], 0
            if piece:
                yield piece
            elif self._closed:
                return
            if self._closed:
                self._more.set()


class Stream:
    """A reply of server-sent events. It begins with the first piece, so that an error before it still has a status of its own."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all there is, until the outbox is closed. Raises `Gone` when the client goes away, and what the outbox was failed with."""
        task = asyncio.create_task(self._send_all(send))
        try:
            await unless_gone(receive, task)
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task

    async def _send_all(self, send: Send) -> None:
        begun = False
        try:
            async for piece in self._outbox.pieces():
                if not begun:
                    begun = True
                    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            if not begun and self._outbox.failed is not None:
                raise self._outbox.failed
            await send({"type": "http.response.body", "body": self._outbox.last, "more_body": False})
        except OSError:  # the connection broke while something was sent
            raise Gone from None


_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
