"""One search after the other: a beam, then refinement of its best answer. Knows no model.

Yao et al. 2023, section 4.2: "iterative refinement is more effective on this task" (ToT + refine).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from branchwise.errors import UsageError
from branchwise.problem import Kind
from branchwise.search.base import Chance, Expand, Level, Step, kept, rank
from branchwise.search.beam import Beam, BeamFrontier
from branchwise.trace import Mark
from branchwise.tree import Done, Fate, Node, Tree

__all__ = ["ThenRefine", "ThenRefineFrontier"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ThenRefine:
    """`first` as it is; then its best kept complete answer is rewritten, and the rewrite again, `rounds` times or until it stays."""

    first: Beam = field(default_factory=Beam)
    rounds: int = 5
    """At least 1."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise UsageError(f"refinement needs at least 1 round, not {self.rounds}")

    mixes_groups = False
    refines = True

    @property
    def goes_back(self) -> bool:
        """As the first search."""
        return self.first.goes_back

    @property
    def window(self) -> int:
        """As the first search; the rounds come one after the other."""
        return self.first.window

    @property
    def max_depth(self) -> int:
        """Both together."""
        return self.first.depth + self.rounds

    def start(self, tree: Tree, rng: Chance) -> ThenRefineFrontier:
        """A frontier that begins with the first search."""
        return ThenRefineFrontier(self, tree, rng)

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """The beam's, and one rewrite a round."""
        depth = self.first.depth
        return [*self.first.plan(k, worst), *(Level(depth + i, expand=1, k=1) for i in range(self.rounds))]


class ThenRefineFrontier:
    """The beam's frontier until it has ended, then the end of a chain."""

    def __init__(self, search: ThenRefine, tree: Tree, rng: Chance) -> None:
        self._search, self._tree = search, tree
        self._first: BeamFrontier = search.first.start(tree, rng)
        self._next: Step | None = None
        self._end: Node | None = None
        self._rounds = 0
        self._refining = False
        self.ended = ""

    def ask(self) -> Step | None:
        """The beam's step, then the next rewrite."""
        if not self._refining:
            return self._first.ask()
        step, self._next = self._next, None
        return step

    def tell(self, done: Done) -> Sequence[Mark]:
        """Pass on to the beam; when it has ended, go on from its best answer."""
        if self._refining:
            return self._rewritten(done)
        return self._then(self._first.tell(done))

    def _then(self, marks: Sequence[Mark]) -> Sequence[Mark]:
        """When the beam has ended, go on from its best answer."""
        if self._first.ended:
            self._refining = True
            kept_now = {mark.node for mark in marks if mark.fate == Fate.KEPT}
            answers = [
                node for node in self._tree
                if node.status.kind is Kind.COMPLETE and node.birth not in self._tree.closed and (node.birth in kept_now or node.fate is Fate.KEPT)
            ]  # fmt: skip
            self._go_on(min(answers, key=rank, default=None))
        return marks

    def _go_on(self, node: Node | None) -> None:
        if node is None:
            self.ended = self._first.ended
        else:
            self._next, self._end = Expand(node, k=1), node

    def _rewritten(self, done: Done) -> Sequence[Mark]:
        given = done.role == "person"
        self._rounds += not given
        node = next((n for n in done.born if n.status.kind in (Kind.OPEN, Kind.COMPLETE)), None)
        if node is None and given:  # it was no way on: the model's turn again
            node = self._end
        self._end = node or self._end
        if node is None or done.final:
            self.ended = "exhausted"
        elif self._rounds >= self._search.rounds:
            self.ended = "max_depth"
        else:
            self._next = Expand(node, k=1)
        return () if node is None else (kept(node),)

    @property
    def single(self) -> bool:
        """The rounds go on from one place."""
        return self._refining

    def prune(self, node: Node, gone: Set[int], dropped: Sequence[Step]) -> Sequence[Mark]:
        """As the beam; then as a chain, which never goes back."""
        if not self._refining:
            return self._then(self._first.prune(node, gone, dropped))
        if self._end is not None and self._end.birth in gone:
            self._next, self.ended = None, "exhausted"
        return ()

    def favour(self, node: Node, joint: bool) -> Sequence[Mark]:
        """As the beam; then only the last answer is rewritten."""
        if not self._refining:
            return self._first.favour(node, joint)
        if self._next is None or node is not self._end:
            raise UsageError("only the last answer is rewritten now, and that is being done")
        return ()

    def add(self, node: Node, joint: bool) -> Expand:
        """As the beam; then the next rewrite, in place of the model's."""
        if not self._refining:
            return self._first.add(node, joint)
        if node is not self._end or self.ended:
            raise UsageError("only the last answer is rewritten now: a thought can be added below that one")
        self._next = None
        return Expand(node, k=1, given=True)
