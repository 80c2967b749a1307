"""MCT Self-Refine: a tree of whole answers, each child a rewrite of its parent. Knows no model.

Zhang et al. 2024 (MCTSr), sections 3.1 to 3.5, with rewards mapped from [-100, 100] to [0, 1].
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import log, sqrt
from typing import Literal

from branchwise.errors import UsageError
from branchwise.problem import Kind
from branchwise.search.base import Chance, Expand, Judge, Level, Step, kept
from branchwise.trace import Mark
from branchwise.tree import Done, Node, Tree

__all__ = ["SelfRefineFrontier", "SelfRefineSearch", "quality"]


def quality(node: Node) -> float:
    """Q(a) = ½ (min R_a + mean R_a) over all reward samples of the answer, in [0, 1]; 0 while none is known."""
    if node.mean is None or node.minimum is None:
        return node.value or 0.0
    return 0.5 * (node.minimum + node.mean)


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfRefineSearch:
    """A rollout selects an answer, samples its reward again, refines it (critique, then rewrite), rewards the rewrite and backs up
    Q'(a) = ½ (Q(a) + max over children Q'(child)) to every ancestor; UCT(a) = Q'(a) + c·sqrt((ln N(father) + 1) / (N(a) + ε)).

    Candidates are leaves and nodes that are not fully expanded; fully expanded means `child_limit` children, one of which has a higher Q.
    N counts an answer's visits: its birth, and each time it is selected; rollouts in flight count already. Decided here, as the paper
    leaves it open: N(father) of a root is the total of all visits, at least 1; every rewrite that was asked for fills a child slot of its
    father, also while it is in flight, when it is merged with an earlier answer, and when nothing came; a dummy root counts like any other.
    The choice by importance takes time in proportion to the number of answers, the greedy one does not.
    """

    rollouts: int = 8
    """At least 1."""
    roots: int = 2
    """Answers to begin with: 2 for a naive answer and a dummy, 1 for either (the generator's choice)."""
    exploration: float = 0.1
    """c on the [0, 1] scale (20 points of the paper's); at least 0."""
    epsilon: float = 1e-5
    child_limit: int = 2
    """Children of a fully expanded node; at least 1."""
    depth: int = 16
    """The most rewrites of rewrites; an answer at this depth is not refined."""
    patience: int = 4
    """Stop after so many rollouts in a row without a better Q' or with the same answer again; 0: never."""
    choice: Literal["greedy", "importance"] = "greedy"
    """The candidate with the highest UCT, or one drawn in proportion to it."""
    stop_confidence: float | None = None
    """Stop when the best answer's confidence (the model's own, from log-probabilities) reaches this; `None`: never."""

    def __post_init__(self) -> None:
        if (
            min(self.rollouts, self.roots, self.child_limit, self.depth) < 1
            or min(self.exploration, self.patience) < 0
            or self.epsilon <= 0
        ):
            raise UsageError(
                "mctsr needs rollouts, roots, child_limit and depth of at least 1, exploration and patience of at least 0, epsilon > 0"
            )
        if self.choice not in ("greedy", "importance"):
            raise UsageError(f"mctsr chooses 'greedy' or by 'importance', not {self.choice!r}")

    goes_back = True
    mixes_groups = True
    refines = True

    @property
    def window(self) -> int:
        """8 steps in flight, two a rollout."""
        return 8

    @property
    def max_depth(self) -> int:
        """As set."""
        return self.depth

    def start(self, tree: Tree, rng: Chance) -> SelfRefineFrontier:
        """A frontier that begins with the roots."""
        return SelfRefineFrontier(self, tree, rng)

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """The roots and their rewards; then a reward again, a rewrite (two calls) and its reward a rollout."""
        deepest = min(self.depth, self.rollouts + 1)
        levels = [Level(0, expand=1, k=self.roots), Level(1, judge=self.roots, groups=self.roots)]
        return [*levels, Level(deepest - 1, expand=self.rollouts, k=1), Level(deepest, judge=2 * self.rollouts, groups=2 * self.rollouts)]


class SelfRefineFrontier:
    """Q', visits and the best child's Q' by birth; a heap of candidates by UCT with stale entries left in it."""

    def __init__(self, search: SelfRefineSearch, tree: Tree, rng: Chance) -> None:
        self._search, self._tree, self._rng = search, tree, rng
        self._value: list[float] = [0.0]
        self._visits: list[int] = [0]
        self._best_child: list[float] = [-1.0]
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
        if self._search.choice == "importance":
            return self._draw()
        while self._heap:
            uct, birth = self._heap[0]
            node = self._tree.nodes[birth]
            if -uct == self._current(node) and self._is_candidate(node):
                return node
            heapq.heappop(self._heap)
        return None

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
        return any(quality(child) > own for child in node.children if child.birth not in closed)

    def _current(self, node: Node) -> float:
        """UCT(a); a root's N(father) is the total of visits, so it is worked out anew."""
        if node.depth == 1:
            self._uct[node.birth] = self._score(node, max(self._total, 1))
        return self._uct[node.birth]

    def _score(self, node: Node, father: int) -> float:
        search = self._search
        return self._value[node.birth] + search.exploration * sqrt((log(father) + 1) / (self._visits[node.birth] + search.epsilon))

    def _refresh(self, node: Node) -> None:
        """Enter the node's present UCT into the heap."""
        father = self._total if node.depth == 1 else self._visits[node.parent.birth] if node.parent else 1
        self._uct[node.birth] = self._score(node, max(father, 1))
        heapq.heappush(self._heap, (-self._uct[node.birth], node.birth))
        if len(self._heap) > 64 + 2 * len(self._uct):
            self._heap = [(-uct, birth) for birth, uct in enumerate(self._uct) if birth]
            heapq.heapify(self._heap)

    def _visit(self, node: Node) -> None:
        self._visits[node.birth] += 1
        self._total += 1
        self._refresh(node)
        for child in node.children:
            self._refresh(child)
        self._refresh_roots()

    def _refresh_roots(self) -> None:
        """N(father) of a root is the total of visits, which has just changed."""
        for root in self._tree.root.children:
            if root.birth < len(self._uct):
                self._refresh(root)

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
        self._value.append(quality(node))
        self._best_child.append(-1.0)
        self._slots.append(0)
        self._uct.append(0.0)
        self._refresh_roots()
        self._back_up(node)

    def _back_up(self, node: Node) -> None:
        """Q' of the node from its samples and its best child, and of every ancestor up to where nothing changes.

        The father is entered into the heap in any case: a child's new Q can make it a candidate again while Q' stays.
        """
        current: Node | None = node
        while current is not None and current.parent is not None:
            birth, own = current.birth, quality(current)
            best = self._best_child[birth]
            new = own if best < 0 else 0.5 * (own + best)
            old, self._value[birth] = self._value[birth], new
            if new > self._best:
                self._best = new
            if new != old or current is node or current is node.parent:
                self._refresh(current)
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
        """The highest Q' of its children; -1 where it has none."""
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
