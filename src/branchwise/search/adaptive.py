"""Adaptive branching: at each node Thompson sampling decides between a new child and an existing one. Knows no model.

AB-MCTS-A (Inoue et al. 2025, "Wider or deeper?"), with Beta posteriors.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from branchwise.errors import UsageError
from branchwise.problem import Kind
from branchwise.search.arms import Arm, Arms
from branchwise.search.base import Chance, Expand, Level, Step, expandable, kept
from branchwise.search.crowd import Crowd
from branchwise.trace import Mark
from branchwise.tree import Done, Node, Tree

__all__ = ["Adaptive", "AdaptiveFrontier"]

_EMPTY = 3
_CROWD = 64
"""From so many children on, the highest draw is found without making them all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Adaptive:
    """From the root: draw from the posterior of "go wider" and from that of "go deeper"; the higher draw wins. Wider makes one new child
    here; deeper draws from every child's posterior and goes to the best.

    Every posterior is Beta(prior + sum r, prior + sum (1 - r)) over values r in [0, 1]: "wider" at a node over the first values of its
    own new children, "deeper" over what came from below them, a child over its own first value and all values below it. Values go up the
    whole path. Steps in flight count as a value of 0 on their way (virtual loss). Where three new children in a row bring nothing (empty,
    merged), a node goes wider no more.
    """

    rollouts: int = 20
    """New children in all; at least 1."""
    depth: int = 5
    """The most thoughts on a path; at least 1."""
    prior: float = 0.5
    """Both parameters of the Beta prior; 0.5 is Jeffreys'."""

    def __post_init__(self) -> None:
        if self.rollouts < 1 or self.depth < 1 or self.prior <= 0:
            raise UsageError("adaptive needs rollouts and depth of at least 1, and a prior above 0")

    goes_back = True
    mixes_groups = True
    refines = True

    @property
    def window(self) -> int:
        """8 steps in flight."""
        return 8

    @property
    def max_depth(self) -> int:
        """As set."""
        return self.depth

    def start(self, tree: Tree, rng: Chance) -> AdaptiveFrontier:
        """A frontier that holds the root."""
        return AdaptiveFrontier(self, tree, rng)

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """One child a rollout."""
        deepest = min(self.depth, self.rollouts)
        return [Level(deepest - 1, expand=self.rollouts, k=1), Level(deepest, judge=self.rollouts, groups=self.rollouts)]


class AdaptiveFrontier:
    """Posteriors by birth number. `open` counts children that can still be gone to."""

    def __init__(self, search: Adaptive, tree: Tree, rng: Chance) -> None:
        self._search, self._tree, self._rng = search, tree, rng
        self._arms = [Arms(True)]
        self._crowds: dict[int, Crowd] = {}
        self._issued = self._done = 0
        self._favoured: list[Node] = []
        self.ended = ""

    @property
    def note(self) -> str:
        """What the user should know at the end."""
        rest = self._search.rollouts - self._done
        return f"{rest} of {self._search.rollouts} rollouts were not run: nothing new comes" if rest and self.ended == "exhausted" else ""

    def ask(self) -> Step | None:
        """Descend, and make one new child where "wider" wins."""
        if self._issued >= self._search.rollouts:
            self.ended = self.ended or "budget:rollouts"
            return None
        if self._favoured:
            return self._issue(self._favoured.pop())
        root = self._arms[0]
        if not root.wide and not root.open:
            self.ended = "exhausted"
            return None
        node = self._tree.root
        while not self._goes_wider(node):
            node = self._child(node)
        return self._issue(node)

    def _issue(self, node: Node) -> Step:
        self._issued += 1
        self._lose(node, 1.0)
        return Expand(node, k=1, judge=True)

    def _goes_wider(self, node: Node) -> bool:
        arms = self._arms[node.birth]
        if not arms.open or not arms.wide:
            return arms.wide
        prior, rng = self._search.prior, self._rng
        return arms.wider.draw(prior, rng) >= arms.deeper.draw(prior, rng)

    def _child(self, node: Node) -> Node:
        """The child with the highest draw, ties to the earlier birth. Only draws that can win are made: see `Arm.beyond` and `Crowd`."""
        if len(node.children) >= _CROWD:
            return node.children[self._crowd(node).best(self._rng)]
        prior, rng, all_arms = self._search.prior, self._rng, self._arms
        best, top = None, 0.0
        for child in node.children:
            arms = all_arms[child.birth]
            if arms.wide or arms.open:
                if best is None:
                    best, top = child, arms.draw(prior, rng)
                elif (draw := arms.beyond(top, prior, rng)) > top:
                    best, top = child, draw
        assert best is not None
        return best

    def _crowd(self, node: Node) -> Crowd:
        """The children of `node`, all of them."""
        crowd = self._crowds.get(node.birth)
        if crowd is None:
            crowd = self._crowds[node.birth] = Crowd(self._search.prior)
        for child in node.children[len(crowd) :]:
            crowd.append(self._arms[child.birth])
        return crowd

    def _lose(self, node: Node, amount: float) -> None:
        """Virtual loss on the way to `node`, or its return."""
        self._arms[node.birth].wider.add(0.0, amount)
        while node.parent is not None:
            self._arms[node.birth].add(0.0, amount)
            node = node.parent
            self._arms[node.birth].deeper.add(0.0, amount)

    def tell(self, done: Done) -> Sequence[Mark]:
        """Take the virtual loss back, and send the new value up the path."""
        node = done.node
        assert node is not None
        arms = self._arms[node.birth]
        if done.role != "person":
            self._done += 1
            self._lose(node, -1.0)
            arms.empty = 0 if done.born else arms.empty + 1
        for child in done.born:
            open_ = child.status.kind is Kind.COMPLETE or expandable(child)
            self._arms.append(Arms(open_ and child.depth < self._search.depth))
            self._reward(self._arms[child.birth], child.value)
            if self._arms[child.birth].wide:
                self._open(node)
        for child in (*done.born, *(survivor for survivor, _ in done.merged)):
            self._back_up(node, child.value)
        if arms.empty >= _EMPTY and arms.wide:
            arms.wide = False
            self._close(node)
        return [kept(child) for child in done.born if child.status.kind is not Kind.DEAD]

    def _back_up(self, node: Node, value: float | None) -> None:
        self._reward(self._arms[node.birth].wider, value)
        while node.parent is not None:
            self._reward(self._arms[node.birth], value)
            node = node.parent
            self._reward(self._arms[node.birth].deeper, value)

    @staticmethod
    def _reward(arm: Arm, value: float | None) -> None:
        if value is not None:
            arm.add(value, 1.0 - value)

    def _open(self, node: Node) -> None:
        """`node` has one more child that can be gone to. It may have been closed while that was on its way: then it opens again."""
        while True:
            arms = self._arms[node.birth]
            arms.open += 1
            arms.add(0.0, 0.0)  # a crowd looks at it again
            if arms.wide or arms.open > 1 or node.parent is None:
                return
            node = node.parent

    def _close(self, node: Node) -> None:
        """A node that goes neither wider nor deeper is no choice of its parent any more."""
        while node.parent is not None:
            arms = self._arms[node.birth]
            if arms.wide or arms.open:
                break
            node = node.parent
            self._arms[node.birth].open -= 1

    def prune(self, node: Node, gone: Set[int], dropped: Sequence[Step]) -> Sequence[Mark]:
        """Nothing goes there any more, and what came from below them counts no more above them."""
        self._favoured = [one for one in self._favoured if one.birth not in gone]
        for step in dropped:
            if isinstance(step, Expand) and not step.given:
                self._issued -= 1
                self._lose(step.node, -1.0)
        arms = self._arms[node.birth]
        was_open = arms.wide or arms.open > 0
        for birth in gone:
            self._arms[birth].wide, self._arms[birth].open = False, 0
        if was_open:
            self._close(node)
        value = node.value
        won, lost = arms.won - (value or 0.0), arms.lost - (0.0 if value is None else 1.0 - value)
        above = node.parent
        while above is not None:
            self._arms[above.birth].deeper.add(-won, -lost)
            if above.parent is not None:
                self._arms[above.birth].add(-won, -lost)
            above = above.parent
        if self.ended == "budget:rollouts" and self._issued < self._search.rollouts:
            self.ended = ""
        return ()

    def favour(self, node: Node, joint: bool) -> Sequence[Mark]:
        """The next new child is one of its, whatever is drawn."""
        if self._issued >= self._search.rollouts:
            raise UsageError(f"all {self._search.rollouts} rollouts are done, or on their way")
        if node.depth >= self._search.depth:
            raise UsageError(f"this thought is as deep as the search goes ({self._search.depth})")
        self._favoured.append(node)
        return ()

    def add(self, node: Node, joint: bool) -> Expand:
        """One more child; it takes no rollout."""
        if node.depth >= self._search.depth:
            raise UsageError(f"this thought is as deep as the search goes ({self._search.depth})")
        return Expand(node, k=1, judge=True, given=True)
