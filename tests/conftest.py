"""No test uses the network, and none reads a key: this guard fails the one that tries, even where the code under test hides the error."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("shared machine", deadline=None)  # how long an example takes is no property: pytest-timeout ends what hangs
settings.load_profile("shared machine")

if threading.current_thread() is threading.main_thread():  # where a shell made SIGINT ignored, the programs that tests interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

KEYS = frozenset({"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"})
for name in KEYS:
    os.environ.pop(name, None)

_LOCAL_NAMES = {"", "localhost", "localhost.localdomain", "0.0.0.0", "::", socket.gethostname()}
_ADDRESS = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
_HOST = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.gethostbyaddr": 0}


LONG = (
    "bench/run/test_ray.py", "thought/test_parsing_text.py", "bench/report/test_planted.py", "model/test_local.py", "model/test_openvino.py",
    "model/test_soak.py", "cli/test_interrupt.py", "cli/test_many.py", "bench/report/test_large.py", "server/api/test_fuzz.py",
)  # fmt: skip
"""Files that take minutes begin first, so that none of them is left for the end, when the other processes have nothing to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {str(Path(__file__).parent / name): place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(str(item.path), len(LONG)))


class Guard:
    """What this test did that it must not do. `network` and `keys` allow it."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.network = self.keys = False


guard = Guard()


def _is_local(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(str(host).split("%")[0]).is_loopback
    except ValueError:
        return False


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if not event.startswith("socket.") or guard.network:
        return
    if (place := _ADDRESS.get(event)) is not None:
        address = args[place]
        host = address[0] if isinstance(address, tuple) else None
    elif (place := _HOST.get(event)) is not None:
        host = args[place]
    else:
        return
    if not _is_local(host):
        guard.tried.append(f"{event} to {host!r}")
        raise PermissionError(f"tests use no network: {event} to {host!r}")


sys.addaudithook(_watch)
_read: Callable[[Any, str], str] = type(os.environ).__getitem__


def _reading(self: Any, key: str) -> str:
    if key in KEYS and not guard.keys:
        guard.tried.append(f"read {key}")
    return _read(self, key)


type(os.environ).__getitem__ = _reading  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def _no_network_and_no_keys() -> Iterator[None]:
    """Fails a test that tried, whatever became of the attempt."""
    guard.tried.clear()
    yield
    tried = list(guard.tried)
    guard.tried.clear()
    assert not tried, f"a test must not do this: {tried}"


@pytest.fixture
def forbidden() -> list[str]:
    """What the guard saw; the test that clears it takes the blame off itself."""
    return guard.tried


@pytest.fixture
def allow_network() -> Iterator[None]:
    """For the one test that fetches weights."""
    guard.network = True
    yield
    guard.network = False


@pytest.fixture
def fake_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A key in the environment that is no key, for tests of what becomes of keys."""
    guard.keys = True
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-not-a-key-000000")
    yield "sk-test-not-a-key-000000"
    guard.keys = False
