"""The mutable side of MCT Self-Refine: which answer is refined next, and what its rewrite changes. Knows no model."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence, Set
from math import log, sqrt
from typing import TYPE_CHECKING

from branchwise.errors import UsageError
from branchwise.problem import Kind
from branchwise.search.base import Chance, Expand, Judge, Step, kept
from branchwise.trace import Mark
from branchwise.tree import Done, Node, Tree

if TYPE_CHECKING:
    from branchwise.search.self_refine import SelfRefineSearch

__all__ = ["SelfRefineFrontier", "quality", "refined"]


_UNKNOWN = -1.0
"""Stands for a Q' that is not known: below every one that is."""
_MIDDLE = 0.5
_SAME = 1e-9


def quality(node: Node) -> float | None:
    """Q(a) = ½ (min R_a + mean R_a) in [0, 1], over all single reward samples of the answer that could be read; `None` while there is none.

    An answer that was never graded, but that a program proved or refuted, has Q 1 or 0.
    """
    if node.mean is None or node.minimum is None:
        return node.value
    return 0.5 * (node.minimum + node.mean)


def refined(own: float | None, best: float) -> float:
    """Q'(a) from Q(a) and the best child's known Q' (-1: none): half of their sum, the one that is known, or -1 where neither is."""
    if own is None:
        return best
    return own if best < 0 else 0.5 * (own + best)


class SelfRefineFrontier:
    """Q' (-1: unknown), visits and the best child's Q' by birth; a heap of candidates by UCT with stale entries left in it.

    The roots are not in the heap: the total of visits is their N(father), so that their UCT changes with every rollout.
    """

    def __init__(self, search: SelfRefineSearch, tree: Tree, rng: Chance) -> None:
        self._search, self._tree, self._rng = search, tree, rng
        self._value: list[float] = [0.0]
        self._visits: list[int] = [0]
        self._best_child: list[float] = [_UNKNOWN]
        self._unknown: set[int] = set()
        """Answers whose Q' is not known."""
        self._slots: list[int] = [0]
        self._uct: list[float] = [0.0]
        self._heap: list[tuple[float, int]] = []
        self._total = 0
        self._steps: deque[Step] = deque([Expand(tree.root, k=search.roots, judge=True)])
        self._issued = self._done = self._stale = 0
        self._best = self._top = -1.0
        self._seen: set[str] = set()
        self._begun = False
        self._why = "nothing is left to refine"
        self.ended = ""

    @property
    def note(self) -> str:
        """What the user should know at the end."""
        if self.ended != "exhausted":
            return ""
        return f"stopped after {self._done} of {self._search.rollouts} rollouts: {self._why}"

    def ask(self) -> Step | None:
        """The roots; then, a rollout, a new reward for the chosen answer and its rewrite."""
        if self.ended:
            return None
        if not self._steps and self._begun and self._issued < self._search.rollouts:
            self._select()
        if self._steps:
            return self._steps.popleft()
        if self._begun and self._done >= self._search.rollouts:
            self.ended = "budget:rollouts"
        return None

    def _select(self) -> None:
        node = self._choose()
        if node is None:
            if self._issued == self._done:
                self.ended = "exhausted"
            return
        self._issued += 1
        self._slots[node.birth] += 1
        self._visit(node)
        self._steps.extend((Judge((node,)), Expand(node, k=1, judge=True)))

    def _choose(self) -> Node | None:
        """The candidate of the highest UCT, the oldest of equals."""
        if self._search.choice == "importance":
            return self._draw()
        nodes, heap = self._tree.nodes, self._heap
        known = [root for root in self._tree.root.children if root.birth < len(self._uct) and self._is_candidate(root)]
        roots = ((-self._current(root), root.birth) for root in known)
        first = min(roots, default=None)
        while heap and (first is None or heap[0] < first):
            uct, birth = heap[0]
            if -uct == self._uct[birth] and self._is_candidate(nodes[birth]):
                return nodes[birth]
            heapq.heappop(heap)
        return None if first is None else nodes[first[1]]

    def _draw(self) -> Node | None:
        nodes = [node for node in self._tree if node.birth < len(self._uct) and self._is_candidate(node)]
        if not nodes:
            return None
        weights = [max(self._current(node), 1e-9) for node in nodes]
        point = self._rng.random() * sum(weights)
        for node, weight in zip(nodes, weights, strict=True):
            point -= weight
            if point < 0:
                return node
        return nodes[-1]

    def _is_candidate(self, node: Node) -> bool:
        if node.depth >= self._search.depth or node.status.kind in (Kind.DEAD, Kind.SOLVED) or node.birth in self._tree.closed:
            return False
        return self._slots[node.birth] < self._search.child_limit or not self._better_child(node)

    def _better_child(self, node: Node) -> bool:
        own, closed = quality(node), self._tree.closed
        known = [] if own is None else [quality(child) for child in node.children if child.birth not in closed]
        return own is not None and any(one is not None and one > own + _SAME for one in known)

    def _current(self, node: Node) -> float:
        """UCT(a); a root's N(father) is the total of visits, so it is worked out anew."""
        if node.depth == 1:
            self._uct[node.birth] = self._score(node, max(self._total, 1))
        return self._uct[node.birth]

    def _score(self, node: Node, father: int) -> float:
        search, value = self._search, self._value[node.birth]
        bonus = search.exploration * sqrt((log(father) + 1) / (self._visits[node.birth] + search.epsilon))
        return (value if value >= 0 else self._stand_in(node)) + bonus

    def _stand_in(self, node: Node) -> float:
        """What UCT takes for a Q' that is not known: that of the nearest answer above with one, the middle of the scale without any."""
        above = node.parent
        while above is not None and above.parent is not None:
            if (value := self._value[above.birth]) >= 0:
                return value
            above = above.parent
        return _MIDDLE

    def _refresh(self, node: Node) -> None:
        """Enter the node's present UCT into the heap, unless it is a root."""
        if node.depth == 1 or node.parent is None:
            return
        uct = self._uct[node.birth] = self._score(node, self._visits[node.parent.birth] or 1)
        heapq.heappush(self._heap, (-uct, node.birth))

    def _refresh_below(self, node: Node) -> None:
        """Its Q' is another: so is what stands in for those below it that have none."""
        rest = [child for child in node.children if child.birth in self._unknown]
        while rest:
            self._refresh(one := rest.pop())
            rest.extend(child for child in one.children if child.birth in self._unknown)

    def _visit(self, node: Node) -> None:
        self._visits[node.birth] += 1
        self._total += 1
        self._refresh(node)
        for child in node.children:
            self._refresh(child)
        if len(self._heap) > 64 + 2 * len(self._uct):
            self._heap = [(-self._uct[one.birth], one.birth) for one in self._tree if one.depth > 1 and one.birth < len(self._uct)]
            heapq.heapify(self._heap)

    def tell(self, done: Done) -> Sequence[Mark]:
        """Enter new answers, back up Q', and see whether to stop."""
        if done.node is None:
            for node in done.judged:
                self._back_up(node)
            return ()
        for node in done.born:
            self._enter(node)
        if done.role == "person":
            self._seen.update(born.thought for born in done.born)
        elif done.node.parent is None:
            self._begun = True
            self._top = self._best
            self._seen.update(born.thought for born in done.born)
        else:
            self._finish_rollout(done)
        return [kept(node) for node in done.born if node.status.kind is not Kind.DEAD]

    def _enter(self, node: Node) -> None:
        self._visits.append(1)
        self._total += 1
        self._value.append(_UNKNOWN)
        self._unknown.add(node.birth)
        self._best_child.append(_UNKNOWN)
        self._slots.append(0)
        self._uct.append(0.0)
        self._back_up(node)

    def _back_up(self, node: Node) -> None:
        """Q' of the node from its samples and its best child, and of every ancestor up to where nothing changes.

        The father is entered into the heap in any case: a child's new Q can make it a candidate again while Q' stays.
        """
        current: Node | None = node
        while current is not None and current.parent is not None:
            birth = current.birth
            new = refined(quality(current), self._best_child[birth])
            old, self._value[birth] = self._value[birth], new
            if new > self._best:
                self._best = new
            if new != old or current is node or current is node.parent:
                self._refresh(current)
            if new != old and (new < 0 or self._unknown):
                (self._unknown.add if new < 0 else self._unknown.discard)(birth)
                self._refresh_below(current)
            parent = current.parent
            above = self._best_child[parent.birth]
            if new >= above:
                self._best_child[parent.birth] = new
            elif old >= above:
                self._best_child[parent.birth] = self._best_below(parent)
            if self._best_child[parent.birth] == above and current is not node:
                break
            current = parent

    def _finish_rollout(self, done: Done) -> None:
        assert done.node is not None
        self._done += 1
        search = self._search
        again = bool(done.merged) or any(born.thought in self._seen for born in done.born)
        self._seen.update(born.thought for born in done.born)
        self._stale = 0 if self._best > self._top and not again else self._stale + 1
        self._top = self._best
        confidence = max((born.confidence or 0.0 for born in done.born), default=0.0)
        if search.stop_confidence is not None and confidence >= search.stop_confidence:
            self.ended, self._why = "exhausted", f"the model is {confidence:.0%} confident of its answer"
        elif search.patience and self._stale >= search.patience:
            self.ended, self._why = "exhausted", f"no better or new answer for {search.patience} rollouts"

    def _best_below(self, node: Node) -> float:
        """The highest known Q' of its children; -1 where it has none."""
        closed, known = self._tree.closed, len(self._value)
        return max((self._value[child.birth] for child in node.children if child.birth < known and child.birth not in closed), default=-1.0)

    def prune(self, node: Node, gone: Set[int], dropped: Sequence[Step]) -> Sequence[Mark]:
        """They are refined no more, and their Q' counts no more above them; a rollout on one of them is not counted."""
        waiting, self._steps = self._steps, deque()
        for step in (*dropped, *waiting):
            nodes = (step.node,) if isinstance(step, Expand) else step.nodes
            if not any(one.birth in gone for one in nodes):
                self._steps.append(step)
            elif isinstance(step, Expand) and not step.given:
                self._issued -= 1
        if node.parent is not None:
            self._best_child[node.parent.birth] = self._best_below(node.parent)
            self._back_up(node.parent)
        alive = (self._value[one.birth] for one in self._tree if one.birth < len(self._value) and one.birth not in self._tree.closed)
        self._best = self._top = max(alive, default=-1.0)
        if self.ended == "budget:rollouts":
            self.ended = ""
        return ()

    def favour(self, node: Node, joint: bool) -> Sequence[Mark]:
        """The next rollout refines it, whatever its UCT and its children."""
        if self.ended or not self._begun:
            raise UsageError("the search is ending" if self.ended else "the first answers are on their way")
        if self._issued >= self._search.rollouts:
            raise UsageError(f"all {self._search.rollouts} rollouts are done, or on their way")
        if node.parent is None or node.depth >= self._search.depth:
            raise UsageError("this is no answer that could be refined" if node.parent is None else "this answer is not refined any further")
        self._issued += 1
        self._slots[node.birth] += 1
        self._visit(node)
        self._steps.extendleft((Expand(node, k=1, judge=True), Judge((node,))))
        return ()

    def add(self, node: Node, joint: bool) -> Expand:
        """One more answer; it takes no rollout, and no child slot of its father."""
        if self.ended:
            raise UsageError("the search is ending")
        if node.depth >= self._search.depth:
            raise UsageError("this answer is not refined any further")
        return Expand(node, k=1, judge=True, given=True)
