"""Monte-Carlo tree search over thoughts: UCT or PUCT selection, mean or max backup. Knows no model.

Kocsis and Szepesvari 2006 (UCT); Silver et al. 2017 (PUCT). A rollout: select from the root, expand the leaf, value its children, back up.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import log, sqrt
from typing import Literal

from branchwise.errors import UsageError
from branchwise.problem import Kind
from branchwise.search.base import Chance, Expand, Level, Step, expandable, kept, rank
from branchwise.trace import Mark
from branchwise.tree import Done, Node, Tree

__all__ = ["Mcts", "MctsFrontier"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Mcts:
    """Select by Q + c·sqrt(ln N(parent) / N), unvisited children first by value; `puct`: Q + c·P·sqrt(N(parent)) / (1 + N).

    What a rollout backs up from the k new children of its leaf (the papers leave it open): the mean (`backup="mean"`) or the best
    (`"max"`) of their known values, proven, dead and merged children included (1, 0, the survivor's), as one visit of the leaf and of every
    ancestor; where none is known, the leaf's own value. Q is the mean or maximum of what was backed up. Rollouts in flight count as visits
    of value 0 (virtual loss). A rollout of which no value is known is a visit, and no value: it takes no part in Q. Where a visited child has
    nothing else, its parent's Q stands in for its own. A node whose subtree is finished is never selected again, so a full tree ends the
    search.
    """

    rollouts: int = 20
    """Expansions; at least 1."""
    exploration: float = 1.0
    """c, on values in [0, 1]; at least 0."""
    depth: int = 5
    """The most thoughts on a path; at least 1."""
    backup: Literal["mean", "max"] = "mean"
    puct: bool = False
    """Priors P from the generator's confidences, else from values, normalised over siblings; one that is not known is the mean of the known.
    Q of a child that was not visited is its value, else its parent's Q."""

    def __post_init__(self) -> None:
        if self.rollouts < 1 or self.depth < 1 or not self.exploration >= 0:
            raise UsageError("mcts needs rollouts and depth of at least 1, and an exploration of at least 0")
        if self.backup not in ("mean", "max"):
            raise UsageError(f"mcts backs up 'mean' or 'max', not {self.backup!r}")

    goes_back = True
    mixes_groups = True
    refines = False

    @property
    def window(self) -> int:
        """8 rollouts in flight."""
        return 8

    @property
    def max_depth(self) -> int:
        """As set."""
        return self.depth

    def start(self, tree: Tree, rng: Chance) -> MctsFrontier:
        """A frontier that holds the root."""
        return MctsFrontier(self, tree)

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """One expansion a rollout, as many as the tree has inner nodes."""
        steps = min(self.rollouts, sum(min(k**level, self.rollouts) for level in range(self.depth)))
        return [Level(self.depth - 1, expand=steps), Level(self.depth, judge=steps * k, groups=steps)]


class MctsFrontier:
    """Visits and sums (or maxima) of values by birth number; `_left` counts the children of a node whose subtree is not finished."""

    def __init__(self, search: Mcts, tree: Tree) -> None:
        self._search, self._tree = search, tree
        self._visits = [0]
        self._void = [0]
        """Visits of which no value is known."""
        self._sum: list[float] = [0.0]
        self._left: list[int] = [-1]
        self._grafts: dict[int, int] = {}
        """Of a leaf that was not expanded when a person added a thought below it: its unfinished children, until it has been."""
        self._favoured: list[Node] = []
        self._mean = search.backup == "mean"
        self._done = self._issued = 0
        self.ended = ""

    @property
    def note(self) -> str:
        """What the user should know at the end."""
        rest = self._search.rollouts - self._done
        return f"{rest} of {self._search.rollouts} rollouts were not run: the tree is full" if rest and self.ended == "exhausted" else ""

    def ask(self) -> Step | None:
        """Descend to a leaf and expand it."""
        if self._issued >= self._search.rollouts:
            self.ended = self.ended or "budget:rollouts"
            return None
        node = self._favoured.pop() if self._favoured else self._select()
        if node is None:
            if self._issued == self._done:
                self.ended = "exhausted"
            return None
        self._issued += 1
        self._left[node.birth] = 0
        self._block(node)
        self._visit(node)
        return Expand(node, judge=True)

    def _select(self) -> Node | None:
        """The leaf to expand, or `None` when every leaf is finished or on its way."""
        if self._left[0] == 0:
            return None
        node = self._tree.root
        while self._left[node.birth] > 0:
            node = self._best(node)
        return node

    def _best(self, parent: Node) -> Node:
        if self._search.puct:
            return self._best_puct(parent)
        visits, left, c = self._visits, self._left, self._search.exploration
        best, top = None, -1.0
        fresh, fresh_rank = None, None
        scale = log(max(visits[parent.birth], 1))
        for child in parent.children:
            birth = child.birth
            if left[birth] == 0:
                continue
            n = visits[birth]
            if n == 0:
                place = rank(child)
                if fresh_rank is None or place < fresh_rank:
                    fresh, fresh_rank = child, place
            elif fresh is None:
                score = self._q(child) + c * sqrt(scale / n)
                if score > top:
                    best, top = child, score
        found = fresh or best
        assert found is not None
        return found

    def _q(self, node: Node | None) -> float:
        """Q of a visited node; where nothing is known of it, that of the nearest visited one above, and 0 where nothing is known at all."""
        while node is not None:
            if (known := self._visits[node.birth] - self._void[node.birth]) > 0:
                return self._sum[node.birth] / known if self._mean else self._sum[node.birth]
            node = node.parent
        return 0.0

    def _best_puct(self, parent: Node) -> Node:
        children = [child for child in parent.children if self._left[child.birth] != 0]
        given = any(child.confidence is not None for child in children)
        told = [child.confidence if given else child.value for child in children]
        known = [weight for weight in told if weight is not None]
        neutral = sum(known) / len(known) if known else 0.0
        raw = [neutral if weight is None else weight for weight in told]
        total = sum(raw)
        scale = self._search.exploration * sqrt(self._visits[parent.birth])

        def score(pair: tuple[Node, float]) -> tuple[float, int]:
            child, weight = pair
            n = self._visits[child.birth]
            prior = weight / total if total > 0 else 1 / len(children)
            q = self._q(child) if n or child.value is None else child.value
            return (q + scale * prior / (1 + n), -child.birth)

        return max(zip(children, raw, strict=True), key=score)[0]

    def _visit(self, node: Node | None, times: int = 1) -> None:
        """Count a rollout on its way as a visit of value 0 all the way up: virtual loss."""
        visits = self._visits
        while node is not None:
            visits[node.birth] += times
            node = node.parent

    def _block(self, node: Node) -> None:
        """`node` cannot be selected now; so neither can an ancestor that has no other child."""
        while node.parent is not None:
            parent = node.parent
            if parent.birth in self._grafts:
                self._grafts[parent.birth] -= 1
                break
            self._left[parent.birth] -= 1
            if self._left[parent.birth] > 0:
                break
            node = parent

    def _unblock(self, node: Node) -> None:
        while node.parent is not None:
            parent = node.parent
            if parent.birth in self._grafts:
                self._grafts[parent.birth] += 1
                break
            self._left[parent.birth] += 1
            if self._left[parent.birth] > 1:
                break
            node = parent

    def tell(self, done: Done) -> Sequence[Mark]:
        """Add the children, reopen the path to them, and back up what they are worth."""
        leaf = done.node
        assert leaf is not None
        given = done.role == "person"
        self._done += not given
        opened = 0
        for node in done.born:
            can = expandable(node) and node.depth < self._search.depth
            self._visits.append(0)
            self._void.append(0)
            self._sum.append(0.0)
            self._left.append(-1 if can else 0)
            opened += can
        if given:
            self._graft(leaf, opened)
        else:
            opened += self._grafts.pop(leaf.birth, 0)
            if opened:
                self._left[leaf.birth] = opened
                self._unblock(leaf)
        values = [node.value for node in (*done.born, *(survivor for survivor, _ in done.merged)) if node.value is not None]
        if not values and leaf.value is not None:
            values = [leaf.value]
        self._back_up(leaf, values)
        return [kept(node) for node in done.born if node.status.kind is not Kind.DEAD]

    def _back_up(self, node: Node | None, values: list[float]) -> None:
        totals = self._sum
        while not values and node is not None:
            self._void[node.birth] += 1
            node = node.parent
        if node is None:
            return
        if self._mean:
            gain = sum(values) / len(values)
            while node is not None:
                totals[node.birth] += gain
                node = node.parent
            return
        best = max(values)
        while node is not None and totals[node.birth] < best:
            totals[node.birth] = best
            node = node.parent

    def _graft(self, leaf: Node, opened: int) -> None:
        """`leaf` has `opened` more unfinished children, of a person's."""
        before = self._left[leaf.birth]
        if leaf.birth in self._grafts:
            self._grafts[leaf.birth] += opened
        elif opened:
            self._left[leaf.birth] += opened
            if not before:
                self._unblock(leaf)

    def prune(self, node: Node, gone: Set[int], dropped: Sequence[Step]) -> Sequence[Mark]:
        """They are never selected again, and what came from them counts no more above them."""
        self._favoured = [one for one in self._favoured if one.birth not in gone]
        for step in dropped:
            if isinstance(step, Expand):
                self._issued -= not step.given
                self._visit(step.node, -1)
        unfinished = self._left[node.birth] != 0
        for birth in gone:
            self._left[birth] = 0
        if unfinished:
            self._block(node)
        above, visits, void, total = node.parent, self._visits[node.birth], self._void[node.birth], self._sum[node.birth]
        while above is not None:
            self._visits[above.birth] -= visits
            self._void[above.birth] -= void
            if self._mean:
                self._sum[above.birth] -= total
            else:
                rest = (max(self._sum[child.birth], child.value or 0.0) for child in above.children if child.birth not in gone)
                self._sum[above.birth] = max(rest, default=above.value or 0.0)
            above = above.parent
        if self.ended == "budget:rollouts" and self._issued < self._search.rollouts:
            self.ended = ""
        return ()

    def favour(self, node: Node, joint: bool) -> Sequence[Mark]:
        """The next rollout expands it, whatever the selection says."""
        if self._issued >= self._search.rollouts:
            raise UsageError(f"all {self._search.rollouts} rollouts are done, or on their way")
        if node.depth >= self._search.depth:
            raise UsageError(f"this thought is as deep as the search goes ({self._search.depth})")
        if self._left[node.birth] != -1:
            raise UsageError("this thought has been expanded, or is being expanded; favour one below it")
        self._favoured = [*(one for one in self._favoured if one is not node), node]
        return ()

    def add(self, node: Node, joint: bool) -> Expand:
        """One more child, whose value is backed up as that of a rollout is; it takes none of the rollouts."""
        if node.depth >= self._search.depth:
            raise UsageError(f"this thought is as deep as the search goes ({self._search.depth})")
        if self._left[node.birth] == -1:
            self._grafts.setdefault(node.birth, 0)
        self._visit(node)
        return Expand(node, k=1, judge=True, given=True)
