"""`bench run --dry-run`: the worst case of a whole grid. Opens no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import click

from branchwise.bench.grid import Grid, Route, Unit
from branchwise.bench.spec import Equal
from branchwise.budget import Price
from branchwise.cli.text import amount, console, document, dollars, plural, safe_text
from branchwise.errors import UsageError
from branchwise.estimate import estimate

__all__ = ["print_plan"]

_TYPICAL = 4
"""A worst case in tokens over what is typical."""
_NAMES = 3
"""Columns of names, before those of numbers."""


@dataclass(slots=True)
class _Cell:
    """`None`: cannot be said before the run (or, for dollars, the price is unknown)."""

    units: int = 0
    calls: float | None = 0
    tokens: float | None = 0
    likely: float | None = 0
    cost: float | None = 0

    def add(self, other: _Cell) -> None:
        """Take in another."""
        for field in fields(self):
            mine, more = getattr(self, field.name), getattr(other, field.name)
            setattr(self, field.name, None if mine is None or more is None else mine + more)


def print_plan(grid: Grid, price: Callable[[Route], Any], as_json: bool) -> None:
    """Print calls, tokens and dollars at the most, by task, method and model."""
    cells: dict[tuple[str, str, str], _Cell] = {}
    prices: dict[str, Any] = {}
    for unit in grid.units:
        prices[unit.route.label] = price(unit.route)
        cell = cells.setdefault((unit.task, unit.entry.label, unit.route.label), _Cell())
        cell.add(_worst(unit, prices[unit.route.label]))
    equal = grid.spec.equal
    if equal is not None:
        cells = {key: _equal(equal, cell, [other for (task, _, model), other in cells.items() if (task, model) == (key[0], key[2])],
                             prices[key[2]]) for key, cell in cells.items()}  # fmt: skip
    total = _Cell()
    for cell in cells.values():
        total.add(cell)
    if as_json:
        rows = [dict(zip(("task", "method", "model"), key, strict=True)) | _json(cell) for key, cell in cells.items()]
        about = None if equal is None else {"by": equal.by, "amount": equal.amount}
        click.echo(document({"units": total.units, "equal": about, "total": _json(total), "cells": rows}))
        return
    _print(cells, total, equal)


def _worst(unit: Unit, price: Any) -> _Cell:
    """One unit. An item that cannot be read is a failed row, and costs nothing."""
    try:
        found = estimate(unit.found_task.problem(unit.item.input), unit.method(), budget=unit.budget, price=price)
    except UsageError:
        return _Cell(units=1)
    times = 1 if unit.equal else unit.entry.samples
    cost = None if found.cost_usd is None else found.cost_usd * times
    return _Cell(1, found.calls * times, found.tokens * times, found.tokens * times / _TYPICAL, cost)


def _equal(equal: Equal, cell: _Cell, rivals: list[_Cell], price: Any) -> _Cell:
    """What a method spends where all spend the same: the amount, or at the most what the dearest of `rivals` can take."""

    def of(name: str) -> float | None:
        if equal.amount is not None:
            return equal.amount * cell.units
        found = [getattr(rival, name) for rival in rivals]
        return None if None in found else max(value / rival.units for value, rival in zip(found, rivals, strict=True)) * cell.units

    if equal.by == "calls":
        return _Cell(cell.units, of("calls"), None, None, None)
    if equal.by == "cost":
        return _Cell(cell.units, None, None, None, of("cost"))
    tokens = of("tokens")
    dearest = _dearest(price)
    return _Cell(cell.units, None, tokens, of("likely"), None if dearest is None or tokens is None else tokens * dearest / 1e6)


def _dearest(price: Price | Mapping[str, Price | None] | None) -> float | None:
    """Dollars of a million of the dearest tokens."""
    found = list(price.values()) if isinstance(price, Mapping) else [price]
    known = [max(one.prompt, one.completion) for one in found if one is not None]
    return max(known) if len(known) == len(found) else None


def _print(cells: Mapping[tuple[str, str, str], _Cell], total: _Cell, equal: Equal | None) -> None:
    out = console()
    out.print(safe_text(f"Worst case of {plural(total.units, 'unit')}:"))
    lines: list[tuple[str, ...]] = [("task", "method", "model", "units", "calls", "tokens", "likely tokens", "dollars")]
    lines += [(*key, *_texts(cell)) for key, cell in cells.items()] + [("all", "", "", *_texts(total))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        shown = [text.ljust(width) if column < _NAMES else text.rjust(width) for column, (text, width) in enumerate(zip(line, widths, strict=True))]
        out.print(safe_text("  " + "  ".join(shown).rstrip()))
    if equal is None or (equal.amount is None and equal.by == "tokens"):
        out.print(safe_text("Tokens: a prompt of n bytes is taken for n tokens, a reply for as long as it may be. Likely: a quarter of it."))
    if equal is not None:
        given = f"what the dearest method takes on the mean, in {equal.by}," if equal.amount is None else f"{amount(equal.amount)} {equal.by}"
        out.print(safe_text(f"Equal budget: {given} for each item and method. What is paid is more by a part of a step: see docs/bench.md."))
        if equal.by == "tokens" and equal.amount is not None:
            out.print(safe_text("Likely tokens are the same: each method spends the amount, repeated until it is used up."))
        what = {"tokens": "calls", "calls": "tokens and dollars", "cost": "calls and tokens"}[equal.by]
        out.print(safe_text(f"?: {what} cannot be told before the run, as methods are repeated until what each may spend in {equal.by} is used up."))


def _json(cell: _Cell) -> dict[str, Any]:
    names = {"units": cell.units, "calls": cell.calls, "tokens": cell.tokens, "likely_tokens": cell.likely}
    return {name: None if value is None else round(value) for name, value in names.items()} | {"cost_usd": cell.cost}


def _texts(cell: _Cell) -> list[str]:
    numbers = ["?" if value is None else f"{value:,.0f}" for value in (cell.units, cell.calls, cell.tokens, cell.likely)]
    return [*numbers, dollars(cell.cost)]
