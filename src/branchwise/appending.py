"""A file that grows by whole lines: one writer at a time, nothing half written. Knows nothing of what the lines hold."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

__all__ = ["AppendFile", "Busy"]

_BLOCK = 1 << 16


class Busy(OSError):
    """Another process is writing to the file."""


class AppendFile:
    """Opens or makes `path` and locks it, where the system has locks that go with their process.

    Raises `Busy` where another process has it, and `OSError` as the system says it. A killed process leaves at worst a last line without
    its end: `cut` says how long it is, `mend` takes it off. After a line that could not be written whole nothing more is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = open(path, "a+b", buffering=0)  # noqa: SIM115
        self._refused: OSError | None = None
        try:
            self.regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
            self._lock()
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(error.errno, "another process is writing to it") from None
        except OSError:
            return  # a file system without locks

    def read(self) -> bytes:
        """All that the file holds. Raises `OSError` for what is no regular file, and may have no end."""
        if not self.regular:
            raise OSError(22, "it is not a regular file")
        self._file.seek(0)
        return self._file.read()

    @property
    def cut(self) -> int:
        """Bytes after the last line break: 0 unless a kill left a line unfinished. Reads no more than that line."""
        size = os.fstat(self._file.fileno()).st_size if self.regular else 0
        end = size
        while end > 0:
            start = max(0, end - _BLOCK)
            self._file.seek(start)
            found = self._file.read(end - start).rfind(b"\n")
            if found >= 0:
                return size - (start + found + 1)
            end = start
        return size

    def mend(self) -> int:
        """Take a line that a kill left unfinished off the end; how many bytes it had."""
        if cut := self.cut:
            self._file.truncate(self._file.seek(0, os.SEEK_END) - cut)
        return cut

    def write(self, line: bytes, sync: bool = False) -> None:
        """Add one line; it is with the operating system when this returns, on the disk with `sync`. Raises `OSError`; then nothing of it stays
        where the system lets us take it back."""
        if self._refused is not None:
            raise self._refused
        done = 0
        try:
            done = self._file.write(line)
            while done < len(line):
                done += self._file.write(line[done:])
            if sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            self._refused = error
            if self.regular and done:
                self._take_back(done)
            raise

    def _take_back(self, done: int) -> None:
        try:
            self._file.truncate(self._file.seek(0, os.SEEK_END) - done)
        except OSError:
            return  # the next reader drops the cut line

    def close(self) -> None:
        """Close the file and give up the lock. Writing afterwards is an error."""
        self._file.close()
