"""Replies kept between runs, in SQLite, for many processes at once. Knows no backend and no budget; a broken cache never breaks a run."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs

from branchwise.budget import Usage
from branchwise.errors import UsageError
from branchwise.model.base import Outcome, Request, Sample

__all__ = ["CacheInfo", "ReplyCache", "cache_path", "clear", "info", "key_of"]

LOG = logging.getLogger("branchwise.model")
FORMAT = 1
"""Part of each key: a new version of what is stored, or of what a key means, misses the old entries."""
_TABLE = """
CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, identity TEXT NOT NULL, made REAL NOT NULL, reply TEXT NOT NULL) WITHOUT ROWID
"""


def cache_path() -> Path:
    """Where replies are kept when no file is named."""
    return Path(platformdirs.user_cache_dir("branchwise")) / "replies.sqlite"


def key_of(identity: str, request: Request, index: int) -> bytes:
    """32 bytes over all that makes sample `index` of `request` what it is: backend, model, messages, every setting, seed and index."""
    seed = request.seeds[index - request.first] if request.seeds else None
    parts = [
        FORMAT, identity, [[m.role, m.content] for m in request.messages], request.temperature, request.max_tokens, list(request.stop),
        request.schema, list(request.choices), request.logprobs, seed, index,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).digest()


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """`entries` and `size` in bytes, and entries by backend, the largest first."""

    path: Path
    entries: int
    size: int
    by_identity: tuple[tuple[str, int], ...]


class ReplyCache:
    """Samples by key. Safe with other processes; where the file cannot be used it warns once and holds nothing.

    Raises `UsageError` only at the start, where the file is no cache at all.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_path()
        self._db: sqlite3.Connection | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))  # prompts may be private
            self._db = _connect(self.path)
            self._db.execute(_TABLE)
        except sqlite3.DatabaseError as error:
            self.close()
            if isinstance(error, sqlite3.OperationalError):
                self._give_up(error)
            else:
                raise UsageError(f"{self.path} is no reply cache ({error}); remove it, or name another file") from None
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Close the file. May be called twice."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def __enter__(self) -> ReplyCache:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, tuple[Sample, str, str]]:
        """Of these keys those that are here: sample, model and system fingerprint."""
        if self._db is None:
            return {}
        marks = ",".join("?" * len(keys))
        try:
            rows = self._db.execute(f"SELECT key, reply FROM replies WHERE key IN ({marks})", list(keys)).fetchall()
            return {key: _read(text) for key, text in rows}
        except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
            self._give_up(error)
            return {}

    def put(self, identity: str, entries: Sequence[tuple[bytes, Sample]], model: str, fingerprint: str) -> None:
        """Keep samples. What is here already stays: the first reply is the one that earlier runs have used."""
        if self._db is None or not entries:
            return
        now = time.time()
        rows = [(key, identity, now, _written(sample, model, fingerprint)) for key, sample in entries]
        try:
            with self._db:
                self._db.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.close()
        LOG.warning("the reply cache %s cannot be used (%s); this run goes on without it", self.path, error)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=10.0, check_same_thread=False)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    return db


def _written(sample: Sample, model: str, fingerprint: str) -> str:
    fields = {
        "text": sample.text, "outcome": sample.outcome.value, "reasoning": sample.reasoning, "finish": sample.finish,
        "logprobs": sample.logprobs, "error": sample.error, "usage": asdict(sample.usage), "model": model, "fingerprint": fingerprint,
    }  # fmt: skip
    return json.dumps(fields)


def _read(text: str) -> tuple[Sample, str, str]:
    """A stored sample. It costs nothing and counts as a cached call, not as a call."""
    data = json.loads(text)
    logprobs = None if data["logprobs"] is None else tuple(data["logprobs"])
    usage = Usage(cached_calls=1)
    outcome = Outcome(data["outcome"])
    return (
        Sample(data["text"], outcome, data["reasoning"], data["finish"], usage, logprobs, data["error"]),
        data["model"],
        data["fingerprint"],
    )


def info(path: Path | None = None) -> CacheInfo:
    """What is in the cache; zeros where there is none. Raises `UsageError` where the file is no cache."""
    path = path or cache_path()
    if not path.exists():
        return CacheInfo(path, 0, 0, ())
    try:
        db = _connect(path)
        try:
            db.execute(_TABLE)
            rows = db.execute("SELECT identity, COUNT(*) FROM replies GROUP BY identity ORDER BY 2 DESC").fetchall()
        finally:
            db.close()
    except sqlite3.Error as error:
        raise UsageError(f"{path} is no reply cache ({error})") from None
    size = sum(p.stat().st_size for p in (path, Path(f"{path}-wal")) if p.exists())
    return CacheInfo(path, sum(count for _, count in rows), size, tuple(rows))


def clear(path: Path | None = None, *, older_than: float | None = None) -> int:
    """Remove entries, all or those older than so many seconds; how many they were. Safe while other processes use the cache."""
    path = path or cache_path()
    if not path.exists():
        return 0
    try:
        db = _connect(path)
        try:
            db.execute(_TABLE)
            limit = float("inf") if older_than is None else time.time() - older_than
            with db:
                removed = db.execute("DELETE FROM replies WHERE made < ?", (limit,)).rowcount
            db.execute("VACUUM")
        finally:
            db.close()
    except sqlite3.Error as error:
        raise UsageError(f"{path} cannot be cleared ({error})") from None
    return removed
