"""The runs of a folder with what is true of them: of a bench, of `solve --out`, or imported. Reads the answer keys: the bench only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from branchwise.bench.funnel import Truth
from branchwise.bench.report.cells import ordered
from branchwise.bench.report.gather import trace_file
from branchwise.bench.report.imported import is_imported
from branchwise.bench.report.truths import Truths
from branchwise.bench.rows import read_rows
from branchwise.bench.traces import Traced, read_folder, read_traced
from branchwise.errors import TraceError

__all__ = ["Run", "runs"]


@dataclass(frozen=True, slots=True)
class Run:
    """One trace. `truth` is `None` where no program can tell what is right."""

    task: str
    item: str
    method: str
    model: str
    traced: Traced
    truth: Truth | None


def runs(folder: Path, truths: Truths, methods: Collection[str] = (), notice: Callable[[str], None] = lambda text: None) -> Iterator[Run]:
    """Every run in one order, of these methods (none named: all). A trace that is missing or broken is told, and left out."""
    if is_imported(folder):
        for one in read_folder(folder):
            settings = one.about.get("settings", {})
            task = str(settings.get("task_name") or settings.get("task") or "unknown")
            item = str(one.number if one.number is not None else one.about.get("item", one.path.stem))
            if not methods or one.method in methods:
                yield Run(task, item, one.method, one.model, one, truths.of(task, item))
        return
    for row in ordered(read_rows(folder, notice)):
        if methods and row.method not in methods:
            continue
        for name in row.trace:
            path = trace_file(folder, name)
            if path is None:
                notice(f"unit {row.unit} is left out: its trace {name} is not in {folder}")
                continue
            try:
                traced = read_traced(path)
            except (TraceError, LookupError, ValueError, TypeError) as error:
                notice(f"unit {row.unit} is left out: {error}")
                continue
            yield Run(row.task, row.item, row.method, row.model, traced, truths.of(row.task, row.item))
