"""The engine: the only loop. It owns concurrency, budget, trace and failure; what to do next is the search's choice.

Steps are issued up to the window, run at once, and committed in the order in which they were issued; the search is asked only at the
start and at a commit. So the tree depends on the seed, the window and the replies, and never on latency or on `parallel`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from branchwise.acts import Acts
from branchwise.answering import Answering
from branchwise.budget import Budget
from branchwise.commit import expanded, judged
from branchwise.ledger import Ledger
from branchwise.method import Method
from branchwise.model.tape import Tape
from branchwise.problem import Kind, Problem
from branchwise.search.base import Expand, Judge, Step
from branchwise.shares import Shares
from branchwise.steering import Steering
from branchwise.steps import Found, InFlight, Outcome, Worker
from branchwise.thought.base import Generator
from branchwise.trace import Event, Mark, Marked, Recorder, Stopped, Warned
from branchwise.tree import Done, Node, Tree
from branchwise.window import Window

__all__ = ["Run"]

_CLOSED = "budget:closed"
"""What a step says that found the ledger closed, as it is after an interruption."""


class Run:
    """One run of one method on one problem. `loop` returns the reason why it ended; `tree` is what it found."""

    def __init__(
        self, worker: Worker, ledger: Ledger, recorder: Recorder, seed: int, recorded: Tape | None = None, parallel: int = 8,
        steering: Steering | None = None,
    ) -> None:  # fmt: skip
        self.worker, self.ledger, self.recorder = worker, ledger, recorder
        self.method: Method = worker.method
        self.problem: Problem = worker.problem
        self.tree: Tree = worker.tree
        self.budget: Budget = ledger.budget
        self.warnings: list[str] = []
        self.error = ""
        self.raised: Exception | None = None
        self.ended = False
        self.holding = False
        """Whether no step is issued: the run is paused, or an answer is approved."""
        self.committed = 0
        """The number of the last committed step."""
        self.frontier = self.method.search.start(self.tree, Random(seed))
        self._interrupted = ""
        self._expanding = 0
        self.window, self.answering = Window(worker, ledger, parallel), Answering(worker, ledger)
        self.pending: Step | None = None
        self._overfull = False
        shared = getattr(self.method.search, "shares_tokens", False) and self.budget.tokens is not None
        recorded = recorded or Tape()
        self._shares = Shares(ledger, self._node_cap, recorded.limits) if shared and self._node_cap is not None else None
        began = {} if recorded.started is None else recorded.started.about.get("budget") or {}
        self.acts = Acts(self, steering, recorded.acts, self.budget, began)

    async def loop(self) -> str:
        """Search until a reason to stop. Never raises but on cancellation; what failed is in `error` and `raised`."""
        self.answering.reserve(self.warn)
        stop, acts, window = "", self.acts, self.window
        try:
            while not stop:
                if self._interrupted or (limit := self.ledger.overtime()):
                    stop = self._interrupted or f"budget:{limit}"
                    break
                if acts.paused:
                    await acts.gone_on()
                self.fill()
                if acts.due:
                    acts.do_due()
                    if acts.paused:
                        continue
                if not window.queue:
                    stop = self._ending()
                    break
                window.start()
                head = window.queue[0]
                if head.task is None:
                    if acts.strays:
                        await acts.settle()
                        continue
                    window.start_alone(head)
                    assert head.task is not None
                if acts.steering is not None and not await acts.reached(head):
                    continue
                outcome = await head.task
                if head.number in self.ledger.barred:  # it was ended in the recorded run, which this one does not follow
                    window.again(head)
                    continue
                window.queue.popleft()
                stop = self._commit(head, outcome)
                if self._interrupted and stop == _CLOSED:
                    stop = self._interrupted
            acts.end()
            await acts.settle()
        except asyncio.CancelledError:
            if not self._interrupted:
                raise
            stop = self._interrupted
        except Exception as error:
            stop, self.error, self.raised = "failed", str(error) or type(error).__name__, error
        finally:
            acts.end()
            self.ledger.close()
            await window.drain(acts.strays, cancel=stop != "solved")
        return stop

    def interrupt(self, reason: str) -> None:
        """End the run now: calls in flight are cancelled, what is committed stays."""
        if not self._interrupted:
            self._interrupted = reason
            self.ledger.close()
            self.window.cancel()
            self.acts.cancel()
            self.answering.cancel()

    @property
    def interrupted(self) -> str:
        """Why the run was ended from outside; empty where it was not."""
        return self._interrupted

    def fill(self) -> None:
        """Ask the search for steps, up to the window."""
        if self.holding:
            return
        window, size = self.window, self.method.steps_in_flight
        while len(window.queue) < size:
            step, self.pending = self.pending or self.frontier.ask(), None
            if step is None:
                break
            if isinstance(step, Expand) and not self._room():
                self.pending = step
                break
            self._issue(step)

    @property
    def _node_cap(self) -> int | None:
        """Nodes that the search may make: one is held back for the answer where the model writes it."""
        cap = self.budget.nodes
        return None if cap is None else cap - (self.method.answer is not None)

    def _room(self) -> bool:
        """Whether one more expansion may be issued: those in flight might fill the node budget."""
        cap = self._node_cap
        return cap is None or len(self.tree) + self._expanding < cap

    @property
    def full(self) -> bool:
        """Whether no more expansion may be issued now."""
        return not self._room()

    def _ending(self) -> str:
        if self.acts.approved is not None:
            return "approved"
        if self.pending is not None:
            return "budget:nodes"
        if not len(self.tree) and self.tree.failures:
            self.error = self.error or "nothing could be generated"
            return "failed"
        if note := getattr(self.frontier, "note", ""):
            self.warn(note)
        return self.frontier.ended or "exhausted"

    def _issue(self, step: Step) -> None:
        """Number a step, reserve its child indexes, note the size of the tree and its worst case."""
        if isinstance(step, Expand):
            k = step.k or self.method.generate.k
            node = step.node
            base, node.reserved = node.reserved, node.reserved + k
            limit = None
            if self._shares is not None:
                lists, places = getattr(self.method.generate, "lists", False), len(self.tree) + self._expanding
                limit = self._shares.limit((node.label, node.issued), self.window.number + 1, k, lists, places)
            self._expanding += k
            self.window.push(step, k, node, base, limit)
            return
        evaluate, nodes = self.method.evaluate, step.nodes
        if evaluate is None:
            self._tell(Done(None, judged=nodes))
        elif not evaluate.joint:
            for single in nodes:
                self.window.push(Judge((single,)), 0, single, 0)
        else:
            if len(nodes) == 1 and nodes[0].parent is not None:
                if nodes[0].count + nodes[0].unknown:
                    self._tell(Done(None, judged=nodes))
                    return
                closed = self.tree.closed
                nodes = tuple(n for n in nodes[0].parent.children if n.status.kind in (Kind.OPEN, Kind.COMPLETE) and n.birth not in closed)
            self.window.push(Judge(nodes), 0, nodes[0], 0)

    def issue_given(self, step: Expand, generate: Generator, role: str) -> None:
        """Issue a step of one thought that `generate` gives in place of the method's own."""
        node = step.node
        base, node.reserved = node.reserved, node.reserved + 1
        self._expanding += 1
        flight = self.window.push(step, 1, node, base)
        flight.generate, flight.role = generate, role
        if self.ledger.capped:
            flight.bound = self.worker.bound(step, generate, 1)

    def dropped(self, flight: InFlight) -> None:
        """An expansion that was issued is not committed."""
        self._expanding -= flight.k
        if self._shares is not None:
            self._shares.dropped(flight.number)

    def enlarge(self, limits: Mapping[str, Any]) -> None:
        """The budget is larger from now on."""
        self.ledger.raised(limits)
        self.budget = self.ledger.budget
        if "nodes" in limits and (sized := getattr(self.frontier, "sized", None)) is not None:
            sized(self.budget.nodes)
        if self._shares is not None and self.budget.tokens is not None and self._node_cap is not None:
            self._shares.raised(self.budget.tokens, self._node_cap)
        self.acts.rearm()

    def _commit(self, flight: InFlight, outcome: Outcome) -> str:
        """Enter a step into the tree, tell the search, and say whether the run ends."""
        self.committed = flight.number
        if self._shares is not None:
            self._shares.committed(flight.number)
        event = self._event(flight, outcome)
        done = self._apply(event, outcome.found)
        self._tell(done)
        if outcome.error:
            self.error = outcome.error
        if done.solved is not None and self.method.stop_when_solved:
            return "solved"
        limit = outcome.partial or ("nodes" if self._overfull else "")
        return f"budget:{limit}" if limit else ""

    def _event(self, flight: InFlight, outcome: Outcome) -> Event:
        if isinstance(flight.step, Judge):
            return judged(flight, outcome)
        self._expanding -= flight.k
        cap = self.budget.nodes if flight.role == "answer" else self._node_cap
        event, overfull = expanded(flight, outcome, self.tree, self.worker.keys, cap)
        self._overfull = self._overfull or overfull
        return event

    def _apply(self, event: Event, found: Sequence[Found] = ()) -> Done:
        self.recorder.write(event)
        done = self.tree.apply(event)
        assert done is not None
        if done.born:
            keys = {item.index: item.key for item in found}
            for node in done.born:
                self.worker.keys[keys[node.index]] = node
                if node.count or node.unknown:
                    node.issued = 1
        return done

    def _tell(self, done: Done) -> None:
        self.mark(self.frontier.tell(done))

    def mark(self, marks: Sequence[Mark]) -> None:
        """Record decisions on nodes."""
        if marks:
            event = Marked(tuple(marks))
            self.recorder.write(event)
            self.tree.apply(event)

    async def write_answer(self, node: Node) -> Node:
        """Let the model write the answer from `node`, out of the reserve; the node that holds it, or `node` when it could not be written."""
        self.window.number += 1
        flight = self.answering.step(self.window.number, node)
        outcome = await self.answering.write(flight, lambda: self._interrupted)
        self._expanding += 1
        done = self._apply(self._event(flight, outcome), outcome.found)
        if outcome.error:
            self.error = outcome.error
        return done.born[0] if done.born else (done.merged[0][0] if done.merged else node)

    def warn(self, text: str) -> None:
        """Tell the user something once."""
        if text not in self.warnings:
            self.warnings.append(text)
            self.recorder.write(Warned(text))

    def stopped(self, stop: str, node: Node | None, answer: str | None, solved: bool | None) -> None:
        """Record the end."""
        self.ended = True
        self.recorder.write(Stopped(stop, None if node is None else node.birth, answer, solved, self.ledger.to_json(), self.error))
