"""The worst case of a run before anything is paid: states, calls, tokens, dollars, and the formula. Calls no model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from branchwise.budget import Bound, Budget, Price
from branchwise.method import Method
from branchwise.problem import Problem
from branchwise.thought.base import Size

__all__ = ["Estimate", "estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Upper bounds, faults of the network left out (each retry adds its calls).

    `full_states` and `full_calls` are exact where every step gives k thoughts and nothing is pruned, merged, dead or solved. `states` and
    `calls` are never exceeded; the two differ only where steps that give less than k make room for more steps. Tokens are an upper bound (a
    prompt of n bytes is taken for n tokens). `calls`, tokens and `cost_usd` are cut where the budget cuts them.
    """

    states: int
    """Thoughts generated at the most."""
    judged: int
    expansions: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    full_states: int
    full_calls: int
    by_role: Mapping[str, Bound]
    formula: tuple[str, ...]
    bounded: bool
    """Whether a budget limits the run."""
    warnings: tuple[str, ...] = field(default=())
    tokens: int = 0
    """Prompt and completion together; less than the sum of the two where a budget cuts it."""

    def to_json(self) -> dict[str, Any]:
        """One document."""
        roles = {
            role: {"calls": b.calls, "prompt_tokens": b.prompt_tokens, "completion_tokens": b.completion_tokens}
            for role, b in self.by_role.items()
        }
        return {
            "states": self.states, "judged": self.judged, "expansions": self.expansions, "calls": self.calls,
            "prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens,
            "tokens": self.tokens, "cost_usd": self.cost_usd,
            "full_states": self.full_states, "full_calls": self.full_calls, "by_role": roles,
            "formula": list(self.formula), "bounded": self.bounded, "warnings": list(self.warnings),
        }  # fmt: skip


def estimate(
    problem: Problem, method: Method, *, budget: Budget | None = None, price: Price | Mapping[str, Price | None] | None = None,
    k: int | None = None,
) -> Estimate:  # fmt: skip
    """The worst case of `method` on `problem`, from the search's plan and the bounds of the generator and the evaluator.

    `price`, of all roles or by role, is `None` where it is unknown; then so is `cost_usd`. `k` overrides the generator's own.
    """
    method.refuse(problem)
    budget = budget or Budget()
    method = method.sized(budget.nodes)
    full, worst = _plan(problem, method, k, False), _plan(problem, method, k, True)
    total = worst.generate + worst.evaluate + worst.answer
    full_calls = (full.generate + full.evaluate + full.answer).calls
    formula = [*_tree(method, k), *full.formula, _sum(full, full_calls)]
    if total.calls != full_calls:
        formula.append(f"at the very most {_count(total.calls, 'call')}, where steps give less than k thoughts and more steps fit")
    calls, prompt, completion, tokens = total.calls, total.prompt_tokens, total.completion_tokens, total.tokens
    parts = (("generate", worst.generate), ("evaluate", worst.evaluate), ("answer", worst.answer))
    cost = _cost(parts, price)
    if budget.calls is not None:
        calls, full_calls = min(calls, budget.calls), min(full_calls, budget.calls)
    if budget.tokens is not None:
        prompt, completion, tokens = min(prompt, budget.tokens), min(completion, budget.tokens), min(tokens, budget.tokens)
    if budget.cost is not None and cost is not None:
        cost = min(cost, budget.cost)
    limits = (budget.calls, budget.tokens, budget.cost, budget.nodes, budget.seconds, method.max_nodes)
    bounded = any(limit is not None for limit in limits)
    return Estimate(
        worst.states, worst.judged, worst.expansions, calls, prompt, completion, cost, full.states, full_calls,
        {name: part for name, part in parts if part.calls}, tuple(formula), bounded,
        () if bounded else _warnings(method, worst.states, total.calls),
        tokens,
    )  # fmt: skip


def _cost(parts: Iterable[tuple[str, Bound]], price: Price | Mapping[str, Price | None] | None) -> float | None:
    """Dollars; unknown where the price of a role that has calls is."""
    if not isinstance(price, Mapping):
        price = dict.fromkeys(("all",), price)
        parts = [("all", sum((part for _, part in parts), Bound()))]
    total = 0
    for role, part in parts:
        own = price.get(role)
        if own is None and (part.calls or role == "all"):
            return None
        total += 0 if own is None else own.cost(part.prompt_tokens, part.completion_tokens)
    return total / 1e6


@dataclass(slots=True)
class _Sum:
    generate: Bound = Bound()
    evaluate: Bound = Bound()
    answer: Bound = Bound()
    states: int = 0
    judged: int = 0
    expansions: int = 0
    formula: list[str] = field(default_factory=list)


def _plan(problem: Problem, method: Method, k: int | None, worst: bool) -> _Sum:
    """The search's plan in calls and tokens."""
    k = k or method.generate.k
    start, thought = Size(len(problem.prompt.encode("utf-8", "replace")), 0), method.generate.thought_bytes
    found = _Sum()
    for level in method.search.plan(k, worst):
        size = start.deeper(thought, level.depth)
        if level.expand:
            each = level.k or k
            once = method.generate.bound(problem, size, each)
            found.generate += once * level.expand
            found.expansions += level.expand
            found.states += level.expand * each
            found.formula.append(f"{_many('expand', level.expand, level.depth)} × {_count(once.calls, 'call')} = {level.expand * once.calls:,}")
        if level.judge and method.evaluate is not None:
            found.judged += level.judge
            bound = _judge(method, problem, size, level.judge, level.groups, level.k or k)
            thoughts = _rolled_out(method, problem, size, level.judge)
            found.generate += thoughts
            found.evaluate += bound.beyond(thoughts)
            found.formula.append(f"{_many('judge', level.judge, level.depth)} = {_count(bound.calls, 'call')}")
    if method.answer is not None:
        found.answer = method.answer.bound(problem, start.deeper(thought, method.search.max_depth or 0), 1)
        found.formula.append(f"write the answer = {_count(found.answer.calls, 'call')}")
    return found


def _judge(method: Method, problem: Problem, size: Size, states: int, groups: int, k: int) -> Bound:
    """An evaluator that judges alone is asked state by state; a joint one group by group: a level, or the k children of an expansion."""
    assert method.evaluate is not None
    if not method.evaluate.joint:
        return method.evaluate.bound(problem, size, 1) * states
    return method.evaluate.bound(problem, size, states if groups == 1 else k) * groups


def _rolled_out(method: Method, problem: Problem, size: Size, states: int) -> Bound:
    """The part of judging `states` that goes into thoughts, which are charged to the generator's role."""
    generating = getattr(method.evaluate, "generating", None)
    return Bound() if generating is None else generating(problem, size, 1) * states


def _tree(method: Method, k: int | None) -> list[str]:
    """The whole tree of a search that a node budget bounds: its leaves, and the sum of all levels."""
    if not hasattr(method.search, "max_nodes"):
        return []
    k, depth = k or method.generate.k, method.search.max_depth or 0
    sizes = [k**level for level in range(1, depth + 1)]
    leaves = f"{sizes[-1]:,} {'leaf' if sizes[-1] == 1 else 'leaves'}"
    return [f"the whole tree: {k}^{depth} = {leaves}, {_count(sum(sizes), 'thought')} on all levels"]


def _many(what: str, states: int, depth: int) -> str:
    """`expand 5 states of depth 1`."""
    return f"{what} {_count(states, 'state')} of depth {depth}"


def _sum(full: _Sum, calls: int) -> str:
    """`total 5 + 45 + 1 = 51 calls`."""
    parts = " + ".join(f"{part.calls:,}" for part in (full.generate, full.evaluate, full.answer))
    return f"total {parts} = {_count(calls, 'call')}"


def _count(number: int, noun: str) -> str:
    """`1 call`, `2,000 calls`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _warnings(method: Method, states: int, calls: int) -> tuple[str, ...]:
    if calls <= 1000 and not hasattr(method.search, "max_nodes"):
        return ()
    most = f"{_count(states, 'state')} and {_count(calls, 'call')}"
    return (f"branch explosion: up to {most}, and no budget limits them; set --max-calls or --max-nodes",)
