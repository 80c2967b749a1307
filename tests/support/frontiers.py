"""Drives a frontier by ask and tell over a real tree, with no engine. Knows no model."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from branchwise import Node, Tree
from branchwise.search.base import Expand, Judge
from branchwise.trace import Birth, Expanded, Judged, Judgement, Marked


class Driver:
    """Steps are answered in the order in which they were asked for. `kept` and `pruned` are the marks of the last answer."""

    def __init__(self, search: Any, rng: Random | None = None) -> None:
        self.tree = Tree()
        self.frontier = search.start(self.tree, rng or Random(0))
        self.pending: list[Any] = []
        self.kept: list[Node] = []
        self.pruned: list[Node] = []
        self._ask()

    def _ask(self) -> None:
        while (step := self.frontier.ask()) is not None:
            self.pending.append(step)

    def pending_expansions(self) -> list[Expand]:
        return [step for step in self.pending if isinstance(step, Expand)]

    def _tell(self, event: Any) -> None:
        done = self.tree.apply(event)
        marks = self.frontier.tell(done)
        self.kept = [self.tree.nodes[mark.node] for mark in marks if mark.fate == "kept"]
        self.pruned = [self.tree.nodes[mark.node] for mark in marks if mark.fate == "pruned"]
        self.tree.apply(Marked(tuple(marks)))
        self._ask()

    def expand(self, thoughts: Sequence[str | tuple[str, str]], *, failed: str = "", confidences: Sequence[float | None] = ()) -> None:
        """Answer the expansion at the head; a thought may be (text, status)."""
        step = self.pending.pop(0)
        assert isinstance(step, Expand)
        births = []
        for index, thought in enumerate(thoughts):
            text, status = thought if isinstance(thought, tuple) else (thought, "open")
            confidence = confidences[index] if index < len(confidences) else None
            births.append(Birth(len(self.tree.nodes) + index, index, text, status, confidence=confidence))
        self._tell(Expanded(1, step.node.birth, births, error=failed))

    def judge(self, values: Sequence[float | None], *, together: bool = False) -> None:
        """Answer the judgement at the head: one commit a state, or one for all."""
        step = self.pending.pop(0)
        assert isinstance(step, Judge)
        pairs = [Judgement(node.birth, value) for node, value in zip(step.nodes, values, strict=True)]
        for group in [pairs] if together else [[pair] for pair in pairs]:
            self._tell(Judged(1, group))
