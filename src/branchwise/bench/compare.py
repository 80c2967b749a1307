"""Two bench runs, item by item: a paired test for each method that both have, and the items that changed. Reads rows only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from branchwise.bench.overrides import other_golds
from branchwise.bench.report.cells import Cell, cells, ordered
from branchwise.bench.report.pairs import Pair, compared
from branchwise.bench.report.statistics import holm, rounded
from branchwise.bench.report.tables import Table
from branchwise.bench.report.words import p_value, percent
from branchwise.bench.rows import Row, read_manifest, read_rows
from branchwise.errors import UnknownName, UsageError

__all__ = ["Change", "Compared", "Comparison", "compare"]


@dataclass(frozen=True, slots=True)
class Change:
    """One item in both runs, as verdicts (several where it was run several times)."""

    item: str
    before: str
    after: str
    points: float

    def to_json(self) -> dict[str, Any]:
        """One object."""
        return {"item": self.item, "before": self.before, "after": self.after, "points": rounded(self.points)}


@dataclass(frozen=True, slots=True)
class Compared:
    """One method in both runs. `gained` went from not right to right, `lost` the other way; `moved` are other changes of score."""

    name: str
    first: Cell
    second: Cell
    pair: Pair
    gained: Sequence[Change]
    lost: Sequence[Change]
    moved: Sequence[Change]

    def to_json(self) -> dict[str, Any]:
        """One object."""
        changes = {what: [change.to_json() for change in getattr(self, what)] for what in ("gained", "lost", "moved")}
        pair = {key: value for key, value in self.pair.to_json().items() if key not in ("task", "model", "method", "baseline")}
        shares = {"first": rounded(self.first.score), "second": rounded(self.second.score)}
        return {"task": self.first.task, "method": self.first.method, "models": [self.first.model, self.second.model]} | shares | pair | changes


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both runs. `comparable` is false where they were measured on different data, or with different golds."""

    title: str
    comparable: bool
    pairs: Sequence[Compared]
    notes: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """The document of --json."""
        return {
            "format": 1, "title": self.title, "comparable": self.comparable, "notes": list(self.notes),
            "compared": [pair.to_json() for pair in self.pairs],
        }  # fmt: skip

    def table(self) -> Table:
        """One row a method."""
        rows = []
        for one in self.pairs:
            pair = one.pair
            rows.append([
                one.name, percent(one.first.score), percent(one.second.score), f"{100 * pair.difference:+.1f}",
                f"{100 * pair.interval.low:+.1f} to {100 * pair.interval.high:+.1f}", f"{pair.wins:,} / {pair.losses:,} / {pair.ties:,}",
                f"{pair.items:,}", f"{pair.left_out:,}", p_value(pair.p), p_value(pair.p_holm), "yes" if pair.found else "not shown",
            ])  # fmt: skip
        columns = [
            "method", "first", "second", "points", "95 % interval", "better / worse / same", "items", "in one only", "p", "p corrected",
            "difference",
        ]  # fmt: skip
        note = "First and second: over all items of each run. Everything else: over the items that both have. p corrected after Holm."
        return Table("First and second run, item by item", columns, rows, note)


def compare(first: Path, second: Path, method: str | None = None, notice: Callable[[str], None] = lambda text: None) -> Comparison:
    """Compare two run folders. Raises `UsageError` where nothing in them can be matched."""
    manifests = read_manifest(first), read_manifest(second)
    rows = ordered(read_rows(first, notice)), ordered(read_rows(second, notice))
    tables = cells(rows[0]), cells(rows[1])
    matched = _matched(*tables)
    if method is not None:
        if not any(a.method == method for a, _ in matched):
            raise UnknownName("method of both runs", method, sorted({a.method for a, _ in matched}))
        matched = [(a, b) for a, b in matched if a.method == method]
    if not matched:
        raise UsageError(f"{first} and {second} have no task and method in common")
    found = [_compared(a, b, _by_item(rows[0], a), _by_item(rows[1], b)) for a, b in matched]
    adjusted = holm([one.pair.p for one in found])
    found = [replace(one, pair=replace(one.pair, p_holm=p, together=len(found))) for one, p in zip(found, adjusted, strict=True)]
    others = _other_data(manifests[0], manifests[1], {a.task for a, _ in matched}) + _other_golds(manifests, rows, matched)
    about = "Bench, two runs item by item"
    title = f"NOT COMPARABLE: {'; '.join(others)}. {about}" if others else about
    return Comparison(title, not others, found, _notes(manifests, tables, matched))


def _matched(first: Sequence[Cell], second: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """Cells of both runs with the same task, method and model; else of the same task and method, where each run has one."""
    theirs = {cell.key: cell for cell in second}
    found = [(cell, theirs[cell.key]) for cell in first if cell.key in theirs]
    left = [[cell for cell in side if cell.key not in {a.key for a, _ in found}] for side in (first, second)]
    for cell in left[0]:
        ours, others = ([one for one in side if (one.task, one.method) == (cell.task, cell.method)] for side in left)
        if len(ours) == len(others) == 1:
            found.append((cell, others[0]))
    return found


def _by_item(rows: Sequence[Row], cell: Cell) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if (row.task, row.method, row.model) == cell.key:
            found.setdefault(row.item, []).append(row)
    return found


def _compared(a: Cell, b: Cell, before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]]) -> Compared:
    gained, lost, moved = list[Change](), list[Change](), list[Change]()
    for item, score in a.scores.items():
        if item not in b.scores or b.scores[item] == score:
            continue
        change = Change(item, _verdicts(before[item]), _verdicts(after[item]), b.scores[item] - score)
        (gained if score < 1 <= b.scores[item] else lost if b.scores[item] < 1 <= score else moved).append(change)
    name = f"{a.task}, {a.method}, {a.model}" + (f" → {b.model}" if b.model != a.model else "")
    return Compared(name, a, b, compared(b.scores, a.scores), gained, lost, moved)


def _verdicts(rows: Sequence[Row]) -> str:
    return ", ".join(f"{row.verdict} ({row.answer})" if row.answer is not None else row.verdict for row in rows)


def _other_data(first: Mapping[str, Any], second: Mapping[str, Any], tasks: set[str]) -> list[str]:
    """Tasks whose data file is not the same in both: golds get corrected, and then numbers cannot be compared."""
    found = []
    for task in sorted(tasks):
        a, b = (manifest.get("data", {}).get(task, {}).get("sha256") for manifest in (first, second))
        if a != b:
            found.append(f"the data of {task} is not the same (SHA-256 {str(a)[:12]} and {str(b)[:12]})")
    return found


def _other_golds(
    manifests: tuple[Mapping[str, Any], Mapping[str, Any]], rows: tuple[Sequence[Row], Sequence[Row]], matched: Sequence[tuple[Cell, Cell]]
) -> list[str]:
    """Tasks of which items that both runs have were marked with other golds, as one of them overrode those of the data."""
    found = []
    for task in sorted({a.task for a, _ in matched}):
        first, second = ({row.item for row in side if row.task == task} for side in rows)
        found.append(other_golds(*manifests, task, first & second))
    return [text for text in found if text]


def _notes(
    manifests: tuple[Mapping[str, Any], Mapping[str, Any]], tables: tuple[Sequence[Cell], Sequence[Cell]], matched: Sequence[tuple[Cell, Cell]]
) -> list[str]:
    notes = []
    for what in ("prompts", "versions"):
        a, b = (manifest.get(what) or {} for manifest in manifests)
        differing = sorted(key for key in {*a, *b} if a.get(key) != b.get(key))
        if differing:
            notes.append(f"other {what}: {', '.join(differing)}")
    for place, (word, table) in enumerate(zip(("first", "second"), tables, strict=True)):
        known = {pair[place].key for pair in matched}
        alone = [f"{cell.task}, {cell.method}, {cell.model}" for cell in table if cell.key not in known]
        if alone:
            notes.append(f"only in the {word} run: {'; '.join(alone)}")
    for a, b in matched:
        spent = a.each(a.usage.tokens), b.each(b.usage.tokens)
        if min(spent) > 0 and max(spent) > 1.05 * min(spent):
            notes.append(f"{a.task}, {a.method}: unequal costs, {spent[0]:,.0f} and {spent[1]:,.0f} tokens a unit")
    return notes
