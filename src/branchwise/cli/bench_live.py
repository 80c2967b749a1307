"""What is seen of a running bench: a line a row; rate, spending and time left in a bar on a terminal, elsewhere now and then. Knows no model."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from branchwise.bench.book import Sum, sum_of
from branchwise.bench.desk import Desk
from branchwise.bench.rows import Row
from branchwise.budget import Usage
from branchwise.cli.ends import reason
from branchwise.cli.pulse import Pulse, beating
from branchwise.cli.text import dollars, error_console, plural, safe_text, seconds, shorten

__all__ = ["Live", "amounts", "summary"]

_EVERY = 30.0
"""Seconds between the lines that tell the rate where there is no terminal, at the least."""


class _Rate(ProgressColumn):
    """The rate of this moment, also while a unit takes its time."""

    def __init__(self, rate: Callable[[], str]) -> None:
        super().__init__(Column(no_wrap=True, overflow="ellipsis"))
        self._rate = rate

    def render(self, task: Task) -> Text:
        """Called at every refresh."""
        return safe_text(self._rate())


class Live:
    """Progress of this start. `spent` gives what was paid by all starts so far."""

    def __init__(self, desk: Desk, say: Callable[[str], None], spent: Callable[[], Sum], *, quiet: bool) -> None:
        self._say, self._spent, self._quiet = say, spent, quiet
        self._desk, self._equal = desk, _equal(desk)
        self._open: dict[str, float] = {}
        self._looked, self._ended = -1, 0.0
        """Equal budgets: the amounts of the units that are open, and what those that ended here were paid."""
        self._total = len(desk.grid.units)
        self._before = self._done = self._total - len(desk.todo)
        self._begin, self._paid = time.monotonic(), spent()
        self.pulse = Pulse(say, lambda: f"  {self._done}/{self._total} units, {self.rate()}", every=_EVERY, clock=time.monotonic)
        """For where there is no bar."""
        counts = TextColumn("{task.completed}/{task.total} units", markup=False, table_column=Column(no_wrap=True, min_width=8))
        self.bar = Progress(counts, BarColumn(bar_width=10), _Rate(self.rate), console=error_console())
        self._task = self.bar.add_task("units", total=self._total, completed=self._done)
        if self._done:
            say(f"{plural(self._done, 'unit')} of {self._total:,} {'has' if self._done == 1 else 'have'} a row already")

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """While the body runs: the bar on a terminal, elsewhere the rate now and then; nothing if quiet."""
        drawn = error_console().is_terminal
        with self.bar if drawn and not self._quiet else nullcontext():
            async with beating(None if drawn or self._quiet else self.pulse):
                yield

    @property
    def elapsed(self) -> float:
        """Seconds of this start."""
        return time.monotonic() - self._begin

    def row(self, row: Row) -> None:
        """Tell of one row."""
        self._done += 1
        self._open.pop(row.unit, None)
        self._ended += _of(sum_of(Usage.from_json(row.paid or row.usage)), self._equal)
        told = row.error if row.status == "failed" else row.answer or reason(row.stop_reason, row.method, answered=False)
        spent = f"{plural(row.spent.calls, 'call')}, {plural(row.spent.tokens, 'token')}, {seconds(row.seconds)}"
        where = f"{row.task} {shorten(row.item, 24)} {row.method}"
        text = f"[{self._done}/{self._total}] {where}: {row.verdict.replace('_', ' ')}, {shorten(told, 80)} ({spent})"
        if self.bar.live.is_started:
            self.bar.update(self._task, completed=self._done)
            self.bar.console.print(safe_text(text))
            return
        self._say(text)
        self.pulse.beat()

    def rate(self) -> str:
        """`2.1 calls/s, 180 tokens/s, 3 min 5 s left, 12,345 tokens spent, $0.4000`."""
        now, lasted = self._spent(), max(self.elapsed, 1e-9)
        new = now - self._paid
        parts = [f"{new.calls / lasted:.1f} calls/s", f"{new.tokens / lasted:,.0f} tokens/s"]
        if (left := self._left(new, lasted)) is not None:
            parts.append(f"{seconds(left)} left")
        parts.append(f"{now.tokens:,} tokens spent")
        if now.cost:
            parts.append(dollars(now.cost / 1e6))
        return ", ".join(parts)

    def _left(self, new: Sum, lasted: float) -> float | None:
        """Seconds until the end: at equal budgets, where all units work side by side and end late, by what the open ones are still to spend,
        else by the units that ended; `None` where that is not known, or all but the last steps is spent."""
        if self._done == self._total:
            return None
        if self._equal:
            if not self._open and self._looked != self._done:  # an amount that is taken from first runs is known once these have ended
                self._looked, self._open = self._done, amounts(self._desk)
            rest = sum(self._open.values()) - max(0.0, _of(new, self._equal) - self._ended)
            rate = _of(new, self._equal) / lasted
            return rest / rate if rest > 0 and rate > 0 else None
        fresh = self._done - self._before
        return lasted / fresh * (self._total - self._done) if fresh else None

    def close(self) -> None:
        """The last line."""
        if self._done > self._before:
            self._say(f"{plural(self._done - self._before, 'unit')} in {seconds(self.elapsed)}: {self.rate()}")


def _equal(desk: Desk) -> str:
    """What is made equal; empty where nothing is."""
    equal = desk.grid.spec.equal
    return "" if equal is None else equal.by


def amounts(desk: Desk) -> dict[str, float]:
    """What each open unit is to spend at equal budgets, in calls, tokens or millionths of a dollar; empty where one is not known yet."""
    found = {unit.id: desk.amount(unit) for unit in desk.todo}
    scale = 1e6 if _equal(desk) == "cost" else 1.0
    known = {unit: amount * scale for unit, amount in found.items() if amount is not None}
    return known if len(known) == len(found) else {}


def _of(spent: Sum, by: str) -> float:
    return {"calls": spent.calls, "tokens": spent.tokens, "cost": spent.cost}.get(by, 0)


def summary(desk: Desk) -> dict[str, Any]:
    """What the folder holds: rows by verdict, and the mean score of each task, method and model. The report says more, with intervals."""
    cells: dict[tuple[str, str, str], list[Row]] = {}
    for unit in desk.grid.units:
        row = desk.done.get(unit.id)
        if row is not None:
            cells.setdefault((row.task, row.method, row.model), []).append(row)
    counts = desk.counts()
    names = ("correct", "wrong", "no_answer", "invalid_gold", "failed", "missing")
    return {
        "units": len(desk.grid.units), "rows": {name: counts[name] for name in names}, "folder": str(desk.folder),
        "cells": [
            {
                "task": task, "method": method, "model": model, "rows": len(rows),
                "mean_score": sum(row.score for row in rows) / len(rows),
                "tokens": sum(row.spent.tokens for row in rows) / len(rows),
                "calls": sum(row.spent.calls for row in rows) / len(rows),
                "repeats": sum(row.repeats for row in rows) / len(rows),
            }
            for (task, method, model), rows in cells.items()
        ],
    }  # fmt: skip
