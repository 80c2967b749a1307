"""Inputs of mini crosswords: ten clues in a text, our own list, and the published file. Knows no solution and returns none."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from branchwise.errors import UsageError
from branchwise.tasks.base import Item
from branchwise.tasks.crosswords.grid import PLACES

__all__ = ["Clues", "clue_text", "items", "parse_clues"]

Clues = tuple[str, ...]
"""Ten clues: five across from the top, five down from the left."""

_EXAMPLE = """\
h1. Impressive in size
h2. Start a subscription again
h3. Not dead
h4. Humped animal
h5. Make an effort (oneself)
v1. Elegance of movement
v2. Take it easy
v3. Japanese cartoon style
v4. At no time
v5. Lived (in a place)"""
_LABEL = re.compile(r"([hv])\s?([1-5])\s?[.:)]\s*(.*)", re.IGNORECASE)
_LONGEST = 300


def clue_text(clues: Clues) -> str:
    """The clues as the model reads them, a line each: `h1. ...` to `v5. ...`."""
    return "\n".join(f"{place}. {clue}" for place, clue in zip(PLACES, clues, strict=True))


def parse_clues(text: str) -> Clues:
    """Ten clues, a line each; labels h1 to v5 may stand in front, then any order will do. Raises `UsageError` that shows the form."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    labels = [_LABEL.fullmatch(line) for line in lines]
    if len(lines) != len(PLACES):
        raise _bad(f"{len(lines)} lines, not {len(PLACES)}")
    found = lines
    if any(labels):
        named = {f"{m[1].lower()}{m[2]}": m[3].strip() for m in labels if m is not None}
        if missing := [place for place in PLACES if place not in named]:
            raise _bad(f"no clue for {', '.join(missing)}")
        found = [named[place] for place in PLACES]
    for place, clue in zip(PLACES, found, strict=True):
        if not clue or len(clue) > _LONGEST:
            raise _bad(f"the clue of {place} is {'empty' if not clue else f'longer than {_LONGEST} characters'}")
    return tuple(found)


def _bad(why: str) -> UsageError:
    return UsageError(
        f"not a mini crossword: {why}; give ten clues, a line each, five across (h) from the top, five down (v) from the left, "
        f"for example:\n{_EXAMPLE}"
    )


@lru_cache(maxsize=1)
def _own() -> tuple[Clues, ...]:
    text = (resources.files("branchwise.tasks.crosswords") / "puzzles.txt").read_text("utf-8")
    return tuple(parse_clues(block) for block in text.strip().split("\n\n"))


def items(data: Path | None = None) -> list[Item]:
    """Our own dozen, or the puzzles of the published file (a list of [clues, letters]), of which the letters are left out.

    Raises `UsageError` for a file that is none.
    """
    if data is None:
        return [Item(id=str(number), input=clue_text(clues)) for number, clues in enumerate(_own(), 1)]
    try:
        rows: Any = json.loads(data.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {data}: {getattr(error, 'strerror', None) or error}") from error
    if not isinstance(rows, list) or not rows:
        raise UsageError(f"{data} holds no crosswords: it needs a JSON list of puzzles, each a list of ten clues and a list of letters")
    found = []
    for number, row in enumerate(rows, 1):
        clues = row[0] if isinstance(row, list) and row else None
        if not isinstance(clues, list) or len(clues) != len(PLACES) or not all(isinstance(clue, str) and clue.strip() for clue in clues):
            raise UsageError(f"{data}, puzzle {number}: it needs a list of ten clues and a list of letters")
        found.append(Item(id=str(number), input=clue_text(tuple(" ".join(clue.split()) for clue in clues))))
    return found
