"""Traces of a run folder as trees, with what the bench asks of them. Knows no model and no answer key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise.errors import UsageError
from branchwise.problem import Kind
from branchwise.trace import Started, Stopped, read_trace
from branchwise.tree import Fate, Node, Tree

__all__ = ["Traced", "finals", "is_kept", "read_folder", "read_traced"]


@dataclass(frozen=True, slots=True)
class Traced:
    """One run, folded. `chosen` is the node that the answer was picked from; `None` where there is none, or the run did not end."""

    path: Path
    prompt: str
    tree: Tree
    chosen: Node | None
    answer: str | None
    stop_reason: str | None
    about: dict[str, Any]
    method: str = ""
    model: str = ""

    @property
    def number(self) -> int | None:
        """The number of an imported item in its published list, counted from 1."""
        found = self.about.get("imported", {}).get("number")
        return found if isinstance(found, int) else None


def read_traced(path: Path) -> Traced:
    """The run in one trace, as far as it goes. Raises `TraceError`."""
    tree, start, end = Tree(), None, None
    for event in read_trace(path):
        tree.apply(event)
        if isinstance(event, Started):
            start, end = event, None
        elif isinstance(event, Stopped):
            end = event
    problem = start.run.get("problem") if start is not None else None
    prompt = problem.get("prompt", "") if isinstance(problem, dict) else ""
    chosen = tree.nodes[end.node] if end is not None and end.node is not None and end.node < len(tree.nodes) else None
    about, run = (start.about, start.run) if start is not None else ({}, {})
    method = run.get("method")
    name = str(method.get("name", "")) if isinstance(method, dict) else ""
    answer, reason = (end.answer, end.reason) if end else (None, None)
    return Traced(path, str(prompt), tree, chosen, answer, reason, about, name, str(run.get("model", "")))


def read_folder(folder: Path) -> Iterator[Traced]:
    """Every run of a folder that `branchwise import` or `solve --out` wrote, in order of number, then of name. Raises `UsageError`."""
    found = sorted(folder.glob("*.traces/*.jsonl"), key=lambda path: (len(path.stem) if path.stem.isdigit() else 99, path.name))
    if not found:
        raise UsageError(f"{folder} holds no traces: it needs a folder NAME.traces, as `branchwise import` and `solve --out` write it")
    return map(read_traced, found)


def is_kept(node: Node) -> bool:
    """Whether the search went on with it, or proved it."""
    return node.fate is Fate.KEPT or node.status.kind is Kind.SOLVED


def finals(tree: Tree) -> list[Node]:
    """The states that a search ended with: those kept at the deepest level, and answers kept before it; in the order of its decisions."""
    kept = [node for node in tree if is_kept(node) and not node.children]
    deepest = max((node.depth for node in tree if is_kept(node)), default=0)
    found = [node for node in kept if node.depth == deepest or node.status.kind in (Kind.COMPLETE, Kind.SOLVED)]
    return sorted(found, key=lambda node: (node.decided or 1 << 60, node.birth))
