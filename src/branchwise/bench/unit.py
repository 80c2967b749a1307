"""One unit of a bench: solved without a gold, marked with it when that is over, and told as a row. Knows no file of rows and no cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from branchwise.batch import solve_on, spent_in, told
from branchwise.bench.equal import Filled, Meter, cost_of, fill, first_chains, seed_of, vote
from branchwise.bench.grid import Unit
from branchwise.bench.marking import Answer, Mark, Marker, Truth
from branchwise.bench.rows import COUNTS, TRACES, Row
from branchwise.budget import Price, Usage
from branchwise.errors import TraceError, UsageError
from branchwise.estimate import estimate
from branchwise.method import Method
from branchwise.model.base import LanguageModel
from branchwise.model.layers.retrying import RetryPolicy
from branchwise.problem import Problem
from branchwise.result import Result
from branchwise.solve import Stop
from branchwise.trace import Call, read_trace

__all__ = ["Bench", "Cut", "run_first", "run_unit"]


class Cut(Exception):
    """The unit was broken off, and has no row: it goes on the next time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """What units run with. `clock` gives seconds; `lock` keeps the marker to one unit at a time."""

    folder: Path
    model: LanguageModel
    marker: Marker
    lock: asyncio.Lock
    clock: Callable[[], float]
    price: Price | Mapping[str, Price | None] | None
    stop: Stop = field(default_factory=Stop)
    parallel: int = 8
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    notice: Callable[[str], None] = lambda text: None
    command: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    """By task, the first digits of the SHA-256 of the items' data."""


async def run_unit(unit: Unit, truth: Truth, bench: Bench, amount: float | None = None) -> Row:
    """The row of `unit`; `amount` is its budget where budgets are equal. What fails is a row too. Raises `Cut`."""
    began = bench.clock()
    running = _Running(unit, bench)
    try:
        problem = unit.found_task.problem(unit.item.input)
        filled = await running.runs(problem, amount)
        return await _row(running, problem, filled, truth, amount, bench.clock() - began)
    except Cut:
        raise
    except Exception as error:
        usage = sum((spent_in(path) for path in running.paths), Usage())
        return running.row(
            status="failed", error=told(error), stop_reason="failed", unfinished=True, usage=usage.to_json(), paid=usage.to_json(),
            seconds=round(bench.clock() - began, 3),
        )  # fmt: skip


async def run_first(unit: Unit, bench: Bench) -> float | None:
    """What the first run of `unit` costs without a limit, where budgets are to be equal; `None` where it fails. Raises `Cut`."""
    try:
        result = await _Running(unit, bench).one(unit.found_task.problem(unit.item.input), 0, None, None)
    except Cut:
        raise
    except Exception:  # the unit's own run tells of it
        return None
    return None if result.stop_reason == "failed" else cost_of(result.usage, unit.equal)


class _Running:
    """The runs of one unit."""

    def __init__(self, unit: Unit, bench: Bench) -> None:
        self.unit, self.bench = unit, bench
        self.many = bool(unit.equal) or unit.entry.samples > 1
        self.paths: list[Path] = []

    def path(self, number: int) -> Path:
        """The trace of a run."""
        name = f"{self.unit.id}.{number}.jsonl" if self.many else f"{self.unit.id}.jsonl"
        return self.bench.folder / TRACES / name

    async def runs(self, problem: Problem, amount: float | None) -> Filled:
        """All runs: one, so many samples, or as many as the amount allows. The first is the unit's seed's."""
        unit = self.unit
        if not unit.equal:
            found = Filled([await self.one(problem, number, None, None) for number in range(unit.entry.samples)])
            found.paid = sum((result.usage for result in found.kept), Usage())
            return found
        if amount is None:
            raise UsageError("every first run failed, so there is no amount for equal budgets")
        chains, first = unit.chains, None
        if chains is not None and unit.amount is not None:
            first = first_chains(chains, amount, unit.equal, estimate(problem, unit.method(), price=self.bench.price))

        async def repeat(number: int, count: int | None, meter: Meter) -> Result:
            return await self.one(problem, number, count, meter)

        return await fill(amount, unit.equal, repeat, self.bench.stop, draw=unit.draw, chains=chains, first=first)

    async def one(self, problem: Problem, number: int, chains: int | None, meter: Meter | None) -> Result:
        """One run, gone on with where it was cut off. Raises `Cut`."""
        unit, bench, path = self.unit, self.bench, self.path(number)
        method, seed = unit.method(chains), seed_of(unit.seed, number)
        if path not in self.paths:
            self.paths.append(path)
        result = await solve_on(
            problem, method, bench.model, path, f"unit {unit.id}", bench.notice, budget=unit.budget, seed=seed, parallel=bench.parallel,
            price=bench.price, retry=bench.retry, stop=meter or bench.stop, on_event=None if meter is None else meter.on_event,
            about=self.about(method, seed),
        )  # fmt: skip
        if result.stop_reason == "cancelled" or bench.stop.asked:
            raise Cut
        return result

    def about(self, method: Method, seed: int) -> dict[str, Any]:
        """What the trace keeps, so that `branchwise solve --model tape:TRACE` gives the run again without a model."""
        unit = self.unit
        sampling = {"temperature": unit.temperature, "max_tokens": unit.max_tokens}
        given = {name: value for name, value in sampling.items() if value is not None}
        settings = {
            "task": unit.task, "problem": unit.item.input, "method": unit.entry.method, "options": self.options(method),
            "sampling": {"all": given} if given else {}, "model": unit.route.label, "seed": seed, "window": method.window,
            "budget": unit.budget.to_json(), "parallel": self.bench.parallel,
        }  # fmt: skip
        return {
            "settings": settings, "command": self.bench.command, "item": unit.item.id, "input": unit.item.input,
            "bench": {"unit": unit.id, "method": unit.entry.label, "data": self.bench.data.get(unit.task, "")},
        }  # fmt: skip

    def options(self, method: Method) -> dict[str, Any]:
        """The method's settings, with the number of chains that it was given."""
        options = dict(self.unit.entry.settings)
        return {**options, "k": method.generate.k} if self.unit.equal and self.unit.chains is not None else options

    def row(self, **values: Any) -> Row:
        """A row with what is known before anything came."""
        unit, bench = self.unit, self.bench
        common: dict[str, Any] = {
            "unit": unit.id, "task": unit.task, "item": unit.item.id, "rank": unit.item.rank, "method": unit.entry.label,
            "model": unit.route.label, "seed": unit.seed, "data": bench.data.get(unit.task, ""),
            "trace": [str(path.relative_to(bench.folder)) for path in self.paths if path.exists()],
        }  # fmt: skip
        return Row(**common | values)


async def _row(running: _Running, problem: Problem, filled: Filled, truth: Truth, amount: float | None, seconds: float) -> Row:
    unit, bench, kept = running.unit, running.bench, filled.kept
    usage = sum((result.usage for result in kept), Usage())
    common: dict[str, Any] = {
        "usage": usage.to_json(), "by_role": _roles(kept), "paid": filled.paid.to_json(), "nodes": _counts(kept),
        "unparsed": sum(result.tree.unparsed for result in kept),
        "replies": sum(len(node.samples) for result in kept for node in result.tree),
        "seconds": round(seconds, 3), "repeats": len(kept), "model_reported": _reported(running.paths),
        "overshoot": cost_of(usage, unit.equal) / amount if unit.equal and amount else None,
    }  # fmt: skip
    failed = next((result for result in kept if result.stop_reason == "failed"), None)
    if failed is not None:
        return running.row(status="failed", error=failed.error or "failed", stop_reason="failed", unfinished=True, **common)
    equal = bool(unit.equal)
    chosen = vote(problem, unit.method().pick, kept) if equal else (kept[0].answer, kept[0].node, 0)
    answer = Answer(chosen[0], () if chosen[1] is None else chosen[1].state)
    finals = [Answer(result.answer, () if result.node is None else result.node.state) for result in kept]
    async with bench.lock:
        mark, marks, best = await asyncio.to_thread(_marks, bench.marker, unit, truth, problem, answer, finals, kept)
    row = running.row(
        error=filled.error or mark.reason or None if mark.verdict == "failed" else filled.error or None, answer=answer.text,
        verdict=mark.verdict, score=mark.score, oracle_score=max(best, mark.score), samples=[one.score for one in marks],
        votes=[one.text for one in finals], solved=kept[chosen[2]].solved, unfinished=kept[chosen[2]].unfinished,
        stop_reason=kept[-1].stop_reason, **common,
    )  # fmt: skip
    kept_names = {str(running.path(number).relative_to(bench.folder)) for number in range(len(kept))}
    return Row(**row.to_json() | {"trace": [name for name in row.trace if name in kept_names]})


def _marks(
    marker: Marker, unit: Unit, truth: Truth, problem: Problem, chosen: Answer, finals: Sequence[Answer], kept: Sequence[Result]
) -> tuple[Mark, list[Mark], float]:
    """The mark of what was chosen, those of all final answers, and the best that the trees hold."""
    task, prompt = unit.task, unit.item.input
    known: dict[Answer, Mark] = {}
    for answer in (chosen, *finals):
        if answer not in known:
            known[answer] = marker.mark(task, prompt, truth, answer)
    return known[chosen], [known[answer] for answer in finals], marker.best(task, prompt, truth, problem, kept)


def _roles(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    total: dict[str, Usage] = {}
    for result in results:
        for role, usage in result.by_role.items():
            total[role] = total.get(role, Usage()) + usage
    return {role: usage.to_json() for role, usage in sorted(total.items())}


def _counts(results: Sequence[Result]) -> dict[str, int]:
    counts = [result.tree.counts() for result in results]
    return {name: sum(getattr(one, name) for one in counts) for name in COUNTS}


def _reported(paths: Sequence[Path]) -> str | None:
    """The model as the server named it."""
    for path in paths:
        with suppress(TraceError):
            for event in read_trace(path):
                if isinstance(event, Call) and event.model:
                    return event.model
    return None

