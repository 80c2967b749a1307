"""Lists of hands: our own list of all solvable ones by difficulty, and published CSV files by rank. Knows no solution.

Difficulty: a hand is harder the less likely random play is to end in 24, where each different next state is equally likely at every step;
ties by the numbers. hands.txt is written by tools/make_hands.py. "Rank" is never used for it: that word means the published list's ranks.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib import resources
from pathlib import Path

from branchwise.errors import UsageError
from branchwise.tasks.base import Item

__all__ = ["by_difficulty", "items"]


@lru_cache(maxsize=1)
def by_difficulty() -> tuple[tuple[int, ...], ...]:
    """All 1,362 solvable hands, easiest first."""
    text = (resources.files("branchwise.tasks.game24") / "hands.txt").read_text("utf-8")
    return tuple(tuple(map(int, line.split())) for line in text.splitlines())


def items(data: Path | None = None) -> list[Item]:
    """The hands of a published CSV file (columns Rank and Puzzles) with their ranks, or our own list in order of difficulty.

    Hands are not checked here: a bad one fails by itself, and not the whole list. Raises `UsageError` for a file that is none.
    """
    if data is None:
        return [Item(id=text, input=text) for text in (" ".join(map(str, hand)) for hand in by_difficulty())]
    try:
        with data.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"cannot read {data}: {error}") from error
    found: list[Item] = []
    for line, row in enumerate(rows, 2):
        rank, hand = (row.get("Rank") or "").strip(), (row.get("Puzzles") or "").strip()
        if not (rank.isascii() and rank.isdigit() and len(rank) < 10) or not hand:
            raise UsageError(f"{data}, line {line}: a list of Game of 24 hands has the columns Rank and Puzzles, as in 901,4 5 6 10")
        found.append(Item(id=f"{rank}", input=hand, rank=int(rank)))
    if not found:
        raise UsageError(f"{data} holds no hands: it needs the columns Rank and Puzzles, as in 901,4 5 6 10")
    return found
