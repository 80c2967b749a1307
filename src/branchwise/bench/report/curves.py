"""The points of the plots: cost against accuracy, and thoughts visited against success (Yao et al. 2023, Fig. 3a). Draws nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from branchwise.bench.report.cells import Cell, Family, Repeated
from branchwise.bench.report.statistics import pass_at_k, rounded

__all__ = ["Curve", "Point", "cost_points", "visited_curves"]

MOST_K = 100


@dataclass(frozen=True, slots=True)
class Point:
    """`low` and `high` bound a 95 % interval where there is one."""

    x: float
    y: float
    label: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of one kind. `oracle` says that they were chosen with the answer key: no method can reach them without it."""

    name: str
    points: tuple[Point, ...]
    oracle: bool = False
    of: str = ""
    """What it is of: curves of one thing have one colour."""

    def to_json(self) -> dict[str, Any]:
        """One object."""
        points = [{"x": rounded(p.x), "y": rounded(p.y), "label": p.label} for p in self.points]
        return {"name": self.name, "oracle": self.oracle, "points": points}


def cost_points(family: Family) -> list[Curve]:
    """A point a method: mean tokens a unit, and the score as chosen with its interval."""
    return [
        Curve(name, (Point(cell.each(cell.usage.tokens), cell.score, name, cell.interval.low, cell.interval.high),), of=name)
        for name, cell in family.cells.items()
    ]


def visited(cell: Cell) -> float:
    """Thoughts that entered the tree, a unit: generated ones without those that were dropped or merged."""
    return cell.each(cell.nodes["generated"] - cell.nodes["dropped"] - cell.nodes["merged"])


def is_sampled(cell: Cell) -> bool:
    """Whether each answer is one thought, as with io and cot: then best of k is a curve over k."""
    if cell.repeated is None:
        return False
    answers = sum(n for n, _ in cell.repeated.by_item.values())
    return 0 < visited(cell) * cell.units <= answers * 1.001


def visited_curves(family: Family) -> list[Curve]:
    """Thoughts visited an item against success. Searches: as chosen, and any right state (oracle), a curve for each that differ in a setting.

    io and cot: best of k samples (oracle); a sample is one thought visited.
    """
    curves = [_best_of_k(name, cell.repeated) for name, cell in family.cells.items() if cell.repeated is not None and is_sampled(cell)]
    searches: dict[str, list[tuple[float, str, Cell]]] = {}
    for name, cell in family.cells.items():
        if not is_sampled(cell) and visited(cell) > 0:
            searches.setdefault(_stem(name), []).append((visited(cell), name, cell))
    for stem, found in searches.items():
        found.sort(key=lambda one: one[:2])
        chosen = [Point(x, c.score, _short(name, stem), c.interval.low, c.interval.high) for x, name, c in found]
        oracle = [Point(x, c.oracle, "", c.oracle_interval.low, c.oracle_interval.high) for x, name, c in found]
        curves.append(Curve(f"as chosen: {stem}", tuple(chosen), of=stem))
        curves.append(Curve(f"oracle: any right state, {stem}", tuple(oracle), oracle=True, of=stem))
    return curves


def _stem(name: str) -> str:
    """What methods that differ in a setting only have in common: `tot_bfs` of `tot_bfs?breadth=3`, `ToT` of `ToT b=3`."""
    return re.split(r"[?, ]", name, maxsplit=1)[0]


def _short(name: str, stem: str) -> str:
    """The setting: `breadth=3`, `b=3`."""
    return name.removeprefix(stem).lstrip("?, ")


def _best_of_k(name: str, found: Repeated) -> Curve:
    counts = [counts for counts in found.by_item.values() if counts[0]]
    most = min(min(n for n, _ in counts), MOST_K)
    points = [Point(k, fmean(pass_at_k(n, right, k) for n, right in counts), f"k={k}") for k in range(1, most + 1)]
    return Curve(f"oracle: best of k, {name}", tuple(points), oracle=True, of=name)
