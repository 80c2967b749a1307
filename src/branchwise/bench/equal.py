"""The same budget for each method and item: a method that finishes early is repeated with new seeds, and the repeats vote. Knows no gold.

How it is spent. The amount A is in tokens, calls or dollars. Repeats run one after the other, each with one step at a time (window 1), so that
what was spent after every step is exact. They go on until A is passed; then what is kept ends either with the last step (and the writing of the
answer) below A, or with the first one above it. Which of the two is drawn: the upper one with the probability that makes the mean A, by a number
that belongs to the item and the seed, whatever is answered. So a unit is off A by a part of a step, and a method's mean over many items is A,
however large its steps are. Methods that sample many whole answers in one step (cot_sc, best_of_n) get fewer of them where
their room is less.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from branchwise.budget import Usage
from branchwise.engine import Run
from branchwise.estimate import Estimate
from branchwise.problem import Kind, Problem
from branchwise.result import Result
from branchwise.search.pick import Pick, majority
from branchwise.solve import Stop
from branchwise.trace import Event, Expanded, Judged
from branchwise.tree import Node

__all__ = ["Filled", "Meter", "cost_of", "fill", "first_chains", "seed_of", "vote"]

_LEAST = 0.01
"""What is left below this share of the amount is not spent."""
_HARDLY = 0.25
"""By how much a prediction of what a step costs may be wrong, in steps."""
_MOST = 1000
"""Repeats of one unit at the most."""
_TYPICAL = 4
"""A worst case in tokens over what is typical: a token is some four bytes, and replies are seldom as long as they may be."""


def cost_of(usage: Usage, by: str) -> float:
    """What was spent: tokens, calls or dollars (0 where the price is unknown)."""
    return {"tokens": float(usage.tokens), "calls": float(usage.calls), "cost": (usage.cost or 0) / 1e6}[by]


def seed_of(seed: int, repeat: int) -> int:
    """The seed of a repeat; the unit's own for the first."""
    if not repeat:
        return seed
    return int.from_bytes(hashlib.blake2b(f"{seed}/{repeat}".encode(), digest_size=4).digest()) & 0x7FFFFFFF


class Meter(Stop):
    """Ends a run when what it costs has passed `room`, or after `at` steps; `outer` can end it too.

    `answer` is what writing the answer costs, if known. `draw` is the unit's number in (0, 1): a step that would hardly be kept is not begun.
    """

    def __init__(self, by: str, room: float, answer: float | None, draw: float, outer: Stop, at: int | None = None) -> None:
        super().__init__()
        self._by, self._room, self._answer, self._draw, self._outer, self._at = by, room, answer, draw, outer, at
        self._run: Run | None = None
        self.costs: list[float] = []
        """What was spent after each step, the writing of the answer left out."""

    def add(self, run: Run) -> None:
        """Called by `solve`."""
        self._run, self.costs = run, []
        self._outer.add(run)

    def remove(self, run: Run) -> None:
        """Called by `solve`."""
        self._outer.remove(run)

    def on_event(self, event: Event) -> None:
        """Look at what was spent after each step of the search."""
        run = self._run
        if run is None or not (isinstance(event, Judged) or (isinstance(event, Expanded) and event.role != "answer")):
            return
        spent = run.ledger.spent
        cost, calls = cost_of(spent, self._by), max(1, spent.calls)
        self.costs.append(cost)
        answer = 0.0 if run.method.answer is None else cost / calls if self._answer is None else self._answer
        over = self._room - cost - answer <= (self._draw - _HARDLY) * cost / len(self.costs)
        if len(self.costs) == self._at or (self._at is None and (over or cost + answer >= self._room)):
            run.interrupt(f"budget:{self._by}")


@dataclass(slots=True)
class Filled:
    """The repeats of a unit that were kept, and what all of them cost. `error` says why there were no more."""

    kept: list[Result] = field(default_factory=list)
    paid: Usage = field(default_factory=Usage)
    error: str = ""


Repeat = Callable[[int, int | None, Meter], Awaitable[Result]]
"""Runs a repeat by its number, with so many chains (`None`: as configured), under a meter; what it was asked before costs nothing."""


async def fill(
    amount: float, by: str, repeat: Repeat, stop: Stop, *, draw: float, chains: int | None = None, first: int | None = None
) -> Filled:  # fmt: skip
    """Repeat until the whole has passed `amount`. `chains` is the method's number of whole answers a step, `first` that of repeat 0."""
    found = Filled()
    plan = _Plan(by, chains)
    total = 0.0
    for number in range(_MOST):
        room = amount - total
        if number and (room < _LEAST * amount or room < (draw - _HARDLY) * plan.least):
            break
        count = first if not number else plan.chains(room)
        meter = Meter(by, room, plan.answer, draw, stop)
        result = await repeat(number, count, meter)
        cost = cost_of(result.usage, by)
        found.paid += result.usage
        if result.stop_reason == "failed" or not cost:
            if not number:
                found.kept.append(result)
            elif result.stop_reason == "failed":
                found.error = f"repeat {number + 1} failed: {result.error}"
            break
        keep = _kept(meter.costs, cost, room, draw, number > 0)
        if keep == 0:
            break
        if keep < len(meter.costs):
            shorter = await repeat(number, count, Meter(by, room, plan.answer, draw, stop, at=keep))
            answer = shorter.by_role.get("answer", Usage())
            found.paid += answer if answer != result.by_role.get("answer", Usage()) else Usage()
            found.kept.append(shorter)
            break
        found.kept.append(result)
        total += cost
        plan.learn(result, len(meter.costs), count or chains)
        if total >= amount:
            break
    return found


def _kept(costs: Sequence[float], whole: float, room: float, draw: float, droppable: bool) -> int:
    """How many steps of a repeat are kept: all where it fits, else up to the last one below `room` or the first above it, as `draw` says.

    `costs` are after each step, `whole` is with the writing of the answer; 0 steps only where the repeat may be dropped.
    """
    if whole <= room or not costs:
        return max(1, len(costs))
    answer = whole - costs[-1]
    ends = [(0, 0.0)] if droppable else []
    ends += [(steps, cost + answer) for steps, cost in enumerate(costs, 1)]
    upper = next(place for place, (_, cost) in enumerate(ends) if cost > room)
    if not upper:
        return ends[0][0]
    (below, low), (above, high) = ends[upper - 1], ends[upper]
    return above if (room - low) / (high - low) > draw else below


class _Plan:
    """What a further repeat is expected to cost, from those that were kept."""

    def __init__(self, by: str, chains: int | None) -> None:
        self._by, self._most = by, chains
        self._seen: list[tuple[float, float, float]] = []
        self._chains: list[tuple[float, float]] = []

    def learn(self, result: Result, steps: int, chains: int | None) -> None:
        """Take in a repeat."""
        whole = cost_of(result.usage, self._by)
        answer = cost_of(result.by_role.get("answer", Usage()), self._by)
        prompt = float(result.by_role.get("generate", Usage()).prompt_tokens) if self._by == "tokens" else 0.0
        self._seen.append((whole, answer, max(1, steps)))
        if self._most is not None:
            self._chains.append((prompt, (whole - prompt) / max(1, chains or 1)))

    @property
    def answer(self) -> float | None:
        """The mean cost of writing an answer."""
        return sum(answer for _, answer, _ in self._seen) / len(self._seen) if self._seen else None

    @property
    def least(self) -> float:
        """The least that a repeat costs: a step, or a chain, and the answer."""
        if self._chains:
            return sum(prompt + each for prompt, each in self._chains) / len(self._chains)
        return sum((whole - answer) / steps + answer for whole, answer, steps in self._seen) / len(self._seen)

    def chains(self, room: float) -> int | None:
        """How many chains fit best into `room`."""
        if not self._chains or self._most is None:
            return None
        n = len(self._chains)
        prompt, each = sum(p for p, _ in self._chains) / n, sum(c for _, c in self._chains) / n
        return max(1, min(self._most, round((room - prompt) / each))) if each > 0 else self._most


def first_chains(chains: int, amount: float, by: str, worst: Estimate) -> int:
    """How many chains of the first repeat are likely to fit into `amount`, from the worst case of all of them."""
    each = {"tokens": worst.tokens / _TYPICAL, "calls": worst.calls, "cost": (worst.cost_usd or 0.0) / _TYPICAL}[by] / chains
    return chains if each <= 0 else max(1, min(chains, int(amount / each)))


def vote(problem: Problem, pick: Pick, results: Sequence[Result]) -> tuple[str | None, Node | None, int]:
    """The answer of all repeats, the node that holds it, and the number of the repeat that gave it first.

    A proven answer wins; else the most frequent one, the earliest on ties. A repeat has a vote, and where the method itself takes the majority
    of many chains, each chain has one.
    """
    votes: Counter[str] = Counter()
    first: dict[str, tuple[Node | None, int]] = {}
    for number, result in enumerate(results):
        if result.solved:
            return result.answer, result.node, number
        ballots = [(result.answer, result.node, 1)]
        if pick is majority:
            alive = [node for node in result.tree if node.status.kind is not Kind.DEAD]
            ballots = [(problem.answer(node.state), node, node.arrivals) for node in alive] or ballots
        for answer, node, weight in ballots:
            if answer is not None:
                votes[answer] += weight
                first.setdefault(answer, (node, number))
    if not votes:
        return results[0].answer, results[0].node, 0
    chosen = max(votes, key=lambda answer: votes[answer])
    return (chosen, *first[chosen])
