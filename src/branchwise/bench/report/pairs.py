"""Paired comparisons: two methods on the same items, with an interval and a test, and Holm's correction where there are many. Knows no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from branchwise.bench.report.cells import Cell, families
from branchwise.bench.report.statistics import Interval, holm, paired_interval, paired_test, rounded

__all__ = ["ALPHA", "Pair", "against", "baseline_of", "compared"]

ALPHA = 0.05
"""Below which a corrected p-value counts as a difference."""
_PLAIN = ("cot", "io")
"""What a plain baseline is: one chain, else one answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """`method` minus `baseline`, over the items that both have. `p_holm` is corrected for the tests of this task and model."""

    task: str
    model: str
    method: str
    baseline: str
    items: int
    left_out: int
    """Items that only one of the two has."""
    difference: float
    interval: Interval
    test: str
    p: float
    wins: int
    losses: int
    ties: int
    p_holm: float = 1.0
    together: int = 1
    """Tests that were corrected together."""

    @property
    def found(self) -> bool:
        """Whether the difference is more than chance explains."""
        return self.p_holm < ALPHA

    def to_json(self) -> dict[str, Any]:
        """One object."""
        names = ("task", "model", "method", "baseline", "items", "left_out", "test", "wins", "losses", "ties", "together")
        numbers = {"difference": rounded(self.difference), "p": rounded(self.p), "p_holm": rounded(self.p_holm), "found": self.found}
        return {name: getattr(self, name) for name in names} | numbers | {"interval_95": self.interval.to_json()}


def compared(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Pair:
    """Scores by item, ours minus theirs, not yet named or corrected."""
    both = [item for item in ours if item in theirs]
    a, b = [ours[item] for item in both], [theirs[item] for item in both]
    test = paired_test(a, b)
    differences = [x - y for x, y in zip(a, b, strict=True)]
    return Pair(
        task="", model="", method="", baseline="", items=len(both), left_out=len(ours) + len(theirs) - 2 * len(both),
        difference=fmean(differences) if differences else 0.0, interval=paired_interval(a, b), test=test.kind, p=test.p,
        wins=test.wins, losses=test.losses, ties=test.ties, p_holm=test.p,
    )  # fmt: skip


def baseline_of(methods: Sequence[str], asked: str | None = None) -> str | None:
    """The plain baseline among methods: what was asked for, else cot, else io, else the first."""
    if asked is not None:
        return asked if asked in methods else None
    names = {name.casefold(): name for name in reversed(methods)}
    return next((names[plain] for plain in _PLAIN if plain in names), methods[0] if methods else None)


def against(found: Sequence[Cell], asked: str | None = None) -> list[Pair]:
    """Every method against the baseline of its family."""
    pairs: list[Pair] = []
    for family in families(found):
        base = baseline_of(list(family.cells), asked)
        if base is None:
            continue
        theirs = family.cells[base].scores
        tests = [
            replace(compared(cell.scores, theirs), task=family.task, model=family.model, baseline=base, method=name)
            for name, cell in family.cells.items()
            if name != base
        ]
        adjusted = holm([pair.p for pair in tests])
        pairs += [replace(pair, p_holm=p, together=len(tests)) for pair, p in zip(tests, adjusted, strict=True)]
    return pairs
