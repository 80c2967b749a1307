"""`bench run --dry-run`: the worst case of a whole grid. Opens no model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from branchwise.bench.grid import Grid, Route, Unit
from branchwise.cli.text import console, document, dollars, plural, safe_text
from branchwise.errors import UsageError
from branchwise.estimate import estimate

__all__ = ["print_plan"]

_TYPICAL = 4
"""A worst case in tokens over what is typical."""
_NAMES = 3
"""Columns of names, before those of numbers."""


@dataclass(slots=True)
class _Cell:
    units: int = 0
    calls: int = 0
    tokens: float = 0
    likely: float = 0
    cost: float | None = 0.0


def print_plan(grid: Grid, price: Callable[[Route], Any], as_json: bool) -> None:
    """Print calls, tokens and dollars at the most, by task, method and model."""
    cells: dict[tuple[str, str, str], _Cell] = {}
    for unit in grid.units:
        cell = cells.setdefault((unit.task, unit.entry.label, unit.route.label), _Cell())
        _add(cell, unit, price(unit.route), grid)
    total = _Cell()
    for cell in cells.values():
        total.units, total.calls, total.tokens = total.units + cell.units, total.calls + cell.calls, total.tokens + cell.tokens
        total.likely += cell.likely
        total.cost = None if total.cost is None or cell.cost is None else total.cost + cell.cost
    equal = grid.spec.equal
    rows = [dict(zip(("task", "method", "model"), key, strict=True)) | _json(cell) for key, cell in cells.items()]
    if as_json:
        about = None if equal is None else {"by": equal.by, "amount": equal.amount}
        click.echo(document({"units": total.units, "equal": about, "total": _json(total), "cells": rows}))
        return
    out = console()
    out.print(safe_text(f"Worst case of {plural(total.units, 'unit')}:"))
    lines: list[tuple[str, ...]] = [("task", "method", "model", "units", "calls", "tokens", "likely tokens", "dollars")]
    lines += [(*key, *_texts(cell)) for key, cell in cells.items()] + [("all", "", "", *_texts(total))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        shown = [text.ljust(width) if column < _NAMES else text.rjust(width) for column, (text, width) in enumerate(zip(line, widths, strict=True))]
        out.print(safe_text("  " + "  ".join(shown).rstrip()))
    out.print(safe_text("Tokens: a prompt of n bytes is taken for n tokens, and each reply for as long as it may be. Likely: a quarter of that."))
    if equal is not None:
        given = "what the dearest method takes on the mean" if equal.amount is None else f"{equal.amount:g}"
        out.print(safe_text(f"Equal budget: {given} {equal.by} for each item and method; a unit may exceed it by about half a step."))


def _add(cell: _Cell, unit: Unit, price: Any, grid: Grid) -> None:
    """One unit. An equal budget in calls or tokens replaces the method's own worst case."""
    cell.units += 1
    try:
        worst = estimate(unit.found_task.problem(unit.item.input), unit.method(), budget=unit.budget, price=price)
    except UsageError:
        return  # an item that cannot be read is a failed row, and costs nothing
    likely, times, equal = worst.tokens / _TYPICAL, float(unit.entry.samples), grid.spec.equal
    if equal is not None:
        whole = {"tokens": likely, "calls": float(worst.calls), "cost": (worst.cost_usd or 0.0) / _TYPICAL}[equal.by]
        times = 1.0 if equal.amount is None or not whole else equal.amount / whole
    cell.calls += round(worst.calls * times)
    cell.tokens += worst.tokens * times
    cell.likely += likely * times
    cell.cost = None if cell.cost is None or worst.cost_usd is None else cell.cost + worst.cost_usd * times


def _json(cell: _Cell) -> dict[str, Any]:
    return {
        "units": cell.units, "calls": cell.calls, "tokens": round(cell.tokens), "likely_tokens": round(cell.likely), "cost_usd": cell.cost,
    }  # fmt: skip


def _texts(cell: _Cell) -> list[str]:
    return [f"{cell.units:,}", f"{cell.calls:,}", f"{cell.tokens:,.0f}", f"{cell.likely:,.0f}", dollars(cell.cost)]
