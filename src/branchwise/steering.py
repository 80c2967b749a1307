"""A person's hand on a run: pause, go on, prune, favour, add, approve, raise the budget. Knows no HTTP; what an act does is acts.py."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from branchwise.errors import UsageError
from branchwise.tree import Node, Tree

if TYPE_CHECKING:
    from branchwise.acts import Acts

__all__ = ["Steering"]


class Steering:
    """Give it to `solve(steering=...)`, and call it in the same event loop while the run goes on.

    An act takes effect at once, between two commits, and is in the trace when the method returns. What cannot be done raises `UsageError`
    with the reason, and changes nothing. Within `on_event` an act waits until the commit of that event is whole; what cannot be done then
    is a warning of the run. Calls that the model has been sent are always awaited, paid and taped.

    A node is a `Node` of this run or its number (`Node.birth`). `by` says who acts, for the trace.
    """

    def __init__(self) -> None:
        self._acts: Acts | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def active(self) -> bool:
        """Whether there is a run that can be steered now."""
        return self._acts is not None

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return self._acts is not None and self._acts.paused

    @property
    def tree(self) -> Tree:
        """The tree as it stands; only to be read."""
        return self._at().tree

    def pause(self, *, by: str = "") -> None:
        """Issue, start and commit no step until `go_on`. Steps that have begun are finished and wait; the clock of `seconds` stands still."""
        self._at().ask("pause", by=by)

    def go_on(self, *, by: str = "") -> None:
        """End a pause. The tree is what it would have been without it."""
        self._at().ask("go_on", by=by)

    def prune(self, node: Node | int, *, by: str = "") -> None:
        """Give up `node` and all below it: no further call is made for any of them, and none is the answer. Steps in flight on them end:
        what they have asked for is charged, nothing of it enters the tree."""
        self._at().ask("prune", node, by=by)

    def favour(self, node: Node | int, *, by: str = "") -> None:
        """Let the next expansion that is issued be that of `node`, whatever its value."""
        self._at().ask("favour", node, by=by)

    def add(self, node: Node | int, thought: str, *, by: str = "") -> None:
        """Put `thought` below `node` as a step of its own: read and checked by the problem, judged as all others are."""
        self._at().ask("add", node, thought, by=by)

    def approve(self, node: Node | int, *, by: str = "") -> None:
        """End the run (`approved`) with `node` as the one that answers. Nothing more can be done to the run then."""
        self._at().ask("approve", node, by=by)

    def raise_budget(
        self, *, calls: int | None = None, tokens: int | None = None, cost: float | None = None, seconds: float | None = None,
        nodes: int | None = None, by: str = "",
    ) -> None:  # fmt: skip
        """Allow so much more, in the units of `Budget`; only limits that the run has can be raised."""
        more = {"calls": calls, "tokens": tokens, "cost": cost, "seconds": seconds, "nodes": nodes}
        self._at().ask("budget", more={name: value for name, value in more.items() if value is not None}, by=by)

    def limits(self, more: Mapping[str, float]) -> dict[str, float]:
        """What the limits would be with so much more. Raises `UsageError` where `raise_budget` would."""
        return self._at().limits(more)

    def attach(self, acts: Acts) -> None:
        """Called by `solve`."""
        if self._acts is not None:
            raise UsageError("this Steering has a run already; give each run its own")
        self._acts, self._loop = acts, asyncio.get_running_loop()

    def detach(self) -> None:
        """Called by `solve`."""
        self._acts = None

    def _at(self) -> Acts:
        if self._acts is None:
            raise UsageError("there is no run to steer: it has not begun, or its search is over")
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is not self._loop:
            raise UsageError("a run is steered from within its own event loop: use loop.call_soon_threadsafe")
        return self._acts
