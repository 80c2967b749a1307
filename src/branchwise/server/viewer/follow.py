"""A trace as a stream of batches for the page, followed while its run goes on. Knows no tree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, cast

import orjson

from branchwise.errors import UnknownName
from branchwise.server.runs import Runs
from branchwise.server.viewer.listing import summary
from branchwise.server.viewer.slim import slim

__all__ = ["begins", "follow", "line_at"]

_LINES = 64
_BATCH = 1 << 18

_Line = tuple[int, bytes]


async def follow(runs: Runs, id: str, start: int) -> AsyncIterator[bytes]:
    """JSON lines: `{"events": [...], "next": byte}` as the trace grows, and `{"end": true, "cut": ...}` once nothing more can come
    (but not when this process ends before the run).

    `next` is where to go on after a broken connection; `cut` says that a last line without its end was left out. A line that is no event
    ends the stream with `{"error": ...}`.
    """
    if _is_read(runs, id, start):
        yield _line({"end": True, "cut": False})
        return
    queue: asyncio.Queue[_Line | None] = asyncio.Queue(_LINES)
    pump = asyncio.create_task(_pump(runs, id, start, queue))
    at = start
    try:
        while (lines := await _gathered(queue)) is not None:
            events: list[dict[str, Any]] = []
            fault = ""
            for end, line in lines:
                try:
                    events.append(slim(line, at))
                except (ValueError, RecursionError):
                    fault = f"At byte {at:,} there is something that is no event: the trace was changed, or parts of it are lost."
                    break
                at = end
            yield _line({"events": events, "next": at})
            if fault:
                yield _line({"error": fault})
                return
        await pump
        if not runs.closing:  # else the page asks again
            yield _line({"end": True, "cut": runs.path(id).stat().st_size > at})
    except (OSError, UnknownName):
        yield _line({"error": "The trace is gone: it was moved or removed."})
    finally:
        pump.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await pump


def _is_read(runs: Runs, id: str, start: int) -> bool:
    """Whether a reader who is at byte `start` has all of a run that has ended."""
    path = runs.path(id)
    return id not in runs.live and path.stat().st_size == start and summary(path)["stop"] is not None


async def _pump(runs: Runs, id: str, start: int, queue: asyncio.Queue[_Line | None]) -> None:
    try:
        async with aclosing(cast("AsyncGenerator[_Line]", runs.lines(id, start))) as lines:
            async for found in lines:
                await queue.put(found)
    except Exception:
        await queue.put(None)
        raise
    await queue.put(None)


async def _gathered(queue: asyncio.Queue[_Line | None]) -> list[_Line] | None:
    """What is there, at least one line; `None` at the end, which stays in the queue."""
    first = await queue.get()
    if first is None:
        return None
    lines, size = [first], len(first[1])
    while size < _BATCH and not queue.empty():
        more = queue.get_nowait()
        if more is None:
            queue.put_nowait(None)
            break
        lines.append(more)
        size += len(more[1])
    return lines


def begins(trace: Path, at: int) -> bool:
    """Whether a line of the trace begins at byte `at`, or the trace ends there."""
    with open(trace, "rb") as file:
        file.seek(max(0, at - 1))
        return not at or file.read(1) == b"\n"


def line_at(trace: Path, at: int) -> bytes | None:
    """The whole line that begins at byte `at`; `None` where none begins there."""
    if not begins(trace, at):
        return None
    with open(trace, "rb") as file:
        file.seek(at)
        line = file.readline()
    return line if line.endswith(b"\n") else None


def _line(data: dict[str, Any]) -> bytes:
    return orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE)
