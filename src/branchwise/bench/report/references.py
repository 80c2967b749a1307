"""Published figures to print beside ours: each with its model, its measure and its items. Nothing is subtracted from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from branchwise.bench.protocol import Protocol, Reference, load, names
from branchwise.bench.report.cells import Cell
from branchwise.bench.report.entries import Meant, entry_meant, meanings, meant_by
from branchwise.bench.report.statistics import rounded

__all__ = ["Beside", "Ours", "references"]


@dataclass(frozen=True, slots=True)
class Ours:
    """A cell of ours beside a published figure of the same preset, and the settings that are not the same."""

    cell: Cell
    differs: Mapping[str, tuple[Any, Any]] | None
    """Setting to ours and the published one; empty where all are the same, `None` where ours were not recorded."""
    equal: str = ""
    """What was made equal (tokens, calls, cost), which changes how many answers an item gets; empty where nothing was."""

    @property
    def said(self) -> str:
        """What must be said before our number; empty where the settings are those of the figure."""
        if self.differs is None:
            return "settings not recorded"
        parts = [f"{name}={ours} in place of {theirs}" for name, (ours, theirs) in self.differs.items()]
        return "; ".join([*(["with " + ", ".join(parts)] if parts else []), *([f"at equal {self.equal}"] if self.equal else [])])

    def to_json(self) -> dict[str, Any]:
        """One object."""
        c, many = self.cell, self.cell.repeated
        differs = None if self.differs is None else {name: {"ours": a, "published": b} for name, (a, b) in self.differs.items()}
        found = {"method": c.method, "model": c.model, "items": c.items, "as_chosen": rounded(100 * c.score), "oracle": rounded(100 * c.oracle)}
        found |= {"differs": differs, "equal": self.equal}
        return found | ({} if many is None else {"mean_at_k": rounded(100 * many.mean), "k": many.k})


@dataclass(frozen=True, slots=True)
class Beside:
    """A published figure, and our cells of the same method, if any. Other models and other items: no difference is computed."""

    task: str
    protocol: str
    items: str
    reference: Reference
    ours: tuple[Ours, ...]

    def to_json(self) -> dict[str, Any]:
        """One object."""
        ref = self.reference
        return {
            "task": self.task, "protocol": self.protocol, "label": ref.label, "model": ref.model, "measure": ref.measure, "value": ref.value,
            "n": ref.n, "items": self.items, "note": ref.note, "ours": [one.to_json() for one in self.ours],
        }  # fmt: skip


def references(cells: Iterable[Cell], manifest: Mapping[str, Any]) -> list[Beside]:
    """Every published figure about the tasks of `cells`, in the order of the protocols; then those of the run's own bench file."""
    found, known = list(cells), meanings(manifest)
    tasks = {cell.task for cell in found}
    equal = str((manifest.get("equal") or {}).get("by", ""))
    published = []
    for protocol in _protocols():
        mine = [cell for cell in found if cell.task == protocol.task]
        near = [(cell, _nearest(protocol, cell.method, meant_by(known, cell.task, cell.method))) for cell in mine]
        for one in protocol.published if mine else ():
            ours = tuple(Ours(cell, labels[one.label], equal) for cell, labels in near if one.label in labels)
            published.append(Beside(protocol.task, protocol.name, protocol.items, one, ours))
    seen = {_key(one.reference) for one in published}
    task = tasks.pop() if len(tasks) == 1 else ""
    return published + [
        Beside(task, "this run's file", "", one, tuple(Ours(cell, {}, equal) for cell in found if cell.method == one.label))
        for one in _own(manifest)
        if _key(one) not in seen
    ]


def _key(one: Reference) -> tuple[str, str, str, float]:
    return one.label, one.model, one.measure, one.value


@cache
def _protocols() -> tuple[Protocol, ...]:
    return tuple(map(load, names()))


def _own(manifest: Mapping[str, Any]) -> list[Reference]:
    spec = manifest.get("spec")
    rows = spec.get("published", ()) if isinstance(spec, dict) else ()
    names = ("label", "model", "measure", "value", "n", "note")
    return [Reference(**{name: row[name] for name in names if name in row}) for row in rows if isinstance(row, dict)]


def _nearest(protocol: Protocol, label: str, ours: Meant) -> dict[str, Mapping[str, tuple[Any, Any]] | None]:
    """Labels of the protocol's methods that a method of ours differs from least, with what differs: none, where it is the same.

    Only methods of one preset are beside each other. Settings that were not recorded tell no two of them apart. A method of several models
    goes by its label: the models are never the published ones.
    """
    alike = [entry for entry in protocol.methods if entry.method == ours.method and (entry.label == label if entry.models else ours.one_model)]
    if ours.settings is None:
        return {entry.label: None for entry in alike if len(alike) == 1}
    found = {entry.label: _differing(ours.settings, entry_meant(protocol.task, entry).settings or {}) for entry in alike}
    least = min(map(len, found.values()), default=0)
    return {name: differs for name, differs in found.items() if len(differs) == least}


def _differing(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    names = dict.fromkeys((*theirs, *ours))
    return {name: (ours.get(name), theirs.get(name)) for name in names if ours.get(name) != theirs.get(name)}
