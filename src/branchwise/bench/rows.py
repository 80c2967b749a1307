"""Rows of a bench: one unit (task, item, method, model, seed) each, in an append-only file of JSON lines. Knows no model and no answer key.

A row is on the disk when `append` returns. A torn last line is dropped, and the first row of a unit counts, so that a killed bench loses and
doubles nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from branchwise.appending import AppendFile, Busy
from branchwise.budget import Usage
from branchwise.errors import BranchwiseError, UsageError

__all__ = ["COUNTS", "MANIFEST", "ROWS", "TRACES", "VERDICTS", "Row", "RowFile", "read_manifest", "read_rows"]

MANIFEST, ROWS, TRACES = "bench.json", "rows.jsonl", "traces"
"""What a run folder holds: what was asked for, the rows, and a folder with the traces."""
VERDICTS = ("correct", "wrong", "no_answer", "invalid_gold", "failed")
COUNTS = ("generated", "kept", "pruned", "merged", "dropped")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What came of one unit. Shares and scores are in [0, 1]; `usage` and `by_role` are as in the results of `solve`."""

    unit: str
    task: str
    item: str
    method: str
    """The method's label in the grid."""
    model: str
    seed: int
    rank: int | None = None
    """Rank of the item in a published list."""
    status: str = "ok"
    """ok, or failed."""
    error: str | None = None
    answer: str | None = None
    """As chosen, without the key."""
    verdict: str = "failed"
    """One of `VERDICTS`."""
    score: float = 0.0
    """Of the chosen answer: 1 right, 0 not; a share where a task is graded in parts."""
    oracle_score: float = 0.0
    """The best that the tree held: chosen with the key, and never mixed with `score`."""
    samples: Sequence[float] = ()
    """Score of each independent final answer: of each sample, or of each repeat."""
    votes: Sequence[str | None] = ()
    """The normalised answer of each of `samples`."""
    solved: bool | None = None
    unfinished: bool = False
    stop_reason: str = ""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """`COUNTS`."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    by_role: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unparsed: int = 0
    replies: int = 0
    """Judgements asked for, `unparsed` of which could not be read."""
    seconds: float = 0.0
    model_reported: str | None = None
    trace: Sequence[str] = ()
    """Paths inside the run folder, one a repeat."""
    repeats: int = 1
    overshoot: float | None = None
    """Spent over the amount that each method had, where budgets are equal."""
    paid: Mapping[str, Any] = field(default_factory=dict)
    """`usage` with that of repeats that were dropped."""
    data: str = ""
    """The first digits of the SHA-256 of the data that the item is from."""

    @property
    def spent(self) -> Usage:
        """`usage` as a value."""
        return Usage.from_json(self.usage)

    def to_json(self) -> dict[str, Any]:
        """The line of the file."""
        return {name: getattr(self, name) for name in _NAMES}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Row:
        """The inverse of `to_json`; keys of later versions are left out. Raises `TypeError` where one is missing."""
        try:
            return cls(**data)
        except TypeError:
            return cls(**{name: value for name, value in data.items() if name in _NAMES})


_NAMES = {f.name: None for f in dataclasses.fields(Row)}


def read_rows(folder: Path, notice: Callable[[str], None] = lambda text: None) -> list[Row]:
    """The rows of a run folder in the order of the file, one a unit. Raises `UsageError` for a file that is none."""
    path = folder / ROWS
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; is {folder} the folder of a bench run?") from error
    rows, cut = _parsed(data, path)
    if cut:
        notice(f"{path}: the last line is cut (the run was killed while it wrote); it is left out")
    return list(rows.values())


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the run in `folder` was asked to do. Raises `UsageError`."""
    path = folder / MANIFEST
    try:
        found = orjson.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; is {folder} the folder of a bench run?") from error
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") != 1:
        raise UsageError(f"{path} is not of a bench run of this version (format 1)")
    return found


def _parsed(data: bytes, path: Path) -> tuple[dict[str, Row], int]:
    """Rows by unit, the first of each, and the length of a cut last line."""
    lines = data.split(b"\n")
    cut = len(lines.pop())
    rows: dict[str, Row] = {}
    known: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = Row.from_json(_shared(orjson.loads(line), known))
        except (orjson.JSONDecodeError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}, line {number}: not a row of a bench ({error})") from error
        rows.setdefault(row.unit, row)
    return rows, cut


_REPEATED = ("task", "item", "method", "model", "status", "verdict", "stop_reason", "model_reported", "data")


def _shared(data: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """`data` with one object for what is equal: a hundred thousand rows fit into half the memory."""
    for name in _REPEATED:
        if isinstance(text := data.get(name), str):
            data[name] = known.setdefault(text, text)
    usage = data.get("usage")
    if data.get("paid") == usage:
        data["paid"] = usage
    roles = data.get("by_role")
    if isinstance(roles, dict):
        for role, spent in roles.items():
            if spent == usage:
                roles[role] = usage
    return data


class RowFile:
    """The rows of a run folder, open for one writer: `with RowFile(folder) as rows:`. `done` maps units to rows.

    Raises `UsageError` for a foreign file, or one that another process is writing.
    """

    def __init__(self, folder: Path, notice: Callable[[str], None] = lambda text: None) -> None:
        self.path, self._notice = folder / ROWS, notice
        self.done: dict[str, Row] = {}
        self._file: AppendFile | None = None

    def __enter__(self) -> RowFile:
        try:
            self._file = AppendFile(self.path)
        except Busy:
            raise UsageError(f"another process is writing to {self.path}; wait for it, or name another folder with --out") from None
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}; name another folder with --out") from error
        try:
            self.done, cut = _parsed(self._file.read(), self.path)
            if cut:
                self._file.mend()
                self._notice(f"{self.path}: the last line is cut (the run was killed while it wrote); its unit is run again")
        except BaseException as error:
            self._file.close()
            if isinstance(error, OSError):
                raise UsageError(f"cannot read {self.path}: {error.strerror}") from error
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, row: Row) -> bool:
        """Add a finished unit, on the disk when this returns; false, and nothing written, where it has a row already."""
        assert self._file is not None
        if row.unit in self.done:
            return False
        try:
            self._file.write(orjson.dumps(_clean(row.to_json()), option=orjson.OPT_APPEND_NEWLINE), sync=True)
        except OSError as error:
            raise BranchwiseError(f"cannot write {self.path}: {error.strerror}; free some space, then run the same command again") from error
        self.done[row.unit] = row
        return True


def _clean(value: Any) -> Any:
    """`value` with texts that UTF-8 can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_clean(key): _clean(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(part) for part in value]
    return value
