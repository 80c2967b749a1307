"""What became of thoughts, in the words that the page has too: kept, proven, undecided, pruned, dead end, merged, dropped. Knows no run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from branchwise.problem import Kind
from branchwise.tree import Node, Tree

__all__ = ["MARKS", "counts_line", "fate", "kinds_line"]

MARKS = {"kept": ("+", "green"), "proven": ("*", "bold green"), "undecided": (".", ""), "pruned": ("-", "yellow"), "dead end": ("x", "red")}
"""The sign and the style of each word, in the order in which they are told."""
_ALWAYS = ("kept", "pruned", "merged", "dropped")


def fate(node: Node) -> str:
    """One word for what became of a node."""
    return {Kind.SOLVED: "proven", Kind.DEAD: "dead end"}.get(node.status.kind, str(node.fate.value))


def kinds_line(kinds: Mapping[str, int], always: tuple[str, ...] = ()) -> str:
    """`10 kept, 1 proven, 2 dead ends`; what is none is left out, but for what is `always` told."""
    order = (*MARKS, "merged", "dropped")
    names = {name: "dead ends" if name == "dead end" and kinds.get(name) != 1 else name for name in order}
    return ", ".join(f"{kinds.get(name, 0):,} {names[name]}" for name in order if kinds.get(name) or name in always)


def counts_line(tree: Tree) -> str:
    """`24 generated: 10 kept, 1 proven, ...`."""
    kinds = Counter(map(fate, tree)) + Counter({"merged": tree.merged, "dropped": len(tree.dropped)})
    return f"{kinds.total():,} generated: {kinds_line(kinds, _ALWAYS)}"
