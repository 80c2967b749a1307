"""A plain line now and then while something long goes on, where there is no terminal to draw on. Knows no search and no model."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from branchwise.budget import Usage
from branchwise.cli.text import dollars, plural, seconds
from branchwise.trace import Call, Event, Expanded

__all__ = ["EVERY", "Pulse", "Tally", "beating", "so_far"]

EVERY = 60.0
"""Seconds between two lines at the least."""
_LOOK = 1.0
"""Seconds between two looks at the clock."""


class Pulse:
    """Says a line when it is time: at most once in `every` seconds of `clock`, the first after as many."""

    def __init__(
        self, say: Callable[[str], None], line: Callable[[], str], *, every: float = EVERY, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say, self._line, self._every, self._clock = say, line, every, clock
        self._told = clock()

    def beat(self) -> None:
        """Say the line, if it is time."""
        now = self._clock()
        if now - self._told >= self._every:
            self._told = now
            self._say(self._line())


@asynccontextmanager
async def beating(pulse: Pulse | None, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> AsyncIterator[None]:
    """Let `pulse` beat while the body runs; `None`: say nothing. Lines that cannot be written do not end the body."""
    if pulse is None:
        yield
        return

    async def tick() -> None:
        while True:
            await sleep(_LOOK)
            pulse.beat()

    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError, ValueError):
            await task


class Tally:
    """What the events of any number of runs add up to: thoughts, and what the replies of this process cost."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.thoughts, self.usage = 0, Usage()
        self._clock, self._began = clock, clock()

    def on_event(self, event: Event) -> None:
        """Add one event."""
        if isinstance(event, Call):
            self.usage = sum((Usage.from_json(sample.usage) for sample in event.samples), self.usage)
        elif isinstance(event, Expanded):
            self.thoughts += sum(not birth.merged for birth in event.births)

    def line(self) -> str:
        """As `so_far`, since this tally was made."""
        return so_far(self.thoughts, self.usage, self._clock() - self._began)


def so_far(thoughts: int, spent: Usage, lasted: float) -> str:
    """`12 thoughts, 30 calls, 8,000 tokens, $0.0123, 3 min 5 s`; no cost where it is free."""
    cost = f", {dollars(None if spent.cost is None else spent.cost / 1e6)}" if spent.cost != 0 else ""
    return f"{plural(thoughts, 'thought')}, {plural(spent.calls, 'call')}, {plural(spent.tokens, 'token')}{cost}, {seconds(lasted)}"
