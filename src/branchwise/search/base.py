"""What a search is: a rule over the tree that asks for steps and is told what came. Knows no model, no clock and no chance but its rng."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from branchwise.problem import Kind
from branchwise.records import record
from branchwise.trace import Mark
from branchwise.tree import Done, Fate, Node, Tree

__all__ = ["Chance", "Expand", "Frontier", "Judge", "Level", "Search", "Steerable", "Step", "kept", "pruned", "rank"]

DEEPEST = 10_000
"""The most thoughts on a path that a search by levels may be set to: its plan has an entry a level."""


class Chance(Protocol):
    """The part of `random.Random` that searches may use."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...

    def betavariate(self, alpha: float, beta: float) -> float:
        """A draw from Beta(alpha, beta)."""
        ...


@record(frozen=True, slots=True)
class Expand:
    """Ask for up to `k` children of `node` (`None`: as many as the generator gives by default); `judge` values them in the same step.

    `given`: the one child is a person's thought.
    """

    node: Node
    k: int | None = None
    judge: bool = False
    given: bool = False


@record(frozen=True, slots=True)
class Judge:
    """Ask for the values of `nodes`. Nodes of one `Judge` are compared with one another by a joint evaluator (vote)."""

    nodes: tuple[Node, ...]


Step = Expand | Judge


@dataclass(frozen=True, slots=True)
class Level:
    """A share of a search's worst case: `expand` states at `depth` are expanded, `judge` states at `depth` are judged.

    `groups` is the number of comparisons that those states are split into, for a joint evaluator.
    """

    depth: int
    expand: int = 0
    judge: int = 0
    groups: int = 1
    k: int | None = None
    """Children of each expansion, where they are not the k of the plan."""


class Frontier(Protocol):
    """The mutable side of a search on one tree: an index over it."""

    @property
    def ended(self) -> str:
        """Why nothing more is asked for: `exhausted`, `max_depth`, `budget:steps` or `budget:rollouts`.

        Read after `ask` gave `None` with nothing in flight.
        """
        ...

    def ask(self) -> Step | None:
        """The next step; `None` means nothing now (wait for a commit), or finished."""
        ...

    def tell(self, done: Done) -> Sequence[Mark]:
        """What was committed, failed and empty steps too. Returns its decisions on nodes. O(log n) or O(depth), never a scan."""
        ...


class Steerable(Frontier, Protocol):
    """A frontier that a person can steer. What it cannot do it refuses with a `UsageError`, before anything has changed.

    Optional: `single: bool`, that there is one place to go on from, where a person's thought takes the place of the step in flight;
    `sized(nodes)`, that the node budget is another.
    """

    def prune(self, node: Node, gone: Set[int], dropped: Sequence[Step]) -> Sequence[Mark]:
        """`node` and all below it, whose numbers are `gone`, are given up: nothing more is asked for any of them. `dropped` are the steps on
        them that were asked for; they will not be told. A `Judge` of others too has to be asked for again without those that are gone."""
        ...

    def favour(self, node: Node, joint: bool) -> Sequence[Mark]:
        """The next `Expand` that is asked for is that of `node`. `joint`: values come from comparisons."""
        ...

    def add(self, node: Node, joint: bool) -> Expand:
        """The step, as though it had been asked for, that will bring a person's thought below `node`."""
        ...


class Search(Protocol):
    """Frozen settings of a search."""

    @property
    def goes_back(self) -> bool:
        """Whether it returns to states it has left, which an irreversible problem cannot do."""
        ...

    @property
    def mixes_groups(self) -> bool:
        """Whether it compares values of states that were not judged together; a vote means nothing there."""
        ...

    @property
    def refines(self) -> bool:
        """Whether it expands complete answers."""
        ...

    @property
    def window(self) -> int:
        """Steps in flight at once by default; shapes the tree of searches that choose by value."""
        ...

    @property
    def max_depth(self) -> int | None:
        """The most thoughts on a path."""
        ...

    def start(self, tree: Tree, rng: Chance) -> Frontier:
        """A frontier over `tree`, which holds its root only."""
        ...

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """The steps with `k` children each: exact where every step gives `k` and nothing is pruned, merged, dead or solved.

        `worst` is what can never be exceeded, also when steps give fewer children than `k`.
        """
        ...


def rank(node: Node) -> tuple[bool, float, int]:
    """Sort key: best value first, unknown after every known value, ties by birth."""
    value = node.value
    return (value is None, -(value or 0.0), node.birth)


def kept(node: Node, reason: str = "") -> Mark:
    """The search goes on with this node."""
    return Mark(node.birth, Fate.KEPT, reason)


def pruned(node: Node, reason: str) -> Mark:
    """The search gives this node up, and why."""
    return Mark(node.birth, Fate.PRUNED, reason)


def expandable(node: Node) -> bool:
    """Whether a search that does not refine may expand it."""
    return node.status.kind is Kind.OPEN
