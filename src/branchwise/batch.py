"""Many problems with one method and one model: a row an item in a JSON-lines file, so that a killed run goes on where it was.

Knows no answer key and no terminal.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from branchwise.budget import Usage
from branchwise.errors import BranchwiseError, TraceError, UsageError
from branchwise.method import Method
from branchwise.model.base import LanguageModel
from branchwise.model.layers.limited import Limited
from branchwise.problem import Problem
from branchwise.result import Result
from branchwise.rows import Rows, short
from branchwise.solve import Stop, solve
from branchwise.trace import Call, Event, read_trace

__all__ = ["BatchItem", "Summary", "outcome", "solve_many", "solve_on", "spent_in", "told", "trace_name"]


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One input. `make` gives its problem; what it raises becomes the item's error, not the run's."""

    id: str
    input: str
    make: Callable[[], Problem]


@dataclass(slots=True)
class Summary:
    """What came of the items, and what they cost; `seconds` is the wall time of this process."""

    items: int = 0
    solved: int = 0
    wrong: int = 0
    """Answered, and the program can tell that the answer is wrong."""
    unknown: int = 0
    """Answered, and no program can tell."""
    no_answer: int = 0
    failed: int = 0
    missing: int = 0
    """Not run yet."""
    skipped: int = 0
    """Had been run before."""
    usage: Usage = field(default_factory=Usage)
    item_seconds: float = 0.0
    """The items' own times added up."""
    seconds: float = 0.0

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one row."""
        self.usage += Usage.from_json(row.get("usage") or {})
        self.item_seconds += row.get("seconds") or 0.0
        kind = outcome(row)
        setattr(self, kind, getattr(self, kind) + 1)

    def to_json(self) -> dict[str, Any]:
        """One document."""
        names = ("items", "solved", "wrong", "unknown", "no_answer", "failed", "missing", "skipped")
        times = {"item_seconds": round(self.item_seconds, 3), "seconds": round(self.seconds, 3)}
        return {name: getattr(self, name) for name in names} | {"usage": self.usage.to_json()} | times


def outcome(row: Mapping[str, Any]) -> Literal["solved", "wrong", "unknown", "no_answer", "failed"]:
    """What came of one item: the field of `Summary` that counts it."""
    if row.get("stop_reason") == "failed":
        return "failed"
    if row.get("answer") is None:
        return "no_answer"
    return "solved" if row.get("solved") else "unknown" if row.get("solved") is None else "wrong"


def trace_name(item: str) -> str:
    """A file name for the trace of an item, whatever its id: no separators, not too long, different for different ids."""
    name = quote(item, safe=" ()[],;=@+").replace("~", "%7E")
    name = "%2E" + name[1:] if name.startswith(".") else name
    if len(name) > 120 or not name:
        name = f"{name[:80]}~{hashlib.sha256(item.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return f"{name}.jsonl"


async def solve_many(
    items: Sequence[BatchItem],
    method: Method,
    model: LanguageModel,
    rows: Rows,
    *,
    jobs: int = 1,
    parallel: int = 8,
    traces: Path | None = None,
    retry_failed: bool = False,
    stop: Stop | None = None,
    on_row: Callable[[Mapping[str, Any]], None] = lambda row: None,
    notice: Callable[[str], None] = lambda text: None,
    **settings: Any,
) -> Summary:
    """Solve the items that `rows` lacks, `jobs` at once, with `parallel` model calls at once among them all.

    `settings` go to `solve`, for each item alike (a budget is each item's own). With `traces`, an item that was cut off goes on with its
    trace. A failing item becomes a row with its error; only a results file that cannot be written ends the run. After `stop.now()` the
    items in work are left without a row, to be gone on with.
    """
    if jobs < 1:
        raise UsageError(f"jobs must be at least 1, not {jobs}: it is the number of items at once")
    _check(items, rows)
    batch = _Batch(method, Limited(model, parallel), rows, traces, stop or Stop(), on_row, notice, {**settings, "parallel": parallel})
    waiting = deque(item for item in items if _open(rows.done.get(item.id), retry_failed))
    clock = asyncio.get_running_loop().time
    began, todo = clock(), len(waiting)

    async def work() -> None:
        while waiting and not batch.stop.asked:
            await batch.one(waiting.popleft())

    await _all(work() for _ in range(min(jobs, todo)))
    summary = Summary(items=len(items), skipped=len(items) - todo, seconds=clock() - began)
    for item in items:
        row = rows.done.get(item.id)
        if row is None:
            summary.missing += 1
        else:
            summary.add(row)
    return summary


def _open(row: Mapping[str, Any] | None, retry_failed: bool) -> bool:
    return row is None or (retry_failed and row.get("stop_reason") == "failed")


def _check(items: Sequence[BatchItem], rows: Rows) -> None:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise UsageError(f"two items have the id {item.id!r}; ids must differ")
        seen.add(item.id)
        row = rows.done.get(item.id)
        if row is not None and row.get("input", item.input) != item.input:
            raise UsageError(
                f"{rows.path} has a row for item {item.id} with another input ({short(row['input'])}, now {short(item.input)})"
            )


async def _all(jobs: Iterable[Any]) -> None:
    """Run to the end; on an error the others are cancelled and awaited."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def solve_on(
    problem: Problem, method: Method, model: LanguageModel, path: Path | None, what: str, notice: Callable[[str], None], **settings: Any
) -> Result:
    """`solve` with a trace at `path`, gone on with where it is there. One that cannot be gone on with is set aside, and `what` begins anew."""
    began: list[Event] = []
    listener: Callable[[Event], None] = settings.pop("on_event", None) or (lambda event: None)

    def on_event(event: Event) -> None:
        if not began:
            began.append(event)
        listener(event)

    settings["on_event"] = on_event
    if path is not None and path.exists():  # noqa: ASYNC240
        try:
            next(read_trace(path))
            return await solve(problem, method, model, resume=path, **settings)
        except TraceError as error:
            if began:
                raise
            aside = path.with_suffix(".old")
            os.replace(path, aside)
            notice(f"{what}: its trace cannot be gone on with ({error}); it is kept as {aside}, and the {what.split()[0]} begins anew")
    return await solve(problem, method, model, trace=path, **settings)


@dataclass(slots=True)
class _Batch:
    method: Method
    model: LanguageModel
    rows: Rows
    traces: Path | None
    stop: Stop
    on_row: Callable[[Mapping[str, Any]], None]
    notice: Callable[[str], None]
    settings: dict[str, Any]

    async def one(self, item: BatchItem) -> None:
        """Solve one item and append its row, unless it was cut off."""
        path = None if self.traces is None else self.traces / trace_name(item.id)
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            result = await self._solve(item, path)
        except Exception as error:
            row = self._row(item, path, clock() - began) | {"error": told(error), "usage": spent_in(path).to_json()}
        else:
            if result.stop_reason == "cancelled":
                return
            row = self._row(item, path, result.seconds) | _told_result(result)
        self.rows.append(row)
        self.on_row(row)

    async def _solve(self, item: BatchItem, path: Path | None) -> Result:
        settings = {**self.settings, "stop": self.stop}
        settings["about"] = {**settings.get("about", {}), "item": item.id, "input": item.input}
        return await solve_on(item.make(), self.method, self.model, path, f"item {item.id}", self.notice, **settings)

    def _row(self, item: BatchItem, path: Path | None, seconds: float) -> dict[str, Any]:
        """A row as it is for an item that failed before anything came."""
        return {
            "id": item.id, "input": item.input, "answer": None, "solved": False, "unfinished": True, "stop_reason": "failed",
            "usage": Usage().to_json(), "seconds": round(seconds, 3), "method": self.method.name, "model": self.model.name,
            "seed": self.settings.get("seed", 0), "trace": str(path) if path is not None and path.exists() else None, "error": None,
        }  # fmt: skip


def spent_in(path: Path | None) -> Usage:
    """What the replies in a trace cost, as far as it can be read."""
    usage = Usage()
    with suppress(TraceError):
        for event in read_trace(path) if path is not None else ():
            if isinstance(event, Call):
                usage = sum((Usage.from_json(sample.usage) for sample in event.samples), usage)
    return usage


def _told_result(result: Result) -> dict[str, Any]:
    data = result.to_json()
    names = ("answer", "solved", "unfinished", "stop_reason", "path", "nodes", "usage", "unparsed", "warnings", "error")
    return {name: data[name] for name in names}


def told(error: Exception) -> str:
    """The message of an error; for an error that is not ours also its kind and the line that raised it."""
    if isinstance(error, BranchwiseError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" (raised in {frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
