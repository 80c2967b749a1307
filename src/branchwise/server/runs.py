"""The runs of a folder: traces on disk, those that this process is writing, and their events as they come. Knows no HTTP and no model.

A subscriber reads the trace itself, from any place in it, and waits at its end while the run goes on. So a slow one costs no memory, and a
run that another process writes (`branchwise solve`) can be watched in the same way.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from branchwise.errors import UnknownName
from branchwise.server.lines import Tail, first_line, key_of
from branchwise.solve import Stop
from branchwise.steering import Steering
from branchwise.trace import Event, decode

__all__ = ["Live", "Runs", "Trace"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_SUFFIX = ".jsonl"
_POLL = 0.5
"""Seconds between two looks at a trace that another process writes."""
_ABANDONED = 600.0
"""Seconds after which a trace without an end, which nobody here writes, is taken for that of a killed run."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace in the folder. `live` while this process writes it."""

    id: str
    path: Path
    modified: float
    """Seconds since the epoch."""
    size: int
    live: bool


@dataclass
class Live:
    """A run that this process is writing. `on_event` goes to `solve`; `stop.now()` ends it with its best answer so far."""

    id: str
    path: Path
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the server knows of it beside the trace; no secret."""
    stop: Stop = field(default_factory=Stop)
    steering: Steering = field(default_factory=Steering)
    """For `solve`, so that a person can steer the run."""
    owner: str = ""
    """The name of the key that it was started with."""
    grow: Callable[[Mapping[str, float]], None] = lambda limits: None
    """Holds more of the owner's budget back, for these new limits of the run. Raises `Spent`."""
    started: float = field(default_factory=time.time)
    ended: bool = False
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def on_event(self, event: Event) -> None:
        """One more event is in the trace."""
        self._wake()

    def end(self) -> None:
        """Nothing more comes."""
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()

    @property
    def more(self) -> asyncio.Event:
        """Set at the next event, or at the end; a new one then takes its place."""
        return self._more


class Runs:
    """The registry over `folder`. A run's id is the name of its trace without `.jsonl`.

    A link that leads out of the folder is no run, unless `linked`: the folder is then our own.
    """

    def __init__(self, folder: Path, linked: bool = False) -> None:
        self.folder, self._linked = folder, linked
        self._live: dict[str, Live] = {}
        self._closing = asyncio.Event()

    @property
    def live(self) -> Mapping[str, Live]:
        """The runs that this process is writing, by id."""
        return self._live

    def listed(self) -> list[Trace]:
        """Every trace of the folder, the newest first. Reads names and sizes only."""
        found = []
        for path in self.folder.glob(f"*{_SUFFIX}") if self.folder.is_dir() else ():
            try:
                stat = path.stat()
            except OSError:
                continue
            if _ID.fullmatch(path.stem) and self._is_within(path):
                found.append(Trace(path.stem, path, stat.st_mtime, stat.st_size, path.stem in self._live))
        return sorted(found, key=lambda trace: (trace.modified, trace.id), reverse=True)

    def path(self, run: str) -> Path:
        """The trace of a run. Raises `UnknownName`; an id can name no file outside the folder."""
        path = self.folder / f"{run}{_SUFFIX}"
        if not _ID.fullmatch(run) or not (run in self._live or self._is_within(path)):
            raise UnknownName("run", run[:128], ())
        return path

    def _is_within(self, path: Path) -> bool:
        """Whether it is a file, and one of the folder."""
        return path.is_file() and (self._linked or not path.is_symlink() or path.resolve().is_relative_to(self.folder.resolve()))

    def is_shown(self, run: str, key: str | None) -> bool:
        """Whether `run` is a trace, and one that was started with `key` (`None`: whoever started it). Reads its first line."""
        live = self._live.get(run)
        if live is not None:
            return key is None or live.owner == key
        try:
            line = first_line(self.path(run), begun=key is None)
            return line is not None and (key is None or key_of(orjson.loads(line)) == key)
        except (OSError, ValueError, UnknownName):
            return False

    def new_id(self) -> str:
        """Date, time, and random digits that keep runs of one second apart."""
        return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"

    @contextmanager
    def writing(self, run: str | None = None, about: Mapping[str, Any] | None = None) -> Iterator[Live]:
        """Register a run while the body writes it: a new one, or `run`, whose trace is gone on with."""
        name = self.new_id() if run is None else self.path(run).stem
        live = self._live[name] = Live(name, self.folder / f"{name}{_SUFFIX}", about or {})
        try:
            yield live
        finally:
            del self._live[name]
            live.end()

    @property
    def closing(self) -> bool:
        """Whether this process is about to end."""
        return self._closing.is_set()

    def stop_all(self) -> None:
        """End every run of this process; each keeps what it has. Who follows the runs of others is sent away."""
        self._closing.set()
        for live in list(self._live.values()):
            live.stop.now()

    async def lines(self, run: str, offset: int = 0) -> AsyncIterator[tuple[int, bytes]]:
        """The lines of a trace as they are written, each with the offset behind it: the place to go on from. Ends with the run.

        A run that another process writes ends with its `stopped` event, or when nothing came for ten minutes. Raises `UnknownName`, and
        `TraceError` for a line that is too long.
        """
        path, last, ours = self.path(run), b"", False
        while not path.is_file() and (begun := self._live.get(run)) is not None:
            await begun.more.wait()
        with closing(Tail(path, offset)) as tail:
            while True:
                live = self._live.get(run)
                more = None if live is None else live.more
                tail.ended = False
                while not tail.ended:
                    for end, line in await asyncio.to_thread(tail.read):
                        last = line
                        yield end, line
                if more is not None:
                    ours = True
                    await more.wait()
                elif ours or self.closing or _is_over(path, last):
                    return
                else:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._closing.wait(), _POLL)

    async def subscribe(self, run: str, offset: int = 0) -> AsyncIterator[Event]:
        """The same as events, from the first on. Raises `UnknownName`, and `TraceError` for a line that is no event."""
        async for _, line in self.lines(run, offset):
            yield decode(line)


def _is_over(path: Path, last: bytes) -> bool:
    """Whether nothing more is to be expected of a trace that this process does not write."""
    return b'"event":"stopped"' in last[-64:] or time.time() - path.stat().st_mtime > _ABANDONED
