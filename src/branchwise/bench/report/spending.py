"""Whether methods spent the same, which is what makes a comparison of them fair. Knows no trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from branchwise.bench.report.cells import Cell, families
from branchwise.bench.report.statistics import rounded

__all__ = ["TOLERANCE", "Spending", "spending"]

TOLERANCE = 0.05
"""By how much the dearest method may exceed the cheapest, as a share."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What the methods of one task and model spent a unit on the average, in `by`: tokens, calls or dollars. `None` where prices are unknown."""

    task: str
    model: str
    by: str
    spent: Mapping[str, float | None]
    """Method to its mean a unit."""
    tolerance: float
    promised: bool
    """Whether the run was asked to make them equal."""

    @property
    def spread(self) -> float | None:
        """The dearest over the cheapest, less 1; `None` where it is not known, infinite where one spent nothing."""
        known = [value for value in self.spent.values() if value is not None]
        if len(known) < len(self.spent) or not known:
            return None
        low, high = min(known), max(known)
        return 0.0 if high == 0 else float("inf") if low == 0 else high / low - 1

    @property
    def equal(self) -> bool:
        """Within the tolerance. Unknown is not equal."""
        spread = self.spread
        return len(self.spent) < 2 or (spread is not None and spread <= self.tolerance + 1e-9)

    @property
    def broken(self) -> bool:
        """Whether equality was promised and not kept: the comparison fails."""
        return self.promised and not self.equal

    def to_json(self) -> dict[str, Any]:
        """One object; an infinite spread is null."""
        spent = {name: rounded(value) for name, value in self.spent.items()}
        return {
            "task": self.task, "model": self.model, "by": self.by, "mean_a_unit": spent, "spread": rounded(self.spread),
            "tolerance": self.tolerance, "promised": self.promised, "equal": self.equal,
        }  # fmt: skip


def spending(found: Sequence[Cell], equal: Mapping[str, Any] | None) -> list[Spending]:
    """One for each task and model. `equal` is what the manifest of the run says; without it tokens are compared."""
    by = str(equal.get("by", "tokens")) if equal else "tokens"
    tolerance = float(equal.get("tolerance", TOLERANCE)) if equal else TOLERANCE
    return [
        Spending(family.task, family.model, by, {name: _spent(cell, by) for name, cell in family.cells.items()}, tolerance, bool(equal))
        for family in families(found)
    ]


def _spent(cell: Cell, by: str) -> float | None:
    if by == "cost":
        return None if cell.usage.cost is None else cell.each(cell.usage.cost) / 1e6
    return cell.each(cell.usage.calls if by == "calls" else cell.usage.tokens)
