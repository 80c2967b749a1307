"""A trace as a stream of batches for the page, followed while its run goes on. Knows no tree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, cast

import orjson

from branchwise.errors import TraceError, UnknownName
from branchwise.server.lines import LONGEST_LINE, event_of
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
    pump, at = None, start
    try:
        if await asyncio.to_thread(_is_read, runs, id, start):
            yield _line({"end": True, "cut": False})
            return
        queue = _Queue()
        pump = asyncio.create_task(_pump(runs, id, start, queue))
        while (lines := await _gathered(queue)) is not None:
            events, at, whole = await asyncio.to_thread(_slimmed, lines, at)
            yield _line({"events": events, "next": at})
            if not whole:
                yield _line({"error": f"At byte {at:,} there is something that is no event: the trace was changed, or parts of it are lost."})
                return
        await pump
        if not runs.closing:  # else the page asks again
            yield _line({"end": True, "cut": runs.path(id).stat().st_size > at})
    except TraceError:
        yield _line({"error": f"At byte {at:,} there is a line that is too long to be an event: the trace was changed."})
    except (OSError, UnknownName):
        yield _line({"error": "The trace is gone: it was moved or removed."})
    except Exception:
        yield _line({"error": "A fault in the server; its log has the details."})  # else the page would ask again and again
        raise
    finally:
        if pump is not None:
            pump.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await pump


def _slimmed(lines: Sequence[_Line], at: int) -> tuple[list[orjson.Fragment], int, bool]:
    """The events of `lines`, which begin at byte `at`; the byte behind them; and whether that is all. Each is made text by itself, as one that
    cannot be (nested hundreds deep) is no event.
    """
    events = []
    for end, line in lines:
        try:
            events.append(orjson.Fragment(orjson.dumps(slim(line, at))))
        except (ValueError, TypeError, RecursionError):
            return events, at, False
        at = end
    return events, at, True


class _Queue(asyncio.Queue["_Line | None"]):
    """Lines that wait for a slow reader: as many as a batch holds, in number or in bytes."""

    def __init__(self) -> None:
        super().__init__(_LINES)
        self._size = 0

    def full(self) -> bool:
        """Whether nothing more fits."""
        return super().full() or self._size >= _BATCH

    def _put(self, item: _Line | None) -> None:
        self._size += 0 if item is None else len(item[1])
        super()._put(item)

    def _get(self) -> _Line | None:
        item = super()._get()
        self._size -= 0 if item is None else len(item[1])
        return item


def _is_read(runs: Runs, id: str, start: int) -> bool:
    """Whether a reader who is at byte `start` has all of a run that has ended."""
    path = runs.path(id)
    return id not in runs.live and path.stat().st_size == start and summary(path)["stop"] is not None


async def _pump(runs: Runs, id: str, start: int, queue: _Queue) -> None:
    try:
        async with aclosing(cast("AsyncGenerator[_Line]", runs.lines(id, start))) as lines:
            async for found in lines:
                await queue.put(found)
    except Exception:
        await queue.put(None)
        raise
    await queue.put(None)


async def _gathered(queue: _Queue) -> list[_Line] | None:
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
    """The whole line that begins at byte `at`; `None` where none begins there, or it is no event."""
    if not begins(trace, at):
        return None
    with open(trace, "rb") as file:
        file.seek(at)
        line = file.readline(LONGEST_LINE)
    try:
        event_of(line)
    except ValueError:
        return None
    return line if line.endswith(b"\n") else None


def _line(data: dict[str, Any]) -> bytes:
    return orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE)
