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
from branchwise.problem import Kind, Rejected, State
from branchwise.tasks.game24 import Verdict, check
from branchwise.tasks.game24.exact import TARGET, Expression, number
from branchwise.tasks.game24.steps import read_step
from branchwise.tasks.game24.task import parse_hand
from branchwise.thought.parsing import final_answer
from branchwise.tree import Fate, Node

__all__ = ["NEVER", "Funnel", "Game24Truth", "Level", "Look", "Truth", "funnel", "look", "total"]


class Truth(Protocol):
    """What is true of states. A truth with an attribute `foresees` that is false knows right answers only, not what is hopeful."""

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


@dataclass(frozen=True, slots=True)
class Look:
    """One run, looked at with the truth: the stages that a right answer reached, and what was hopeful at each depth."""

    stages: frozenset[str]
    levels: Mapping[int, frozenset[str]]
    """Depth to `generated`, `kept` and `open`: whether a hopeful state was, `open` ones being those that the run ended without deciding about.

    A depth below the first right state is left out.
    """
    generated_at: int
    """Depth of the first right state; `NEVER` without one."""
    kept_at: int
    lost: str
    """Where the right state was lost; empty for a run whose right state was chosen."""


def funnel(runs: Iterable[Traced], truth: Truth) -> Funnel:
    """The funnel of all runs. A run without a tree lost its right state at the generator, step 1."""
    return total(look(run, truth) for run in runs)


def total(looks: Iterable[Look]) -> Funnel:
    """The funnel of runs that were looked at. A depth below the first right state that was generated (kept) is counted as passed."""
    found = list(looks)
    stages, lost, passed = Counter[str](), Counter[str](), dict[int, Counter[str]]()
    for one in found:
        stages.update(one.stages)
        lost.update([one.lost] if one.lost else [])
        for depth, names in one.levels.items():
            passed.setdefault(depth, Counter()).update(names)
    levels = []
    for depth in range(1, max(passed, default=0) + 1):
        counts = passed.get(depth, Counter())
        generated, kept = sum(one.generated_at < depth for one in found), sum(one.kept_at < depth for one in found)
        levels.append(Level(depth, counts["generated"] + generated, counts["kept"] + kept))
    shown = (stages["generated"], stages["kept"], stages["final"], stages["chosen"])
    return Funnel(len(found), *shown, tuple(levels), dict(sorted(lost.items())))


NEVER = 1 << 30
"""No depth."""
_UNWRITTEN = "answer: a right state was kept, and no right answer came of it"
_UNDECIDED = "limit: generated, and the run ended before it was decided about"
_NOT_PICKED = "pick: a right final state was not chosen"


def look(run: Traced, truth: Truth) -> Look:
    """Look at one run. Where the truth `foresees` nothing (it can only tell right answers), there are no levels."""

    def right(node: Node) -> bool:
        return truth.right(run.prompt, node.state)

    chosen = frozenset(node.birth for node in run.chosen.path) if run.chosen is not None else frozenset()

    def kept(node: Node) -> bool:
        return is_kept(node) or node.birth in chosen

    rights = [node for node in run.tree if right(node)]
    generated_at = min((node.depth for node in rights), default=NEVER)
    kept_at = min((node.depth for node in rights if kept(node)), default=NEVER)
    foresees = getattr(truth, "foresees", True)
    levels: dict[int, set[str]] = {}
    for node in run.tree if foresees else ():
        names = levels.setdefault(node.depth, set())
        if node.depth <= generated_at and truth.hopeful(run.prompt, node.state):
            names.add("generated")
            if kept(node) and node.depth <= kept_at:
                names.add("kept")
            if _is_open(node):
                names.add("open")
    stages = {
        "generated": bool(rights),
        "kept": kept_at < NEVER,
        "final": any(map(right, finals(run.tree))) or (run.chosen is not None and right(run.chosen)),
        "chosen": run.chosen is not None and right(run.chosen),
    }
    reached = frozenset(name for name, is_so in stages.items() if is_so)
    seen = {depth: frozenset(names) for depth, names in levels.items()}
    lost = _lost(reached, seen, kept_at) if foresees else _lost_answer(reached, any(map(_is_open, rights)))
    return Look(reached, seen, generated_at, kept_at, lost)


def _is_open(node: Node) -> bool:
    """Whether the run ended before anything was decided about it."""
    return node.fate is Fate.UNDECIDED and node.status.kind in (Kind.OPEN, Kind.COMPLETE)


def _lost(stages: frozenset[str], levels: Mapping[int, frozenset[str]], kept_at: int) -> str:
    if "chosen" in stages:
        return ""
    if "final" in stages:
        return _NOT_PICKED
    depth = 1
    while depth <= max(levels, default=0) and depth <= kept_at:
        names = levels.get(depth, frozenset())
        if "kept" not in names:
            why = _UNDECIDED if "open" in names else "evaluator: generated and pruned"
            return f"step {depth}, {why if 'generated' in names else 'generator: never generated'}"
        depth += 1
    return f"step {depth}, generator: never generated" if kept_at == NEVER else _UNWRITTEN


def _lost_answer(stages: frozenset[str], is_open: bool) -> str:
    """The same where only whole answers can be told right from wrong."""
    if "chosen" in stages:
        return ""
    if "final" in stages:
        return _NOT_PICKED
    if "kept" in stages:
        return _UNWRITTEN
    if "generated" in stages:
        return _UNDECIDED if is_open else "evaluator: a right answer was pruned"
    return "generator: no right answer was generated"


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
