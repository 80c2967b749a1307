"""What a run folder was charged, in a file of its own: a line before each request, with its worst case, and one when it is over.

Knows no model and no cluster. Nothing is ever taken off it: what is set aside, run again or deleted was paid for all the same. A request whose
end is not there, because the process was killed, counts with its worst case.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from branchwise.appending import AppendFile, Busy
from branchwise.batch import spent_in
from branchwise.bench.rows import ROWS, TRACES, Row
from branchwise.budget import Usage
from branchwise.errors import BranchwiseError, UsageError

__all__ = ["NOTHING", "SPENT", "Book", "Sum", "booked", "earlier", "sum_of"]

SPENT = "spent.log"
"""The file: a JSON list a line, `[kind, ticket, calls, tokens, millionths of a dollar]`."""
_START, _HOLD, _PAID = "start", "hold", "paid"
_PATIENCE = 30.0
"""Seconds that one waits for the process that had the book before: that of a cluster ends a moment after its command."""


@dataclass(frozen=True, slots=True)
class Sum:
    """Calls, tokens, and millionths of a dollar."""

    calls: int = 0
    tokens: int = 0
    cost: int = 0

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: Sum) -> Sum:
        return Sum(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)


def sum_of(usage: Usage) -> Sum:
    """What `usage` is; an unknown price counts as nothing, so a limit in dollars needs a known one."""
    return Sum(usage.calls, usage.tokens, usage.cost or 0)


NOTHING = Sum()


class Book:
    """The book of a folder, open for one writer. `before` is what it was charged until now; raises `UsageError` where another has it.

    A new book begins with `first`. Lines are with the operating system when a method returns, which is before a request is sent.
    """

    def __init__(self, folder: Path, first: Sum = NOTHING, patience: float = _PATIENCE) -> None:
        self.path = folder / SPENT
        self._file = _opened(self.path, patience)
        try:
            self._file.mend()
            known = _total(self._file.read(), self.path)
            self.before = first if known is None else known
            self._write(_START, "", first if known is None else Sum())
        except BaseException as error:
            self._file.close()
            if isinstance(error, OSError):
                raise UsageError(f"cannot read {self.path}: {error.strerror}") from error
            raise

    def hold(self, ticket: str, worst: Sum) -> None:
        """A request is about to be sent."""
        self._write(_HOLD, ticket, worst)

    def paid(self, ticket: str, spent: Sum) -> None:
        """The request of `ticket` is over; one that was not held counts all the same."""
        self._write(_PAID, ticket, spent)

    def close(self) -> None:
        """Let another have it."""
        self._file.close()

    def _write(self, kind: str, ticket: str, what: Sum) -> None:
        try:
            self._file.write(orjson.dumps([kind, ticket, what.calls, what.tokens, what.cost], option=orjson.OPT_APPEND_NEWLINE))
        except OSError as error:
            raise BranchwiseError(f"cannot write {self.path}: {error.strerror}; free some space, then run the same command again") from error


def booked(folder: Path) -> Sum | None:
    """What the book of `folder` has, requests that run at their worst; `None` where there is no book. Raises `UsageError`."""
    path = folder / SPENT
    try:
        return _total(path.read_bytes(), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def earlier(folder: Path, done: Mapping[str, Row]) -> Sum:
    """What a folder without a book was charged, as far as rows and traces tell, also those that were set aside; no unit's money twice.

    A row counts instead of its traces: it has the calls that failed, too.
    """
    rows = [row.paid or row.usage for row in done.values()]
    open_traces = [path for path in (folder / TRACES).glob("*.jsonl") if path.name.split(".")[0] not in done]
    aside: dict[tuple[str, str], list[Path]] = {}
    for path in (folder / TRACES).glob("*.old"):
        parts = path.name.split(".")  # UNIT.REPEAT.NUMBER.old
        aside.setdefault((parts[0], parts[-2]), []).append(path)
    for file in folder.glob(f"{ROWS}.*.old"):
        number = file.name.split(".")[-2]
        rows += [paid for unit, paid in _paid_in(file) if aside.pop((unit, number), None)]
    left = [path for paths in aside.values() for path in paths]
    usages = [*map(Usage.from_json, rows), *map(spent_in, (*open_traces, *left))]
    return sum(map(sum_of, usages), Sum())


def _paid_in(file: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Units and what was paid for them, of rows that were set aside; a line that cannot be read is passed over."""
    for line in file.read_bytes().splitlines():
        try:
            row = orjson.loads(line)
            yield row["unit"], row.get("paid") or row["usage"]
        except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError):
            continue


def _opened(path: Path, patience: float) -> AppendFile:
    until = time.monotonic() + patience
    while True:
        try:
            return AppendFile(path)
        except Busy:
            if time.monotonic() >= until:
                raise UsageError(f"another process is still spending for {path.parent}; wait for it, or name another folder with --out") from None
            time.sleep(0.05)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}; name another folder with --out") from error


def _total(data: bytes, path: Path) -> Sum | None:
    """What the lines come to; `None` where there is none. What was still held when a process ended is spent; a cut last line does not count."""
    total, held = Sum(), dict[str, Sum]()
    lines = data.split(b"\n")[:-1]
    for number, line in enumerate(lines, 1):
        try:
            kind, ticket, *amounts = orjson.loads(line)
            what = Sum(*map(int, amounts))
            if kind == _HOLD:
                held[ticket] = held.get(ticket, Sum()) + what
                continue
            if kind == _START:
                total, held = sum(held.values(), total), {}
            else:
                held.pop(ticket, None)
        except (ValueError, TypeError) as error:
            raise UsageError(
                f"{path}, line {number}: not a line of what a bench was charged ({error}); without the file, rows and traces say what was paid"
            ) from error
        total += what
    return sum(held.values(), total) if lines else None
