"""One server from its start to its end: socket bound, models opened, signals obeyed, traces saved. Prints nothing on standard output."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from branchwise.cli.opening import opened
from branchwise.cli.settings import merge
from branchwise.cli.signals import interruptible
from branchwise.errors import UsageError
from branchwise.model.layers.limited import Limited
from branchwise.server.app import build
from branchwise.server.config import Config
from branchwise.server.keys import Keys
from branchwise.server.runs import Runs
from branchwise.server.search import LOG, Service, Upstream
from branchwise.thought.likelihood import reads_alternatives

__all__ = ["Start", "bound", "ending", "running", "serve"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """What it takes to start."""

    config: Config
    host: str
    port: int
    models: Mapping[str, str]
    """Specs by the name that requests give; the first is the default."""
    keys: Keys
    folder: Path
    key_file: Path | None = None
    prices: Path | None = None
    say: Callable[[str], None] = lambda text: None
    quiet: bool = False
    """Log only what went wrong."""


def serve(start: Start) -> None:
    """Serve until a signal. Raises `UsageError` where it cannot be started like this."""
    with bound(start.host, start.port) as plug:
        asyncio.run(_serve(start, plug))


async def _serve(start: Start, plug: socket.socket) -> None:
    _log_to_stderr(logging.WARNING if start.quiet else logging.INFO)
    async with running(start) as service:
        where = _address(start.host, plug)
        server = _Server(uvicorn.Config(
            build(service), log_config=None, access_log=False, lifespan="off", server_header=False, proxy_headers=False, timeout_keep_alive=30,
            timeout_graceful_shutdown=round(start.config.grace),
        ))  # fmt: skip
        loop = asyncio.get_running_loop()

        def stop() -> None:
            server.should_exit = True
            loop.call_soon_threadsafe(service.stop)

        with interruptible(stop, lambda: ending(len(service.runs.live))):
            start.say(f"serving on {where} (OpenAI-compatible: {where}/v1, the page: {where}/); traces in {start.folder}; Ctrl-C stops")
            await server.serve(sockets=[plug])
    start.say("stopped")


def ending(searches: int) -> str:
    """What is done until the end, when so many searches run."""
    return f"saving {searches:,} {'search' if searches == 1 else 'searches'}" if searches else "stopping; no search runs"


@asynccontextmanager
async def running(start: Start) -> AsyncIterator[Service]:
    """The service with its models opened; they are closed at the end."""
    config = start.config
    async with AsyncExitStack() as stack:
        models = {}
        for spec in dict.fromkeys((*start.models.values(), *config.role_models.values())):
            key = start.key_file if spec == next(iter(start.models.values())) else None
            opening = opened(spec, parallel=config.parallel, key_file=key, say=start.say, alternatives=_read_alternatives(config))
            models[spec] = Limited(await stack.enter_async_context(opening), config.parallel)
        upstreams = {name: Upstream(spec, models[spec]) for name, spec in start.models.items()}
        roles = {role: models[spec] for role, spec in config.role_models.items()}
        yield Service(config, upstreams, Runs(start.folder), start.keys, roles, start.prices)


def _read_alternatives(config: Config) -> bool:
    """Whether the usual method of a task that is served reads log-probabilities of tokens not chosen."""
    usual = (merge({"task": config.files.get(name, name)}).make_method() for name in config.tasks)
    return "likelihood" in str(config.flags.get("evaluate")).split("+") or any(reads_alternatives(method.evaluate) for method in usual)


@contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens; port 0 takes any free one. Raises `UsageError` where the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        plug = socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        if number == errno.EADDRINUSE:
            raise UsageError(f"port {port} on {host} is in use; choose another with --port, or 0 for any free one") from None
        raise UsageError(f"cannot listen on {host}, port {port}: {getattr(error, 'strerror', None) or error}") from None
    with plug:
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else the second part of a reply waits 40 ms for the client's receipt
        yield plug


def _address(host: str, plug: socket.socket) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{plug.getsockname()[1]}"


class _Server(uvicorn.Server):
    """Signals are ours."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them as they are."""
        yield


def _log_to_stderr(level: int) -> None:
    """One line a request. Text of users and models is never logged."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for log in (LOG, logging.getLogger("uvicorn.error")):
        log.handlers, log.propagate = [handler], False
    LOG.setLevel(level)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
