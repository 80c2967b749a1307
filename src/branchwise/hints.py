"""What a finished run says about itself: over-pruning, no signal, low confidence, and what to change. Knows no model and no answer key."""

from __future__ import annotations

from collections import Counter

from branchwise.method import Method
from branchwise.problem import Kind
from branchwise.search.chain import Chain
from branchwise.search.self_refine import SelfRefineSearch
from branchwise.thought.base import Evaluator
from branchwise.thought.check import Check
from branchwise.thought.rollout import Rollout
from branchwise.tree import Fate, Node, Tree

__all__ = ["confidence", "hints"]

_LOW = 0.5
_MANY = 4


def confidence(node: Node | None, length_penalty: bool = False) -> float:
    """The mean known value in [0, 1] of the thoughts on the path to `node`, the root not counted; 0 where nothing was generated.

    (0.75, 0.82) gives 0.785. `length_penalty` multiplies by 1 / (1 + 0.1·length).
    """
    path = [] if node is None else node.path
    values = [step.value for step in path if step.value is not None]
    if not values:
        return 0.0
    mean = sum(values) / len(values)
    return mean / (1 + 0.1 * len(path)) if length_penalty else mean


def hints(tree: Tree, method: Method, node: Node | None, solved: bool | None) -> list[str]:
    """Notes for the end of a run, the most telling first; none for a proven answer."""
    if solved:
        return []
    notes = [*_generator(tree), *_evaluator(tree, method), *_over_pruning(tree, method)]
    if method.evaluate is not None and not method.evaluate.joint and node is not None and confidence(node) < _LOW:
        notes.append(_adjustments(method, confidence(node)))
    return notes


def _generator(tree: Tree) -> list[str]:
    counts = tree.counts()
    lost = counts.dropped + counts.dead + counts.merged
    if counts.generated < _MANY or lost * 2 <= counts.generated:
        return []
    reasons = Counter(_kind(reason) for _, _, reason in tree.dropped)
    common = f"; most often: {reasons.most_common(1)[0][0]}" if reasons else ""
    return [
        f"the generator is the weak part: of {counts.generated:,} thoughts {counts.dropped:,} were dropped, {counts.dead:,} dead and "
        f"{counts.merged:,} repeats{common}; raise k, use a stronger model to generate, or show it more examples"
    ]


def _kind(reason: str) -> str:
    return reason if len(reason) <= 60 else reason[:57] + "..."


def _evaluator(tree: Tree, method: Method) -> list[str]:
    if method.evaluate is None:
        return []
    judged = [node for node in tree if node.count + node.unknown and node.status.kind in (Kind.OPEN, Kind.COMPLETE)]
    samples = sum(len(node.samples) for node in judged)
    values = {node.value for node in judged if node.value is not None}
    if samples and not values and not _plays(method.evaluate):
        return [
            f"none of the {samples:,} judgements could be read, so no state has a value and the order of the thoughts decided; "
            "raise the evaluator's --max-tokens, or use another prompt or model"
        ]
    if unread := _unread(tree, method, judged, samples):
        return [unread]
    if len(judged) >= _MANY and len(values) == 1:
        return [f"the evaluator gives no signal: all {len(judged):,} states have the value {values.pop():.3g}, so ties went to the earlier one"]
    return []


def _unread(tree: Tree, method: Method, judged: list[Node], samples: int) -> str:
    """How many judgements could not be read, where that left thoughts without a value, or one grade less of an answer (MCTSr), or often."""
    blank = sum(node.value is None and bool(node.samples) for node in judged)
    often = samples >= _MANY and tree.unparsed * 10 > samples * 3
    if not (blank or often or (tree.unparsed and isinstance(method.search, SelfRefineSearch))):
        return ""
    left = f", which left {blank:,} of {len(judged):,} thoughts without a value, behind all others" if blank else ""
    if _plays(method.evaluate):
        return (
            f"{tree.unparsed:,} of {samples:,} rollouts ended without a verdict of the program{left}; "
            "play them deeper, or judge their ends (Rollout)"
        )
    return f"{tree.unparsed:,} of {samples:,} judgements could not be read{left}; raise the evaluator's --max-tokens, or use another prompt or model"


def _plays(evaluate: Evaluator | None) -> bool:
    """Whether all samples are rollouts: a program's check beside them has none."""
    parts = getattr(evaluate, "parts", (evaluate,))
    return any(isinstance(part, Rollout) for part in parts) and all(isinstance(part, (Rollout, Check)) for part in parts)


def _over_pruning(tree: Tree, method: Method) -> list[str]:
    if isinstance(method.search, Chain):
        return []
    alive: Counter[int] = Counter()
    pruned = 0
    for node in tree:
        by_value = node.fate is Fate.PRUNED and ("below" in node.fate_reason or "not above" in node.fate_reason)
        pruned += by_value
        if node.status.kind is not Kind.DEAD and node.fate is not Fate.PRUNED:
            alive[node.depth] += 1
    if pruned and alive and max(alive.values()) == 1:
        return ["over-pruning: the threshold left one path, so this was no better than a chain; lower the threshold"]
    return []


def _adjustments(method: Method, value: float) -> str:
    search = method.search
    first = f"raise k from {method.generate.k} to {method.generate.k + 2}"
    low = getattr(search, "prune_below", None) or getattr(search, "prune_at", None)
    if isinstance(low, float) and low > 0.01:
        second = f"lower the pruning threshold from {low:g} to {low / 2:g}"
    elif hasattr(search, "breadth") and getattr(search, "depth", None) != 1:  # whole answers are not cut between levels
        second = f"raise the breadth from {search.breadth} to {search.breadth + 2}"
    elif hasattr(search, "rollouts"):
        second = f"raise the rollouts from {search.rollouts} to {search.rollouts * 2}"
    else:
        second = "use a stronger model to evaluate"
    return f"the confidence is low ({value:.2f}): {first}, or {second}"
