"""The branches of a small tree side by side: what was thought, how it was judged, what became of it and why. Knows no run."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from branchwise.cli.kinds import MARKS, fate
from branchwise.cli.record import why
from branchwise.cli.text import plain, safe_text, shorten, value
from branchwise.problem import Kind
from branchwise.rejected import strongest_rejected
from branchwise.result import Result
from branchwise.tree import Fate, Node

__all__ = ["print_compared"]

_MOST = 40
"""Thoughts in a tree that is still shown whole; `branchwise show` has the others."""


def print_compared(result: Result, console: Console) -> None:
    """The tree, where no program can tell what is right and more than one branch was looked at."""
    tree = result.tree
    if result.solved is not None or len(tree) > _MOST or len(tree.root.children) < 2 or tree.root.children[0].status.kind is Kind.COMPLETE:
        return
    on_path = set() if result.node is None else {node.birth for node in result.node.path}
    console.print(Text("\nCompared", style="bold"))
    stack = [*reversed(tree.root.children)]
    while stack:
        node = stack.pop()
        if node.role != "answer":
            console.print(_line(node, node.birth in on_path, console.width))
            stack.extend(reversed(node.children))
    rejected = strongest_rejected(tree, _picked(result))
    if rejected is not None:
        console.print(safe_text(f"Strongest branch that was not taken: {shorten(' → '.join(rejected.state), 200)}"))


def _picked(result: Result) -> Node | None:
    node = result.node
    return node.parent if node is not None and node.role == "answer" else node


def _line(node: Node, chosen: bool, width: int) -> Text:
    word = fate(node)
    mark, style = ("*", "bold green") if chosen else MARKS[word]
    reason = why(node) if node.fate is Fate.PRUNED or node.status.kind is Kind.DEAD else ""
    said = f"  [{word}: {shorten(reason, 80)}]" if reason else ""
    indent = "  " * node.depth
    room = max(20, width - len(indent) - 10 - len(said))
    return Text(f"{indent}{mark} {value(node.value):>6}  {shorten(node.thought, room)}", style=style) + Text(plain(said), style="dim")
