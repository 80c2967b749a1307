"""One step of a run: ask the generator, check what it says, ask the evaluator. Knows the parts of a method, not the search that asked.

Dead before judged: a program looks at every proposal before any evaluator is paid.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from branchwise.budget import Bound
from branchwise.errors import ContextOverflow, MethodError, MissingCall, ModelError, OutOfBudget, PermanentError, Unsupported
from branchwise.method import Method
from branchwise.model.base import LanguageModel
from branchwise.model.layers.retrying import RetryPolicy
from branchwise.model.layers.seeded import Seeded, Turn
from branchwise.problem import Problem, State, Status
from branchwise.search.base import Expand, Judge, Step
from branchwise.thought.base import Dropped, Evaluation, Generator, Proposal, Proposals, Size
from branchwise.thought.check import known
from branchwise.together import all_of
from branchwise.tree import Node, Tree

__all__ = ["Found", "InFlight", "Outcome", "Worker", "is_fatal"]

_PLACES = 256
"""How many states are kept at hand; all others are read off the tree."""


@dataclass(slots=True)
class InFlight:
    """A step that was issued. `size` is the number of nodes when it was: merging looks no further, so that spending is not a race."""

    number: int
    step: Step
    k: int
    occurrence: int
    base: int
    size: int
    bound: Bound
    role: str = "generate"
    generate: Generator | None = None
    """In place of the method's own: what writes the answer."""
    serial: bool = False
    limit: int | None = None
    """The most tokens of one generated reply, where the step has a share of the run's tokens."""
    task: asyncio.Task[Outcome] | None = None


@dataclass(slots=True)
class Found:
    """A proposal and what the program knows of it. `twin` is the equal node that stood in the tree when the step was issued."""

    proposal: Proposal
    index: int
    status: Status
    key: Hashable
    twin: int | None = None
    evaluation: Evaluation | None = None


@dataclass(slots=True)
class Outcome:
    """What came of a step; failures are outcomes too."""

    found: list[Found] = field(default_factory=list)
    dropped: Sequence[Dropped] = ()
    evaluations: list[tuple[Node, Evaluation]] = field(default_factory=list)
    final: bool = False
    partial: str = ""
    error: str = ""


def is_fatal(error: Exception) -> bool:
    """Whether going on elsewhere is pointless: it would fail in the same way."""
    if isinstance(error, ContextOverflow):
        return False
    return not isinstance(error, ModelError) or isinstance(error, (PermanentError, MissingCall, Unsupported))


class Worker:
    """Makes steps for one run. `keys` maps each canonical state to the node that has it."""

    def __init__(self, method: Method, problem: Problem, model: LanguageModel, seed: int, tree: Tree, retry: RetryPolicy) -> None:
        self.method, self.problem, self.model, self.seed, self.tree = method, problem, model, seed, tree
        self.retry = retry
        self.keys: dict[Hashable, Node] = {problem.key(()): tree.root}
        self._prompt_bytes = len(problem.prompt.encode("utf-8", "replace"))
        self._places: dict[int, tuple[State, str]] = {}

    def place(self, node: Node) -> tuple[State, str]:
        """The state and the label of `node`, from the nearest ancestor whose place was asked for lately: steps follow each other closely."""
        places, trail = self._places, []
        at: Node | None = node
        while at is not None and at.parent is not None and at.birth not in places:
            trail.append(at)
            at = at.parent
        state, label = places[at.birth] if at is not None and at.parent is not None else ((), "")
        if not trail:
            return state, label
        trail.reverse()
        state = (*state, *[step.thought for step in trail])
        for step in trail:
            label = step.under(label)
        places[node.birth] = state, label
        if len(places) > _PLACES:
            del places[next(iter(places))]
        return state, label

    def bound(self, step: Step, generate: Generator, k: int, limit: int | None = None) -> Bound:
        """The most that a step can spend, retries included; `limit` is the most tokens of one generated reply."""
        evaluate, problem = self.method.evaluate, self.problem
        if isinstance(step, Judge):
            size = Size(self._prompt_bytes, max(node.size for node in step.nodes))
            return self.retry.worst(evaluate.bound(problem, size, len(step.nodes))) if evaluate else Bound()
        size = Size(self._prompt_bytes, step.node.size)
        total = generate.bound(problem, size, k)
        if limit is not None:
            total = Bound(total.calls, total.prompt_tokens, min(total.completion_tokens, total.calls * limit))
        total = self.retry.worst(total, grows=limit is None)
        if step.judge and evaluate is not None:
            total += self.retry.worst(evaluate.bound(problem, size.deeper(generate.thought_bytes), k))
        return total

    def answer_bound(self, answer: Generator) -> Bound:
        """The most that one try of the answering call can spend, from the deepest and longest state."""
        size = Size(self._prompt_bytes, 0)
        depth = self.method.search.max_depth or 0
        return answer.bound(self.problem, size.deeper(self.method.generate.thought_bytes, depth), 1)

    async def run(self, flight: InFlight) -> Outcome:
        """Make the step. Raises only what is fatal."""
        turn = Turn(flight.number, flight.serial)
        step = flight.step
        if isinstance(step, Judge):
            return await self._judge(flight, step, turn)
        return await self._expand(flight, step, turn)

    def _view(self, turn: Turn, label: str, occurrence: int, role: str | None = None, limit: int | None = None) -> Seeded:
        return Seeded(self.model, self.seed, turn, label, occurrence, role, limit)

    async def _expand(self, flight: InFlight, step: Expand, turn: Turn) -> Outcome:
        node = step.node
        state, label = self.place(node)
        generate = flight.generate or self.method.generate
        role = "answer" if flight.role == "answer" else None
        try:
            view = self._view(turn, label, flight.occurrence, role, flight.limit)
            proposals = await generate(view, self.problem, state, flight.k)
        except OutOfBudget as stop:
            return Outcome(partial=stop.limit)
        except ModelError as error:
            if is_fatal(error):
                raise
            return Outcome(error=f"{type(error).__name__}: {error}", partial=turn.broken)
        if not isinstance(proposals, Proposals):
            raise _wrong(generate, "Proposals", proposals)
        outcome = Outcome(dropped=proposals.dropped, final=proposals.final)
        surplus = tuple(Dropped(p.thought, f"beyond the {flight.k} asked for") for p in proposals.thoughts[flight.k :])
        outcome.dropped = (*proposals.dropped, *surplus) if surplus else proposals.dropped
        outcome.found = self._check(flight, state, proposals.thoughts)
        if step.judge and self.method.evaluate is not None:
            await self._judge_found(outcome.found, state, label, turn)
        outcome.partial = turn.broken
        return outcome

    def _check(self, flight: InFlight, state: State, proposals: Sequence[Proposal]) -> list[Found]:
        problem, found, here = self.problem, [], set()
        for offset, proposal in enumerate(proposals[: flight.k]):
            child = (*state, proposal.thought)
            if not isinstance(proposal.thought, str):
                raise _wrong(flight.generate or self.method.generate, "thoughts that are text", proposal.thought)
            key = problem.key(child)
            twin = self.keys.get(key)
            old = twin.birth if twin is not None and twin.birth < flight.size else None
            status = problem.status(child)
            if not isinstance(status, Status):
                raise _wrong(problem, "a Status (OPEN, SOLVED, COMPLETE or dead(reason)) as status", status)
            item = Found(proposal, flight.base + offset, status, key, old)
            if key in here and old is None:
                item.evaluation = Evaluation(None)
            here.add(key)
            found.append(item)
        return found

    async def _judge_found(self, found: list[Found], state: State, label: str, turn: Turn) -> None:
        rest = []
        for item in found:
            if item.twin is None and item.evaluation is None:
                item.evaluation = known(self.problem, item.status)
                if item.evaluation is None:
                    rest.append(item)
        states = [(*state, item.proposal.thought) for item in rest]
        labels = [f"{label}.{item.index}" if label else str(item.index) for item in rest]
        for item, evaluation in zip(rest, await self._evaluate(states, labels, [0] * len(rest), turn), strict=True):
            item.evaluation = evaluation

    async def _judge(self, flight: InFlight, step: Judge, turn: Turn) -> Outcome:
        outcome = Outcome()
        rest: list[Node] = []
        for node in step.nodes:
            evaluation = known(self.problem, node.status)
            if evaluation is None:
                rest.append(node)
            elif not node.count:
                outcome.evaluations.append((node, evaluation))
        places = [self.place(node) for node in rest]
        states, labels = [state for state, _ in places], [label for _, label in places]
        found = await self._evaluate(states, labels, [flight.occurrence] * len(rest), turn)
        outcome.evaluations.extend(zip(rest, found, strict=True))
        outcome.evaluations.sort(key=lambda pair: pair[0].birth)
        outcome.partial = turn.broken
        return outcome

    async def _evaluate(self, states: list[State], labels: list[str], occurrences: list[int], turn: Turn) -> list[Evaluation]:
        """One evaluation a state; a failed one is unknown with its reason, its siblings are kept."""
        evaluate = self.method.evaluate
        if evaluate is None or not states:
            return [Evaluation(None) for _ in states]
        if evaluate.joint:
            return await self._guarded(self._view(turn, labels[0], occurrences[0]), states)
        if len(states) == 1:
            return await self._guarded(self._view(turn, labels[0], occurrences[0]), states)
        views = [self._view(turn, label, occurrence) for label, occurrence in zip(labels, occurrences, strict=True)]
        if turn.serial:
            return [(await self._guarded(view, [state]))[0] for view, state in zip(views, states, strict=True)]
        jobs = [self._guarded(view, [state]) for view, state in zip(views, states, strict=True)]
        return [evaluations[0] for evaluations in await all_of(jobs)]

    async def _guarded(self, view: Seeded, states: list[State]) -> list[Evaluation]:
        evaluate = self.method.evaluate
        assert evaluate is not None
        try:
            found = await evaluate(view, self.problem, states)
        except OutOfBudget as stop:
            return [Evaluation(None, reason=f"not judged: the budget is spent ({stop.limit})") for _ in states]
        except ModelError as error:
            if is_fatal(error):
                raise
            return [Evaluation(None, (None,), f"{type(error).__name__}: {error}") for _ in states]
        if not isinstance(found, list) or len(found) != len(states):
            raise _wrong(evaluate, f"a list of {len(states)} evaluations, one a state", found)
        for evaluation in found:
            if not isinstance(evaluation, Evaluation):
                raise _wrong(evaluate, "evaluations", evaluation)
        return found


def _wrong(part: object, wanted: str, got: object) -> MethodError:
    """The error for a part of the user's own that gave something else than it must: it names the part and what it gave."""
    text = repr(got)
    return MethodError(f"{type(part).__qualname__} must give {wanted}; it gave {text if len(text) <= 80 else text[:77] + '...'}")

