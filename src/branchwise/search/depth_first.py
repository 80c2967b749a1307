"""Depth-first Tree of Thoughts: the most promising child first, prune at a threshold, come back. Knows no model.

Yao et al. 2023, Algorithm 2 (ToT-DFS).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import isnan

from branchwise.errors import UsageError
from branchwise.problem import Kind
from branchwise.search.base import DEEPEST, Chance, Expand, Judge, Level, Step, expandable, kept, pruned
from branchwise.trace import Mark
from branchwise.tree import Done, Fate, Node, Tree

__all__ = ["DepthFirst", "DepthFirstFrontier"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthFirst:
    """Children in the generator's order of confidence; a child is valued when its turn comes; it is pruned when its value is at most
    `prune_at`; the parent's next child follows when a subtree is finished (Algorithm 2).

    An unknown value is no reason to prune. Dead children are never visited. The window is 1: every choice waits for the last value.
    """

    depth: int = 10
    """T, the most thoughts on a path; at least 1."""
    prune_at: float = 0.0
    """v_th in [0, 1]: a known value at or below it is pruned. -1 never prunes."""
    max_steps: int = 100
    """States visited at the most, pruned ones included; at least 1."""

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= DEEPEST or self.max_steps < 1:
            raise UsageError(f"dfs needs a depth of 1 to {DEEPEST}, and max_steps of at least 1, not {self.depth} and {self.max_steps}")
        if isnan(self.prune_at):
            raise UsageError("prune_at must be a number")

    mixes_groups = False
    refines = False

    @property
    def goes_back(self) -> bool:
        """It backtracks."""
        return True

    @property
    def window(self) -> int:
        """One step at a time."""
        return 1

    @property
    def max_depth(self) -> int:
        """T."""
        return self.depth

    def start(self, tree: Tree, rng: Chance) -> DepthFirstFrontier:
        """A frontier that begins at the root."""
        return DepthFirstFrontier(self, tree)

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """The first `max_steps` states of the full tree in preorder; `worst`: any state above depth T that is visited may be expanded."""
        if not worst:
            visited, inner = _preorder(k, self.depth, self.max_steps)
        else:
            sizes = [min(k**depth, self.max_steps) for depth in range(1, self.depth + 1)]
            visited, inner = min(sum(sizes), self.max_steps), min(sum(sizes[:-1]), self.max_steps - 1)
        return [Level(self.depth - 1, expand=1 + inner), Level(self.depth, judge=visited, groups=1 + inner)]


def _preorder(k: int, depth: int, limit: int) -> tuple[int, int]:
    """(states visited, states expanded below the root) of a full tree, cut after `limit` visits; the last one visited is not expanded."""
    sizes = [1]
    for _ in range(depth - 1):
        sizes.append(1 + k * sizes[-1])
    inner_of = [0]
    for _ in range(depth - 1):
        inner_of.append(1 + k * inner_of[-1])
    visited = min(limit, k * sizes[-1])
    rest, inner = visited, 0
    for level in range(depth - 1, -1, -1):
        whole = min(k, rest // sizes[level])
        inner += whole * inner_of[level]
        rest -= whole * sizes[level]
        if rest <= 0:
            break
        rest -= 1
        inner += 1 if rest else 0
    return visited, inner


class DepthFirstFrontier:
    """A stack of children whose turn has not come, and of expansions that a favoured node came before."""

    def __init__(self, search: DepthFirst, tree: Tree) -> None:
        self._search = search
        self._stack: list[Node | Expand] = []
        self._next: Step | None = Expand(tree.root)
        self._current: Node | None = None
        self._visited = 0
        self._cut = self._flying = False
        self._favoured: list[Node] = []
        self._forced: set[int] = set()
        self.ended = ""

    def ask(self) -> Step | None:
        """Value the child whose turn it is, or expand the one that was just kept."""
        step, self._next = self._next, None
        self._flying = self._flying or step is not None
        return step

    def tell(self, done: Done) -> Sequence[Mark]:
        """Push the children of an expansion; prune or go down after a value."""
        marks: list[Mark] = []
        if done.role != "person":
            self._flying = False
        if done.node is not None:
            children = [node for node in done.born if node.status.kind in (Kind.OPEN, Kind.COMPLETE)]
            children.sort(key=lambda node: (-(node.confidence or 0.0), node.birth))
            self._stack.extend(reversed(children))
        else:
            marks.extend(self._decide(node) for node in done.judged if node is self._current)
        self._on()
        return marks

    def _on(self) -> None:
        """Nothing is out: see what comes next."""
        if self._flying:
            return
        if self._favoured:
            self._turn_to(self._favoured.pop())
        elif self._next is None:
            self._visit()

    def _decide(self, node: Node) -> Mark:
        value, limit = node.value, self._search.prune_at
        if node.birth in self._forced:
            self._next = Expand(node)
            return kept(node, "favoured by a person")
        if value is not None and value <= limit:
            return pruned(node, f"value {value:.3g} is not above {limit:g}")
        if expandable(node) and node.depth < self._search.depth:
            if self._visited < self._search.max_steps:
                self._next = Expand(node)
            else:
                self._cut = True
        return kept(node)

    def _visit(self) -> None:
        if not self._stack:
            self.ended = "budget:steps" if self._cut else "exhausted"
        elif self._visited >= self._search.max_steps:
            self.ended = "budget:steps"
        else:
            top = self._stack.pop()
            if isinstance(top, Expand):
                self._next = top
                return
            self._visited += 1
            self._current = top
            self._next = Judge((top,))

    def _turn_to(self, node: Node) -> None:
        """Go to `node` now; what would have come next comes after its subtree."""
        if isinstance(self._next, Expand):
            self._stack.append(self._next)
        elif self._next is not None and self._current is not None:
            self._stack.append(self._current)
            self._visited -= 1
        self._next = None
        if node.fate is Fate.UNDECIDED:
            self._stack.append(node)
            self._visit()
        else:
            self._next = Expand(node)

    def prune(self, node: Node, gone: Set[int], dropped: Sequence[Step]) -> Sequence[Mark]:
        """Their turn never comes; when it was theirs, it is the next one's."""
        self._stack = [one for one in self._stack if (one.node if isinstance(one, Expand) else one).birth not in gone]
        self._favoured = [one for one in self._favoured if one.birth not in gone]
        current = self._current
        lost = [step for step in dropped if not (isinstance(step, Expand) and step.given)]
        if lost:
            self._flying = False
            if isinstance(lost[0], Judge) and current is not None and current.birth not in gone:
                self._next = Judge((current,))
        touched = self._next.node if isinstance(self._next, Expand) else current
        if self._next is not None and touched is not None and touched.birth in gone:
            self._next = None
            lost.append(Expand(touched))
        if lost:
            self._on()
        return ()

    def favour(self, node: Node, joint: bool) -> Sequence[Mark]:
        """Its turn comes next, and it is expanded whatever its value."""
        if node.depth >= self._search.depth:
            raise UsageError(f"this thought is as deep as the search goes ({self._search.depth})")
        if node is self._current and node.fate is Fate.UNDECIDED:
            self._forced.add(node.birth)
            return ()
        if isinstance(self._next, Expand) and self._next.node is node:
            return ()
        if node.fate is not Fate.PRUNED:
            if node not in self._stack:
                raise UsageError("this thought has been expanded, or is being expanded")
            if self._visited >= self._search.max_steps:
                raise UsageError(f"the {self._search.max_steps} states that the search may visit are visited")
            self._stack.remove(node)
            self._forced.add(node.birth)
        self._favoured.append(node)
        self.ended = ""
        self._on()
        return ()

    def add(self, node: Node, joint: bool) -> Expand:
        """It is visited as the next child."""
        if node.depth >= self._search.depth:
            raise UsageError(f"this thought is as deep as the search goes ({self._search.depth})")
        self.ended = ""
        return Expand(node, k=1, given=True)
