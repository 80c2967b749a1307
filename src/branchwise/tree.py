"""The tree of thoughts: a fold over trace events. Knows no model, no search and no clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from branchwise.errors import TraceError
from branchwise.problem import COMPLETE, OPEN, SOLVED, Kind, State, Status, dead
from branchwise.records import record
from branchwise.trace import Event, Expanded, Judged, Judgement, Marked, Started, Steered

__all__ = ["Counts", "Done", "Fate", "Node", "NodeId", "Tree"]

NodeId = tuple[int, ...]
"""Child indexes from the root: readable, and independent of the order in which replies came."""

_MASK = (1 << 64) - 1
_LABEL_DEPTH = 32
_SAME = 1e-9
_KINDS = {kind.value: kind for kind in Kind}
_STATUS = {Kind.OPEN: OPEN, Kind.SOLVED: SOLVED, Kind.COMPLETE: COMPLETE}


class Fate(StrEnum):
    """What the search decided about a node. A new node is undecided."""

    UNDECIDED = "undecided"
    KEPT = "kept"
    PRUNED = "pruned"


_FATES = {fate.value: fate for fate in Fate}


class Node:
    """One thought in its place. Searches read it; only the tree writes it.

    `birth` numbers nodes in the order of their commit (the root is 0). `count` counts the judgements with a value, `unknown` those without.
    `mean` and `minimum` are in [0, 1] and run over all `singles` single samples of them that could be read: those of a judgement whose value
    is their mean; a judgement that is more than that (a weighted or a program's verdict) is one sample, its value.
    `arrivals` is 1 plus the equal proposals merged into this node.
    `decided` numbers nodes in the order in which the search first decided about them (0: not yet). `issued` and `reserved` are the engine's:
    steps issued on this node, and child indexes given out. `size` is the bytes of all thoughts on its path.
    """

    __slots__ = (
        "arrivals", "birth", "children", "confidence", "count", "decided", "depth", "digest", "fate", "fate_reason", "index", "issued",
        "mean", "minimum", "parent", "reason", "reserved", "role", "samples", "singles", "size", "status", "thought", "unknown",
    )  # fmt: skip

    def __init__(self, birth: int, parent: Node | None, index: int, thought: str, status: Status, confidence: float | None = None) -> None:
        self.birth, self.parent, self.index, self.thought = birth, parent, index, thought
        self.status, self.confidence = status, confidence
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.size: int = 0 if parent is None else parent.size + len(thought.encode("utf-8", "replace")) + 1
        self.digest: int = _root_digest() if parent is None else child_digest(parent.digest, index)
        self.children: list[Node] | tuple[()] = ()
        self.count = 0
        self.unknown = 0
        self.singles = 0
        self.mean: float | None = None
        self.minimum: float | None = None
        self.samples: tuple[float | None, ...] = ()
        self.reason = ""
        self.fate = Fate.UNDECIDED
        self.fate_reason = ""
        self.decided = 0
        self.arrivals = 1
        self.issued = 0
        self.reserved = 0
        self.role = "generate"

    @property
    def value(self) -> float | None:
        """1 for a proven state, 0 for a dead one, else the mean of the judged samples; `None` while unknown."""
        kind = self.status.kind
        if kind is Kind.OPEN or kind is Kind.COMPLETE:
            return self.mean
        return 1.0 if kind is Kind.SOLVED else 0.0

    @property
    def id(self) -> NodeId:
        """Child indexes from the root. O(depth)."""
        return tuple(node.index for node in self.path)

    @property
    def label(self) -> str:
        """The id as text, "0.2.1"; "" for the root; a digest where it would get long."""
        if self.depth > _LABEL_DEPTH:
            return f"~{self.digest:016x}"
        return ".".join([str(node.index) for node in self.path])

    def under(self, label: str) -> str:
        """`label`, from that of the parent: one step in place of the whole path."""
        if self.depth > _LABEL_DEPTH:
            return f"~{self.digest:016x}"
        return f"{label}.{self.index}" if label else str(self.index)

    @property
    def path(self) -> list[Node]:
        """The nodes from the first thought down to this one, the root left out. O(depth)."""
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None and node.parent is not None:
            nodes.append(node)
            node = node.parent
        nodes.reverse()
        return nodes

    @property
    def state(self) -> State:
        """The thoughts from the root down. O(depth)."""
        return tuple([node.thought for node in self.path])

    def __repr__(self) -> str:
        return f"<Node {self.label or 'root'} {self.status.kind} value={self.value} {self.thought[:40]!r}>"


def _root_digest() -> int:
    return 0x9E3779B97F4A7C15


def child_digest(parent: int, index: int) -> int:
    """A 64-bit digest of the path, from that of the parent."""
    mixed = (parent ^ (index + 1)) * 0xBF58476D1CE4E5B9 & _MASK
    return (mixed ^ (mixed >> 29)) * 0x94D049BB133111EB & _MASK


def _singles(judgement: Judgement) -> tuple[float, int]:
    """The lowest single sample of a judgement with a value, and how many there are; the value itself where it is not their mean."""
    value, samples = judgement.value, judgement.samples
    assert value is not None
    if len(samples) < 2:
        return value, 1
    known = [sample for sample in samples if sample is not None]
    return (min(known), len(known)) if known and abs(sum(known) / len(known) - value) < _SAME else (value, 1)


@record(frozen=True, slots=True)
class Done:
    """What a commit did to the tree. `born` and `merged` are in the generator's order; `failed` says why a step gave nothing.

    `role` is that of the step; `person` for a thought that a person added.
    """

    node: Node | None
    born: Sequence[Node] = ()
    merged: Sequence[tuple[Node, float | None]] = ()
    judged: Sequence[Node] = ()
    final: bool = False
    failed: str = ""
    partial: str = ""
    role: str = "generate"

    @property
    def solved(self) -> Node | None:
        """The first proven state that this commit brought."""
        return next((node for node in self.born if node.status.kind is Kind.SOLVED), None)


@dataclass(frozen=True, slots=True)
class Counts:
    """Thoughts by what became of them. `generated` = kept + pruned + dead + merged + dropped; `wasted` judgements were paid and not needed."""

    generated: int = 0
    kept: int = 0
    pruned: int = 0
    merged: int = 0
    dropped: int = 0
    dead: int = 0
    wasted: int = 0


class Tree:
    """Nodes by birth number; `apply` folds one event in. `closed` are the numbers of those that a person pruned, with all below them."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.root = Node(0, None, 0, "", OPEN)
        self.nodes: list[Node] = [self.root]
        self.dropped: list[tuple[int, str, str]] = []
        self.merged = 0
        self.wasted = 0
        self.unparsed = 0
        self.failures = 0
        self.largest = 0
        self._decided = 0
        self.closed: set[int] = set()

    def __len__(self) -> int:
        """Committed thoughts, the root not counted."""
        return len(self.nodes) - 1

    def __iter__(self) -> Iterator[Node]:
        """Every thought in order of birth, the root left out."""
        return iter(self.nodes[1:])

    @classmethod
    def fold(cls, events: Iterator[Event]) -> Tree:
        """The tree that a trace describes. Raises `TraceError` for events that make no tree."""
        tree = cls()
        try:
            for event in events:
                tree.apply(event)
        except (LookupError, TypeError, ValueError) as error:
            raise TraceError(f"the events of this trace do not fit together ({error!r}): it was changed, or parts of it are lost") from error
        return tree

    def apply(self, event: Event) -> Done | None:
        """Fold one event in; what it changed, or `None` where it changes nothing."""
        if isinstance(event, Expanded):
            return self._expanded(event)
        if isinstance(event, Judged):
            self.failures += bool(event.error)
            return Done(None, judged=[self._judge(j) for j in event.judgements], failed=event.error, partial=event.partial)
        if isinstance(event, Marked):
            for mark in event.marks:
                node = self.nodes[mark.node]
                node.fate, node.fate_reason = _FATES[mark.fate], mark.reason
                if not node.decided:
                    self._decided += 1
                    node.decided = self._decided
        elif isinstance(event, Started):
            self._reset()
        elif isinstance(event, Steered) and event.act == "prune" and event.node is not None and event.node < len(self.nodes):
            self.closed.update(node.birth for node in self.below(self.nodes[event.node]))
        return None

    @staticmethod
    def below(node: Node) -> list[Node]:
        """`node` and all below it, in order of birth."""
        found, rest = [], [node]
        while rest:
            found.append(one := rest.pop())
            rest.extend(one.children)
        return sorted(found, key=lambda one: one.birth)

    def _expanded(self, event: Expanded) -> Done:
        parent = self.nodes[event.node]
        born: list[Node] = []
        merged: list[tuple[Node, float | None]] = []
        for birth in event.births:
            if birth.merged:
                survivor = self.nodes[birth.node]
                survivor.arrivals += 1
                merged.append((survivor, birth.confidence))
                continue
            kind = _KINDS[birth.status]
            status = dead(birth.reason) if kind is Kind.DEAD else _STATUS[kind]
            node = Node(birth.node, parent, birth.index, birth.thought, status, birth.confidence)
            node.role = event.role
            if node.size > self.largest:
                self.largest = node.size
            self.nodes.append(node)
            born.append(node)
        if born:
            if isinstance(parent.children, tuple):
                parent.children = []
            parent.children.extend(born)
        self.merged += len(merged)
        self.wasted += event.wasted
        self.failures += bool(event.error)
        self.dropped.extend((event.node, text, reason) for text, reason in event.dropped)
        judged = [self._judge(judgement) for judgement in event.judgements]
        return Done(parent, born, merged, judged, event.final, event.error, event.partial, event.role)

    def _judge(self, judgement: Judgement) -> Node:
        node = self.nodes[judgement.node]
        value = judgement.value
        if value is None:
            node.unknown += 1
        else:
            lowest, singles = _singles(judgement)
            node.count += 1
            node.singles += singles
            node.mean = value if node.mean is None else node.mean + (value - node.mean) * singles / node.singles
            node.minimum = lowest if node.minimum is None else min(node.minimum, lowest)
        if judgement.samples:
            samples = tuple(judgement.samples)
            self.unparsed += samples.count(None)
            node.samples = node.samples + samples if node.samples else samples
        if judgement.reason:
            node.reason = judgement.reason
        return node

    def counts(self) -> Counts:
        """How many thoughts were generated, and what became of them."""
        dead_nodes = sum(node.status.kind is Kind.DEAD for node in self)
        pruned = sum(node.fate is Fate.PRUNED and node.status.kind is not Kind.DEAD for node in self)
        kept = len(self) - dead_nodes - pruned
        dropped = len(self.dropped)
        return Counts(len(self) + self.merged + dropped, kept, pruned, self.merged, dropped, dead_nodes, self.wasted)
