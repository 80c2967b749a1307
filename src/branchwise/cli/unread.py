"""Judgements without a value, named by what they are: replies that could not be read, rollouts without a verdict. Knows no run."""

from __future__ import annotations

import re

from branchwise.tree import Node, Tree

__all__ = ["unread_line"]

_ROLLOUTS = re.compile(r"(?:^|; )\d+ of (\d+) rollouts ended in a verdict")
"""What a rollout says of each judgement."""
_HEADINGS = {"judgements": "Judgements that could not be read", "rollouts": "Rollouts without a verdict"}


def unread_line(tree: Tree) -> str:
    """`Judgements that could not be read: 3`, or of rollouts `Rollouts without a verdict: 3`; empty where every judgement gave a value."""
    if not tree.unparsed:
        return ""
    kinds = {_kind(node) for node in tree if None in node.samples}
    heading = _HEADINGS.get(kinds.pop(), "") if len(kinds) == 1 else ""
    return f"{heading or 'Judgements and rollouts without a value'}: {tree.unparsed:,}"


def _kind(node: Node) -> str:
    """`rollouts` where they made all samples, `both` where they made a part."""
    found = _ROLLOUTS.search(node.reason)
    if found is None:
        return "judgements"
    return "rollouts" if int(found[1]) * (node.count + node.unknown) == len(node.samples) else "both"
