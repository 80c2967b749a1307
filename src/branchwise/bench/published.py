"""The published GPT-4 runs, scored by our checkers from the thoughts alone. Stored flags and scores of the logs are never read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from branchwise.bench.crosswords import Score, best_visited, mean, score
from branchwise.bench.traces import Traced, finals
from branchwise.errors import UsageError
from branchwise.tasks.crosswords.grid import EMPTY, Letters, letters
from branchwise.tasks.game24 import Verdict, check
from branchwise.tasks.game24.task import parse_hand
from branchwise.tasks.writing.rules import COUNT, ends_with, faults, paragraphs, sentences_of

__all__ = ["Beam24", "Crossed", "Written", "beam24", "crossed", "written"]


@dataclass(frozen=True, slots=True)
class Beam24:
    """A Game of 24 beam log: `first`, `best` (any final state right, an oracle) and `mean` as shares of the items."""

    items: int
    first: float
    best: float
    mean: float
    states: Mapping[str, int]
    """Final states by verdict."""


def beam24(runs: Iterable[Traced]) -> Beam24:
    """The final states of each item, each checked by the rules: every number once, exactly 24, in an answer line."""
    items, first, best, share, states = 0, 0, 0, 0.0, Counter[str]()
    for run in runs:
        hand = parse_hand(run.prompt)
        verdicts = [check(hand, "\n".join(node.state)).verdict for node in finals(run.tree)]
        right = [verdict is Verdict.CORRECT for verdict in verdicts]
        states.update(verdict.value for verdict in verdicts)
        items += 1
        first += bool(right[:1] == [True])
        best += any(right)
        share += sum(right) / len(right) if right else 0.0
    n = items or 1
    return Beam24(items, first / n, best / n, share / n, dict(states))


@dataclass(frozen=True, slots=True)
class Crossed:
    """A crosswords dfs log: the deepest state (the method's output), and the best visited one (an oracle)."""

    items: int
    output: Score
    best: Score


def crossed(runs: Iterable[Traced], solutions: Mapping[str, Letters]) -> Crossed:
    """Letters, words and games of each item. Raises `UsageError` for an item without a solution."""
    outputs, bests = [], []
    for run in runs:
        name = str(run.number if run.number is not None else run.about.get("item", run.path.stem))
        if name not in solutions:
            raise UsageError(f"no solution of puzzle {name}: give the published file of puzzles with --data")
        grid = letters(run.chosen.state) if run.chosen is not None else EMPTY
        outputs.append(score(grid, solutions[name]))
        bests.append(best_visited(run.tree, solutions[name]))
    return Crossed(len(outputs), mean(outputs), mean(bests))


@dataclass(frozen=True, slots=True)
class Written:
    """A Creative Writing log: shares of the answers that keep the constraint, that have four paragraphs, and of paragraphs that end right."""

    items: int
    met: float
    four: float
    paragraphs: float


def written(runs: Iterable[Traced]) -> Written:
    """The constraint of each answer, by program. What is coherent only a judge can say: see `judging`."""
    items, met, four, right = 0, 0, 0, 0
    for run in runs:
        items += 1
        ends, answer = sentences_of(run.prompt), run.answer or ""
        found = paragraphs(answer)
        met += not faults(ends, answer)
        four += len(found) == COUNT
        right += sum(map(ends_with, found, ends))
    n = items or 1
    return Written(items, met / n, four / n, right / (COUNT * n))
