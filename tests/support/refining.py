"""MCTSr without a model: answers, rewrites and grades that a test names. Knows no test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from branchwise import (
    COMPLETE,
    OPEN,
    Evaluation,
    Method,
    Node,
    Proposal,
    Proposals,
    Result,
    SelfRefineSearch,
    State,
    Status,
    best_refined,
    solve,
)
from branchwise.budget import Bound
from support.models import FakeModel, silent


def unit(reward: float) -> float:
    return (reward + 100) / 200


class Answers:
    """Whole answers; the last one counts. Any text is an answer."""

    prompt = "task"

    def __init__(self, merge: bool = False) -> None:
        self.merge = merge

    def status(self, state: State) -> Status:
        return COMPLETE if state else OPEN

    def key(self, state: State) -> object:
        return state[-1:] if self.merge else state

    def answer(self, state: State) -> str | None:
        return state[-1] if state else None


class Told:
    """A generator that gives the roots, then the rewrites of each answer in order; it asks nobody."""

    k, thought_bytes, rewrites, confident = 1, 100, True, True

    def __init__(self, roots: Sequence[str], rewrites: dict[str, list[str]], confidence: dict[str, float] | None = None) -> None:
        self.roots, self.left, self.confidence = roots, {key: list(texts) for key, texts in rewrites.items()}, confidence or {}
        self.rewritten: list[str] = []

    async def __call__(self, model: Any, problem: Any, state: State, k: int) -> Proposals:
        if not state:
            return Proposals(tuple(Proposal(text) for text in self.roots[:k]))
        self.rewritten.append(state[-1])
        rest = self.left.get(state[-1], [])
        text = rest.pop(0) if rest else f"{state[-1]}'"
        return Proposals((Proposal(text, self.confidence.get(text)),) if text else ())

    def bound(self, problem: Any, size: Any, k: int) -> Bound:
        return Bound()


class Graded:
    """An evaluator that gives each answer its rewards in order, the last of them for ever; `None` cannot be read. From -100 to 100."""

    joint = False

    def __init__(self, rewards: Mapping[str, Sequence[float | None]], other: float | None = 0.0) -> None:
        self.left, self.other = {key: list(values) for key, values in rewards.items()}, other

    async def __call__(self, model: Any, problem: Any, states: Sequence[State]) -> list[Evaluation]:
        found = []
        for state in states:
            rest = self.left.get(state[-1], [self.other])
            grade = rest.pop(0) if len(rest) > 1 else rest[0]
            value = None if grade is None else unit(grade)
            found.append(Evaluation(value, (value,)))
        return found

    def bound(self, problem: Any, size: Any, n: int) -> Bound:
        return Bound()


async def refined(
    roots: Sequence[str], rewrites: dict[str, list[str]], rewards: Mapping[str, Sequence[float | None]], *, other: float | None = 0.0,
    merge: bool = False,
    pick: Any = best_refined, confidence: dict[str, float] | None = None, **settings: Any,
) -> tuple[Result, list[str]]:  # fmt: skip
    generate = Told(roots, rewrites, confidence)
    search = SelfRefineSearch(**{"roots": len(roots), "patience": 0, **settings})
    method = Method(generate=generate, evaluate=Graded(rewards, other), search=search, window=1, pick=pick)
    return await solve(Answers(merge), method, FakeModel(silent)), generate.rewritten


def find(result: Result, thought: str) -> Node:
    return next(node for node in result.tree if node.thought == thought)
