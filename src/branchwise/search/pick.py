"""Choosing the node that answers, after a search. Knows no model and no answer key.

Whatever the rule: a proven state comes first, a complete answer before an unfinished state, and a dead end is never an answer.
"""

from __future__ import annotations

from collections.abc import Callable

from branchwise.problem import Kind, Problem
from branchwise.search.base import rank
from branchwise.tree import Fate, Node, Tree

__all__ = ["Pick", "best_value", "deepest", "last", "majority"]

Pick = Callable[[Tree, Problem], Node | None]
"""From a finished tree to the node that answers, or `None` where no thought is left."""

_FINISHED = {Kind.SOLVED: 0, Kind.COMPLETE: 1, Kind.OPEN: 2}


def _alive(tree: Tree) -> list[Node]:
    return [node for node in tree if node.status.kind is not Kind.DEAD]


def _proven(tree: Tree) -> Node | None:
    return next((node for node in tree if node.status.kind is Kind.SOLVED), None)


def best_value(tree: Tree, problem: Problem) -> Node | None:
    """Proven, else the best valued complete answer, else the best valued state of the deepest level; pruned states only when no other is left.

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
        answer = problem.answer(node.state)
        if answer is not None:
            votes[answer] = votes.get(answer, 0) + node.arrivals
            first.setdefault(answer, node)
    if not votes:
        return best_value(tree, problem)
    return first[max(votes, key=lambda answer: votes[answer])]


def last(tree: Tree, problem: Problem) -> Node | None:
    """Proven, else the state born last: the end of a chain of refinement."""
    alive = _alive(tree)
    return _proven(tree) or (alive[-1] if alive else None)


def deepest(tree: Tree, problem: Problem) -> Node | None:
    """Proven, else the deepest state that was visited, pruned ones included; the first visited on ties (Algorithm 2's output).

    Visited means that the search decided about it; children whose turn never came do not count, unless there is nothing else.
    """
    if (proven := _proven(tree)) is not None:
        return proven
    alive = _alive(tree)
    visited = [node for node in alive if node.decided] or alive
    return min(visited, key=lambda node: (-node.depth, node.decided, node.birth), default=None)
