"""The worst case of a run before anything is paid: states, calls, tokens, dollars, and the formula. Knows the parts of a method, calls no model."""

from __future__ import annotations

from collections.abc import Mapping
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

    `states`, `expansions` and `calls` are exact where every step gives k thoughts and nothing is pruned, merged, dead or solved; tokens are
    an upper bound (a prompt of n bytes is taken for n tokens). `calls`, `tokens` and `cost_usd` are cut where the budget cuts them.
    """

    states: int
    """Thoughts generated at the most."""
    judged: int
    expansions: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    by_role: Mapping[str, Bound]
    formula: tuple[str, ...]
    bounded: bool
    """Whether a budget limits the run."""
    warnings: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """One document."""
        roles = {
            role: {"calls": b.calls, "prompt_tokens": b.prompt_tokens, "completion_tokens": b.completion_tokens}
            for role, b in self.by_role.items()
        }
        return {
            "states": self.states, "judged": self.judged, "expansions": self.expansions, "calls": self.calls,
            "prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens,
            "tokens": self.prompt_tokens + self.completion_tokens, "cost_usd": self.cost_usd, "by_role": roles,
            "formula": list(self.formula), "bounded": self.bounded, "warnings": list(self.warnings),
        }  # fmt: skip


def estimate(problem: Problem, method: Method, *, budget: Budget | None = None, price: Price | None = None, k: int | None = None) -> Estimate:
    """The worst case of `method` on `problem`, from the search's plan and the bounds of the generator and the evaluator.

    `price` is `None` where it is unknown; then so is `cost_usd`. `k` overrides the generator's own.
    """
    method.refuse(problem)
    budget = budget or Budget()
    k = k or method.generate.k
    chain = method.search.plan(1) == method.search.plan(k)
    per_step = 1 if chain else k
    start = Size(len(problem.prompt.encode("utf-8", "replace")), 0)
    thought = method.generate.thought_bytes
    generate, evaluate, answer = Bound(), Bound(), Bound()
    expansions = judged = 0
    formula: list[str] = []
    for level in method.search.plan(k):
        size = start.deeper(thought, level.depth)
        if level.expand:
            once = method.generate.bound(problem, size, per_step)
            generate += once * level.expand
            expansions += level.expand
            formula.append(f"expand {level.expand} states of depth {level.depth} × {once.calls} calls = {level.expand * once.calls}")
        if level.judge and method.evaluate is not None:
            judged += level.judge
            total = _judge(method, problem, size, level.judge, level.groups)
            evaluate += total
            formula.append(f"judge {level.judge} states of depth {level.depth} = {total.calls} calls")
    if method.answer is not None:
        answer = method.answer.bound(problem, start.deeper(thought, method.search.max_depth or 0), 1)
        formula.append(f"write the answer = {answer.calls} calls")
    total = generate + evaluate + answer
    formula.append(f"total {generate.calls} + {evaluate.calls} + {answer.calls} = {total.calls} calls")
    cost = None if price is None else price.cost(total.prompt_tokens, total.completion_tokens) / 1e6
    calls, prompt, completion = total.calls, total.prompt_tokens, total.completion_tokens
    if budget.calls is not None:
        calls = min(calls, budget.calls)
    if budget.tokens is not None:
        completion = min(completion, budget.tokens)
        prompt = min(prompt, budget.tokens - completion)
    if budget.cost is not None and cost is not None:
        cost = min(cost, budget.cost)
    roles = {name: part for name, part in (("generate", generate), ("evaluate", evaluate), ("answer", answer)) if part.calls}
    bounded = any(limit is not None for limit in (budget.calls, budget.tokens, budget.cost, budget.nodes, budget.seconds))
    states = expansions * per_step
    warnings = _warnings(states, total.calls, bounded)
    return Estimate(states, judged, expansions, calls, prompt, completion, cost, roles, tuple(formula), bounded, warnings)


def _judge(method: Method, problem: Problem, size: Size, states: int, groups: int) -> Bound:
    """An evaluator that judges alone is asked state by state; a joint one group by group."""
    assert method.evaluate is not None
    if not method.evaluate.joint:
        return method.evaluate.bound(problem, size, 1) * states
    return method.evaluate.bound(problem, size, -(-states // groups)) * groups


def _warnings(states: int, calls: int, bounded: bool) -> tuple[str, ...]:
    if bounded or calls <= 1000:
        return ()
    return (f"branch explosion: up to {states} states and {calls} calls, and no budget limits them; set --max-calls or --max-nodes",)
