"""What one trace tells, with the truth: the funnel, the step at which it failed, values against truth, ties. The bench only.

Facts are small and can be added up; a run folder keeps them beside its rows, so that a second report reads no trace again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from branchwise.bench.crosswords import Score, best_visited
from branchwise.bench.crosswords import score as crossword_score
from branchwise.bench.funnel import NEVER, Look, Truth, look
from branchwise.bench.oracles import game24 as oracle
from branchwise.bench.report.truths import CrosswordsTruth
from branchwise.bench.traces import Traced
from branchwise.problem import Kind, Rejected
from branchwise.tasks.crosswords.grid import EMPTY, letters
from branchwise.tasks.game24 import Verdict, check
from branchwise.tasks.game24.exact import number
from branchwise.tasks.game24.steps import read_step
from branchwise.tasks.game24.task import parse_hand
from branchwise.thought.parsing import list_items
from branchwise.tree import Node

__all__ = ["FORMAT", "Facts", "chain_failed_at", "facts", "failed_at"]

FORMAT = 2
"""Of the facts that a folder keeps: another number, and they are found anew."""
_STEP = re.compile(r"\d\)?\s*[-+*/×÷−]\s*\(?-?\d[^=]*=")


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """Of one run. Nothing in it is text of a model or of a data set."""

    look: Look | None = None
    foresees: bool = False
    """Whether the truth knows what a middle step is worth."""
    failed: Sequence[int] = ()
    """The step at which each chain, or all thoughts of a level together, failed; 0 for none, -1 where no step was shown."""
    chains: bool = False
    """Whether `failed` is of single chains, each a whole reply."""
    values: Mapping[tuple[int, float], tuple[int, int]] = field(default_factory=dict)
    """Step and value to the judged states of that step that it was given to: hopeless and hopeful ones."""
    tied: int = 0
    """Pairs of states judged at one depth that were given the same value."""
    pairs: int = 0
    parts: tuple[float, ...] = ()
    """Crosswords: letters, words and games of the output, then of the best state visited (chosen with the key)."""

    def to_json(self) -> dict[str, Any]:
        """The line that a folder keeps."""
        one = self.look
        seen = None if one is None else {
            "stages": sorted(one.stages), "levels": {str(d): sorted(names) for d, names in sorted(one.levels.items())},
            "generated_at": one.generated_at, "kept_at": one.kept_at, "lost": one.lost,
        }  # fmt: skip
        values = [[*at, *counts] for at, counts in sorted(self.values.items())]
        return {
            "look": seen, "foresees": self.foresees, "failed": list(self.failed), "chains": self.chains, "values": values,
            "tied": self.tied, "pairs": self.pairs, "parts": list(self.parts),
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Facts:
        """The inverse of `to_json`. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
        seen = data["look"]
        one = None if seen is None else Look(
            frozenset(seen["stages"]), {int(depth): frozenset(names) for depth, names in seen["levels"].items()},
            seen["generated_at"], seen["kept_at"], seen["lost"],
        )  # fmt: skip
        return cls(
            look=one, foresees=data["foresees"], failed=tuple(data["failed"]), chains=data["chains"],
            values={(step, value): (hopeless, hopeful) for step, value, hopeless, hopeful in data["values"]}, tied=data["tied"], pairs=data["pairs"],
            parts=tuple(data["parts"]),
        )  # fmt: skip


def facts(run: Traced, task: str, truth: Truth | None) -> Facts:
    """The facts of one run; without a truth only how often values are tied."""
    tied, pairs = _ties(run)
    if truth is None:
        return Facts(tied=tied, pairs=pairs)
    foresees = bool(getattr(truth, "foresees", True))
    found = look(run, truth)
    whole = [node for node in run.tree if _is_whole(node)]
    failed: tuple[int, ...] = ()
    if task == "game24" and whole and all(node.depth == 1 for node in run.tree):
        failed = tuple(chain_failed_at(run.prompt, node.thought) for node in whole)
    elif foresees and len(run.tree):
        failed = (failed_at(found),)
    return Facts(
        look=found, foresees=foresees, failed=failed, chains=bool(whole) and len(failed) == len(whole), tied=tied, pairs=pairs,
        values=_values(run, truth, foresees), parts=_parts(run, truth),
    )  # fmt: skip


def _is_whole(node: Node) -> bool:
    return node.depth == 1 and node.status.kind in (Kind.COMPLETE, Kind.SOLVED)


def failed_at(one: Look) -> int:
    """The first step after which no thought kept was hopeful (Yao et al. 2023, Fig. 3b); the step of the answer where only that is wrong."""
    if "chosen" in one.stages:
        return 0
    depth = 1
    while depth <= one.kept_at and depth < NEVER:
        if "kept" not in one.levels.get(depth, frozenset()):
            return depth
        depth += 1
    return depth


def chain_failed_at(prompt: str, text: str) -> int:
    """The step of a Game of 24 chain that does not follow, or after which 24 cannot be made; one more than the steps where only the answer
    is wrong; 0 for a right answer; -1 for a wrong one without steps.
    """
    hand = parse_hand(prompt)
    left, steps = tuple(map(number, sorted(hand))), 0
    right = check(hand, text).verdict is Verdict.CORRECT
    for line in list_items(text):
        if len(left) == 1 or not _STEP.search(line) or line.lower().lstrip("*# ").startswith("answer"):
            continue
        steps += 1
        try:
            left = read_step(left, line).left
        except Rejected:
            return 0 if right else steps
        if not oracle.reachable(part.value for part in left):
            return 0 if right else steps
    return 0 if right else steps + 1 if steps else -1


def _values(run: Traced, truth: Truth, foresees: bool) -> dict[tuple[int, float], tuple[int, int]]:
    """Judged states by step and value. Without foresight only whole answers count."""
    found: dict[tuple[int, float], list[int]] = {}
    for node in run.tree:
        if node.mean is None or node.status.kind is Kind.SOLVED or (not foresees and node.status.kind is not Kind.COMPLETE):
            continue
        found.setdefault((node.depth, round(node.mean, 6)), [0, 0])[truth.hopeful(run.prompt, node.state)] += 1
    return {at: (counts[0], counts[1]) for at, counts in sorted(found.items())}


def _ties(run: Traced) -> tuple[int, int]:
    """Pairs of judged states of one depth with equal values, and all such pairs."""
    levels: dict[int, Counter[float]] = {}
    for node in run.tree:
        if node.mean is not None:
            levels.setdefault(node.depth, Counter())[round(node.mean, 9)] += 1
    tied = sum(count * (count - 1) // 2 for level in levels.values() for count in level.values())
    return tied, sum(n * (n - 1) // 2 for level in levels.values() for n in [level.total()])


def _parts(run: Traced, truth: Truth) -> tuple[float, ...]:
    if not isinstance(truth, CrosswordsTruth):
        return ()
    chosen = crossword_score(letters(run.chosen.state) if run.chosen is not None else EMPTY, truth.solution)
    return tuple(share for one in (chosen, best_visited(run.tree, truth.solution)) for share in _shares(one))


def _shares(one: Score) -> tuple[float, float, float]:
    return one.letters, one.words, one.game
