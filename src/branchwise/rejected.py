"""The strongest branch that a search did not take, in words, for the one who writes the answer. Knows no model."""

from __future__ import annotations

from branchwise.hints import confidence
from branchwise.problem import Kind
from branchwise.tree import Fate, Node, Tree

__all__ = ["strongest_rejected", "told"]


def strongest_rejected(tree: Tree, picked: Node | None) -> Node | None:
    """The end of the most confident path off that of `picked`: from another first thought where there is one, dead ends last.

    Ties go to the longer path, then to the earlier birth. `None` where everything lies on one path, or nothing was picked.
    """
    if picked is None or picked.parent is None:
        return None
    on_path = {node.birth for node in picked.path}
    first: dict[int, int] = {}
    best: tuple[bool, bool, float, int] | None = None
    found = None
    mine = picked.path[0].birth
    for node in tree:
        parent = node.parent
        first[node.birth] = node.birth if parent is None or parent.parent is None else first[parent.birth]
        if node.birth in on_path or node.role == "answer" or _below(node, picked):
            continue
        key = (node.status.kind is not Kind.DEAD, first[node.birth] != mine, confidence(node), node.depth)
        if best is None or key > best:
            best, found = key, node
    return found


def _below(node: Node, picked: Node) -> bool:
    while node.parent is not None and node.depth > picked.depth:
        node = node.parent
    return node is picked


def told(node: Node | None, picked: Node | None) -> str:
    """The branch that ends in `node`: its thoughts, how it was judged, and why it was not taken. Empty for `None`."""
    if node is None:
        return ""
    return f"{' -> '.join(' '.join(thought.split()) for thought in node.state)}\nWhy it was not taken: {_why(node, picked)}"


def _why(node: Node, picked: Node | None) -> str:
    if node.status.kind is Kind.DEAD:
        return f"it is a dead end ({node.status.reason})"
    judged = f"; the judge said: {node.reason}" if node.reason else ""
    if node.fate is Fate.PRUNED:
        return f"it was pruned, {node.fate_reason}{judged}"
    return f"its confidence is {confidence(node):.2f}, that of the chosen path {confidence(picked):.2f}{judged}"
