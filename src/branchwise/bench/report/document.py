"""The report as one value: everything that is printed, as JSON, as text or as a page. Reads a run folder; knows no terminal and no markup.

Its bytes depend on the rows and traces only: not on their order, not on the folder's name, not on when a run was interrupted.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from branchwise.bench.overrides import Overridden, golds_of, overridden
from branchwise.bench.report.cells import Cell, CellKey, Family, cells, families, ordered
from branchwise.bench.report.curves import Curve, cost_points, visited_curves
from branchwise.bench.report.entries import meanings
from branchwise.bench.report.gather import Gathered, gather
from branchwise.bench.report.imported import imported, is_imported
from branchwise.bench.report.pairs import Pair, against, check_baseline
from branchwise.bench.report.references import Beside, references
from branchwise.bench.report.spending import Spending, spending
from branchwise.bench.report.trees import Trees, added
from branchwise.bench.report.truths import Truths
from branchwise.bench.report.words import baseline_words, title, trouble, vote_words
from branchwise.bench.rows import Row, read_manifest, read_rows
from branchwise.errors import UsageError

__all__ = ["FORMAT", "Report", "build"]

FORMAT = 1
_ABOUT = ("settings_hash", "data", "prompts", "overrides", "versions", "equal", "spec")
"""What of the manifest goes into a report; not when, and not by which commands: those differ between a run and the same run resumed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """All of it, in one order."""

    title: str
    fair: bool
    """False where equal budgets were promised and not kept."""
    cells: Sequence[Cell]
    trees: Mapping[CellKey, Trees]
    pairs: Sequence[Pair]
    spending: Sequence[Spending]
    baseline: Sequence[str]
    """What the baseline does, a paragraph a task and model."""
    published: Sequence[Beside]
    notes: Sequence[str]
    invalid: Sequence[tuple[str, str]]
    """Task and item whose gold cannot be read: left out of all shares."""
    failed: Sequence[tuple[str, str, str, str]]
    """Task, item, method and error of failed units."""
    overridden: Sequence[Overridden] = ()
    """Golds that the run replaced, each with a reason."""
    about: Mapping[str, Any] = field(default_factory=dict)
    clock: bool = True

    def families(self) -> list[Family]:
        """What is compared with each other."""
        return families(self.cells)

    def cost(self) -> dict[str, list[Curve]]:
        """Cost against accuracy by the title of the family."""
        return {family.title: cost_points(family) for family in self.families()}

    def visited(self) -> dict[str, list[Curve]]:
        """Thoughts visited against success by the title of the family."""
        return {family.title: visited_curves(family) for family in self.families()}

    def lost(self, cell: Cell) -> str:
        """Where a cell's right answers were lost, in words; empty where nothing is known."""
        found = self.trees.get(cell.key)
        return " ".join(filter(None, (found.lost if found is not None else "", vote_words(cell))))

    def to_json(self) -> dict[str, Any]:
        """The document of --json."""
        return {
            "format": FORMAT, "title": self.title, "fair": self.fair,
            "cells": [
                cell.to_json(clock=self.clock) | {"traces": _traces(self.trees.get(cell.key)), "where_lost": self.lost(cell)}
                for cell in self.cells
            ],
            "paired": [pair.to_json() for pair in self.pairs], "spending": [one.to_json() for one in self.spending],
            "baseline": list(self.baseline), "published": [one.to_json() for one in self.published],
            "curves": {
                "cost": {name: [curve.to_json() for curve in found] for name, found in self.cost().items()},
                "visited": {name: [curve.to_json() for curve in found] for name, found in self.visited().items()},
            },
            "notes": list(self.notes), "invalid_gold": [list(pair) for pair in self.invalid], "failed": [list(one) for one in self.failed],
            "overridden_golds": [one.to_json() for one in self.overridden],
            "run": dict(self.about),
        }  # fmt: skip


def _traces(found: Trees | None) -> dict[str, Any] | None:
    return None if found is None else found.to_json()


def build(
    folder: Path, *, baseline: str | None = None, data: Mapping[str, Path | None] | None = None, traces: bool = True, clock: bool = True,
    notice: Callable[[str], None] = lambda text: None, progress: Callable[[int, int], None] = lambda done, of: None,
) -> Report:  # fmt: skip
    """The report on a run folder, or on a folder of traces that `import` or `solve --out` wrote.

    `data` maps tasks to files with their answer keys, where they are not the task's own lists. Without `traces` there is no funnel.
    Raises `UsageError`.
    """
    manifest = {} if is_imported(folder) else read_manifest(folder)
    with Truths(data, golds_of(manifest)) as truths:
        if is_imported(folder):
            rows, found = imported(folder, truths)
            return _report(rows, found, {}, baseline, clock, truths.notes)
        with _no_garbage():
            rows = ordered(read_rows(folder, notice), _methods(manifest))
        if not rows:
            raise UsageError(f"{folder} holds no finished unit yet")
        found = gather(folder, rows, truths, progress) if traces else Gathered()
        told = truths.notes if traces else [*truths.notes, "traces were not read: no funnel"]
        with _no_garbage():
            return _report(rows, found, manifest, baseline, clock, told)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """No collection of cycles: rows hold none (trees do), and looking for them in a hundred thousand takes a quarter of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _methods(manifest: Mapping[str, Any]) -> list[str]:
    """The labels of the grid's methods in their order."""
    spec = manifest.get("spec")
    by_task = spec.get("methods") if isinstance(spec, dict) else None
    if not isinstance(by_task, dict):
        return []
    labels = [str(one.get("label", "")) for entries in by_task.values() for one in entries if isinstance(one, dict)]
    return list(dict.fromkeys(labels))


def _report(
    rows: Sequence[Row], found: Gathered, manifest: Mapping[str, Any], baseline: str | None, clock: bool, told: Sequence[str]
) -> Report:
    table = cells(rows)
    compared = families(table)
    lacking = check_baseline(compared, baseline)
    facts: dict[CellKey, list[Any]] = {}
    for row in rows:
        facts.setdefault((row.task, row.method, row.model), []).extend(found.by_unit.get(row.unit, ()))
    pairs, spent = against(compared, meanings(manifest), baseline), spending(table, manifest.get("equal"))
    return Report(
        title=title(table, spent), fair=not any(one.broken for one in spent), cells=table,
        trees={key: added(parts) for key, parts in facts.items() if parts}, pairs=pairs, spending=spent,
        baseline=baseline_words(table, pairs), published=references(table, manifest),
        notes=[*lacking, *_notes(rows, found, manifest), *told, *trouble(table)],
        invalid=sorted({(row.task, row.item) for row in rows if row.verdict == "invalid_gold"}),
        failed=[(row.task, row.item, row.method, row.error or "") for row in rows if row.verdict == "failed"],
        overridden=overridden(manifest), about={name: manifest[name] for name in _ABOUT if name in manifest}, clock=clock,
    )  # fmt: skip


def _notes(rows: Sequence[Row], found: Gathered, manifest: Mapping[str, Any]) -> list[str]:
    notes = []
    units = manifest.get("units")
    if isinstance(units, int) and units > len(rows):
        notes.append(f"unfinished: {len(rows):,} of {units:,} units have a row; the same command goes on with the others")
    if replaced := overridden(manifest):
        notes.append(f"golds that the run overrode: {len(replaced):,}; each is listed at the end, with its reason")
    if found.missing:
        notes.append(f"{len(found.missing):,} units have no trace in the folder: they are not in the funnel")
    if found.broken:
        notes.append(f"{len(found.broken):,} traces cannot be read, for example {found.broken[0]}")
    versions = Counter(task for task, _ in {(row.task, row.data) for row in rows if row.data})
    notes += [
        f"{task}: rows of {count} versions of the data are mixed (--force was used): their numbers do not belong together"
        for task, count in sorted(versions.items())
        if count > 1
    ]
    reported = Counter((row.model, row.model_reported) for row in rows if row.model_reported and row.model_reported != row.model)
    notes += [f"model {model} reported itself as {said} in {count:,} units" for (model, said), count in sorted(reported.items())]
    return notes
