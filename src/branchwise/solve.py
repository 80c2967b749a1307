"""solve(), solve_sync() and watch(): one run from a problem, a method, a model and a budget to a Result. Reads no environment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from branchwise.budget import Budget, Price
from branchwise.engine import Run
from branchwise.errors import BranchwiseError, TraceError, UsageError
from branchwise.hints import hints
from branchwise.identity import agree, run_identity
from branchwise.ledger import Ledger
from branchwise.method import Method
from branchwise.model.base import LanguageModel
from branchwise.model.cache import ReplyCache
from branchwise.model.layers.cached import Cached, CacheMode
from branchwise.model.layers.limited import Limited
from branchwise.model.layers.metered import Metered
from branchwise.model.layers.retrying import Retrying, RetryPolicy
from branchwise.model.layers.taped import Taped
from branchwise.model.tape import Tape
from branchwise.problem import Kind, Problem, is_provable
from branchwise.result import Result, versions
from branchwise.steering import Steering
from branchwise.steps import Worker
from branchwise.trace import Event, Recorder, Started, Stopped, is_fresh
from branchwise.tree import Node, Tree

__all__ = ["Stop", "solve", "solve_sync", "watch"]

_FREE = Price(0, 0)


class Stop:
    """A way to end a run early and keep what it has: `stop.now()` from a signal handler or another task."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self.asked = False

    def now(self) -> None:
        """End every run that was given this object; each returns its best answer so far, `cancelled`."""
        self.asked = True
        for run in self._runs:
            run.interrupt("cancelled")

    def add(self, run: Run) -> None:
        """Called by `solve`."""
        self._runs.append(run)
        if self.asked:
            run.interrupt("cancelled")

    def remove(self, run: Run) -> None:
        """Called by `solve`."""
        self._runs.remove(run)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Settings:
    budget: Budget
    seed: int
    trace: Path | None
    resume: Path | None
    parallel: int
    price: Price | Mapping[str, Price | None] | None
    retry: RetryPolicy
    listeners: tuple[Callable[[Event], None], ...]
    about: Mapping[str, Any]
    stop: Stop | None
    cache: ReplyCache | None
    cache_mode: CacheMode
    steering: Steering | None


async def solve(
    problem: Problem,
    method: Method,
    model: LanguageModel,
    *,
    budget: Budget | None = None,
    seed: int = 0,
    trace: Path | str | None = None,
    resume: Path | str | None = None,
    parallel: int = 8,
    price: Price | Mapping[str, Price | None] | None = _FREE,
    retry: RetryPolicy | None = None,
    on_event: Callable[[Event], None] | None = None,
    stop: Stop | None = None,
    about: Mapping[str, Any] | None = None,
    cache: ReplyCache | None = None,
    cache_mode: CacheMode = "on",
    steering: Steering | None = None,
) -> Result:
    """Search for an answer to `problem`.

    `budget` limits the run (default none). `trace` names a new file for the events, `resume` an unfinished (or finished) one to go on with:
    its replies are replayed and only the missing calls are made. `parallel` bounds model calls at once and never changes the tree.
    `price` is `None` where it is unknown (the default counts dollars as 0, for local models), or a price by role for a `Routed` model.
    `on_event` is called with each event as it is recorded. `cache` keeps replies over runs (`cache_mode` "read" takes, "on" also keeps);
    a hit is not charged.
    `steering` lets a person prune, favour, add and more while the run goes on. Errors of the model end the run (`failed`) or a step; errors of
    your own problem or generator are raised as they are.

    Raises `UsageError` before the first call for settings that cannot work, `TraceError` for a trace that does not belong to this run.
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise UsageError(f"a seed is a whole number, not {seed!r}")
    budget = budget or Budget()
    settings = _Settings(
        budget=budget if budget.nodes is not None else replace(budget, nodes=method.max_nodes), seed=seed,
        trace=None if trace is None else Path(trace), resume=None if resume is None else Path(resume),
        parallel=parallel, price=price, retry=retry or RetryPolicy(), listeners=() if on_event is None else (on_event,),
        about=about or {}, stop=stop, cache=cache, cache_mode=cache_mode, steering=steering,
    )  # fmt: skip
    return await _solve(problem, method, model, settings)


async def _solve(problem: Problem, method: Method, model: LanguageModel, settings: _Settings) -> Result:
    method.refuse(problem)
    identity = run_identity(problem, method, model, settings.seed)
    method = method.sized(settings.budget.nodes)
    ledger = Ledger(settings.budget, settings.price, recorded=getattr(model, "recorded", False))
    limited = Limited(Metered(model, ledger), settings.parallel)  # a call that still waits for its place is neither paid nor sent at the end
    notices: list[str] = []
    tape = _tape(settings, identity, notices.append)
    recorder = Recorder(settings.resume or settings.trace, settings.listeners)
    run = None
    try:
        about = {
            "model": model.name, "budget": settings.budget.to_json(), "parallel": settings.parallel, "versions": dict(versions()), **settings.about,
        }  # fmt: skip
        if raised := {name: limit for act in tape.acts for name, limit in act.budget.items()}:
            about["raised"] = raised  # by a person; in force again from their places on, unless the limit was given anew
        recorder.write(Started(identity, about))
        recorded = getattr(model, "recorded", False)
        retrying = Retrying(limited, settings.retry, recorded=recorded, late=ledger.late, notice=lambda text: _warn(run, text))
        cached = retrying if settings.cache is None else Cached(retrying, settings.cache, settings.cache_mode)
        layers = Taped(cached, tape, recorder, ledger)
        worker = Worker(method, problem, layers, settings.seed, Tree(), settings.retry)
        old = tape if len(tape) or tape.acts else getattr(model, "tape", tape)
        run = Run(worker, ledger, recorder, settings.seed, old, settings.parallel, settings.steering)
        for notice in notices:
            run.warn(notice)
        with _interruptible(run, settings):
            return await _finish(run, await run.loop(), settings, model)
    except (Exception, asyncio.CancelledError) as error:
        if run is None or not run.ended:
            reason = "cancelled" if isinstance(error, asyncio.CancelledError) else "failed"
            with suppress(TraceError):
                recorder.write(Stopped(reason, usage=ledger.to_json(), error=str(error)))
        raise
    finally:
        recorder.close()


def _warn(run: Run | None, text: str) -> None:
    if run is not None:
        run.warn(text)


@contextmanager
def _interruptible(run: Run, settings: _Settings) -> Iterator[None]:
    """The clock and the user can end the run at any time, also while the answer is written."""
    stop, loop = settings.stop, asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def arm() -> None:
        nonlocal timer
        if timer is not None:
            timer.cancel()
        left = None if run.acts.paused else run.ledger.seconds_left
        timer = None if left is None else loop.call_later(left, run.interrupt, "budget:seconds")

    arm()
    run.acts.rearm = arm
    if settings.steering is not None:
        settings.steering.attach(run.acts)
    if stop is not None:
        stop.add(run)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        run.acts.end()
        if stop is not None:
            stop.remove(run)


async def _finish(run: Run, stop: str, settings: _Settings, model: LanguageModel) -> Result:
    """Choose the answer, let it be written where the method says so, and record the end."""
    problem, tree, method = run.problem, run.tree, run.method
    node = run.acts.approved or method.pick(tree, problem)
    if method.answer is not None and stop not in ("cancelled", "failed", "budget:seconds"):
        root = tree.root if node is None else node
        if node is None or problem.answer(node.state) is None or getattr(method.answer, "always", False):
            written = await run.write_answer(root)
            if written is not tree.root and written.status.kind is not Kind.DEAD:
                node = written
            proven = written.status.kind is Kind.SOLVED and stop != "approved"
            stop = "solved" if proven else run.interrupted or stop
    answer = None if node is None else problem.answer(node.state)
    solved = _solved(problem, node, answer)
    for hint in hints(tree, method, node, solved):
        run.warn(hint)
    run.stopped(stop, node, answer, solved)
    if run.raised is not None and not isinstance(run.raised, BranchwiseError):
        raise run.raised
    return Result(
        answer=answer, solved=solved, unfinished=_unfinished(stop, node), stop_reason=stop, method=method.name, model=model.name,
        seed=settings.seed, tree=tree, node=node, usage=run.ledger.spent, by_role=dict(run.ledger.by_role), seconds=run.ledger.seconds,
        error=run.error, warnings=tuple(run.warnings), trace=settings.resume or settings.trace, versions=versions(),
    )  # fmt: skip


def _solved(problem: Problem, node: Node | None, answer: str | None) -> bool | None:
    if node is not None and node.status.kind is Kind.SOLVED:
        return True
    return False if answer is None or is_provable(problem) else None


def _unfinished(stop: str, node: Node | None) -> bool:
    """Cut short, or ended on a state that is no answer."""
    if stop.startswith("budget:") or stop in ("cancelled", "failed"):
        return True
    if stop == "approved":
        return False
    return node is not None and node.status.kind is Kind.OPEN


def _tape(settings: _Settings, identity: dict[str, Any], notice: Callable[[str], None]) -> Tape:
    if settings.resume is not None and settings.trace is not None and settings.trace != settings.resume:
        raise TraceError("give either a trace for a new run or one to resume, not both; resuming appends to its own trace")
    if settings.resume is None:
        if settings.trace is not None and not is_fresh(settings.trace):
            raise TraceError(
                f"{settings.trace} exists already: go on with that run (--resume, in Python resume=...), or name "
                "another file (--trace, trace=...)"
            )
        return Tape()
    tape = Tape.load(settings.resume, notice)
    assert tape.started is not None
    agree(tape.started.run, identity, settings.resume)
    return tape


def solve_sync(problem: Problem, method: Method, model: LanguageModel, **settings: Any) -> Result:
    """`solve` for scripts without an event loop; the same arguments. Raises `UsageError` inside a running loop (a notebook, an async program)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(solve(problem, method, model, **settings))
    raise UsageError("an event loop is running here (a notebook, an async program): write `await solve(...)` in place of solve_sync")


async def watch(problem: Problem, method: Method, model: LanguageModel, **settings: Any) -> AsyncIterator[Event | Result]:
    """The events of a run as they are recorded, then its Result. Leaving the loop early cancels the run."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    job: Coroutine[Any, Any, Result] = solve(problem, method, model, **{**settings, "on_event": queue.put_nowait})
    task = asyncio.ensure_future(job)
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        yield await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task
