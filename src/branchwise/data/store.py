"""Public sets on this machine: found, verified, downloaded. A file of a wrong hash is refused. Knows no format and no task."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from branchwise.data.sets import DataSet, dataset
from branchwise.errors import DataError, UsageError, install
from branchwise.model.weights import sha256

__all__ = ["Progress", "default_folder", "find", "pull", "wrong"]

Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all, and what is going on."""
SECONDS = 30
"""How long a server may be silent."""


def default_folder() -> Path:
    """Where sets are kept when no folder is named: `data` in the user's cache."""
    return Path(platformdirs.user_cache_dir("branchwise")) / "data"


def wrong(path: Path, entry: DataSet) -> str:
    """What is wrong with a file; empty where it is the one that it should be."""
    try:
        digest = sha256(path)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    return "" if digest == entry.sha256 else f"its SHA-256 is {digest}, not {entry.sha256}"


def find(name: str, folder: Path | None = None) -> Path | None:
    """The verified file of a set in `folder`; `None` where it is not there. Raises `UnknownName`, and `DataError` for another file there."""
    entry = dataset(name)
    path = entry.path_in(folder or default_folder())
    if path is None:
        return None
    if reason := wrong(path, entry):
        raise DataError(f"{path} is not the registered version of {name}: {reason}")
    return path


def pull(name: str, folder: Path | None = None, progress: Progress | None = None, *, url: str | None = None) -> Path:
    """The verified file of a set, downloaded where it is not there yet; goes on where an earlier download stopped.

    `url` is another place for the same file. Raises `UnknownName`, `UsageError` without the extra, and `DataError` for a wrong hash (what was
    downloaded is deleted) or no connection.
    """
    entry = dataset(name)
    path = (folder or default_folder()) / entry.file
    if path.is_file() and not wrong(path, entry):
        return path
    try:
        import pooch
    except ImportError:
        raise UsageError(f"downloading data needs pooch; install it with: {install('data')}") from None
    pooch.get_logger().setLevel("CRITICAL")
    loader = _Resuming(entry, path.with_name(f".{path.name}.part"), progress or (lambda done, total, label: None))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pooch.retrieve(url or entry.url, f"sha256:{entry.sha256}", path.name, path.parent, downloader=loader)
    except ValueError:
        raise DataError(f"what came for {name} had a wrong hash and was deleted; it is not the registered file") from None
    except OSError as error:  # requests' errors are of this kind too
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = f"no space in {path.parent}" if full else type(error).__name__ if error.errno is None else str(error.strerror)
        raise DataError(
            f"{name} cannot be downloaded from {url or entry.url} ({reason}); try again when online, or put the file at {path}"
        ) from None
    return path


@dataclass(frozen=True, slots=True)
class _Resuming:
    """A downloader for pooch that goes on with a part; pooch checks the hash of the whole, and deletes a wrong one."""

    entry: DataSet
    part: Path
    report: Progress

    def __call__(self, url: str, output_file: str, _: Any) -> None:
        """Download to `output_file`."""
        have = self.part.stat().st_size if self.part.exists() else 0
        if have >= self.entry.size:
            self.part.unlink()
            have = 0
        self._load(url, have)
        if have and self.part.stat().st_size != self.entry.size:  # the server began anew in place of going on
            self.part.unlink()
            self._load(url, 0)
        os.replace(self.part, output_file)

    def _load(self, url: str, have: int) -> None:
        import pooch

        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        bar = _Bar(self.entry, have, self.report)
        loader = pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16, headers=headers, timeout=SECONDS)
        with self.part.open("ab") as out:
            loader(url, out, None)


class _Bar:
    """What pooch takes for a progress bar."""

    def __init__(self, entry: DataSet, have: int, report: Progress) -> None:
        self.entry, self.done, self.report = entry, have, report
        self.total = entry.size

    def update(self, size: int) -> None:
        self.done = min(self.entry.size, self.done + size)
        self.report(self.done, self.entry.size, f"from {self.entry.repository}")

    def reset(self) -> None:
        """Nothing: bytes are counted here."""

    def close(self) -> None:
        """Nothing."""
