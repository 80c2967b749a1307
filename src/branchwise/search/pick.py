"""Choosing the node that answers, after a search. Knows no model and no answer key.

Whatever the rule: a proven state comes first, a complete answer before an unfinished state, and a dead end is never an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from branchwise.problem import DUMMY, Kind, Problem
from branchwise.search.base import rank
from branchwise.search.self_refine_frontier import quality, refined
from branchwise.tree import Fate, Node, Tree

__all__ = [
    "PICKS", "Pick", "best_path", "best_refined", "best_value", "complete_or_deepest", "deepest", "last", "majority", "most_visited",
    "refined_values",
]  # fmt: skip

Pick = Callable[[Tree, Problem], Node | None]
"""From a finished tree to the node that answers, or `None` where no thought is left."""

_FINISHED = {Kind.SOLVED: 0, Kind.COMPLETE: 1, Kind.OPEN: 2}


def _alive(tree: Tree) -> list[Node]:
    """What can answer: no dead end, and nothing that a person pruned."""
    return [node for node in _open(tree) if node.status.kind is not Kind.DEAD]


def _open(tree: Tree) -> list[Node]:
    closed = tree.closed
    return [node for node in tree if node.birth not in closed] if closed else list(tree)


def _proven(tree: Tree) -> Node | None:
    return next((node for node in _open(tree) if node.status.kind is Kind.SOLVED), None)


def _answer(problem: Problem, node: Node) -> str | None:
    """The node's answer; none for a dummy root, also where the problem takes any text for an answer."""
    return None if node.thought == DUMMY else problem.answer(node.state)


def best_value(tree: Tree, problem: Problem) -> Node | None:
    """Proven, else the best valued complete answer, else the best valued state of the deepest level; pruned ones when no other is left.

    Values of different levels are not compared: a deeper state is nearer to an answer.
    """

    def key(node: Node) -> tuple[object, ...]:
        finished = _FINISHED[node.status.kind]
        return (finished, node.fate is Fate.PRUNED, -node.depth if finished == 2 else 0, *rank(node))

    return min(_alive(tree), key=key, default=None)


def majority(tree: Tree, problem: Problem) -> Node | None:
    """The first node of the most frequent normalised answer (self-consistency, Wang et al. 2022); equal counts go to the answer born first.

    Merged proposals count as votes; states without an answer do not vote. Proven states win without a vote.
    """
    if (proven := _proven(tree)) is not None:
        return proven
    votes: dict[str, int] = {}
    first: dict[str, Node] = {}
    for node in _alive(tree):
        answer = _answer(problem, node)
        if answer is not None:
            votes[answer] = votes.get(answer, 0) + node.arrivals
            first.setdefault(answer, node)
    if not votes:
        return best_value(tree, problem)
    return first[max(votes, key=lambda answer: votes[answer])]


def last(tree: Tree, problem: Problem) -> Node | None:
    """Proven, else the state that was kept last, else the one born last: the end of a chain of refinement.

    A beam before the refinement has younger siblings of the answer that was refined; they were pruned.
    """
    alive = _alive(tree)
    kept = [node for node in alive if node.fate is Fate.KEPT]
    return _proven(tree) or max(kept, key=lambda node: node.decided, default=alive[-1] if alive else None)


def deepest(tree: Tree, problem: Problem) -> Node | None:
    """Proven, else the deepest state that was visited, pruned ones included; the first visited on ties (Algorithm 2's output).

    Visited means that the search decided about it; children whose turn never came do not count, unless there is nothing else.
    """
    if (proven := _proven(tree)) is not None:
        return proven
    alive = _alive(tree)
    visited = [node for node in alive if node.decided] or alive
    return min(visited, key=lambda node: (-node.depth, node.decided, node.birth), default=None)


def complete_or_deepest(tree: Tree, problem: Problem) -> Node | None:
    """The first complete answer that was kept, else `deepest`: for problems where nothing can be added to a complete state, so that it is
    as deep as its path can get."""
    done = [node for node in _open(tree) if node.status.kind is Kind.COMPLETE and node.fate is Fate.KEPT]
    return _proven(tree) or min(done, key=lambda node: node.decided, default=None) or deepest(tree, problem)


def best_path(tree: Tree, problem: Problem) -> Node | None:
    """Proven, else the end of the path with the highest mean value: of complete answers, else of leaves; pruned ones when no other is left.

    The confidence of a path is the mean known value of its thoughts, the root not counted; ties go to the earlier birth.
    """
    if (proven := _proven(tree)) is not None:
        return proven
    sums: dict[int, tuple[float, int]] = {0: (0.0, 0)}
    best, top = None, None
    for node in _open(tree):
        total, count = sums[node.parent.birth if node.parent else 0]
        value = node.value
        sums[node.birth] = total, count = (total, count) if value is None else (total + value, count + 1)
        leaf = not any(child.status.kind is not Kind.DEAD and child.fate is not Fate.PRUNED for child in node.children)
        complete = node.status.kind is Kind.COMPLETE
        if node.status.kind is Kind.DEAD or not (leaf or complete):
            continue
        key = (complete, node.fate is not Fate.PRUNED, total / count if count else -1.0)
        if top is None or key > top:
            best, top = node, key
    return best


def best_refined(tree: Tree, problem: Problem) -> Node | None:
    """The answer with the highest Q' (MCTSr): ½ (Q + the best child's Q'), worked out from the leaves up; ties go to the earlier birth.

    Any answer with a grade that could be read comes before all without one, whatever their children's. Nodes without an answer, such as the
    dummy root, are chosen only when no other is left.
    """
    if (proven := _proven(tree)) is not None:
        return proven
    values = refined_values(tree)

    def key(node: Node) -> tuple[bool, bool, float, int]:
        return (_answer(problem, node) is not None, quality(node) is not None, _or_last(values[node.birth]), -node.birth)

    return max(_alive(tree), key=key, default=None)


def _or_last(value: float | None) -> float:
    return -1.0 if value is None else value


def refined_values(tree: Tree) -> list[float | None]:
    """Q' of every node by birth number, in [0, 1]; `None` where neither its Q nor that of any below it is known. O(nodes)."""
    best = [-1.0] * len(tree.nodes)
    found = [-1.0] * len(tree.nodes)
    for node in reversed(tree.nodes):
        found[node.birth] = refined(quality(node), best[node.birth])
        if node.parent is not None and node.birth not in tree.closed:
            best[node.parent.birth] = max(best[node.parent.birth], found[node.birth])
    return [None if value < 0 else value for value in found]


def most_visited(tree: Tree, problem: Problem) -> Node | None:
    """Proven, else the answer that was judged most often, read or not; of equals one with a known grade, then the higher Q', then the earlier."""
    if (proven := _proven(tree)) is not None:
        return proven
    values = refined_values(tree)

    def key(node: Node) -> tuple[bool, int, bool, float, int]:
        visits = node.count + node.unknown
        return (_answer(problem, node) is not None, visits, quality(node) is not None, _or_last(values[node.birth]), -node.birth)

    return max(_alive(tree), key=key, default=None)


_ALL = (best_value, best_path, best_refined, most_visited, majority, deepest, complete_or_deepest, last)
PICKS: Mapping[str, Pick] = {pick.__name__: pick for pick in _ALL}
"""Every pick by its public name."""
