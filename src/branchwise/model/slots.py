"""Who works in which slot of the local engine, so that a shared beginning of prompts is computed once. Knows no request's meaning.

The first of a group (prompts that begin alike) runs alone; its slot is saved, and restored into whichever slot a later one gets, which
takes milliseconds instead of seconds. Without this each slot would compute the beginning anew.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import logging
import os
import shutil
import tempfile
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from branchwise.model.base import Request

__all__ = ["SlotBook", "group_of"]

LOG = logging.getLogger("branchwise.model")
SHARED_BYTES = 400
"""Prompts that are equal this far are a group; shorter ones gain nothing."""
MOST_SECONDS = 600.0
"""How long the others of a group wait for its first."""
PREFIX = "branchwise-slots-"
MOST_GROUPS = 16
"""Saved states kept: one takes some 30 KB a token of the 1.5 B model."""


def group_of(request: Request) -> str:
    """The name of the group of a request; empty for a short prompt."""
    text = "".join(f"{m.role}\0{m.content}\0" for m in request.messages).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text[:SHARED_BYTES], digest_size=8).hexdigest() if len(text) > SHARED_BYTES else ""


class SlotBook:
    """Hands out slots 0 to `count` - 1, first come first served.

    `http` is a client of the engine for saving and restoring states in `folder`; when that fails it is given up, which costs only time.
    """

    def __init__(self, count: int, http: Any, folder: Path) -> None:
        self._free = list(range(count))
        self._waiting: deque[asyncio.Future[int]] = deque()
        self._http, self._folder, self._works = http, folder, True
        self._groups: OrderedDict[str, asyncio.Future[bool]] = OrderedDict()

    async def is_first(self, group: str) -> bool:
        """Whether the caller is the first of its group and must call `saved`; others wait here until that is done."""
        while self._works and group:
            known = self._groups.get(group)
            if known is None:
                self._groups[group] = asyncio.get_running_loop().create_future()
                return True
            self._groups.move_to_end(group)
            try:
                if await asyncio.wait_for(asyncio.shield(known), MOST_SECONDS):
                    return False
            except TimeoutError:  # a long reply: computing the beginning anew is better than standing idle
                return False
            if self._groups.get(group) is known:  # the first one failed: another takes its place
                del self._groups[group]
        return False

    async def saved(self, group: str, slot: int | None) -> None:
        """The first of a group has ended; `slot` holds its state, `None` where it failed."""
        good = slot is not None and await self._do(f"/slots/{slot}?action=save", group)
        waiting = self._groups.get(group)
        if waiting is not None and not waiting.done():
            waiting.set_result(good)
        while len(self._groups) > MOST_GROUPS and next(iter(self._groups.values())).done():
            old, _ = self._groups.popitem(last=False)
            (self._folder / old).unlink(missing_ok=True)

    @asynccontextmanager
    async def slot(self, group: str) -> AsyncIterator[int]:
        """A slot that is the caller's until the end, with the state of its group where there is one."""
        mine = await self._take()
        try:
            known = self._groups.get(group)
            if known is not None and known.done() and known.result():
                await self._do(f"/slots/{mine}?action=restore", group)
            yield mine
        finally:
            self._give(mine)

    async def _take(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give(turn.result())
            raise

    def _give(self, slot: int) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(slot)
                return
        heapq.heappush(self._free, slot)

    async def _do(self, path: str, group: str) -> bool:
        """Save or restore. Whether it worked; where it cannot work it is not tried again."""
        if not self._works:
            return False
        try:
            response = await self._http.post(path, json={"filename": group})
            if response.status_code == 200:
                return True
            reason = response.text[:200]
        except Exception as error:  # the engine may be stopping; the call itself will say so
            reason = repr(error)
        self._works = False
        LOG.info("states of the local engine cannot be saved (%s); each slot computes shared beginnings itself", reason)
        return False


def scratch() -> Path:
    """A folder for states, in memory where the system has one there. Removes what processes that were killed have left."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2e9
    parent = memory if roomy else Path(tempfile.gettempdir())
    for old in parent.glob(f"{PREFIX}*-*"):
        pid = old.name.removeprefix(PREFIX).split("-")[0]
        if pid.isdigit() and not _runs(int(pid)):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
