"""Scores of mini crosswords against their solutions: letters, words, games. Reads the answer keys: the bench only.

Yao et al. 2023, section 4.3: the share of 25 letters, of 10 words, and of whole games that are right.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from branchwise.errors import UsageError
from branchwise.tasks.crosswords.grid import EMPTY, PLACES, Letters, letters, pattern
from branchwise.tree import Node, Tree

__all__ = ["Score", "best_visited", "mean", "own_solutions", "published_solutions", "score"]


@dataclass(frozen=True, slots=True)
class Score:
    """Shares in [0, 1]; `game` is 1 when every letter is right."""

    letters: float
    words: float
    game: float


def score(grid: Letters, solution: Letters) -> Score:
    """How much of `grid` is right. A blank is wrong."""
    right = sum(a == b for a, b in zip(grid, solution, strict=True))
    words = sum(pattern(grid, place) == pattern(solution, place) for place in PLACES)
    return Score(right / len(solution), words / len(PLACES), float(right == len(solution)))


def mean(scores: Iterable[Score]) -> Score:
    """The mean of each column; zeros where there is nothing."""
    found = list(scores)
    n = len(found) or 1
    return Score(sum(s.letters for s in found) / n, sum(s.words for s in found) / n, sum(s.game for s in found) / n)


def best_visited(tree: Tree, solution: Letters) -> Score:
    """The best state that was visited, by words; the first visited on ties. Chosen with the key: an oracle column ("+best state")."""
    visited = sorted((node for node in tree if node.decided), key=lambda node: node.decided)
    return max((_of(node, solution) for node in visited), key=lambda found: found.words, default=score(EMPTY, solution))


def _of(node: Node, solution: Letters) -> Score:
    return score(letters(node.state), solution)


def _solution(rows: Sequence[str], where: str) -> Letters:
    text = "".join(rows).upper()
    if len(text) != len(EMPTY) or not (text.isascii() and text.isalpha()):
        raise UsageError(f"{where}: a solution has 25 letters")
    return tuple(text)


def own_solutions() -> dict[str, Letters]:
    """The solutions of our own puzzles by item id."""
    lines = (resources.files("branchwise.bench.keys") / "crosswords.txt").read_text("utf-8").split("\n")
    rows = [line for line in lines if line and not line.startswith("#")]
    return {str(number): _solution(row.split(), f"puzzle {number}") for number, row in enumerate(rows, 1)}


def published_solutions(path: Path) -> dict[str, Letters]:
    """The solutions in the published file (a list of [clues, letters]) by place from 1. Raises `UsageError`."""
    try:
        rows = json.loads(path.read_text("utf-8-sig"))
        return {str(number): _solution(row[1], f"{path}, puzzle {number}") for number, row in enumerate(rows, 1)}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError, LookupError) as error:
        raise UsageError(f"{path} is not a file of crosswords: it needs a JSON list of [ten clues, 25 letters]") from error
