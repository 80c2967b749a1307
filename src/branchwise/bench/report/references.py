"""Published figures to print beside ours: each with its model, its measure and its items. Nothing is subtracted from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from branchwise.bench.protocol import Protocol, Reference, load, names
from branchwise.bench.report.cells import Cell
from branchwise.bench.report.statistics import rounded

__all__ = ["Beside", "references"]


@dataclass(frozen=True, slots=True)
class Beside:
    """A published figure, and our cells of the same method, if any. Other models and other items: no difference is computed."""

    task: str
    protocol: str
    items: str
    reference: Reference
    ours: tuple[Cell, ...]

    def to_json(self) -> dict[str, Any]:
        """One object."""
        ref = self.reference
        ours = [
            {"method": c.method, "model": c.model, "items": c.items, "as_chosen": rounded(100 * c.score), "oracle": rounded(100 * c.oracle)}
            | ({} if c.repeated is None else {"mean_at_k": rounded(100 * c.repeated.mean), "k": c.repeated.k})
            for c in self.ours
        ]
        return {
            "task": self.task, "protocol": self.protocol, "label": ref.label, "model": ref.model, "measure": ref.measure, "value": ref.value,
            "n": ref.n, "items": self.items, "note": ref.note, "ours": ours,
        }  # fmt: skip


def references(cells: Iterable[Cell], manifest: Mapping[str, Any]) -> list[Beside]:
    """Every published figure about the tasks of `cells`, in the order of the protocols; then those of the run's own bench file."""
    found = list(cells)
    tasks = {cell.task for cell in found}
    protocols = [protocol for protocol in _protocols() if protocol.task in tasks]
    known = [
        Beside(protocol.task, protocol.name, protocol.items, reference, tuple(c for c in found if _same(c, protocol, reference)))
        for protocol in protocols
        for reference in protocol.published
    ]
    seen = {(one.reference.label, one.reference.model, one.reference.measure, one.reference.value) for one in known}
    own = [one for one in _own(manifest) if (one.label, one.model, one.measure, one.value) not in seen]
    task = tasks.pop() if len(tasks) == 1 else ""
    return known + [Beside(task, "this run's file", "", one, tuple(c for c in found if c.method == one.label)) for one in own]


@cache
def _protocols() -> tuple[Protocol, ...]:
    return tuple(map(load, names()))


def _own(manifest: Mapping[str, Any]) -> list[Reference]:
    spec = manifest.get("spec")
    rows = spec.get("published", ()) if isinstance(spec, dict) else ()
    names = ("label", "model", "measure", "value", "n", "note")
    return [Reference(**{name: row[name] for name in names if name in row}) for row in rows if isinstance(row, dict)]


def _same(cell: Cell, protocol: Protocol, reference: Reference) -> bool:
    """Whether a cell is of the method that a figure speaks of, by its label in the protocol, or by the name of the method."""
    if cell.task != protocol.task:
        return False
    entry = next((entry for entry in protocol.methods if entry.label == reference.label), None)
    if entry is None or entry.models:
        return cell.method == reference.label
    alone = sum(other.method == entry.method and not other.models for other in protocol.methods) == 1
    return cell.method == entry.label or (alone and cell.method == entry.method)
