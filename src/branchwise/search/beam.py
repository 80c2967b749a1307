"""Breadth-first Tree of Thoughts: keep the best `breadth` states of each level. Knows no model.

Yao et al. 2023, Algorithm 1 (ToT-BFS).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import isnan
from typing import Literal

from branchwise.errors import UsageError
from branchwise.problem import Kind
from branchwise.search.base import DEEPEST, Chance, Expand, Judge, Level, Step, expandable, kept, pruned, rank
from branchwise.trace import Mark
from branchwise.tree import Done, Node, Tree

__all__ = ["Beam", "BeamFrontier"]

_LEVEL = 1 << 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Beam:
    """S'_t = {[s, z] : s in S_t-1, z in G(p, s, k)}; S_t = the best `breadth` of S'_t by value (Algorithm 1).

    Ties go to the earlier birth, unknown values come last, and states valued below `prune_below` never fill the beam (section B.3).
    `select="sample"` draws the survivors in proportion to value, without replacement, in place of the greedy choice.
    The window is the whole level: it does not shape the tree.
    """

    breadth: int = 5
    """b, states kept a level; at least 1."""
    depth: int = 3
    """T, levels; at least 1."""
    prune_below: float = 0.0
    """v_th in [0, 1]: a known value below it is not kept."""
    select: Literal["greedy", "sample"] = "greedy"

    def __post_init__(self) -> None:
        if self.breadth < 1 or not 1 <= self.depth <= DEEPEST:
            raise UsageError(f"beam needs breadth and depth of at least 1, and a depth of at most {DEEPEST}, not {self.breadth} and {self.depth}")
        if isnan(self.prune_below):
            raise UsageError("prune_below must be a number")
        if self.select not in ("greedy", "sample"):
            raise UsageError(f"beam selects 'greedy' or by 'sample', not {self.select!r}")

    mixes_groups = False
    refines = False

    @property
    def goes_back(self) -> bool:
        """Several states of a level are gone on with in turn, unless there is only one."""
        return self.breadth > 1

    @property
    def window(self) -> int:
        """The whole level."""
        return _LEVEL

    @property
    def max_depth(self) -> int:
        """T."""
        return self.depth

    def start(self, tree: Tree, rng: Chance) -> BeamFrontier:
        """A frontier that begins with S_0 = {x}."""
        return BeamFrontier(self, tree, rng)

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """k + (T-1)·b·k new states when the first level fills the beam."""
        levels, states = [], 1
        for depth in range(self.depth):
            levels.append(Level(depth, expand=states))
            levels.append(Level(depth + 1, judge=states * k))
            states = min(self.breadth, states * k)
        return levels


class BeamFrontier:
    """Phases of one level: its expansions are out; then its judgements are out; then it is cut. `_level` are the states that it came from."""

    def __init__(self, search: Beam, tree: Tree, rng: Chance) -> None:
        self._search, self._rng = search, rng
        self._steps: deque[Step] = deque([Expand(tree.root)])
        self._out = 1
        self._depth = 0
        self._children: list[Node] = []
        self._judging = False
        self._level: set[int] = {0}
        self._favoured: list[int] = []
        self.ended = ""

    def ask(self) -> Step | None:
        """The next expansion or judgement of this level."""
        return self._steps.popleft() if self._steps else None

    def tell(self, done: Done) -> Sequence[Mark]:
        """Count this level's steps in; when the last is in, judge or cut the level."""
        if done.node is None:
            self._out -= len(done.judged) or 1
        else:
            self._out -= 1
            born = [node for node in done.born if node.status.kind in (Kind.OPEN, Kind.COMPLETE)]
            self._children.extend(born)
            if self._judging and born:  # a person's thought, or one below a favoured state
                self._out += len(born)
                self._steps.append(Judge(tuple(born)))
        return () if self._out > 0 else self._on()

    def _on(self) -> Sequence[Mark]:
        """This level's steps are all in: judge it, or cut it."""
        if not self._judging and self._children:
            self._judging = True
            self._out = len(self._children)
            self._steps.append(Judge(tuple(self._children)))
            return ()
        return self._cut()

    def _cut(self) -> list[Mark]:
        search, self._judging, self._depth = self._search, False, self._depth + 1
        first = sorted((n for n in self._children if n.birth in self._favoured), key=lambda n: -self._favoured.index(n.birth))
        others = [n for n in self._children if n.birth not in self._favoured] if first else self._children
        low = [n for n in others if n.value is not None and n.value < search.prune_below]
        rest = sorted((n for n in others if n.value is None or n.value >= search.prune_below), key=rank)
        places = max(0, search.breadth - len(first))
        chosen = first + (rest[:places] if search.select == "greedy" else self._sample(rest, places))
        ids = self._level = {node.birth for node in chosen}
        marks = [kept(node) for node in chosen]
        marks += [pruned(n, f"value {n.value:.3g} is below {search.prune_below:g}") for n in low]
        marks += [pruned(n, f"not among the best {search.breadth}") for n in rest if n.birth not in ids]
        self._children = []
        states = [node for node in chosen if expandable(node)]
        if not states:
            self.ended = "max_depth" if chosen and self._depth == search.depth else "exhausted"
        elif self._depth == search.depth:
            self.ended = "max_depth"
        else:
            self._steps.extend(Expand(node) for node in states)
            self._out = len(states)
        return marks

    def prune(self, node: Node, gone: Set[int], dropped: Sequence[Step]) -> Sequence[Mark]:
        """They are candidates no more; what was asked together with others is asked again without them."""
        self._children = [child for child in self._children if child.birth not in gone]
        waiting, self._steps = self._steps, deque()
        for step in (*dropped, *waiting):
            if isinstance(step, Expand):
                if step.node.birth in gone:
                    self._out -= 1
                else:
                    self._steps.append(step)
                continue
            rest = tuple(one for one in step.nodes if one.birth not in gone)
            self._out -= len(step.nodes) - len(rest)
            if rest:
                self._steps.append(Judge(rest))
        return () if self._out > 0 or self.ended else self._on()

    def favour(self, node: Node, joint: bool) -> Sequence[Mark]:
        """A state of this level is expanded at once, a candidate is kept and expanded first."""
        if self.ended or node.depth >= self._search.depth or not expandable(node):
            raise UsageError("the beam expands nothing below this thought" if not self.ended else "the beam has ended")
        if node in self._children:
            self._favoured.append(node.birth)
            return ()
        if node.depth != self._depth:
            raise UsageError(f"a beam goes level by level: now it makes thoughts {self._depth + 1} steps from the problem")
        waits = [step for step in self._steps if isinstance(step, Expand) and step.node is node]
        if waits:
            self._steps.remove(waits[0])
        elif node.birth in self._level:
            raise UsageError("this thought has been expanded, or is being expanded")
        else:
            self._refuse_late(joint)
            self._out += 1
            self._level.add(node.birth)
        self._steps.appendleft(Expand(node))
        return ()

    def add(self, node: Node, joint: bool) -> Expand:
        """One more candidate of this level."""
        if self.ended or node.birth not in self._level:
            now = "the beam has ended" if self.ended else f"now it makes thoughts {self._depth + 1} steps from the problem"
            raise UsageError(f"a beam takes a thought below the states of its present level only: {now}")
        self._refuse_late(joint)
        self._out += 1
        return Expand(node, k=1, given=True)

    def _refuse_late(self, joint: bool) -> None:
        if joint and self._judging:
            raise UsageError("the thoughts of this level are being compared already; wait for the next level")

    def _sample(self, nodes: list[Node], places: int) -> list[Node]:
        """`places` of `nodes`, drawn one after the other in proportion to value, all zero uniform; unknown ones, uniform too, when no other is
        left."""
        chosen = self._draw([node for node in nodes if node.value is not None], places)
        return chosen + self._draw([node for node in nodes if node.value is None], places - len(chosen))

    def _draw(self, rest: list[Node], places: int) -> list[Node]:
        chosen: list[Node] = []
        while rest and len(chosen) < places:
            weights = [node.value or 0.0 for node in rest]
            total = sum(weights)
            if total <= 0:
                weights, total = [1.0] * len(rest), float(len(rest))
            point, index = self._rng.random() * total, 0
            while index < len(rest) - 1 and point >= weights[index]:
                point -= weights[index]
                index += 1
            chosen.append(rest.pop(index))
        return chosen
