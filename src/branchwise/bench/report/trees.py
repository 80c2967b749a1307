"""Facts added up: a cell's funnel, the steps at which it failed, how well its evaluator knew, and in words where it was lost. Knows no trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from branchwise.bench.funnel import Funnel, total
from branchwise.bench.report.facts import Facts
from branchwise.bench.report.statistics import rounded

__all__ = ["Bin", "Calibration", "Failures", "Trees", "added", "where_lost"]

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """States whose value lies in [low, high): how many, their mean value, and the share of them that was hopeful."""

    low: float
    high: float
    states: int
    value: float
    hopeful: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Values against truth. `auc` is the chance that a hopeful state was valued above a hopeless one, ties counting half: 0.5 is no knowledge."""

    states: int
    hopeful: int
    auc: float | None
    brier: float
    bins: tuple[Bin, ...]
    steps: Mapping[int, float | None]
    """Step to the same among the states of that step alone: early ones are the hard ones, and over all steps the easy ones cover it."""
    foresees: bool
    """Whether the truth is of middle states (can the goal still be reached), or of whole answers only."""

    def to_json(self) -> dict[str, Any]:
        """One object."""
        bins = [
            {"from": b.low, "to": b.high, "states": b.states, "mean_value": rounded(b.value), "share_hopeful": rounded(b.hopeful)} for b in self.bins
        ]
        about = "whether the goal can still be reached" if self.foresees else "whether a whole answer is right"
        return {
            "states": self.states, "hopeful": self.hopeful, "auc": rounded(self.auc), "brier": rounded(self.brier), "truth": about,
            "auc_by_step": {str(step): rounded(auc) for step, auc in self.steps.items()}, "bins": bins,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failures:
    """Runs (or chains) by the step at which they failed: the thought, or all that were kept, invalid or no longer able to reach the goal."""

    chains: bool
    count: int
    right: int
    no_steps: int
    """Wrong replies that showed no step."""
    steps: tuple[int, ...]
    """Failed at step 1, 2 ...; the last is that of the answer."""

    def to_json(self) -> dict[str, Any]:
        """One object."""
        whole, trees = "whole replies: the first step that is invalid or cannot reach the goal", "trees: the first level without a good thought"
        what = whole if self.chains else trees
        return {"of": what, "count": self.count, "right": self.right, "no_steps": self.no_steps, "failed_at": list(self.steps)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Trees:
    """What the traces of one cell tell. `runs` counts them; a unit has several under equal budgets."""

    runs: int
    funnel: Funnel | None
    failures: Failures | None
    calibration: Calibration | None
    ties: float | None
    """Share of pairs of states judged at one depth that got the same value."""
    parts: tuple[float, ...] = ()
    lost: str = ""
    """In words."""

    def to_json(self) -> dict[str, Any]:
        """One object; null where nothing is known."""
        names = ("letters", "words", "games")
        parts = None
        if self.parts:
            values = [rounded(value) for value in self.parts]
            parts = {"output": dict(zip(names, values[:3], strict=True)), "best_state_oracle": dict(zip(names, values[3:], strict=True))}
        return {
            "runs": self.runs, "funnel": None if self.funnel is None else _funnel(self.funnel),
            "failed_at": None if self.failures is None else self.failures.to_json(),
            "calibration": None if self.calibration is None else self.calibration.to_json(), "ties": rounded(self.ties),
            "crosswords": parts,
        }  # fmt: skip


def _funnel(found: Funnel) -> dict[str, Any]:
    levels = [{"step": level.depth, "generated": level.generated, "kept": level.kept} for level in found.levels]
    names = ("items", "generated", "kept", "final", "chosen")
    return {name: getattr(found, name) for name in names} | {"hopeful": levels, "lost": dict(found.lost)}


def added(found: Sequence[Facts]) -> Trees:
    """The facts of one cell, added up."""
    looks = [fact.look for fact in found if fact.look is not None]
    cover = total(looks) if looks else None
    pairs, tied = sum(fact.pairs for fact in found), sum(fact.tied for fact in found)
    parts = [fact.parts for fact in found if fact.parts]
    return Trees(
        runs=len(found), funnel=cover, failures=_failures(found), calibration=_calibration(found), ties=tied / pairs if pairs else None,
        parts=tuple(map(fmean, zip(*parts, strict=True))), lost="" if cover is None else where_lost(cover),
    )  # fmt: skip


def _failures(found: Iterable[Facts]) -> Failures | None:
    facts = [fact for fact in found if fact.failed]
    counts = Counter(step for fact in facts for step in fact.failed)
    if not counts:
        return None
    deepest = max(max(counts), 1)
    steps = tuple(counts[step] for step in range(1, deepest + 1))
    return Failures(all(fact.chains for fact in facts), counts.total(), counts[0], counts[-1], steps)


def _calibration(found: Sequence[Facts]) -> Calibration | None:
    steps: dict[int, dict[float, list[int]]] = {}
    for fact in found:
        for (step, value), counts in fact.values.items():
            _add(steps.setdefault(step, {}), value, counts)
    values: dict[float, list[int]] = {}
    for level in steps.values():
        for value, numbers in level.items():
            _add(values, value, numbers)
    hopeless, hopeful = _totals(values)
    n = hopeless + hopeful
    if not n:
        return None
    brier = sum(counts[0] * value**2 + counts[1] * (1 - value) ** 2 for value, counts in values.items()) / n
    by_step = {step: _auc(level) for step, level in sorted(steps.items())}
    return Calibration(n, hopeful, _auc(values), brier, _bins(values), by_step, any(fact.foresees for fact in found))


def _add(values: dict[float, list[int]], value: float, counts: Sequence[int]) -> None:
    both = values.setdefault(value, [0, 0])
    both[0] += counts[0]
    both[1] += counts[1]


def _totals(values: Mapping[float, Sequence[int]]) -> tuple[int, int]:
    return sum(counts[0] for counts in values.values()), sum(counts[1] for counts in values.values())


def _auc(values: Mapping[float, Sequence[int]]) -> float | None:
    hopeless, hopeful = _totals(values)
    if not hopeless or not hopeful:
        return None
    below, above = 0, 0.0
    for value in sorted(values):
        low, high = values[value]
        above += high * (below + low / 2)
        below += low
    return above / (hopeless * hopeful)


def _bins(values: Mapping[float, Sequence[int]]) -> tuple[Bin, ...]:
    groups: dict[int, list[tuple[float, int, int]]] = {}
    for value, (low, high) in values.items():
        groups.setdefault(min(BINS - 1, int(value * BINS + 1e-9)), []).append((value, low, high))
    bins = []
    for place, group in sorted(groups.items()):
        n = sum(low + high for _, low, high in group)
        mean = sum(value * (low + high) for value, low, high in group) / n
        bins.append(Bin(place / BINS, (place + 1) / BINS, n, mean, sum(high for *_, high in group) / n))
    return tuple(bins)


_PARTS = {
    "generator": "the generator (a right state was never proposed)",
    "evaluator": "the evaluator (it was proposed and pruned)",
    "limit": "the limits (it was proposed, and the run ended before anything was decided about it)",
    "pick": "the picker (a right final state was there, and another was chosen)",
    "answer": "the answer (a right state was kept, and no right answer came of it)",
}


def where_lost(found: Funnel) -> str:
    """A sentence or two: the weakest part first, with its counts."""
    lost = found.items - found.chosen
    if not lost:
        return f"Nothing was lost: all {found.items} runs chose a right answer."
    by_part: Counter[str] = Counter()
    for where, count in found.lost.items():
        by_part[next((part for part in _PARTS if where.startswith(part) or f", {part}:" in where), "answer")] += count
    shares = [f"{_PARTS[part]}: {count} of {lost} ({100 * count / lost:.0f} %)" for part, count in by_part.most_common()]
    where, most = max(found.lost.items(), key=lambda entry: entry[1])
    single = f" The largest single loss is at {where} ({most})." if len(found.lost) > 1 else ""
    return f"{lost} of {found.items} runs did not choose a right answer. They were lost by {'; by '.join(shares)}.{single}"
