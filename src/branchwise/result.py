"""What a run gives back. Knows no model and no search."""

from __future__ import annotations

import html
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

from branchwise.budget import Usage
from branchwise.hints import confidence
from branchwise.tree import Node, Tree

__all__ = ["Result", "versions"]


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of `solve`. Running out of budget is a result, not an exception."""

    answer: str | None
    """The problem's normalised answer, `None` where there is none."""
    solved: bool | None
    """True: proven; False: the program can tell that it is not solved, or there is no answer; `None`: no program can tell."""
    unfinished: bool
    """Whether the search was cut short, so that the answer is only the best so far."""
    stop_reason: str
    """`solved`, `exhausted`, `max_depth`, `approved` (by a person), `budget:<which>`, `cancelled` or `failed`."""
    method: str
    model: str
    seed: int
    tree: Tree
    node: Node | None
    """The node that the answer was picked from."""
    usage: Usage
    by_role: Mapping[str, Usage]
    seconds: float
    wasted: Usage = Usage()
    error: str = ""
    """Why it failed, or the last failure of a step."""
    warnings: tuple[str, ...] = ()
    trace: Path | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> list[str]:
        """The thoughts that lead to the answer."""
        return [] if self.node is None else list(self.node.state)

    @property
    def confidence(self) -> float:
        """`hints.confidence` of the path to the answer, in [0, 1]."""
        return confidence(self.node)

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        counts = self.tree.counts()
        total = self.usage.to_json() | {"seconds": round(self.seconds, 3)}
        roles = {role: usage.to_json() for role, usage in sorted(self.by_role.items())}
        names = ("generated", "kept", "pruned", "merged", "dropped", "dead", "wasted")
        return {
            "answer": self.answer,
            "solved": self.solved,
            "unfinished": self.unfinished,
            "stop_reason": self.stop_reason,
            "method": self.method,
            "model": self.model,
            "seed": self.seed,
            "path": self.path,
            "confidence": round(self.confidence, 6),
            "nodes": {name: getattr(counts, name) for name in names},
            "usage": total | {"by_role": roles},
            "unparsed": self.tree.unparsed,
            "failures": self.tree.failures,
            "error": self.error or None,
            "warnings": list(self.warnings),
            "trace": str(self.trace) if self.trace else None,
            "versions": dict(self.versions),
        }

    def _repr_html_(self) -> str:
        """The tree for a notebook; model text is escaped, and cannot turn the direction of what stands beside it."""
        calls = f"{self.usage.calls:,} {'call' if self.usage.calls == 1 else 'calls'}"
        head = f"<b><bdi>{html.escape(self.answer or 'no answer')}</bdi></b> ({html.escape(self.stop_reason)}, {calls})"
        return f"<div>{head}{tree_html(self.tree.root, self.node)}</div>"


def tree_html(node: Node, answer: Node | None) -> str:
    """Nested lists; fates are words, not colours alone. Iterative, for deep trees."""
    path = set() if answer is None else {n.birth for n in answer.path}
    parts: list[str] = []
    stack: list[Node | str] = ["</ul>", *reversed(node.children), "<ul>"]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        value = "unknown" if item.value is None else f"{item.value:.3g}"
        text = f"<bdi>{html.escape(item.thought)}</bdi> <small>[{value}, {item.fate}, {item.status.kind}]</small>"
        parts.append(f"<li>{f'<b>{text}</b>' if item.birth in path else text}")
        stack.append("</li>")
        if item.children:
            stack.extend(["</ul>", *reversed(item.children), "<ul>"])
    return "".join(parts)


@cache
def versions() -> Mapping[str, str]:
    """Versions that a record of a run should keep."""
    found = {"python": platform.python_version()}
    for name in ("branchwise", "openai", "xllamacpp"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return MappingProxyType(found)
