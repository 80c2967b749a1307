"""UCT, PUCT, best-first, A*, MCTSr and AB-MCTS-A written from their pseudocode. Slow, obvious, no engine: at every choice everything is
worked out anew from the log of what was asked for and what came of it, by scans over the whole tree.

`follow` drives a frontier through a tree drawn by chance, with up to `window` steps in flight, beside such a reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from branchwise import AStar, BestFirst, Kind, Node, Tree
from branchwise.search.base import Expand, Judge
from branchwise.trace import Birth, Expanded, Judged, Judgement, Marked

VALUES = (0.0, 0.25, 0.5, 0.5, 0.75, 1.0, None)
STATUSES = ("open",) * 7 + ("complete", "dead")


@dataclass(eq=False)
class Entry:
    """An expansion: its node; when it is in (`done`), the children and the survivors that proposals were merged with."""

    node: Node
    done: bool = False
    born: list[Node] = field(default_factory=list)
    merged: list[Node] = field(default_factory=list)


@dataclass
class Log:
    """Everything that happened, in order. `samples` are all single values that a node got, `several` of them in a judgement, or one."""

    tree: Tree
    entries: list[Entry] = field(default_factory=list)
    samples: dict[int, list[float]] = field(default_factory=dict)
    several: bool = False

    def of(self, node: Node) -> list[Entry]:
        return [entry for entry in self.entries if entry.node is node]

    def below(self, node: Node) -> list[Entry]:
        return [entry for entry in self.entries if node is entry.node or node in above(entry.node)]


def above(node: Node) -> list[Node]:
    """The ancestors of `node`, the root too."""
    found = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found


class Reference(Protocol):
    def choose(self, log: Log) -> Node | None: ...


def agrees(reference: Reference, log: Log, node: Node) -> bool:
    """Whether `node` is the reference's choice; of UCTs that differ by rounding only, either is right."""
    chosen = reference.choose(log)
    if isinstance(reference, Mctsr) and chosen is not None and node in reference.candidates(log):
        return abs(reference.uct(log, node) - reference.uct(log, chosen)) < 1e-9
    return node is chosen


def first_of(nodes: list[Node], key: Callable[[Node], float]) -> Node | None:
    """The highest key; the earliest birth on ties."""
    best = None
    for node in sorted(nodes, key=lambda n: n.birth):
        if best is None or key(node) > key(best):
            best = node
    return best


def by_value(nodes: list[Node]) -> Node:
    """Best known value first, unknown last, then birth."""
    return min(nodes, key=lambda n: (n.value is None, -(n.value or 0.0), n.birth))


@dataclass
class Uct:
    """Kocsis and Szepesvari 2006: descend from the root by Q + c·sqrt(ln N(parent) / N), or PUCT; back up mean or max.

    Rollouts in flight count as 0; those of which no value is known are visits and no values; with nothing else, the parent's Q stands in.
    """

    c: float
    depth: int
    backup: str = "mean"
    puct: bool = False

    def choose(self, log: Log) -> Node | None:
        if self.finished(log, log.tree.root):
            return None
        node = log.tree.root
        while log.of(node):
            node = self.child(log, node)
        return node

    def finished(self, log: Log, node: Node) -> bool:
        if node.status.kind is not Kind.OPEN or node.depth >= self.depth:
            return True
        here = log.of(node)
        return bool(here) and (not here[0].done or all(self.finished(log, child) for child in node.children))

    def child(self, log: Log, parent: Node) -> Node:
        rest = [child for child in parent.children if not self.finished(log, child)]
        n = len(log.below(parent))
        if self.puct:
            given = any(child.confidence is not None for child in rest)
            told = {child.birth: child.confidence if given else child.value for child in rest}
            known = [one for one in told.values() if one is not None]
            weight = {birth: sum(known) / len(known) if one is None and known else one or 0.0 for birth, one in told.items()}
            total = sum(weight.values())
            prior = {child.birth: weight[child.birth] / total if total else 1 / len(rest) for child in rest}

            def score(child: Node) -> float:
                visits = len(log.below(child))
                q = self.q(log, child) if visits else self.q(log, parent) if child.value is None else child.value
                return q + self.c * math.sqrt(n) * prior[child.birth] / (1 + visits)

            return first_of(rest, score)  # type: ignore[return-value]
        fresh = [child for child in rest if not log.below(child)]
        if fresh:
            return by_value(fresh)
        return first_of(rest, lambda c: self.q(log, c) + self.c * math.sqrt(math.log(n) / len(log.below(c))))  # type: ignore[return-value]

    def q(self, log: Log, node: Node) -> float:
        gains = [self.gain(entry) if entry.done else 0.0 for entry in log.below(node)]
        known = [gain for gain in gains if gain is not None]
        if not known:
            return 0.0 if node.parent is None else self.q(log, node.parent)
        return max(known) if self.backup == "max" else sum(known) / len(known)

    def gain(self, entry: Entry) -> float | None:
        values = [node.value for node in (*entry.born, *entry.merged) if node.value is not None]
        if not values:
            return entry.node.value
        return sum(values) / len(values) if self.backup == "mean" else max(values)


@dataclass
class Heap:
    """Best-first and A*: of all open nodes the one with the lowest priority."""

    search: BestFirst | AStar

    def choose(self, log: Log) -> Node | None:
        ready = [node for node in log.tree.nodes if self.open(log, node)]
        return min(ready, key=lambda n: (self.priority(log, n), n.birth), default=None)

    def open(self, log: Log, node: Node) -> bool:
        if log.of(node):
            return False
        if node.parent is None:
            return True
        low = node.value is not None and node.value < self.search.prune_below
        return node.status.kind is Kind.OPEN and node.depth < self.search.depth and not low

    def priority(self, log: Log, node: Node) -> float:
        value = node.value
        if isinstance(self.search, BestFirst) or node.parent is None:
            return 2.0 if value is None else -value
        if value is None:
            return math.inf
        value = max(value, 1e-9)
        if self.search.cost_model == "unit":
            return self.before(log, node) + 1 + (1 - value) * (self.search.depth - node.depth)
        return self.before(log, node) - 2 * math.log(value)

    def before(self, log: Log, node: Node) -> float:
        """g of its parent, on the cheapest of the ways by which it was proposed, as it was when the proposal came."""
        costs, before = {0: 0.0}, {0: 0.0}
        assert isinstance(self.search, AStar)
        for entry in (e for e in log.entries if e.done):
            for child in (*entry.born, *entry.merged):
                step = 1.0 if self.search.cost_model == "unit" else -math.log(max(self.nearest(child), 1e-9))
                if child.status.kind is not Kind.DEAD and costs[entry.node.birth] + step < costs.get(child.birth, math.inf):
                    before[child.birth] = costs[entry.node.birth]
                    costs[child.birth] = before[child.birth] + step
        return before[node.birth]

    def nearest(self, node: Node) -> float:
        """An unknown value costs what the nearest known one above does, nothing where there is none."""
        return next((one.value for one in (node, *above(node)) if one.parent is not None and one.value is not None), 1.0)


@dataclass
class Mctsr:
    """Zhang et al. 2024: over all answers that may be refined, the highest Q' + c·sqrt((ln N(father) + 1) / (N + eps)).

    An answer without a grade has no Q. Its Q' is the best known one of its children; with none, UCT takes the Q' of the nearest answer above
    that has one, else 0.5. It is never better than another answer, and with no Q of its own it is not fully expanded.
    """

    c: float
    limit: int
    depth: int
    epsilon: float = 1e-5

    def q(self, log: Log, node: Node) -> float | None:
        if node.status.kind is Kind.DEAD:
            return 0.0
        rewards = log.samples.get(node.birth, [])
        return 0.5 * (min(rewards) + sum(rewards) / len(rewards)) if rewards else None

    def better(self, log: Log, child: Node, node: Node) -> bool:
        """By more than rounding."""
        here, there = self.q(log, node), self.q(log, child)
        return here is not None and there is not None and there - here > 1e-9

    def refined(self, log: Log, node: Node) -> float | None:
        own = self.q(log, node)
        below = [value for child in node.children if (value := self.refined(log, child)) is not None]
        parts = ([] if own is None else [own]) + ([max(below)] if below else [])
        return sum(parts) / len(parts) if parts else None

    def standing(self, log: Log, node: Node) -> float:
        """Q', or what stands in for it."""
        for one in (node, *above(node)[:-1]):
            if (value := self.refined(log, one)) is not None:
                return value
        return 0.5

    def visits(self, log: Log, node: Node) -> int:
        return 1 + len(log.of(node))

    def uct(self, log: Log, node: Node) -> float:
        assert node.parent is not None
        total = sum(self.visits(log, other) for other in log.tree)
        father = max(1, total) if node.depth == 1 else self.visits(log, node.parent)
        return self.standing(log, node) + self.c * math.sqrt((math.log(father) + 1) / (self.visits(log, node) + self.epsilon))

    def candidates(self, log: Log) -> list[Node]:
        found = []
        for node in log.tree:
            full = len(log.of(node)) >= self.limit and any(self.better(log, child, node) for child in node.children)
            if not full and node.depth < self.depth and node.status.kind in (Kind.OPEN, Kind.COMPLETE):
                found.append(node)
        return found

    def choose(self, log: Log) -> Node | None:
        return first_of(self.candidates(log), lambda node: self.uct(log, node))


@dataclass
class Ab:
    """Inoue et al. 2025, AB-MCTS-A: from the root, one draw for "wider" and one for "deeper"; then one a child."""

    rng: Random
    depth: int
    prior: float = 0.5

    def choose(self, log: Log) -> Node | None:
        root = log.tree.root
        if not self.wide(log, root) and not self.ways(log, root):
            return None
        node = root
        while not self.goes_wider(log, node):
            node = self.best(log, self.ways(log, node))
        return node

    def best(self, log: Log, ways: list[Node]) -> Node:
        """The highest draw. All but the first are drawn only above the highest so far, by rejection from c·(1-x)^(b-1) / B(a, b)."""
        best, top = ways[0], self.draw(self.itself(log, ways[0]))
        for way in ways[1:]:
            values = self.itself(log, way)
            a, b = self.prior + sum(values), self.prior + sum(1 - value for value in values)
            norm = math.gamma(a) * math.gamma(b) / math.gamma(a + b)
            c = max(1.0, top ** (a - 1))
            mass = c * (1 - top) ** b / (b * norm)
            if mass >= 1:
                x = self.rng.betavariate(a, b)
            else:
                x = 0.0
                if self.rng.random() < mass:
                    x = 1 - (1 - top) * self.rng.random() ** (1 / b)
                    x = x if self.rng.random() < x ** (a - 1) / c else 0.0
            if x > top:
                best, top = way, x
        return best

    def goes_wider(self, log: Log, node: Node) -> bool:
        if not self.ways(log, node) or not self.wide(log, node):
            return self.wide(log, node)
        return self.draw(self.wider(log, node)) >= self.draw(self.deeper(log, node))

    def wide(self, log: Log, node: Node) -> bool:
        if node.depth >= self.depth or node.status.kind in (Kind.DEAD, Kind.SOLVED):
            return False
        empty = 0
        for entry in (e for e in log.of(node) if e.done):
            empty = 0 if entry.born else empty + 1
            if empty >= 3:
                return False
        return True

    def ways(self, log: Log, node: Node) -> list[Node]:
        return [child for child in node.children if self.wide(log, child) or self.ways(log, child)]

    def draw(self, values: list[float]) -> float:
        return self.rng.betavariate(self.prior + sum(values), self.prior + sum(1 - value for value in values))

    def values(self, entry: Entry) -> list[float]:
        """What a step brought; a step in flight counts as a value of 0."""
        if not entry.done:
            return [0.0]
        return [node.value for node in (*entry.born, *entry.merged) if node.value is not None]

    def wider(self, log: Log, node: Node) -> list[float]:
        return [value for entry in log.of(node) for value in self.values(entry)]

    def deeper(self, log: Log, node: Node) -> list[float]:
        return [value for entry in log.below(node) if entry.node is not node for value in self.values(entry)]

    def itself(self, log: Log, node: Node) -> list[float]:
        own = [] if node.value is None else [node.value]
        return own + [value for entry in log.below(node) for value in self.values(entry)]


def follow(
    search: Any, reference: Reference, rng: Random, *, window: int, k: int, steps: int, frontier_rng: Random | None = None,
    roots: int = 0, faults: bool = True,
) -> Log:  # fmt: skip
    """Drive `search` to its end or for `steps` commits. Each choice must be the reference's. With `roots`, it is judged again first."""
    tree = Tree()
    log = Log(tree, several=bool(roots))
    frontier = search.start(tree, frontier_rng or Random(0))
    queue: list[Any] = []
    for _ in range(steps):
        while len(queue) < window and (step := frontier.ask()) is not None:
            if isinstance(step, Judge):
                (node,) = step.nodes
                if roots:
                    assert agrees(reference, log, node), (node, reference.choose(log))
                    log.entries.append(Entry(node))
            elif not (roots and step.node.parent is not None):
                assert roots or agrees(reference, log, step.node), step.node
                log.entries.append(Entry(step.node))
            queue.append(step)
        if not queue:
            break
        step = queue.pop(0)
        if isinstance(step, Judge):
            _answer_judge(log, frontier, rng, step)
        else:
            _answer_expand(log, frontier, rng, step, (roots or step.k or k) if step.node.parent is None else step.k or k, faults)
    else:
        return log
    if roots or not isinstance(reference, Ab):  # asking the sampler once more would draw
        assert frontier.ended == "budget:rollouts" or (roots and "rollouts" in frontier.note) or reference.choose(log) is None
    return log


def _answer_judge(log: Log, frontier: Any, rng: Random, step: Judge) -> None:
    (node,) = step.nodes
    frontier.tell(log.tree.apply(Judged(1, [_judged(log, rng, node.birth)])))


def _judged(log: Log, rng: Random, birth: int) -> Judgement:
    """A judgement of one to three single samples, some of which could not be read; entered in the log by the sample."""
    samples = tuple(rng.choice(VALUES) for _ in range(rng.choice((1, 1, 2, 3)) if log.several else 1))
    known = [sample for sample in samples if sample is not None]
    if known:
        log.samples.setdefault(birth, []).extend(known)
    return Judgement(birth, sum(known) / len(known) if known else None, samples)


def _answer_expand(log: Log, frontier: Any, rng: Random, step: Expand, k: int, faults: bool) -> None:
    births, judgements, number = [], [], len(log.tree.nodes)
    count = rng.choice((0, k, k, k - 1)) if faults and log.tree.nodes[1:] else k
    for index in range(count):
        if faults and len(log.tree.nodes) > 3 and rng.random() < 0.1:
            births.append(Birth(rng.randrange(1, len(log.tree.nodes)), index, "m", merged=True))
            continue
        status = rng.choice(STATUSES) if faults else "open"
        births.append(Birth(number, index, f"t{number}", status, confidence=rng.choice((None, 0.25, 1.0)) if faults else None))
        if status != "dead":
            judgements.append(_judged(log, rng, number))
        number += 1
    done = log.tree.apply(Expanded(1, step.node.birth, births, judgements=judgements))
    entry = next(e for e in log.entries if e.node is step.node and not e.done)
    assert done is not None
    entry.done, entry.born, entry.merged = True, list(done.born), [survivor for survivor, _ in done.merged]
    marks = frontier.tell(done)
    log.tree.apply(Marked(tuple(marks)))
