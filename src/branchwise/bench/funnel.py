"""The coverage funnel: where a right state was lost. Knows the truth about states (an oracle), so it is for the bench only.

Four stages: a right state was generated, kept after pruning, among the final states, and chosen. It tells failures of the generator from
those of the evaluator and of the pick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from branchwise.bench.oracles import game24 as oracle
from branchwise.bench.traces import Traced, finals, is_kept
from branchwise.problem import Rejected, State
from branchwise.tasks.game24 import Verdict, check
from branchwise.tasks.game24.exact import TARGET, Expression, number
from branchwise.tasks.game24.steps import read_step
from branchwise.tasks.game24.task import parse_hand
from branchwise.thought.parsing import final_answer
from branchwise.tree import Node

__all__ = ["Funnel", "Game24Truth", "Level", "Truth", "funnel"]


class Truth(Protocol):
    """What is true of states."""

    def right(self, prompt: str, state: State) -> bool:
        """Whether `state` is a right answer."""
        ...

    def hopeful(self, prompt: str, state: State) -> bool:
        """Whether a right answer can still be reached from `state`, or is reached."""
        ...


@dataclass(frozen=True, slots=True)
class Level:
    """Items with a state at this depth, or a right one before it, that could still lead to a right answer: generated, and kept."""

    depth: int
    generated: int
    kept: int


@dataclass(frozen=True, slots=True)
class Funnel:
    """Counts of items. `generated` to `chosen` are of right answers; `lost` says at which step, and by what, the others were lost."""

    items: int
    generated: int
    kept: int
    final: int
    chosen: int
    levels: tuple[Level, ...]
    lost: Mapping[str, int]

    def shares(self) -> dict[str, float]:
        """The four stages as shares of the items."""
        return {name: getattr(self, name) / (self.items or 1) for name in ("generated", "kept", "final", "chosen")}


def funnel(runs: Iterable[Traced], truth: Truth) -> Funnel:
    """The funnel of all runs. A run without a tree lost its right state at the generator, step 1."""
    stages: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    passed: dict[int, Counter[str]] = {}
    items, deepest = 0, 0
    done_by: list[tuple[int, int]] = []
    for run in runs:
        items += 1
        one = _Item(run, truth)
        stages.update(one.stages)
        if where := one.lost():
            lost[where] += 1
        for depth, names in one.levels.items():
            passed.setdefault(depth, Counter()).update(names)
        deepest = max(deepest, max(one.levels, default=0))
        done_by.append((one.generated_at, one.kept_at))
    levels = []
    for depth in range(1, deepest + 1):
        counts = passed.get(depth, Counter())
        levels.append(
            Level(depth, counts["generated"] + sum(g < depth for g, _ in done_by), counts["kept"] + sum(k < depth for _, k in done_by))
        )
    return Funnel(items, stages["generated"], stages["kept"], stages["final"], stages["chosen"], tuple(levels), dict(sorted(lost.items())))


_NEVER = 1 << 30
_UNWRITTEN = "answer: a right state was kept, and no right answer came of it"


class _Item:
    """One run, looked at with the truth. A depth below the first right state that was generated (kept) is counted as passed."""

    def __init__(self, run: Traced, truth: Truth) -> None:
        def right(node: Node) -> bool:
            return truth.right(run.prompt, node.state)

        rights = [node for node in run.tree if right(node)]
        self.generated_at = min((node.depth for node in rights), default=_NEVER)
        self.kept_at = min((node.depth for node in rights if is_kept(node)), default=_NEVER)
        self.levels: dict[int, set[str]] = {}
        for node in run.tree:
            names = self.levels.setdefault(node.depth, set())
            if truth.hopeful(run.prompt, node.state):
                if node.depth <= self.generated_at:
                    names.add("generated")
                if is_kept(node) and node.depth <= self.kept_at:
                    names.add("kept")
        self.stages: set[str] = set()
        if rights:
            self.stages.add("generated")
        if self.kept_at < _NEVER:
            self.stages.add("kept")
        if any(map(right, finals(run.tree))):
            self.stages.add("final")
        if run.chosen is not None and right(run.chosen):
            self.stages.add("chosen")

    def lost(self) -> str:
        """Where the right state was lost; empty for an item whose right state was chosen."""
        if "chosen" in self.stages:
            return ""
        if "final" in self.stages:
            return "pick: a right final state was not chosen"
        depth = 1
        while depth <= max(self.levels, default=0) and depth <= self.kept_at:
            names = self.levels.get(depth, set())
            if "kept" not in names:
                why = "evaluator: generated and pruned" if "generated" in names else "generator: never generated"
                return f"step {depth}, {why}"
            depth += 1
        return f"step {depth}, generator: never generated" if self.kept_at == _NEVER else _UNWRITTEN


class Game24Truth:
    """Exact: what the steps of a state leave, by our own reader, and whether exhaustive search makes 24 of it.

    A step that does not follow by the rules, rounded ones apart, makes a state that is neither right nor hopeful.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, State], tuple[Expression, ...] | None] = {}

    def right(self, prompt: str, state: State) -> bool:
        """A right answer line or, without one, 24 as the only number left."""
        if state and final_answer(state[-1]) is not None:
            return check(parse_hand(prompt), state[-1]).verdict is Verdict.CORRECT
        left = self._left(prompt, state)
        return left is not None and len(left) == 1 and left[0].value == TARGET

    def hopeful(self, prompt: str, state: State) -> bool:
        """Whether 24 can be made from what is left."""
        if state and final_answer(state[-1]) is not None:
            return self.right(prompt, state)
        left = self._left(prompt, state)
        return left is not None and oracle.reachable(part.value for part in left)

    def _left(self, prompt: str, state: State) -> tuple[Expression, ...] | None:
        """The numbers left after the steps; `None` where one does not follow."""
        if not state:
            return tuple(map(number, sorted(parse_hand(prompt))))
        key = (prompt, state)
        if key not in self._known:
            before = self._left(prompt, state[:-1])
            try:
                self._known[key] = None if before is None else read_step(before, state[-1]).left
            except Rejected:
                self._known[key] = None
        return self._known[key]
