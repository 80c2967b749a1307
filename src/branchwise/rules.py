"""What a person may do to a run, act by act: refused with its reason, or a plan of what is recorded and then done. Knows no order and no HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from branchwise.budget import Budget
from branchwise.errors import UsageError
from branchwise.problem import Kind, is_reversible
from branchwise.search.base import Expand, Steerable, Step, kept, pruned
from branchwise.steps import InFlight
from branchwise.thought.base import Dropped, Generator
from branchwise.thought.given import Given
from branchwise.thought.sample import thought_of
from branchwise.trace import Steered
from branchwise.tree import Fate, Node

if TYPE_CHECKING:
    from branchwise.acts import Acts

__all__ = ["APPROVED", "OF_A_NODE", "PERSON", "RULES", "Plan", "Wish", "limits"]

PERSON = "person"
"""The role of a step that brings a person's thought."""
APPROVED = "a thought was approved: the run ends with it"
OF_A_NODE = ("prune", "favour", "add", "approve")
"""Acts that need a node."""
_SHOWN = 200
_BECAUSE = "by a person"


@dataclass(frozen=True, slots=True)
class Wish:
    """An act that was asked for; `recorded` where it is done again."""

    act: str
    node: Node | int | None = None
    text: str = ""
    more: Mapping[str, float] = field(default_factory=dict)
    by: str = ""
    recorded: Steered | None = None


Plan = tuple[Steered, Callable[[], None]]
"""What goes into the trace, and then what is done."""


def _event(acts: Acts, wish: Wish, node: Node | None = None, flights: Sequence[InFlight] = (), **more: Any) -> Steered:
    text = wish.text or ("" if node is None else node.thought[:_SHOWN])
    label, birth = ("", None) if node is None else (node.label, node.birth)
    numbers = [flight.number for flight in flights]
    return Steered(wish.act, acts.run.committed, birth, label, text, dropped=numbers, by=wish.by, **more)


def _pause(acts: Acts, wish: Wish) -> Plan:
    return _event(acts, wish), lambda: acts.hold(wish.recorded is None)


def _go_on(acts: Acts, wish: Wish) -> Plan:
    return _event(acts, wish), acts.release


def _prune(acts: Acts, wish: Wish) -> Plan:
    run, node = acts.run, _node(acts, wish)
    if node.parent is None:
        raise UsageError("the problem itself cannot be pruned; stop the run")
    hook, below = _hand(acts), acts.tree.below(node)
    gone = frozenset(one.birth for one in below)
    flights = [flight for flight in run.window.queue if _touches(flight.step, gone)]
    marks = [pruned(one, f"pruned {_BECAUSE}") for one in below if one.status.kind is not Kind.DEAD]

    def effect() -> None:
        run.mark(marks)
        acts.drop(flights, wish)
        steps = [flight.step for flight in flights]
        if (pending := run.pending) is not None and _touches(pending, gone):
            run.pending = None
            steps.append(pending)
        run.mark(hook.prune(node, gone, steps))

    return _event(acts, wish, node, flights), effect


def _favour(acts: Acts, wish: Wish) -> Plan:
    run, node = acts.run, _growing(acts, wish)
    if run.pending is not None:
        raise UsageError("the node budget is full, or will be by the steps in flight: raise it first")
    marks = [*_hand(acts).favour(node, _joint(acts))]
    if node.fate is Fate.PRUNED:
        marks.append(kept(node, f"favoured {_BECAUSE}"))
    return _event(acts, wish, node), lambda: run.mark(marks)


def _add(acts: Acts, wish: Wish) -> Plan:
    run, node = acts.run, _growing(acts, wish)
    thought = _thought(acts, node, wish.text)
    if run.full:
        raise UsageError("the node budget is full, or will be by the steps in flight: raise it first")
    hand = _hand(acts)
    flights = [f for f in run.window.queue if isinstance(f.step, Expand) and f.step.node is node] if getattr(hand, "single", False) else []
    step = hand.add(node, _joint(acts))

    def effect() -> None:
        acts.drop(flights, wish)
        run.issue_given(step, Given(thought), PERSON)

    return _event(acts, wish, node, flights), effect


def _thought(acts: Acts, node: Node, text: str) -> str:
    """The person's thought in the problem's canonical form."""
    run = acts.run
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


def _approve(acts: Acts, wish: Wish) -> Plan:
    run, node = acts.run, _node(acts, wish)
    if node.parent is None or node.status.kind is Kind.DEAD:
        raise UsageError("the problem itself is no answer" if node.parent is None else f"this is a dead end: {node.status.reason}")
    if run.problem.answer(node.state) is None and run.method.answer is None:
        raise UsageError("this thought holds no answer yet, and this method writes none")
    flights = list(run.window.queue)

    def effect() -> None:
        acts.release()
        run.holding, run.pending, acts.approved = True, None, node
        acts.drop(flights, wish)
        if node.fate is not Fate.KEPT:
            run.mark([kept(node, f"approved {_BECAUSE}")])

    return _event(acts, wish, node, flights), effect


def _budget(acts: Acts, wish: Wish) -> Plan:
    if wish.recorded is None:
        found = limits(acts, wish.more)
    else:
        now = acts.run.ledger.budget
        higher = {n: v for n, v in wish.recorded.budget.items() if n in acts.raises and v > (getattr(now, n) or 0)}
        found = dict(higher)
    recorded = found if wish.recorded is None else wish.recorded.budget
    return _event(acts, wish, budget=dict(recorded)), lambda: acts.run.enlarge(found)


def limits(acts: Acts, more: Mapping[str, float]) -> dict[str, float]:
    """The limits that the run has with so much more. Raises `UsageError`."""
    if acts.approved is not None:
        raise UsageError(APPROVED)
    budget, found = acts.run.ledger.budget, {}
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
    if acts.run.ledger.refused:
        raise UsageError("the budget is spent and the run is ending; resume it with a larger one")
    return found


def _node(acts: Acts, wish: Wish) -> Node:
    nodes, old = acts.tree.nodes, wish.recorded
    if not isinstance(wish.node, int) or not 0 <= wish.node < len(nodes):
        raise UsageError("there is no such thought in this run")
    node = nodes[wish.node]
    if old is not None and (node.label != old.label or (old.act != "add" and node.thought[:_SHOWN] != old.text)):
        raise UsageError("the run went another way, and this thought is not where it was")
    if node.birth in acts.tree.closed:
        raise UsageError("this thought was pruned by a person, and stays so")
    return node


def _growing(acts: Acts, wish: Wish) -> Node:
    """A node that may get children."""
    run, node = acts.run, _node(acts, wish)
    kind = node.status.kind
    if kind is Kind.DEAD or kind is Kind.SOLVED:
        raise UsageError(f"this thought is {'a dead end' if kind is Kind.DEAD else 'proven'}: nothing is expanded below it")
    if kind is Kind.COMPLETE and not run.method.search.refines:
        raise UsageError("this is a complete answer, and this search does not refine answers")
    if not is_reversible(run.problem) and not getattr(run.frontier, "single", False):
        raise UsageError("this problem is not reversible: the search cannot go where it was not going")
    return node


def _joint(acts: Acts) -> bool:
    evaluate = acts.run.method.evaluate
    return evaluate is not None and evaluate.joint


def _hand(acts: Acts) -> Steerable:
    frontier = acts.run.frontier
    if not hasattr(frontier, "prune"):
        raise UsageError(f"search {type(acts.run.method.search).__name__} cannot be steered: it does not say how to prune, favour and add")
    return cast(Steerable, frontier)


RULES: Mapping[str, Callable[[Acts, Wish], Plan]] = {
    "pause": _pause, "go_on": _go_on, "prune": _prune, "favour": _favour, "add": _add, "approve": _approve,
    "budget": _budget,
}  # fmt: skip


def _touches(step: Step, gone: frozenset[int]) -> bool:
    if isinstance(step, Expand):
        return step.node.birth in gone
    return any(node.birth in gone for node in step.nodes)


def _takes_whole(generate: Generator, complete: bool) -> bool:
    """Whether the next thought is a whole answer."""
    stage = getattr(generate, "complete" if complete else "open", generate)
    return bool(getattr(stage, "rewrites", False) or getattr(stage, "whole", False))
