"""The acts of a person on a run: when each is done, recorded, and done again where a trace is replayed. What each may do is rules.py.

An act has a place: after the commit of a step, when all steps have been issued that could be. In that place the tree, the search and the
steps in flight are the same whatever the latency; which of those steps have started is not, so an act never depends on it.
"""

from __future__ import annotations

import asyncio
import reprlib
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from branchwise.budget import Budget
from branchwise.errors import UsageError
from branchwise.rules import APPROVED, OF_A_NODE, RULES, Wish, limits
from branchwise.search.base import Expand
from branchwise.steering import Steering
from branchwise.steps import InFlight, Outcome
from branchwise.trace import Steered
from branchwise.tree import Node, Tree

if TYPE_CHECKING:
    from branchwise.engine import Run

__all__ = ["Acts"]


class Acts:
    """The acts of one run. `due` are those that are to be done at the next place, recorded ones at their own."""

    def __init__(self, run: Run, steering: Steering | None, recorded: Sequence[Steered], given: Budget, began: Mapping[str, Any]) -> None:
        self.run: Run = weakref.proxy(run)  # no cycle: a run is large, and goes when it is over
        self.steering = steering
        self.raises = {name for name, value in began.items() if getattr(given, name, None) == value}
        """Limits that are as at the start of the recorded run: those given anew are not raised by it."""
        self.due: deque[Wish] = deque(Wish(a.act, a.node, a.text, {}, a.by, a) for a in recorded)
        run.ledger.barred.update(number for act in recorded for number in act.dropped)
        self.strays: set[asyncio.Task[Outcome]] = set()
        """Steps that were ended while they were at work: their calls in flight are awaited."""
        self.paused = False
        self.approved: Node | None = None
        self.over = False
        self.rearm: Callable[[], None] = _nothing
        """Sets the clock that ends the run, anew."""
        self._most = run.window.most
        self._waiter: asyncio.Future[None] | None = None
        self._busy = False

    @property
    def tree(self) -> Tree:
        """The run's."""
        return self.run.tree

    # what the loop asks

    async def reached(self, head: InFlight) -> bool:
        """Wait until the head may be committed; False where something else is to be done first: a pause, the end, another head."""
        task = head.task
        assert task is not None
        if not task.done():
            task.add_done_callback(self.wake)
        while not self._turned(head):
            if task.done():
                return True
            await self._sleep()
        return False

    def _turned(self, head: InFlight) -> bool:
        run = self.run
        return self.paused or bool(run.interrupted) or run.window.head is not head

    async def gone_on(self) -> None:
        """Wait for the end of a pause."""
        while self.paused and not self.run.interrupted:
            await self._sleep()

    async def settle(self) -> None:
        """Wait for the calls in flight of steps that were ended."""
        while self.strays:
            await asyncio.wait(self.strays)

    async def _sleep(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def wake(self, _: object = None) -> None:
        """Let the loop look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def cancel(self) -> None:
        """The run ends now."""
        for task in self.strays:
            task.cancel()
        self.wake()

    def end(self) -> None:
        """The search is over; nothing can be steered any more."""
        if not self.over and self.steering is not None:
            self.steering.detach()
        self.over, self.paused, self.rearm = True, False, _nothing

    def do_due(self) -> None:
        """Do what is due in this place. What cannot be done is told."""
        run = self.run
        while self.due and not self._is_later(self.due[0]):
            wish = self.due.popleft()
            try:
                self._do(wish)
            except UsageError as error:
                again = f" again, as after step {wish.recorded.after}" if wish.recorded is not None else ""
                run.warn(f"{wish.act} could not be done{again}: {error}")
        if run.holding and not self.paused and self.approved is None:
            self.release()  # the recorded run ended in its pause

    def _is_later(self, wish: Wish) -> bool:
        return wish.recorded is not None and wish.recorded.after > self.run.committed

    # what a person asks

    def ask(self, act: str, node: Node | int | None = None, text: str = "", more: Mapping[str, float] | None = None, by: str = "") -> None:
        """Do an act now, or at the next place where one is asked for in the middle of a commit. Raises `UsageError`."""
        if any(wish.recorded is not None for wish in self.due):
            raise UsageError("the run is still repeating what was done to it before; try again in a moment")
        wish = Wish(act, node, text, more or {}, by)
        if self._waiter is None or self._busy:
            self.due.append(wish)
        elif act not in ("pause", "go_on") or self.paused != (act == "pause") or self.approved is not None:
            self._do(wish)

    def limits(self, more: Mapping[str, float]) -> dict[str, float]:
        """The limits that the run has with so much more. Raises `UsageError`."""
        return limits(self, more)

    def _do(self, wish: Wish) -> None:
        run = self.run
        if self.approved is not None:
            raise UsageError(APPROVED)
        event, effect = RULES[wish.act](self, self._read(wish))
        self._busy = True
        try:
            run.recorder.write(event)
            run.tree.apply(event)
            effect()
            run.fill()
            run.window.start()
        finally:
            self._busy = False
            self.wake()

    def _read(self, wish: Wish) -> Wish:
        """The wish with its node as a number, and with text that is text: lone surrogates are replaced, as in a model's replies."""
        node, nodes = wish.node, self.tree.nodes
        if isinstance(node, Node):
            if node.birth >= len(nodes) or nodes[node.birth] is not node:
                raise UsageError("this node is of another run")
            node = node.birth
        elif wish.act in OF_A_NODE and (not isinstance(node, int) or isinstance(node, bool)):
            raise UsageError(f"a thought is named by its Node or its number, not by {reprlib.repr(node)}")
        for what, text in (("a thought", wish.text), ("by", wish.by)):
            if not isinstance(text, str):
                raise UsageError(f"{what} is a text, not {reprlib.repr(text)}")
        return replace(wish, node=node, text=_as_text(wish.text), by=_as_text(wish.by))

    # what an act has the run do

    def hold(self, really: bool) -> None:
        """Nothing is issued from now on; `really`: and nothing is started, until the person says so."""
        self.run.holding = True
        if really:
            self.paused, self.run.window.most = True, 0
            self.run.ledger.pause()
            self.rearm()

    def release(self) -> None:
        """Steps are issued and started again, unless an answer is approved."""
        run = self.run
        run.holding, run.window.most = self.approved is not None, self._most
        if self.paused:
            self.paused = False
            run.ledger.go_on()
            self.rearm()

    def drop(self, flights: Sequence[InFlight], wish: Wish) -> None:
        """End steps in flight: what has been sent is awaited, nothing more is. In a run that is repeated they are made as far as the tape goes,
        so that what they had spent is spent."""
        run = self.run
        for flight in flights:
            if isinstance(flight.step, Expand):
                run.dropped(flight)
            if flight.task is None and wish.recorded is not None:
                run.ledger.hold(flight.number, flight.bound)
                flight.task = run.window.spawn(flight)
            if flight.task is not None:
                run.ledger.barred.add(flight.number)
                self.strays.add(flight.task)
                flight.task.add_done_callback(self._away)
        run.window.forget({flight.number for flight in flights})

    def _away(self, task: asyncio.Task[Outcome]) -> None:
        """Whatever became of it, nobody asks."""
        self.strays.discard(task)
        if not task.cancelled():
            task.exception()


def _as_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _nothing() -> None:
    """No clock."""
