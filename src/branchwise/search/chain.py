"""Depth without breadth: one thought after the other. Knows no model.

Iterative refinement (Yao et al. 2023, section 3.1: "self-refinement is a tree of limited depth and breadth").
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from branchwise.errors import UsageError
from branchwise.problem import Kind
from branchwise.search.base import DEEPEST, Chance, Expand, Level, Step, kept
from branchwise.trace import Mark
from branchwise.tree import Done, Node, Tree

__all__ = ["Chain", "ChainFrontier"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """One child a step, complete answers expanded too (they are refined).

    Ends when a state is solved or dead, when the generator says that nothing better will come, when a rewrite is equal to an earlier
    state (merged), or at `depth`.
    """

    depth: int = 1
    """The most thoughts in a row: 1 for a plain answer, 1 + n for an answer and n rounds of refinement."""

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= DEEPEST:
            raise UsageError(f"chain needs a depth of 1 to {DEEPEST}, not {self.depth}")

    mixes_groups = False
    refines = True

    @property
    def goes_back(self) -> bool:
        """It never does."""
        return False

    @property
    def window(self) -> int:
        """One step at a time."""
        return 1

    @property
    def max_depth(self) -> int:
        """As set."""
        return self.depth

    def start(self, tree: Tree, rng: Chance) -> ChainFrontier:
        """A frontier that begins at the root."""
        return ChainFrontier(self, tree)

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """One state a level, judged where there is an evaluator."""
        return [part for d in range(self.depth) for part in (Level(d, expand=1, k=1), Level(d + 1, judge=1))]


class ChainFrontier:
    """The one node that is gone on from."""

    def __init__(self, search: Chain, tree: Tree) -> None:
        self._search = search
        self._next: Step | None = Expand(tree.root, k=1, judge=True)
        self._end = tree.root
        self.ended = ""

    single = True

    def ask(self) -> Step | None:
        """Expand the end of the chain."""
        step, self._next = self._next, None
        return step

    def tell(self, done: Done) -> Sequence[Mark]:
        """Go on from the new end, if it can be gone on from."""
        node = next((n for n in done.born if n.status.kind in (Kind.OPEN, Kind.COMPLETE)), None)
        if node is None:
            if done.role == "person":  # it was no way on: the model's turn again
                self._next = Expand(self._end, k=1, judge=True)
            else:
                self.ended = "exhausted"
            return ()
        self._end = node
        if node.depth >= self._search.depth:
            self.ended = "max_depth"
        elif done.final:
            self.ended = "exhausted"
        else:
            self._next = Expand(node, k=1, judge=True)
        return (kept(node),)

    def prune(self, node: Node, gone: Set[int], dropped: Sequence[Step]) -> Sequence[Mark]:
        """A chain never goes back: without its end it has ended."""
        if self._end.birth in gone:
            self._next, self.ended = None, "exhausted"
        return ()

    def favour(self, node: Node, joint: bool) -> Sequence[Mark]:
        """Only its end is ever expanded."""
        if self._next is None or node is not self._end:
            raise UsageError("a chain goes on from its last thought only, and that is being expanded")
        return ()

    def add(self, node: Node, joint: bool) -> Expand:
        """The next thought of the chain, in place of the model's."""
        if node is not self._end or self.ended:
            raise UsageError("a chain takes a thought below its last one only")
        self._next = None
        return Expand(node, k=1, judge=True, given=True)
