"""A trace folded for people: levels, fates, spending, ends. Works on an unfinished or cut trace. Knows no terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from branchwise.budget import Usage
from branchwise.errors import TraceError
from branchwise.problem import Kind
from branchwise.trace import Call, Expanded, Started, Steered, Stopped, Warned, read_trace
from branchwise.tree import Fate, Node, Tree

__all__ = ["CANNOT_TELL", "Record", "ranked", "why"]

CANNOT_TELL = "the program cannot tell"
"""What `check` says of a state that no program decides."""


@dataclass(slots=True)
class Record:
    """What a trace tells."""

    path: Path
    tree: Tree = field(default_factory=Tree)
    starts: list[Started] = field(default_factory=list)
    stops: list[Stopped] = field(default_factory=list)
    """Every end, in order; resuming adds one."""
    replies: dict[str, Usage] = field(default_factory=dict)
    """By role, recomputed from the replies on the tape, over all starts; attempts that failed or were cut off left out."""
    warnings: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    merged: list[tuple[int, str, int]] = field(default_factory=list)
    """Parent, thought, and the node that it was merged into."""
    failures: list[tuple[int, str]] = field(default_factory=list)
    acts: list[Steered] = field(default_factory=list)
    """What people did to the run, in order."""
    finished: bool = False

    @classmethod
    def read(cls, path: Path) -> Record:
        """Fold a trace. Raises `TraceError` for a file that is none, and for events that do not fit together."""
        try:
            return cls._read(path)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise TraceError(f"the events of {path} do not fit together ({error}): it was changed, or parts of it are lost") from error

    @classmethod
    def _read(cls, path: Path) -> Record:
        record = cls(path)
        for event in read_trace(path, record.notices.append):
            done = record.tree.apply(event)
            if isinstance(event, Started):
                record.starts.append(event)
                record.finished = False
                record.merged.clear()
                record.failures.clear()
                record.warnings.clear()
                record.acts.clear()
            elif isinstance(event, Call):
                for sample in event.samples:
                    record.replies[event.role] = record.replies.get(event.role, Usage()) + Usage.from_json(sample.usage)
            elif isinstance(event, Stopped):
                record.stops.append(event)
                record.finished = True
            elif isinstance(event, Warned):
                record.warnings.append(event.text)
            elif isinstance(event, Steered):
                record.acts.append(event)
            elif isinstance(event, Expanded):
                record.merged += [(event.node, birth.thought, birth.node) for birth in event.births if birth.merged]
            if done is not None and done.failed:
                record.failures.append((done.node.birth if done.node is not None else 0, done.failed))
        return record

    @property
    def by_role(self) -> dict[str, Usage]:
        """What was spent, as the run itself told at its end (failed and abandoned calls included); by its replies while it has none."""
        told = self.end.usage.get("by_role") if self.end is not None else None
        if not isinstance(told, dict):
            return self.replies
        try:
            found = {role: Usage.from_json(usage) for role, usage in told.items()}
            sum(found.values(), Usage())
            return found
        except (AttributeError, TypeError, ValueError):
            raise TraceError("what was spent by role, in the last line of this trace, is no account: the trace was changed") from None

    @property
    def usage(self) -> Usage:
        """All roles together."""
        return sum(self.by_role.values(), Usage())

    @property
    def end(self) -> Stopped | None:
        """How the last start ended; `None` where it did not, or has not yet."""
        return self.stops[-1] if self.finished else None

    @property
    def answer_node(self) -> Node | None:
        """The node that the answer was picked from."""
        end = self.end
        return None if end is None or end.node is None or end.node >= len(self.tree.nodes) else self.tree.nodes[end.node]

    def levels(self) -> list[list[Node]]:
        """The thoughts by depth, in order of birth."""
        levels: list[list[Node]] = []
        for node in self.tree:
            while len(levels) < node.depth:
                levels.append([])
            levels[node.depth - 1].append(node)
        return levels

    def to_json(self) -> dict[str, Any]:
        """The document of `show --json`: everything."""
        start, end, node = self.starts[-1], self.end, self.answer_node
        counts = self.tree.counts()
        on_path = {part.birth for part in node.path} if node else set()
        names = ("generated", "kept", "pruned", "merged", "dropped", "dead", "wasted")
        return {
            "trace": str(self.path),
            "finished": self.finished,
            "starts": len(self.starts),
            "stop_reasons": [stop.reason for stop in self.stops],
            "stop_reason": end.reason if end else None,
            "answer": end.answer if end else None,
            "solved": end.solved if end else None,
            "error": (end.error or None) if end else None,
            "path": list(node.state) if node else [],
            "run": start.run,
            "about": start.about,
            "nodes": {name: getattr(counts, name) for name in names},
            "unparsed": self.tree.unparsed,
            "levels": [[_node(n, on_path) for n in level] for level in self.levels()],
            "dropped": [{"parent": self._label(birth), "text": text, "reason": reason} for birth, text, reason in self.tree.dropped],
            "merged": [{"parent": self._label(p), "thought": text, "into": self._label(to)} for p, text, to in self.merged],
            "failures": [{"node": self._label(birth), "error": error} for birth, error in self.failures],
            "usage": self.usage.to_json() | {"by_role": {r: u.to_json() for r, u in sorted(self.by_role.items())}},
            "acts": [_act(act) for act in self.acts],
            "warnings": self.warnings,
            "notices": self.notices,
        }

    def _label(self, birth: int) -> str:
        return self.tree.nodes[birth].label


def _act(act: Steered) -> dict[str, Any]:
    return {
        "act": act.act, "after_step": act.after, "node": act.label if act.node is not None else None, "text": act.text or None,
        "budget": act.budget, "dropped_steps": len(act.dropped), "by": act.by or None,
    }  # fmt: skip


def _node(node: Node, on_path: set[int]) -> dict[str, Any]:
    return {
        "id": node.label, "parent": node.parent.label if node.parent else None, "thought": node.thought, "role": node.role,
        "value": node.value, "samples": list(node.samples), "judgement": node.reason or None, "confidence": node.confidence,
        "status": node.status.kind.value, "fate": node.fate.value, "why": why(node) or None, "merged": node.arrivals - 1,
        "on_path": node.birth in on_path,
    }  # fmt: skip


def why(node: Node) -> str:
    """Why a node is pruned or dead, or what the evaluator said. That a program could not tell is left out where another evaluator did."""
    if node.status.kind is Kind.DEAD:
        return node.status.reason
    if node.fate is Fate.PRUNED:
        return node.fate_reason
    return node.reason if node.value is None else "; ".join(said for said in node.reason.split("; ") if said != CANNOT_TELL)


def ranked(level: Sequence[Node], on_path: set[int]) -> list[Node]:
    """The path of the answer first, then what was kept, then the others; the best first."""

    def key(node: Node) -> tuple[Any, ...]:
        dead = node.status.kind is Kind.DEAD
        return (node.birth not in on_path, dead, node.fate is Fate.PRUNED, node.value is None, -(node.value or 0.0), node.birth)

    return sorted(level, key=key)
