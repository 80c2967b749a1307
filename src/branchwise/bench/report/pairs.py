"""Paired comparisons: two methods on the same items, with an interval and a test, and Holm's correction where there are many. Knows no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from branchwise.bench.report.cells import Family
from branchwise.bench.report.entries import PLAIN, Meanings, meant_by
from branchwise.bench.report.statistics import Interval, holm, paired_interval, paired_test, rounded
from branchwise.errors import UsageError, nearest

__all__ = ["ALPHA", "Pair", "against", "baseline_of", "check_baseline", "compared"]

ALPHA = 0.05
"""Below which a corrected p-value counts as a difference."""


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
    plain: bool = False
    """Whether the baseline is a plain prompt (cot, io), and not a search or a vote."""

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


def baseline_of(family: Family, meant: Meanings, asked: str | None = None) -> str | None:
    """The name of a family's baseline: what was asked for, where the family has it; else the first cot, else the first io, else the first.

    What was asked for is a name of the family, or a method's label that one name of it stands for. `None` in a family of nothing.
    """
    if asked is not None and (name := _asked(family, asked)) is not None:
        return name
    presets = [(meant_by(meant, family.task, cell.method).method, name) for name, cell in family.cells.items()]
    plain = next((name for wanted in PLAIN for preset, name in presets if preset == wanted), None)
    return next(iter(family.cells), None) if plain is None else plain


def check_baseline(found: Sequence[Family], asked: str | None) -> list[str]:
    """Notes on the families where nothing is tested against `asked`. Raises `UsageError`, with the nearest names, where none has it."""
    if asked is None:
        return []
    has = [family for family in found if _asked(family, asked) is not None]
    if not has:
        raise UsageError(f"no method {asked!r} in this run{nearest(asked, {name for family in found for name in family.cells})}")
    lacking = [f"{family.title}: no method {asked!r} here; it keeps its own baseline" for family in found if family not in has]
    return lacking + [f"{family.title}: {asked!r} is alone here, so nothing is tested against it" for family in has if len(family.cells) == 1]


def _asked(family: Family, asked: str) -> str | None:
    """The name in a family that `asked` stands for; models that are compared have names of method and model."""
    labelled = [name for name, cell in family.cells.items() if cell.method == asked]
    return asked if asked in family.cells else labelled[0] if len(labelled) == 1 else None


def against(found: Sequence[Family], meant: Meanings, asked: str | None = None) -> list[Pair]:
    """Every method against the baseline of its family."""
    pairs: list[Pair] = []
    for family in found:
        base = baseline_of(family, meant, asked)
        if base is None:
            continue
        theirs = family.cells[base]
        plain = meant_by(meant, family.task, theirs.method).plain
        tests = [
            replace(compared(cell.scores, theirs.scores), task=family.task, model=family.model, baseline=base, method=name, plain=plain)
            for name, cell in family.cells.items()
            if name != base
        ]
        adjusted = holm([pair.p for pair in tests])
        pairs += [replace(pair, p_holm=p, together=len(tests)) for pair, p in zip(tests, adjusted, strict=True)]
    return pairs
