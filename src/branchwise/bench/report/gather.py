"""Facts of all traces of a run folder. They are kept in `facts.jsonl` there, so that the next report reads no trace again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from branchwise.bench.report.facts import FORMAT, Facts, facts
from branchwise.bench.report.truths import Truths
from branchwise.bench.rows import Row
from branchwise.bench.traces import read_traced
from branchwise.errors import TraceError

__all__ = ["FACTS", "Gathered", "gather", "trace_file"]

FACTS = "facts.jsonl"
"""Beside the rows. It can be deleted at any time."""


@dataclass(slots=True)
class Gathered:
    """Facts of the runs of each unit, and the units whose trace is missing or cannot be read."""

    by_unit: dict[str, list[Facts]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    """Why, a line a trace."""


def gather(folder: Path, rows: Sequence[Row], truths: Truths, progress: Callable[[int, int], None] = lambda done, of: None) -> Gathered:
    """The facts of every row's traces, in the order of the rows. A missing trace is counted, a broken one is told; neither ends the report."""
    head = {"facts": FORMAT, "data": truths.digests()}
    kept = _kept(folder / FACTS, head)
    found, fresh = Gathered(), dict[str, dict[str, Any]]()
    for done, row in enumerate(rows, 1):
        progress(done, len(rows))
        if not row.trace:
            if row.status == "ok":
                found.missing.append(row.unit)
            continue
        sizes = [_size(trace_file(folder, name)) for name in row.trace]
        if None in sizes:
            found.missing.append(row.unit)
            continue
        line = kept.get(row.unit)
        if line is None or line.get("sizes") != sizes:
            try:
                one = _look(folder, row, truths)
            except (TraceError, LookupError, ValueError, TypeError) as error:
                found.broken.append(f"unit {row.unit}: {error}")
                continue
            line = fresh[row.unit] = {"unit": row.unit, "sizes": sizes, "facts": [fact.to_json() for fact in one]}
        found.by_unit[row.unit] = [Facts.from_json(data) for data in line["facts"]]
    _keep(folder / FACTS, head, kept, fresh)
    return found


def _look(folder: Path, row: Row, truths: Truths) -> list[Facts]:
    truth = truths.of(row.task, row.item)
    return [facts(read_traced(folder / name), row.task, truth) for name in row.trace]


def trace_file(folder: Path, name: str) -> Path | None:
    """A trace that a row names; `None` for one outside the folder, whatever lies there."""
    return None if Path(name).is_absolute() or ".." in Path(name).parts else folder / name


def _size(path: Path | None) -> int | None:
    try:
        return None if path is None else path.stat().st_size
    except (OSError, ValueError):
        return None


def _kept(path: Path, head: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The facts of an earlier report by unit; nothing where they are of another version or answer key. A cut last line is left out."""
    try:
        first, *lines = path.read_bytes().split(b"\n")[:-1]
        if orjson.loads(first) != head:
            return {}
    except (OSError, ValueError):
        return {}
    found = {}
    for line in lines:
        with suppress(ValueError, TypeError, KeyError):
            data = orjson.loads(line)
            found[data["unit"]] = data
            for one in data["facts"]:
                Facts.from_json(one)
    return found


def _keep(path: Path, head: dict[str, Any], kept: dict[str, dict[str, Any]], fresh: dict[str, dict[str, Any]]) -> None:
    """Write what is new. A folder that cannot be written to is no reason to fail."""
    if not fresh:
        return
    with suppress(OSError):
        part = path.with_suffix(".part")
        part.write_bytes(b"".join(_lines([head, *(kept | fresh).values()])))
        part.replace(path)


def _lines(found: Iterable[dict[str, Any]]) -> Iterable[bytes]:
    return (orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in found)
