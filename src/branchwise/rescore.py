"""Another evaluator, or another pick, over a finished tree: the thoughts stay, their values are replaced. Knows no search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from branchwise.budget import Bound, Budget, Price, Usage
from branchwise.errors import MethodError, TraceError
from branchwise.hints import hints
from branchwise.ledger import Ledger
from branchwise.method import Method, describe
from branchwise.model.base import LanguageModel
from branchwise.model.layers.limited import Limited
from branchwise.model.layers.metered import Metered
from branchwise.model.layers.retrying import Retrying, RetryPolicy
from branchwise.model.layers.taped import Taped
from branchwise.model.tape import Tape
from branchwise.problem import Kind, Problem, is_provable
from branchwise.result import Result, versions
from branchwise.search.base import Judge
from branchwise.steps import InFlight, Worker
from branchwise.together import all_of
from branchwise.trace import Event, Expanded, Judged, Judgement, Recorder, Started, Steered, Stopped, Warned, is_fresh, read_trace
from branchwise.tree import Node, Tree

__all__ = ["Rescored", "rescore"]

_FREE = Price(0, 0)


@dataclass(frozen=True, slots=True)
class Rescored:
    """The new choice and what it cost, beside what was chosen before."""

    result: Result
    before: Result | None
    """`None` where the run in the trace did not end."""

    @property
    def changed(self) -> bool:
        """Whether another path is chosen now."""
        return self.before is not None and self.result.path != self.before.path


async def rescore(
    trace: Path,
    problem: Problem,
    method: Method,
    model: LanguageModel,
    *,
    out: Path | None = None,
    values: bool = True,
    budget: Budget | None = None,
    seed: int = 0,
    parallel: int = 8,
    price: Price | Mapping[str, Price | None] | None = _FREE,
    retry: RetryPolicy | None = None,
    about: Mapping[str, Any] | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Rescored:
    """Judge the tree in `trace` anew by `method.evaluate` (with `values=False` the old values stay) and choose by `method.pick`.

    All thoughts but the dead and the proven are judged; a joint evaluator compares the children of each thought. What was pruned by the old
    values can be chosen. The written answer is kept where its path is chosen again; no new one is written. `out` names a new trace for the
    tree, the new values and their calls; the old one is only read. Raises `TraceError` and `UsageError`.
    """
    if values and method.evaluate is None:
        raise MethodError(f"method {method.name} has no evaluator, so there is nothing to judge with")
    if out is not None and not is_fresh(out):
        raise TraceError(f"{out} exists already; name another file (--out, in Python out=...)")
    old = _Old.read(trace, problem)
    retry = retry or RetryPolicy()
    recorded = getattr(model, "recorded", False)
    ledger = Ledger(budget or Budget(), price, recorded=recorded)
    recorder = Recorder(out, () if on_event is None else (on_event,))
    try:
        what = {"problem": old.started.run.get("problem"), "method": {"is": "rescored", "by": describe(method)}}
        run = {**what, "model": model.identity, "seed": seed, "window": 1}
        settings = {"rescored": str(trace), "versions": dict(versions()), **(about or {})}
        recorder.write(Started(run, settings))
        tree = Tree()
        for event in old.events(values):
            recorder.write(event)
            tree.apply(event)
        notices: list[str] = []
        limited = Limited(Metered(model, ledger), parallel)
        retrying = Retrying(limited, retry, recorded=recorded, late=ledger.late, notice=notices.append)
        layers = Taped(retrying, Tape(), recorder, ledger)
        worker = Worker(method, problem, layers, seed, tree, retry)
        stop = await _judge(worker, ledger, recorder, parallel) if values else "exhausted"
        return Rescored(_finish(problem, method, model, tree, old, recorder, ledger, stop, seed, notices), old.result(problem))
    finally:
        recorder.close()


@dataclass(frozen=True, slots=True)
class _Old:
    """A run that is looked at again: the events of its last start."""

    started: Started
    all: Sequence[Event]
    path: Path

    @classmethod
    def read(cls, path: Path, problem: Problem) -> _Old:
        started: Started | None = None
        events: list[Event] = []
        for event in read_trace(path):
            if isinstance(event, Started):
                started, events = event, []
            else:
                events.append(event)
        assert started is not None
        prompt = (started.run.get("problem") or {}).get("prompt")
        if prompt != problem.prompt:
            raise TraceError(f"{path} is a run on another problem ({str(prompt)[:80]!r})")
        if not any(isinstance(event, Expanded) and event.births for event in events):
            raise TraceError(f"{path} holds no thoughts that could be judged")
        return cls(started, events, path)

    def events(self, values: bool) -> Iterator[Event]:
        """The tree without the answer, its marks and, where it is judged anew, its values."""
        for event in self.all:
            if isinstance(event, Expanded) and event.role != "answer":
                yield replace(event, judgements=()) if values else event
            elif (isinstance(event, Judged) and not values) or (isinstance(event, Steered) and event.act == "prune"):
                yield event

    def answered(self, node: Node, size: int) -> Expanded | None:
        """The answer that was written from `node`, if it can stand in a tree of `size` nodes."""
        for event in self.all:
            if isinstance(event, Expanded) and event.role == "answer" and event.node == node.birth:
                births = [birth for birth in event.births if not birth.merged and birth.node == size]
                return event if births else None
        return None

    def result(self, problem: Problem) -> Result | None:
        """What was chosen before."""
        end = next((event for event in reversed(self.all) if isinstance(event, Stopped)), None)
        if end is None:
            return None
        tree = Tree.fold(iter(self.all))
        node = tree.nodes[end.node] if end.node is not None and end.node < len(tree.nodes) else None
        usage = Usage.from_json({key: value for key, value in end.usage.items() if key != "by_role"})
        return Result(
            answer=end.answer, solved=end.solved, unfinished=False, stop_reason=end.reason, method="",
            model=str(self.started.run.get("model")), seed=0, tree=tree, node=node, usage=usage, by_role={}, seconds=0.0, trace=self.path,
        )  # fmt: skip


async def _judge(worker: Worker, ledger: Ledger, recorder: Recorder, parallel: int) -> str:
    """Judge every open or complete thought, in order of birth; why it ended."""
    flights = [
        InFlight(number, Judge(nodes), 0, 0, 0, len(worker.tree.nodes), Bound())
        for number, nodes in enumerate(_groups(worker), 1)
    ]  # fmt: skip
    width = 1 if ledger.capped else max(1, parallel) * 2
    for start in range(0, len(flights), width):
        part = flights[start : start + width]
        for flight, outcome in zip(part, await all_of([worker.run(flight) for flight in part]), strict=True):
            made = [Judgement(node.birth, found.value, found.samples, found.reason) for node, found in outcome.evaluations]
            event = Judged(flight.number, made, outcome.partial, outcome.error)
            recorder.write(event)
            worker.tree.apply(event)
            if outcome.partial:
                return f"budget:{outcome.partial}"
    return "exhausted"


def _groups(worker: Worker) -> list[tuple[Node, ...]]:
    evaluate = worker.method.evaluate
    closed = worker.tree.closed
    alive = [node for node in worker.tree if node.status.kind in (Kind.OPEN, Kind.COMPLETE) and node.birth not in closed]
    if evaluate is None or not evaluate.joint:
        return [(node,) for node in alive]
    groups: dict[int, list[Node]] = {}
    for node in alive:
        groups.setdefault(node.parent.birth if node.parent else 0, []).append(node)
    return [tuple(group) for group in groups.values()]


def _finish(
    problem: Problem, method: Method, model: LanguageModel, tree: Tree, old: _Old, recorder: Recorder, ledger: Ledger, stop: str, seed: int,
    notices: Sequence[str] = (),
) -> Result:  # fmt: skip
    node = method.pick(tree, problem)
    warnings = [*notices, *hints(tree, method, node, None)]
    if node is not None and (written := old.answered(node, len(tree.nodes))) is not None:
        recorder.write(written)
        done = tree.apply(written)
        node = done.born[0] if done is not None and done.born else node
    answer = None if node is None else problem.answer(node.state)
    if answer is None:
        warnings.append("no answer has been written for this path; its last thought is the best that there is")
    solved = True if node is not None and node.status.kind is Kind.SOLVED else False if answer is None or is_provable(problem) else None
    for warning in warnings:
        recorder.write(Warned(warning))
    recorder.write(Stopped(stop, None if node is None else node.birth, answer, solved, ledger.to_json()))
    return Result(
        answer=answer, solved=solved, unfinished=stop != "exhausted", stop_reason=stop, method=method.name, model=model.name, seed=seed,
        tree=tree, node=node, usage=ledger.spent, by_role=dict(ledger.by_role), seconds=ledger.seconds, warnings=tuple(warnings),
        trace=recorder.path, versions=versions(),
    )  # fmt: skip
