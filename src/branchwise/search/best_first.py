"""Best-first search: always expand the best open node, anywhere in the tree. Knows no model.

The rule of section 3 of the project's specification (a node budget, a threshold, real backtracking); A* is the same loop in another order.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from branchwise.errors import UsageError
from branchwise.problem import Kind
from branchwise.search.base import DEEPEST, Chance, Expand, Level, Step, expandable, kept, pruned
from branchwise.trace import Mark
from branchwise.tree import Done, Fate, Node, Tree

__all__ = ["AStar", "BestFirst", "BestFirstFrontier"]

_BACK = 3
_LOW = 0.5
_FLOOR = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class BestFirst:
    """A heap over all open nodes; the best valued is expanded first, ties by birth, unknown values last.

    With `backtrack`, the last 3·k of `max_nodes` are kept for going back, whatever k the steps so far have brought: steps in flight are
    waited for; when the best path's confidence (the mean of its known values) is then below 0.5, the three best open nodes off that path are
    expanded; otherwise the search goes on.
    """

    depth: int = 3
    """The most thoughts on a path; at least 1."""
    prune_below: float = 0.3
    """v_th in [0, 1]: a known value below it is pruned."""
    max_nodes: int | None = 15
    """Committed thoughts, the root not counted; `None`: the run's budget alone decides."""
    backtrack: bool = False

    def __post_init__(self) -> None:
        _check(self.depth, self.max_nodes, self.prune_below)

    goes_back = True
    mixes_groups = False
    refines = False
    shares_tokens = True

    @property
    def window(self) -> int:
        """8 steps in flight."""
        return 8

    @property
    def max_depth(self) -> int:
        """As set."""
        return self.depth

    def start(self, tree: Tree, rng: Chance) -> BestFirstFrontier:
        """A frontier that holds the root."""
        return BestFirstFrontier(self, tree)

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """All levels, k^T leaves, unless the node budget ends it first."""
        return plan_nodes(self.depth, k, self.max_nodes, worst)

    def cost(self, node: Node, g: float) -> tuple[float, float]:
        """(priority, g): the lowest priority first."""
        value = node.value
        return (2.0 if value is None else -value, g)


@dataclass(frozen=True, kw_only=True, slots=True)
class AStar:
    """Best-first by the lowest f = g + h. `cost="unit"`: g = steps, h = (1 - V)·steps left; `cost="log"`: g = sum of -log V along the path,
    h = -log V. V is no admissible bound, so no optimality is claimed.

    A merged proposal gives its survivor the cheaper of the two paths' g; thoughts that stand below the survivor already keep theirs.
    An unknown value is no number: such a state comes after all others, ties by birth. In the log cost its step counts as that of the nearest
    known thought above it, as nothing where there is none.
    """

    depth: int = 3
    prune_below: float = 0.0
    max_nodes: int | None = None
    cost_model: Literal["unit", "log"] = "unit"
    backtrack: bool = False

    def __post_init__(self) -> None:
        _check(self.depth, self.max_nodes, self.prune_below)
        if self.cost_model not in ("unit", "log"):
            raise UsageError(f"a_star counts cost as 'unit' or 'log', not {self.cost_model!r}")

    goes_back = True
    mixes_groups = True
    refines = False

    @property
    def window(self) -> int:
        """8 steps in flight."""
        return 8

    @property
    def max_depth(self) -> int:
        """As set."""
        return self.depth

    def start(self, tree: Tree, rng: Chance) -> BestFirstFrontier:
        """A frontier that holds the root."""
        return BestFirstFrontier(self, tree)

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """As best-first."""
        return plan_nodes(self.depth, k, self.max_nodes, worst)

    def cost(self, node: Node, g: float) -> tuple[float, float]:
        """(f, g) of `node` whose parent has cost `g`; f is infinite where the value is unknown."""
        value = max(_nearest(node), _FLOOR)
        if self.cost_model == "unit":
            here = g + 1
            total = here + (1 - value) * (self.depth - node.depth)
        else:
            here, total = g - math.log(value), g - 2 * math.log(value)
        return (math.inf if node.value is None else total, here)


def _nearest(node: Node | None) -> float:
    """The value of `node`, else that of the nearest thought above it with one; 1 where none has."""
    while node is not None and node.parent is not None:
        if (value := node.value) is not None:
            return value
        node = node.parent
    return 1.0


def _check(depth: int, max_nodes: int | None, prune_below: float) -> None:
    if not 1 <= depth <= DEEPEST or (max_nodes is not None and max_nodes < 1):
        raise UsageError(f"depth must be 1 to {DEEPEST} and max_nodes at least 1, not {depth} and {max_nodes}")
    if math.isnan(prune_below):
        raise UsageError("prune_below must be a number")


def plan_nodes(depth: int, k: int, max_nodes: int | None, worst: bool) -> list[Level]:
    """Every level in full; where a node budget ends the search first, the steps that it takes, all counted at the deepest place.

    A step is issued while fewer than `max_nodes` are committed or on their way. `worst` allows for steps that bring less than k, even
    nothing: then every inner node may be expanded, and every proposal judged.
    """
    sizes = [min(k**level, 1 << 40) for level in range(depth + 1)]
    if max_nodes is None or sum(sizes[1:]) <= max_nodes:
        return [
            part for level in range(depth)
            for part in (Level(level, expand=sizes[level]), Level(level + 1, judge=sizes[level + 1], groups=sizes[level]))
        ]  # fmt: skip
    expansions = 1 + min(sum(sizes[1:depth]), max_nodes) if worst else -(-max_nodes // k)
    return [Level(depth - 1, expand=expansions), Level(depth, judge=expansions * k, groups=expansions)]


class BestFirstFrontier:
    """The heap of open nodes; for `backtrack`, the mean value of each path, and a heap of their ends by it, stale entries left in."""

    def __init__(self, search: BestFirst | AStar, tree: Tree) -> None:
        self._search, self._tree = search, tree
        self._heap: list[tuple[float, int, Node]] = [(0.0, 0, tree.root)]
        self._g: dict[int, float] = {0: 0.0}
        self._open: set[int] = {0}
        self._paths: dict[int, tuple[float, int]] = {0: (0.0, 0)}
        self._ends: list[tuple[bool, float, int]] = []
        self._inner: set[int] = set()
        self._aside: frozenset[int] = frozenset()
        self._back = _BACK if search.backtrack and search.max_nodes is not None else 0
        self._out = self._width = 0
        self._favoured: list[Node] = []
        self.ended = ""

    def ask(self) -> Step | None:
        """Expand the best open node; off the best path, when going back."""
        if self._favoured:
            node = self._favoured.pop()
            self._open.discard(node.birth)
            self._out += 1
            return Expand(node, judge=True)
        if self._back and not self._aside and self._is_late():
            if self._out:
                return None
            self._aside = self._weak_path()
        found = self._pop()
        if found is None:
            if not self._out:
                self.ended = "exhausted"
            return None
        self._out += 1
        return Expand(found, judge=True)

    def _pop(self) -> Node | None:
        aside = self._aside
        skipped: list[tuple[float, int, Node]] = []
        found = None
        while self._heap and found is None:
            entry = heapq.heappop(self._heap)
            if entry[1] not in self._open:
                continue
            if entry[1] in aside:
                skipped.append(entry)
            else:
                found = entry[2]
        for entry in skipped:
            heapq.heappush(self._heap, entry)
        if found is None and skipped:
            found = heapq.heappop(self._heap)[2]
        if found is not None:
            self._open.discard(found.birth)
            if aside:
                self._back -= 1
                self._aside = aside if self._back else frozenset()
        return found

    def _is_late(self) -> bool:
        """Whether only the places for going back are left, once the steps in flight are in."""
        root = self._tree.root
        self._width = width = self._width or root.reserved or len(root.children)
        assert self._search.max_nodes is not None
        return len(self._tree) > 0 and len(self._tree) + (self._out + _BACK) * width >= self._search.max_nodes

    def _weak_path(self) -> frozenset[int]:
        """The best path, when its confidence is low: a complete answer's before any other."""
        closed = self._tree.closed
        while self._ends and (self._ends[0][2] in closed or (self._ends[0][0] and self._ends[0][2] in self._inner)):
            heapq.heappop(self._ends)
        if not self._ends or -self._ends[0][1] >= _LOW:
            return frozenset()
        return frozenset(node.birth for node in self._tree.nodes[self._ends[0][2]].path)

    def tell(self, done: Done) -> Sequence[Mark]:
        """Push, prune or close the children; give merged survivors the cheaper path."""
        self._out -= 1
        parent = done.node
        assert parent is not None
        g = self._g[parent.birth]
        marks = [mark for node in done.born if (mark := self._enter(node, g)) is not None]
        for survivor, _ in done.merged:
            self._cheaper(survivor, g)
        return marks

    def _enter(self, node: Node, g: float) -> Mark | None:
        value, limit = node.value, self._search.prune_below
        if node.status.kind is Kind.DEAD:
            return None
        priority, self._g[node.birth] = self._search.cost(node, g)
        if value is not None and value < limit:
            return pruned(node, f"value {value:.3g} is below {limit:g}")
        if self._back:
            self._end_path(node)
        if expandable(node) and node.depth < self._search.depth:
            self._open.add(node.birth)
            heapq.heappush(self._heap, (priority, node.birth, node))
        return kept(node)

    def _end_path(self, node: Node) -> None:
        assert node.parent is not None
        total, count = self._paths[node.parent.birth]
        if node.value is not None:
            total, count = total + node.value, count + 1
        self._paths[node.birth] = total, count
        self._inner.add(node.parent.birth)
        heapq.heappush(self._ends, (node.status.kind is not Kind.COMPLETE, -(total / count if count else 0.0), node.birth))

    def _cheaper(self, survivor: Node, g: float) -> None:
        if survivor.birth not in self._g:
            return
        priority, cost = self._search.cost(survivor, g)
        if cost < self._g[survivor.birth]:
            self._g[survivor.birth] = cost
            if survivor.birth in self._open:
                heapq.heappush(self._heap, (priority, survivor.birth, survivor))

    def prune(self, node: Node, gone: Set[int], dropped: Sequence[Step]) -> Sequence[Mark]:
        """They are open no more."""
        self._open -= gone
        self._favoured = [one for one in self._favoured if one.birth not in gone]
        self._out -= len(dropped)
        return ()

    def favour(self, node: Node, joint: bool) -> Sequence[Mark]:
        """The next that is expanded; one that was pruned for its value is taken up again."""
        if node.depth >= self._search.depth:
            raise UsageError(f"this thought is as deep as the search goes ({self._search.depth})")
        if node.birth not in self._open:
            if node.fate is not Fate.PRUNED:
                raise UsageError("this thought has been expanded, or is being expanded")
            self._take_up(node)
            self._open.add(node.birth)
        self._favoured = [*(one for one in self._favoured if one is not node), node]
        return ()

    def add(self, node: Node, joint: bool) -> Expand:
        """It is entered as all others are."""
        if node.depth >= self._search.depth:
            raise UsageError(f"this thought is as deep as the search goes ({self._search.depth})")
        self._take_up(node)
        self._out += 1
        return Expand(node, k=1, judge=True, given=True)

    def sized(self, nodes: int) -> None:
        """The node budget is another."""
        self._search = replace(self._search, max_nodes=nodes)

    def _take_up(self, node: Node) -> None:
        if self._back and node.birth not in self._paths:
            self._end_path(node)
