"""A method: generator, evaluator, search and pick put together, and what does not go together. Knows no model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from branchwise.errors import MethodError, UsageError
from branchwise.problem import Problem, is_reversible
from branchwise.search.adaptive import Adaptive
from branchwise.search.base import Search
from branchwise.search.beam import Beam
from branchwise.search.best_first import AStar, BestFirst
from branchwise.search.chain import Chain
from branchwise.search.depth_first import DepthFirst
from branchwise.search.pick import Pick, best_value
from branchwise.search.self_refine import SelfRefineSearch
from branchwise.search.then_refine import ThenRefine
from branchwise.search.uct import Mcts
from branchwise.thought.base import Evaluator, Generator
from branchwise.thought.combine import Combine

__all__ = ["Method", "describe", "with_sampling"]

T = TypeVar("T")

_PARTS = ("generate", "evaluate", "open", "complete", "judge")
"""Fields of generators and evaluators that hold other ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """How to solve: everything but the problem, the model and the budget. Raises `MethodError` for parts that make no sense together."""

    generate: Generator
    search: Search
    evaluate: Evaluator | None = None
    """`None`: nothing is judged."""
    pick: Pick = best_value
    answer: Generator | None = None
    """Writes the answer from the picked state when that has none; its call is held back from the budget from the start."""
    name: str = "custom"
    window: int | None = None
    """Steps in flight at once; `None`: as the search says. Shapes the tree of searches that choose by value."""
    stop_when_solved: bool = True
    """End as soon as a state is proven."""

    @property
    def max_nodes(self) -> int | None:
        """The node budget that comes with the search; a run's own budget replaces it."""
        nodes = getattr(self.search, "max_nodes", None)
        return nodes if isinstance(nodes, int) else None

    def sized(self, nodes: int | None) -> Method:
        """The same with the node budget of a run in place of the search's own, where it has one: a budget may change on resume."""
        if nodes is None or nodes == self.max_nodes or not hasattr(self.search, "max_nodes"):
            return self
        return dataclasses.replace(self, search=dataclasses.replace(cast(Any, self.search), max_nodes=nodes))

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise UsageError(f"a window of {self.window} steps does nothing: at least 1")
        if reason := _refusal(self.generate, self.evaluate, self.search):
            raise MethodError(reason)

    @property
    def steps_in_flight(self) -> int:
        """The window in force."""
        return self.search.window if self.window is None else self.window

    def refuse(self, problem: Problem) -> None:
        """Raise `MethodError` when this method cannot be used on `problem`."""
        if self.search.goes_back and not is_reversible(problem):
            raise MethodError(
                f"method {self.name!r} goes back to earlier states, but this problem is not reversible: "
                "use chain, or a beam of breadth 1, or search over a plan only"
            )
        if (refuse := getattr(self.evaluate, "refuse", None)) is not None:
            refuse(problem)


_NAMES = {
    Beam: "beam", DepthFirst: "dfs", Chain: "chain", BestFirst: "best_first", AStar: "a_star", Mcts: "mcts", SelfRefineSearch: "mctsr",
    Adaptive: "adaptive", ThenRefine: "tot_bfs_refine",
}  # fmt: skip


def _refusal(generate: Generator, evaluate: Evaluator | None, search: Search) -> str:
    """Why these parts make no sense together, the pair named; empty where they do."""
    name, generator = _NAMES.get(type(search), type(search).__name__), type(generate).__name__.lower()
    if evaluate is None:
        beam = search.first if isinstance(search, ThenRefine) else search
        if isinstance(beam, Beam) and beam.depth > 1:
            return f"none × {name}: beam chooses states by value: with more than one level it needs an evaluator"
        if not isinstance(search, (Beam, Chain, DepthFirst, ThenRefine)):
            return f"none × {name}: {name} chooses states by value: it needs an evaluator"
    elif evaluate.joint and search.mixes_groups:
        return (
            f"vote × {name}: votes hold only within one group of states, and this search compares values across groups; "
            "use value, score, heuristic or likelihood"
        )
    elif evaluate.joint and isinstance(search, Chain):
        return "vote × chain: a chain has one state at a time, so there is nothing to vote on"
    if isinstance(search, SelfRefineSearch):
        if not getattr(generate, "rewrites", False):
            return f"{generator} × mctsr: mctsr rewrites whole answers; use Refine or SelfRefine to generate"
        if search.stop_confidence is not None and not getattr(generate, "confident", False):
            return f"{generator} × stop_confidence: it gives answers no confidence; use SelfRefine(confident=True)"
    if isinstance(search, ThenRefine) and not getattr(getattr(generate, "complete", generate), "rewrites", False):
        return f"{generator} × tot_bfs_refine: it ends by rewriting whole answers; generate with Staged(complete=Refine())"
    return ""


def with_sampling(part: T, **changes: Any) -> T:
    """A generator or evaluator with other sampling settings (`temperature`, `max_tokens`, `stop`), those of its parts too."""
    if not changes or not dataclasses.is_dataclass(part) or isinstance(part, type):
        return part
    if isinstance(part, Combine):
        parts = (with_sampling(inner, **changes) for inner in part.parts)
        return cast(T, Combine(*parts, weights=part.weights, how=part.how))
    new: dict[str, Any] = {}
    for item in dataclasses.fields(part):
        value = getattr(part, item.name)
        if item.name == "sampling":
            new[item.name] = dataclasses.replace(value, **changes)
        elif item.name in _PARTS:
            new[item.name] = with_sampling(value, **changes)
    return cast(T, dataclasses.replace(part, **new)) if new else part


def describe(value: Any) -> Any:
    """A value as JSON, the same in every process: what must not change on resume is compared in this form."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        described = {f.name: describe(getattr(value, f.name)) for f in dataclasses.fields(value) if not f.name.startswith("_")}
        return {"is": type(value).__name__, **described}
    if isinstance(value, (tuple, list)):
        return [describe(item) for item in value]
    if isinstance(value, dict):
        return {str(key): describe(item) for key, item in sorted(value.items(), key=lambda pair: str(pair[0]))}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Callable):  # type: ignore[arg-type]
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return type(value).__qualname__
