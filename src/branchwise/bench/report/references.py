"""Published figures to print beside ours: each with its model, its measure and its items. Nothing is subtracted from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
            for c in self.ours
        ]
        return {
            "task": self.task, "protocol": self.protocol, "label": ref.label, "model": ref.model, "measure": ref.measure, "value": ref.value,
            "n": ref.n, "items": self.items, "note": ref.note, "ours": ours,
        }  # fmt: skip


def references(cells: Iterable[Cell]) -> list[Beside]:
    """Every published figure about the tasks of `cells`, in the order of the protocols."""
    found = list(cells)
    tasks = {cell.task for cell in found}
    protocols = [protocol for protocol in map(load, names()) if protocol.task in tasks]
    return [
        Beside(protocol.task, protocol.name, protocol.items, reference, tuple(c for c in found if _same(c, protocol, reference)))
        for protocol in protocols
        for reference in protocol.published
    ]


def _same(cell: Cell, protocol: Protocol, reference: Reference) -> bool:
    """Whether a cell is of the method that a figure speaks of, by its label in the protocol, or by the name of the method."""
    if cell.task != protocol.task:
        return False
    entry = next((entry for entry in protocol.methods if entry.label == reference.label), None)
    if entry is None or entry.models:
        return cell.method == reference.label
    alone = sum(other.method == entry.method and not other.models for other in protocol.methods) == 1
    return cell.method == entry.label or (alone and cell.method == entry.method)
