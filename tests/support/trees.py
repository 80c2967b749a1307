"""Trees as plain values, so that two of them can be compared whole. Knows no engine."""

from __future__ import annotations

from typing import Any

from branchwise import Node, Tree

FIELDS = (
    "id", "label", "birth", "index", "thought", "depth", "size", "digest", "confidence", "count", "unknown", "mean", "minimum", "samples",
    "reason", "fate", "fate_reason", "decided", "arrivals", "role", "status", "value", "state",
)  # fmt: skip


def node_fields(node: Node) -> dict[str, Any]:
    """Every field that the tree writes; parents and children by birth."""
    found = {name: getattr(node, name) for name in FIELDS}
    return found | {"parent": node.parent.birth if node.parent else None, "children": [child.birth for child in node.children]}


def snapshot(tree: Tree) -> dict[str, Any]:
    """The whole tree."""
    return {
        "nodes": [node_fields(node) for node in tree.nodes],
        "dropped": list(tree.dropped),
        "counts": tree.counts(),
        "unparsed": tree.unparsed,
        "failures": tree.failures,
    }


def generated(tree: Tree) -> list[tuple[str, ...]]:
    """States in order of birth."""
    return [node.state for node in tree]


def is_prefix(short: Tree, long: Tree, partial: bool) -> bool:
    """Whether `long` begins with `short`; the last step of `short` may have been cut off (`partial`).

    Births must agree but for those of a cut step; judgements and fates can only be missing in the shorter one.
    """
    last_parent = short.nodes[-1].parent if len(short) else None
    for node in short:
        if node.birth >= len(long.nodes):
            return False
        other = long.nodes[node.birth]
        cut = partial and node.parent is not None and node.parent is last_parent
        if not cut and (node.state != other.state or node.id != other.id):
            return False
    return True
