"""The page over a folder of traces, for the person at this machine: read-only, on the loopback address. Knows no model and no key."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware

from branchwise.bench.rows import MANIFEST, TRACES
from branchwise.server.config import Config
from branchwise.server.guard import Guard
from branchwise.server.keys import Keys
from branchwise.server.runs import Runs
from branchwise.server.start import _Server as Server
from branchwise.server.start import bound
from branchwise.server.viewer.serving import page_routes

__all__ = ["application", "folder_of", "show"]

HOST = "127.0.0.1"


def application(runs: Runs) -> Starlette:
    """The page and what it reads, behind the server's guard: only pages of this address may ask, under a name of this machine."""
    return Starlette(routes=page_routes(runs), middleware=[Middleware(Guard, config=Config(), keys=Keys())])


@contextmanager
def folder_of(where: Path) -> Iterator[tuple[Path, str]]:
    """A folder to serve, and the run to begin with: `where`, its traces where `where` is that of a bench, or nothing but the trace `where`."""
    if not where.is_file():
        yield (where / TRACES if (where / MANIFEST).is_file() else where), ""
        return
    with tempfile.TemporaryDirectory(prefix="branchwise-") as name:
        run = re.sub(r"[^A-Za-z0-9._-]+", "-", where.stem).lstrip("._-")[:120] or "run"
        link = Path(name) / f"{run}.jsonl"
        try:
            link.symlink_to(where.resolve())
        except OSError:
            shutil.copyfile(where, link)
        yield Path(name), run


def show(where: Path, port: int, opened: Callable[[str], None]) -> None:
    """Serve until Ctrl-C. `opened(address)` is called once it listens. Raises `UsageError` where the port is taken."""
    with folder_of(where) as (folder, run), bound(HOST, port) as plug:
        address = f"http://{HOST}:{plug.getsockname()[1]}/" + (f"#run={run}" if run else "")
        with suppress(KeyboardInterrupt):
            asyncio.run(_serve(Runs(folder, linked=bool(run)), plug, lambda: opened(address)))


async def _serve(runs: Runs, plug: socket.socket, ready: Callable[[], None]) -> None:
    settings = uvicorn.Config(
        application(runs), log_config=None, access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    server, loop = Server(settings), asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True
        runs.stop_all()

    with suppress(NotImplementedError):  # elsewhere Ctrl-C ends the loop as it is
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
    loop.call_soon(ready)
    await server.serve(sockets=[plug])
