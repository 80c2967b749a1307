"""What came of a step, as the event that enters it into the tree: merged, dropped and cut to the node budget. Changes nothing itself."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from branchwise.search.base import Judge
from branchwise.steps import Found, InFlight, Outcome
from branchwise.thought.base import Evaluation
from branchwise.trace import Birth, Expanded, Judged, Judgement
from branchwise.tree import Node, Tree

__all__ = ["expanded", "judged"]


def judged(flight: InFlight, outcome: Outcome) -> Judged:
    """The event of a step that judged nodes."""
    judgements = [_judgement(node.birth, evaluation) for node, evaluation in outcome.evaluations]
    return Judged(flight.number, judgements, outcome.partial, outcome.error)


def expanded(
    flight: InFlight, outcome: Outcome, tree: Tree, keys: Mapping[Hashable, Node], cap: int | None
) -> tuple[Expanded, bool]:  # fmt: skip
    """The event of a step that expanded a node, and whether `cap` nodes were too few for it.

    A proposal whose key is in `keys`, or came earlier in the same step, is merged: its judgement, if it has one, was wasted.
    """
    births: list[Birth] = []
    made: list[Judgement] = []
    dropped = [(d.text, d.reason) for d in outcome.dropped]
    fresh: dict[Hashable, int] = {}
    wasted, overfull = 0, False
    for item in outcome.found:
        twin = item.twin
        if twin is None:
            older = keys.get(item.key)
            twin = older.birth if older is not None else fresh.get(item.key)
            wasted += twin is not None and bool(item.evaluation and item.evaluation.samples)
        if twin is None and cap is not None and len(tree) + len(fresh) >= cap:
            dropped.append((item.proposal.thought, "beyond the node budget"))
            overfull = True
            continue
        births.append(_birth(item, twin, len(tree.nodes) + len(fresh)))
        if twin is None:
            fresh[item.key] = births[-1].node
            if item.evaluation is not None:
                made.append(_judgement(births[-1].node, item.evaluation))
    assert not isinstance(flight.step, Judge)
    event = Expanded(
        flight.number, flight.step.node.birth, births, dropped, made, flight.role, outcome.final, wasted, outcome.partial, outcome.error
    )
    return event, overfull


def _birth(item: Found, twin: int | None, number: int) -> Birth:
    proposal, status = item.proposal, item.status
    node = number if twin is None else twin
    return Birth(node, item.index, proposal.thought, status.kind.value, status.reason, proposal.confidence, twin is not None)


def _judgement(node: int, evaluation: Evaluation) -> Judgement:
    return Judgement(node, evaluation.value, evaluation.samples, evaluation.reason)
