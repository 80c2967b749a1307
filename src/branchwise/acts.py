"""What the acts of a person do to a run: checked, recorded, done; and done again where a trace is replayed. Knows no HTTP.

An act has a place: after the commit of a step, when all steps have been issued that could be. In that place the tree, the search and the
steps in flight are the same whatever the latency; which of those steps have started is not, so an act never depends on it.
"""

from __future__ import annotations

import asyncio
import reprlib
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from branchwise.budget import Budget
from branchwise.errors import UsageError
from branchwise.problem import Kind, is_reversible
from branchwise.search.base import Expand, Steerable, Step, kept, pruned
from branchwise.steering import Steering
from branchwise.steps import InFlight, Outcome
from branchwise.thought.base import Dropped, Generator
from branchwise.thought.given import Given
from branchwise.thought.sample import thought_of
from branchwise.trace import Steered
from branchwise.tree import Fate, Node, Tree

if TYPE_CHECKING:
    from branchwise.engine import Run

__all__ = ["PERSON", "Acts"]

PERSON = "person"
"""The role of a step that brings a person's thought."""
_SHOWN = 200
_BECAUSE = "by a person"
_APPROVED = "a thought was approved: the run ends with it"
_OF_A_NODE = ("prune", "favour", "add", "approve")


@dataclass(frozen=True, slots=True)
class _Wish:
    """An act that was asked for; `recorded` where it is done again."""

    act: str
    node: Node | int | None = None
    text: str = ""
    more: Mapping[str, float] = field(default_factory=dict)
    by: str = ""
    recorded: Steered | None = None


_Plan = tuple[Steered, Callable[[], None]]
"""What goes into the trace, and then what is done."""


class Acts:
    """The acts of one run. `due` are those that are to be done at the next place, recorded ones at their own."""

    def __init__(self, run: Run, steering: Steering | None, recorded: Sequence[Steered], given: Budget, began: Mapping[str, Any]) -> None:
        self._run: Run = weakref.proxy(run)  # no cycle: a run is large, and goes when it is over
        self.steering = steering
        self._raises = {name for name, value in began.items() if getattr(given, name, None) == value}
        """Limits that are as at the start of the recorded run: those given anew are not raised by it."""
        self.due: deque[_Wish] = deque(_Wish(a.act, a.node, a.text, {}, a.by, a) for a in recorded)
        run.ledger.barred.update(number for act in recorded for number in act.dropped)
        self.strays: set[asyncio.Task[Outcome]] = set()
        """Steps that were ended while they were at work: their calls in flight are awaited."""
        self.paused = False
        self.approved: Node | None = None
        self.over = False
        self.rearm: Callable[[], None] = _nothing
        """Sets the clock that ends the run, anew."""
        self._most = run.most
        self._waiter: asyncio.Future[None] | None = None
        self._busy = False

    @property
    def tree(self) -> Tree:
        """The run's."""
        return self._run.tree

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
        run = self._run
        return self.paused or bool(run.interrupted) or run.head is not head

    async def gone_on(self) -> None:
        """Wait for the end of a pause."""
        while self.paused and not self._run.interrupted:
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
        run = self._run
        while self.due and not self._is_later(self.due[0]):
            wish = self.due.popleft()
            try:
                self._do(wish)
            except UsageError as error:
                again = f" again, as after step {wish.recorded.after}" if wish.recorded is not None else ""
                run.warn(f"{wish.act} could not be done{again}: {error}")
        if run.holding and not self.paused and self.approved is None:
            self._release()  # the recorded run ended in its pause

    def _is_later(self, wish: _Wish) -> bool:
        return wish.recorded is not None and wish.recorded.after > self._run.committed

    # what a person asks

    def ask(self, act: str, node: Node | int | None = None, text: str = "", more: Mapping[str, float] | None = None, by: str = "") -> None:
        """Do an act now, or at the next place where one is asked for in the middle of a commit. Raises `UsageError`."""
        if any(wish.recorded is not None for wish in self.due):
            raise UsageError("the run is still repeating what was done to it before; try again in a moment")
        wish = _Wish(act, node, text, more or {}, by)
        if self._waiter is None or self._busy:
            self.due.append(wish)
        elif act not in ("pause", "go_on") or self.paused != (act == "pause") or self.approved is not None:
            self._do(wish)

    def _do(self, wish: _Wish) -> None:
        run = self._run
        if self.approved is not None:
            raise UsageError(_APPROVED)
        event, effect = _ACTS[wish.act](self, self._read(wish))
        self._busy = True
        try:
            run.recorder.write(event)
            run.tree.apply(event)
            effect()
            run.fill()
            run.start()
        finally:
            self._busy = False
            self.wake()

    def _read(self, wish: _Wish) -> _Wish:
        """The wish with its node as a number, and with text that is text: lone surrogates are replaced, as in a model's replies."""
        node, nodes = wish.node, self.tree.nodes
        if isinstance(node, Node):
            if node.birth >= len(nodes) or nodes[node.birth] is not node:
                raise UsageError("this node is of another run")
            node = node.birth
        elif wish.act in _OF_A_NODE and (not isinstance(node, int) or isinstance(node, bool)):
            raise UsageError(f"a thought is named by its Node or its number, not by {reprlib.repr(node)}")
        for what, text in (("a thought", wish.text), ("by", wish.by)):
            if not isinstance(text, str):
                raise UsageError(f"{what} is a text, not {reprlib.repr(text)}")
        return replace(wish, node=node, text=_as_text(wish.text), by=_as_text(wish.by))

    # the acts: each checks first, and raises before anything happens

    def _event(self, wish: _Wish, node: Node | None = None, flights: Sequence[InFlight] = (), **more: Any) -> Steered:
        text = wish.text or ("" if node is None else node.thought[:_SHOWN])
        label, birth = ("", None) if node is None else (node.label, node.birth)
        numbers = [flight.number for flight in flights]
        return Steered(wish.act, self._run.committed, birth, label, text, dropped=numbers, by=wish.by, **more)

    def _pause(self, wish: _Wish) -> _Plan:
        return self._event(wish), lambda: self._hold(wish.recorded is None)

    def _hold(self, really: bool) -> None:
        """Nothing is issued from now on; `really`: and nothing is started, until the person says so."""
        self._run.holding = True
        if really:
            self.paused, self._run.most = True, 0
            self._run.ledger.pause()
            self.rearm()

    def _go_on(self, wish: _Wish) -> _Plan:
        return self._event(wish), self._release

    def _release(self) -> None:
        run = self._run
        run.holding, run.most = self.approved is not None, self._most
        if self.paused:
            self.paused = False
            run.ledger.go_on()
            self.rearm()

    def _prune(self, wish: _Wish) -> _Plan:
        run, node = self._run, self._node(wish)
        if node.parent is None:
            raise UsageError("the problem itself cannot be pruned; stop the run")
        hook, below = self._hand(), self.tree.below(node)
        gone = frozenset(one.birth for one in below)
        flights = [flight for flight in run.queue if _touches(flight.step, gone)]
        marks = [pruned(one, f"pruned {_BECAUSE}") for one in below if one.status.kind is not Kind.DEAD]

        def effect() -> None:
            run.mark(marks)
            self._drop(flights, wish)
            steps = [flight.step for flight in flights]
            if (pending := run.pending) is not None and _touches(pending, gone):
                run.pending = None
                steps.append(pending)
            run.mark(hook.prune(node, gone, steps))

        return self._event(wish, node, flights), effect

    def _favour(self, wish: _Wish) -> _Plan:
        run, node = self._run, self._growing(wish)
        if run.pending is not None:
            raise UsageError("the node budget is full, or will be by the steps in flight: raise it first")
        marks = [*self._hand().favour(node, self._joint)]
        if node.fate is Fate.PRUNED:
            marks.append(kept(node, f"favoured {_BECAUSE}"))
        return self._event(wish, node), lambda: run.mark(marks)

    def _add(self, wish: _Wish) -> _Plan:
        run, node = self._run, self._growing(wish)
        thought = self._thought(node, wish.text)
        if run.full:
            raise UsageError("the node budget is full, or will be by the steps in flight: raise it first")
        hand = self._hand()
        flights = [f for f in run.queue if isinstance(f.step, Expand) and f.step.node is node] if getattr(hand, "single", False) else []
        step = hand.add(node, self._joint)

        def effect() -> None:
            self._drop(flights, wish)
            run.issue_given(step, Given(thought), PERSON)

        return self._event(wish, node, flights), effect

    def _thought(self, node: Node, text: str) -> str:
        """The person's thought in the problem's canonical form."""
        run = self._run
        generate, state = run.method.generate, node.state
        if not text.strip():
            raise UsageError("an empty thought says nothing")
        whole = _takes_whole(generate, node.status.kind is Kind.COMPLETE)
        found = thought_of(run.problem, state, text.strip(), whole, generate.thought_bytes)
        if isinstance(found, Dropped):
            raise UsageError(f"this is no thought here: {found.reason}")
        twin = run.worker.keys.get(run.problem.key((*state, found.thought)))
        if twin is not None:
            raise UsageError(f"thought {twin.label or 'of the problem'} says the same; favour that one")
        return found.thought

    def _approve(self, wish: _Wish) -> _Plan:
        run, node = self._run, self._node(wish)
        if node.parent is None or node.status.kind is Kind.DEAD:
            raise UsageError("the problem itself is no answer" if node.parent is None else f"this is a dead end: {node.status.reason}")
        if run.problem.answer(node.state) is None and run.method.answer is None:
            raise UsageError("this thought holds no answer yet, and this method writes none")
        flights = list(run.queue)

        def effect() -> None:
            self._release()
            run.holding, run.pending, self.approved = True, None, node
            self._drop(flights, wish)
            if node.fate is not Fate.KEPT:
                run.mark([kept(node, f"approved {_BECAUSE}")])

        return self._event(wish, node, flights), effect

    def _budget(self, wish: _Wish) -> _Plan:
        if wish.recorded is None:
            limits = self.limits(wish.more)
        else:
            now = self._run.ledger.budget
            higher = {n: v for n, v in wish.recorded.budget.items() if n in self._raises and v > (getattr(now, n) or 0)}
            limits = dict(higher)
        recorded = limits if wish.recorded is None else wish.recorded.budget
        return self._event(wish, budget=dict(recorded)), lambda: self._run.enlarge(limits)

    def limits(self, more: Mapping[str, float]) -> dict[str, float]:
        """The limits that the run has with so much more. Raises `UsageError`."""
        if self.approved is not None:
            raise UsageError(_APPROVED)
        budget, found = self._run.ledger.budget, {}
        for name, amount in more.items():
            if name not in Budget.__dataclass_fields__:
                raise UsageError(f"a budget has no {name!r}")
            whole = name not in ("cost", "seconds")
            if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not 0 < amount < 1e15 or (whole and amount != int(amount)):
                raise UsageError(f"{name} can be raised by a positive {'whole ' if whole else ''}number, not by {amount!r}")
            old = getattr(budget, name)
            if old is None:
                raise UsageError(f"this run has no limit of {name}, so there is nothing to raise")
            found[name] = old + (int(amount) if whole else amount)
        if not found:
            raise UsageError("say by how much: calls, tokens, cost, seconds or nodes")
        if self._run.ledger.refused:
            raise UsageError("the budget is spent and the run is ending; resume it with a larger one")
        return found

    # parts of them

    def _node(self, wish: _Wish) -> Node:
        nodes, old = self.tree.nodes, wish.recorded
        if not isinstance(wish.node, int) or not 0 <= wish.node < len(nodes):
            raise UsageError("there is no such thought in this run")
        node = nodes[wish.node]
        if old is not None and (node.label != old.label or (old.act != "add" and node.thought[:_SHOWN] != old.text)):
            raise UsageError("the run went another way, and this thought is not where it was")
        if node.birth in self.tree.closed:
            raise UsageError("this thought was pruned by a person, and stays so")
        return node

    def _growing(self, wish: _Wish) -> Node:
        """A node that may get children."""
        run, node = self._run, self._node(wish)
        kind = node.status.kind
        if kind is Kind.DEAD or kind is Kind.SOLVED:
            raise UsageError(f"this thought is {'a dead end' if kind is Kind.DEAD else 'proven'}: nothing is expanded below it")
        if kind is Kind.COMPLETE and not run.method.search.refines:
            raise UsageError("this is a complete answer, and this search does not refine answers")
        if not is_reversible(run.problem) and not getattr(run.frontier, "single", False):
            raise UsageError("this problem is not reversible: the search cannot go where it was not going")
        return node

    @property
    def _joint(self) -> bool:
        evaluate = self._run.method.evaluate
        return evaluate is not None and evaluate.joint

    def _hand(self) -> Steerable:
        frontier = self._run.frontier
        if not hasattr(frontier, "prune"):
            raise UsageError(f"search {type(self._run.method.search).__name__} cannot be steered: it does not say how to prune, favour and add")
        return cast(Steerable, frontier)

    def _drop(self, flights: Sequence[InFlight], wish: _Wish) -> None:
        """End steps in flight: what has been sent is awaited, nothing more is. In a run that is repeated they are made as far as the tape goes,
        so that what they had spent is spent."""
        run = self._run
        for flight in flights:
            if isinstance(flight.step, Expand):
                run.dropped(flight)
            if flight.task is None and wish.recorded is not None:
                run.ledger.hold(flight.number, flight.bound)
                flight.task = run.spawn(flight)
            if flight.task is not None:
                run.ledger.barred.add(flight.number)
                self.strays.add(flight.task)
                flight.task.add_done_callback(self._away)
        run.forget({flight.number for flight in flights})

    def _away(self, task: asyncio.Task[Outcome]) -> None:
        """Whatever became of it, nobody asks."""
        self.strays.discard(task)
        if not task.cancelled():
            task.exception()


_ACTS: Mapping[str, Callable[[Acts, _Wish], _Plan]] = {
    "pause": Acts._pause, "go_on": Acts._go_on, "prune": Acts._prune, "favour": Acts._favour, "add": Acts._add, "approve": Acts._approve,
    "budget": Acts._budget,
}  # fmt: skip


def _as_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _nothing() -> None:
    """No clock."""


def _touches(step: Step, gone: frozenset[int]) -> bool:
    if isinstance(step, Expand):
        return step.node.birth in gone
    return any(node.birth in gone for node in step.nodes)


def _takes_whole(generate: Generator, complete: bool) -> bool:
    """Whether the next thought is a whole answer."""
    stage = getattr(generate, "complete" if complete else "open", generate)
    return bool(getattr(stage, "rewrites", False) or getattr(stage, "whole", False))
