"""What the workers of a cluster share: one purse, and the traces in the run folder. Knows no model and no cluster: Ray makes an actor of it."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from branchwise.bench.book import Book, Sum
from branchwise.bench.purse import Purse, Till
from branchwise.bench.rows import TRACES
from branchwise.budget import Budget

__all__ = ["Link", "Mirror", "Office"]

Op = tuple[Any, ...]
"""("settle", ticket, calls, tokens, cost) or ("trace", unit, name, offset, bytes)."""


class Office:
    """One for a bench, on the machine with the run folder. A unit belongs to the worker that took it last; others cannot write its traces."""

    def __init__(self, folder: str, limits: Budget, calls_per_minute: float | None, tokens_per_minute: float | None) -> None:
        self._folder = Path(folder) / TRACES
        _alone(self._folder)
        self._book = Book(Path(folder))  # after the office before has written its last line
        self._purse = Purse(limits, book=self._book, calls_per_minute=calls_per_minute, tokens_per_minute=tokens_per_minute)
        self._owners: dict[str, str] = {}

    async def take(self, owner: str, unit: str) -> dict[str, bytes]:
        """The traces of a unit, which is `owner`'s from now on. A line that a kill left unfinished is cut off."""
        self._owners[unit] = owner
        found: dict[str, bytes] = {}
        for path in sorted(self._folder.glob(f"{unit}*.jsonl")):
            data = path.read_bytes()
            whole = data[: data.rfind(b"\n") + 1]
            if len(whole) < len(data):
                os.truncate(path, len(whole))
            found[path.name] = whole
        return found

    async def reserve(self, wanted: Sequence[tuple[str, Sum]]) -> list[bool]:
        """See `Purse`: what is said of the first of `wanted`, which may take a while, and of those behind it as long as that takes none."""
        said = [await self._purse.reserve(*wanted[0])]
        for ticket, worst in wanted[1:]:
            one = self._purse.at_once(ticket, worst)
            if one is None:
                break
            said.append(one)
        return said

    async def post(self, owner: str, ops: Sequence[Op]) -> None:
        """What a worker has to tell, in its order. Raises `PermissionError` for a trace of a unit that is another worker's by now."""
        refused = ""
        for kind, *rest in ops:
            if kind == "settle":
                ticket, spent = rest
                await self._purse.settle(ticket, spent)
                continue
            unit, name, offset, data = rest
            if self._owners.get(unit) == owner:
                self._write(name, offset, data)
            else:
                refused = refused or unit
        if refused:
            raise PermissionError(f"unit {refused} is another worker's")

    def _write(self, name: str, offset: int, data: bytes) -> None:
        """`data` at `offset`; an offset of 0 into a trace that is there means that it begins anew, and the old one is kept aside."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        size = path.stat().st_size if path.exists() else 0
        if size and not offset:
            os.replace(path, path.with_suffix(".old"))
        elif size > offset:
            os.truncate(path, offset)
        with open(path, "ab", buffering=0) as file:
            file.write(data)

    async def lost(self, owner: str) -> None:
        """A worker is gone: see `Purse.lost`."""
        await self._purse.lost(owner)

    async def state(self) -> tuple[Sum, str]:
        """What was spent, and the limit that is used up."""
        return self._purse.spent, self._purse.empty

    def close(self) -> None:
        """Nothing more is charged here. The end of the process does it, too."""
        self._book.close()


class Link(Till):
    """A worker's line to the office. What it tells is sent in order, one message at a time, each with all that has come up meanwhile.

    `office` is the actor's handle. Where nothing is limited, nothing is reserved: what was spent is told afterwards.
    """

    def __init__(self, office: Any, owner: str, limited: bool) -> None:
        self._office, self.owner, self._limited = office, owner, limited
        self._waiting: list[Op] = []
        self._told = self._there = 0
        self._message: asyncio.Task[None] | None = None
        self._asking: deque[tuple[str, Sum, asyncio.Future[bool]]] = deque()
        self._asks: asyncio.Task[None] | None = None

    async def reserve(self, ticket: str, worst: Sum) -> bool:
        """See `Purse`."""
        if not self._limited:
            return True
        said: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._asking.append((ticket, worst, said))
        if self._asks is None:
            self._asks = asyncio.ensure_future(self._ask())
        try:
            return await said
        except asyncio.CancelledError:
            if said.done() and not said.cancelled() and said.exception() is None and said.result():
                await self.settle(ticket, Sum())  # granted a moment ago, and nothing was sent
            raise

    async def _ask(self) -> None:
        """Ask for everybody who waits, until nobody does. What was granted to one who is gone is given back."""
        try:
            while self._asking:
                wanted = [(ticket, worst) for ticket, worst, _ in self._asking]
                for granted in await self._office.reserve.remote(wanted):
                    ticket, _, said = self._asking.popleft()
                    if not said.done():
                        said.set_result(granted)
                    elif granted:
                        await self.settle(ticket, Sum())
        except Exception as error:
            while self._asking:
                _, _, said = self._asking.popleft()
                if not said.done():
                    said.set_exception(error)
        finally:
            self._asks = None

    async def settle(self, ticket: str, spent: Sum) -> None:
        """Told with the next message; at once where others may wait for what it gives back."""
        self.tell(("settle", ticket, spent))
        if self._limited:
            await asyncio.shield(self.send())

    def tell(self, op: Op) -> None:
        """Told with the next message."""
        self._waiting.append(op)
        self._told += 1

    async def send(self) -> None:
        """Everything that was told before is at the office when this returns."""
        mine = self._told
        while self._there < mine:
            if self._message is None:
                self._message = asyncio.ensure_future(self._post())
            await asyncio.shield(self._message)

    async def _post(self) -> None:
        ops, self._waiting = self._waiting, []
        try:
            await self._office.post.remote(self.owner, ops)
        finally:
            self._there += len(ops)
            self._message = None

    async def take(self, unit: str) -> dict[str, bytes]:
        """See `Office`."""
        found: dict[str, bytes] = await self._office.take.remote(self.owner, unit)
        return found


class Mirror:
    """The traces of one unit in a worker's own folder, copied to the office line by line. `sync` before a request: no reply is lost with it."""

    def __init__(self, link: Link, unit: str, folder: Path) -> None:
        self._link, self._unit, self._folder = link, unit, folder / TRACES
        self._sent: dict[str, tuple[int, int]] = {}

    async def fetch(self) -> None:
        """What the office has of the unit."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, data in (await self._link.take(self._unit)).items():
            path = self._folder / name
            path.write_bytes(data)
            self._sent[name] = (path.stat().st_ino, len(data))

    async def sync(self) -> None:
        """Send what was written since the last time."""
        for path in sorted(self._folder.glob(f"{self._unit}*.jsonl")):
            about = path.stat()
            inode, sent = self._sent.get(path.name, (about.st_ino, 0))
            if inode != about.st_ino or sent > about.st_size:
                sent = 0
            if about.st_size > sent:
                self._link.tell(("trace", self._unit, path.name, sent, _part(path, sent, about.st_size)))
            self._sent[path.name] = (about.st_ino, about.st_size)
        await self._link.send()

    def remove(self) -> None:
        """Delete the worker's copies."""
        for path in self._folder.glob(f"{self._unit}*"):
            path.unlink(missing_ok=True)


def _alone(folder: Path) -> None:
    """A lock that is held as long as this process lives: the office of a command that was killed ends a moment later, and the next one waits."""
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / ".office", os.O_WRONLY | os.O_CREAT)
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def _part(path: Path, begin: int, end: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)
