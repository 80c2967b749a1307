"""Rows added up: a cell is one task, method and model. Knows no trace and no answer key; says nothing about differences.

Accuracy is of the answers as chosen. What was chosen with the key (the oracle, pass@k) has columns of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from branchwise.bench.report.statistics import Interval, interval, rounded
from branchwise.bench.rows import COUNTS, VERDICTS, Row
from branchwise.budget import Usage

__all__ = ["Cell", "CellKey", "Family", "Repeated", "cells", "families", "item_order", "ordered", "repeated"]

CellKey = tuple[str, str, str]
"""Task, method, model."""
_IN_PARTS = ("crosswords", "writing")
"""Tasks whose scores are shares of an answer, even where all of them happen to be 0 or 1."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """Several answers to each item: mean@k, pass@k (an oracle) and majority@k, three different numbers. `k` is `None` where it varies."""

    k: int | None
    least: int
    most: int
    mean: float
    passed: float
    majority: float
    by_item: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Item to its answers, and the right ones among them."""

    def to_json(self) -> dict[str, Any]:
        """Named as they are printed."""
        shares = {"mean_at_k": rounded(self.mean), "pass_at_k_oracle": rounded(self.passed), "majority_at_k": rounded(self.majority)}
        return {"k": self.k, "k_least": self.least, "k_most": self.most} | shares


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One task, method and model. Shares are over items with a readable gold; a failed unit counts as not right, and is never left out."""

    task: str
    method: str
    model: str
    units: int
    items: int
    """Items with a readable gold."""
    seeds: int
    verdicts: Mapping[str, int]
    """Units by verdict."""
    graded: bool
    """Whether scores are shares of an answer, and not only right or wrong."""
    scores: Mapping[str, float]
    """Item to the mean score of its runs."""
    score: float
    """Mean score as chosen: the accuracy, where answers are right or wrong."""
    interval: Interval
    solved: float
    """Share of answers that are right in full, as chosen."""
    oracle: float
    oracle_interval: Interval
    repeated: Repeated | None
    usage: Usage
    """Of what counts: of the repeats that were kept, where costs are made equal."""
    paid: Usage
    """With that of repeats that were dropped."""
    by_role: Mapping[str, Usage]
    nodes: Mapping[str, int]
    unparsed: int
    judgements: int
    unfinished: int
    stops: Mapping[str, int]
    seconds: float
    median_seconds: float
    repeats: int
    reported: Sequence[str]

    @property
    def key(self) -> CellKey:
        """Task, method and model."""
        return self.task, self.method, self.model

    def each(self, total: float | None) -> float:
        """`total` over all units as a mean a unit; 0 for what is not known."""
        return (total or 0) / (self.units or 1)

    def to_json(self, *, clock: bool) -> dict[str, Any]:
        """One object; nothing that a clock measured without `clock`."""
        found: dict[str, Any] = {
            "task": self.task, "method": self.method, "model": self.model, "units": self.units, "items": self.items, "seeds": self.seeds,
            "verdicts": dict(self.verdicts), "score" if self.graded else "accuracy": rounded(self.score),
            "interval_95": self.interval.to_json(), "interval_kind": self.interval.kind, "right_in_full": rounded(self.solved),
            "oracle": rounded(self.oracle), "oracle_interval_95": self.oracle_interval.to_json(),
            "answers": None if self.repeated is None else self.repeated.to_json(),
            "usage": self.usage.to_json(), "paid": self.paid.to_json(), "by_role": {role: usage.to_json() for role, usage in self.by_role.items()},
            "nodes": dict(self.nodes), "unparsed": self.unparsed, "judgements": self.judgements, "unfinished": self.unfinished,
            "stop_reasons": dict(self.stops), "repeats": self.repeats, "model_reported": list(self.reported),
        }  # fmt: skip
        return found | ({"seconds": round(self.seconds, 3), "median_seconds": round(self.median_seconds, 3)} if clock else {})


@dataclass(frozen=True, slots=True)
class Family:
    """Cells of one task that are compared with each other, by the names that they have there."""

    task: str
    model: str
    cells: Mapping[str, Cell]

    @property
    def title(self) -> str:
        """Task and model."""
        return f"{self.task}, {self.model}"


def families(found: Sequence[Cell]) -> list[Family]:
    """The methods of one task and model; or, where no model has two methods, the models of a task (a generator × evaluator grid)."""
    tasks: dict[str, dict[str, list[Cell]]] = {}
    for cell in found:
        tasks.setdefault(cell.task, {}).setdefault(cell.model, []).append(cell)
    made = []
    for task, models in tasks.items():
        if len(models) > 1 and all(len(group) == 1 for group in models.values()):
            made.append(Family(task, "model against model", {f"{c.method}, {c.model}": c for group in models.values() for c in group}))
        else:
            made += [Family(task, model, {cell.method: cell for cell in group}) for model, group in models.items()]
    return made


def item_order(row: Row) -> tuple[int, int, str]:
    """Ranks in order, else numbers in order, else names."""
    text = row.item
    number = row.rank if row.rank is not None else int(text) if text.isdecimal() and len(text) < 18 else None
    return (0, number, text) if number is not None else (1, 0, text)


def ordered(rows: Iterable[Row], methods: Sequence[str] = ()) -> list[Row]:
    """Rows in one order, whatever order they came in: by task, method (as in the grid), model, item, seed, unit."""
    place = {name: index for index, name in enumerate(methods)}
    return sorted(rows, key=lambda r: (r.task, place.get(r.method, len(place)), r.method, r.model, item_order(r), r.seed, r.unit))


def cells(rows: Sequence[Row]) -> list[Cell]:
    """The cells of rows that are in order."""
    groups: dict[CellKey, list[Row]] = {}
    for row in rows:
        groups.setdefault((row.task, row.method, row.model), []).append(row)
    return [_cell(key, found) for key, found in groups.items()]


def _cell(key: CellKey, rows: Sequence[Row]) -> Cell:
    by_item: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.verdict != "invalid_gold":
            by_item[row.item].append(row)
    scores = {item: fmean(row.score for row in found) for item, found in by_item.items()}
    oracle = [fmean(row.oracle_score for row in found) for found in by_item.values()]
    valid = [row for found in by_item.values() for row in found]
    single = len(valid) == len(by_item)
    verdicts = Counter(row.verdict for row in rows)
    roles = sorted({role for row in rows for role in row.by_role})
    nodes = {name: sum(row.nodes.get(name, 0) for row in rows) for name in COUNTS}
    return Cell(
        task=key[0], method=key[1], model=key[2], units=len(rows), items=len(by_item), seeds=len({row.seed for row in rows}),
        verdicts={name: verdicts[name] for name in VERDICTS}, scores=scores,
        graded=key[0] in _IN_PARTS or any(row.score not in (0.0, 1.0) for row in valid),
        score=_mean(scores.values()), interval=interval(list(scores.values()), single=single),
        solved=_mean(fmean(row.score == 1 for row in found) for found in by_item.values()),
        oracle=_mean(oracle), oracle_interval=interval(oracle, single=single), repeated=repeated(by_item),
        usage=_sum(row.usage for row in rows), paid=_sum(row.paid or row.usage for row in rows), nodes=nodes,
        by_role={role: _sum(row.by_role[role] for row in rows if role in row.by_role) for role in roles},
        unparsed=sum(row.unparsed for row in rows), judgements=sum(row.replies for row in rows),
        unfinished=sum(row.unfinished for row in rows), stops=dict(sorted(Counter(row.stop_reason for row in rows).items())),
        seconds=sum(row.seconds for row in rows), median_seconds=median(row.seconds for row in rows),
        repeats=sum(row.repeats for row in rows), reported=sorted({row.model_reported for row in rows if row.model_reported}),
    )  # fmt: skip


def repeated(by_item: Mapping[str, Sequence[Row]]) -> Repeated | None:
    """What several answers to each item add up to, those of all seeds together; `None` where no item has two.

    The majority is of normalised answers; equal counts go to the one that came first, and what is no answer does not vote.
    """
    pools = {item: _pool(rows) for item, rows in by_item.items()}
    sizes = {len(scores) for scores, _ in pools.values()}
    if not sizes or max(sizes) < 2:
        return None
    means = [fmean(scores) if scores else 0.0 for scores, _ in pools.values()]
    best = [max(scores, default=0.0) for scores, _ in pools.values()]
    most = [_majority(scores, votes) for scores, votes in pools.values()]
    counts = {item: (len(scores), sum(score == 1 for score in scores)) for item, (scores, _) in pools.items()}
    k = sizes.pop() if len(sizes) == 1 else None
    least, top = (k, k) if k is not None else (min(n for n, _ in counts.values()), max(n for n, _ in counts.values()))
    return Repeated(k, least, top, fmean(means), fmean(best), fmean(most), counts)


def _pool(rows: Sequence[Row]) -> tuple[list[float], list[str | None]]:
    scores: list[float] = []
    votes: list[str | None] = []
    for row in rows:
        own = list(row.samples) or [row.score]
        scores += own
        votes += list(row.votes) if len(row.votes) == len(own) else [row.answer] if len(own) == 1 else [None] * len(own)
    return scores, votes


def _majority(scores: Sequence[float], votes: Sequence[str | None]) -> float:
    counts = Counter(vote for vote in votes if vote is not None)
    if not counts:
        return 0.0
    chosen = max(counts, key=lambda vote: counts[vote])
    return next(score for score, vote in zip(scores, votes, strict=True) if vote == chosen)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0


def _sum(usages: Iterable[Mapping[str, Any]]) -> Usage:
    """Their sum, key by key: a `Usage` a row would take most of the time of a large report. An unknown price stays unknown."""
    total: dict[str, Any] = {}
    unknown = False
    for usage in usages:
        for name, value in usage.items():
            if value is None:
                unknown = True
            elif value.__class__ is not dict:
                total[name] = total.get(name, 0) + value
    if "estimated" in total:
        total["estimated"] = bool(total["estimated"])
    return Usage.from_json(total | ({"cost_usd": None} if unknown else {}))
