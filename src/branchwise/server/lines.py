"""Lines of a trace on disk: the first, those that are added, and how long one may be. Reads block: they are for a thread. Knows no run."""

from __future__ import annotations

import threading
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import orjson

from branchwise.errors import TraceError

__all__ = ["LONGEST_LINE", "Tail", "event_of", "first_line", "key_of"]

LONGEST_LINE = 1 << 25
"""Bytes of a line that are read; the longest reply with its prompt is far below."""
_CHUNK = 1 << 20
_CHECKED = 1 << 12
_BEGIN = b'{"run":'


class Tail:
    """The whole lines of a file from a byte on. What was read of a last line without its end is kept, and not read again."""

    def __init__(self, path: Path, offset: int) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115
        self._at, self._rest = offset, bytearray()
        self._lock = threading.Lock()
        self._file.seek(offset)
        self.ended = False
        """Whether the last `read` came to the end of the file."""

    def read(self) -> list[tuple[int, bytes]]:
        """More lines, each with the byte behind it; none where none has ended yet. Raises `TraceError` for one that is too long."""
        with self._lock:
            if len(self._rest) > LONGEST_LINE:
                raise TraceError(f"the line at byte {self._at} is longer than {LONGEST_LINE} bytes")
            if self._rest and not self._is_there():
                self._rest.clear()
                self._file.seek(self._at)
            data = self._file.read(_CHUNK)
            self.ended = len(data) < _CHUNK
            found = []
            *ends, rest = data.split(b"\n")
            for end in ends:
                line = bytes(self._rest) + end + b"\n"
                self._rest.clear()
                self._at += len(line)
                found.append((self._at, line))
            self._rest += rest
            return found

    def _is_there(self) -> bool:
        """Whether the file still holds the unfinished line: a run that is gone on with takes a cut one off."""
        known = self._rest[-_CHECKED:]
        self._file.seek(self._at + len(self._rest) - len(known))
        return self._file.read(len(known)) == known

    def close(self) -> None:
        """Close the file, after a read that goes on in another thread."""
        with self._lock:
            self._file.close()


def first_line(trace: Path, begun: bool = True) -> bytes | None:
    """The first line of a trace, without a byte order mark; `None` for a file that is none. With `begun` the line may be unfinished."""
    with open(trace, "rb") as file:
        line = file.readline(LONGEST_LINE).removeprefix(BOM_UTF8)
    if line.endswith(b"\n") or not begun:
        return line if line.startswith(_BEGIN) and line.endswith(b"\n") else None
    return line if line[: len(_BEGIN)] == _BEGIN[: len(line)] else None


def key_of(started: Any) -> str | None:
    """The name of the key that a run was started with, from its first event; `None` where a server without keys, or no server, started it."""
    about = started.get("about") if isinstance(started, dict) else None
    server = about.get("server") if isinstance(about, dict) else None
    key = server.get("key") if isinstance(server, dict) else None
    return key if isinstance(key, str) else None


def event_of(line: bytes) -> dict[str, Any]:
    """The event that a line holds, as it is. Raises `ValueError` for any other line."""
    try:
        event = orjson.loads(line.removeprefix(BOM_UTF8))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise ValueError("not an event")
    return event
