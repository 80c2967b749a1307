"""The 5 × 5 grid: places, words in them, and reading them from model text. Knows no clue, no model and no solution."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from branchwise.problem import Rejected
from branchwise.thought.parsing import inline, strip_reasoning

__all__ = ["BLANK", "CELLS", "EMPTY", "PLACES", "SIZE", "Letters", "fill", "letters", "pattern", "read_entry", "read_rows", "show", "words"]

SIZE = 5
BLANK = "_"
Letters = tuple[str, ...]
"""25 capital letters or blanks, row by row."""

EMPTY: Letters = (BLANK,) * SIZE * SIZE
CELLS: Mapping[str, tuple[int, ...]] = {
    **{f"h{row + 1}": tuple(range(row * SIZE, (row + 1) * SIZE)) for row in range(SIZE)},
    **{f"v{column + 1}": tuple(range(column, SIZE * SIZE, SIZE)) for column in range(SIZE)},
}
"""The cells of each place: h1 to h5 are the rows from the top, v1 to v5 the columns from the left."""
PLACES = tuple(CELLS)

_ENTRY = re.compile(r"([hv])\s*([1-5])\s*[.:)\-–—]*\s*(.*)", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")
_ROW = re.compile(r"(?:(?:h|row)\s*([1-5])\s*[.:)]|\d\s*[.)])?[\s|]*((?:[A-Za-z_][\s|,]*){5})[.|\s]*", re.IGNORECASE)
_LINES = 200
"""Lines of a whole answer that are looked at, from its end."""


def read_entry(text: str) -> tuple[str, str]:
    """Place and word, in capitals, of a line such as `h1. TUNED`. Raises `Rejected` with the reason."""
    match = _ENTRY.match(inline(text.strip()))
    if match is None:
        raise Rejected("not a word in a place, such as h1. TUNED")
    word = _word(match[3].strip())
    if len(word) != SIZE:
        raise Rejected(f"{word.upper() or 'nothing'} has not {SIZE} letters")
    return f"{match[1].lower()}{match[2]}", word.upper()


def _word(text: str) -> str:
    """The word in what follows a place: spelt out, behind a clue that was repeated, in capitals, or else the first."""
    if spelt := re.fullmatch(r"((?:[A-Za-z][\s-]+){4}[A-Za-z])\W*", text):
        return re.sub(r"[^A-Za-z]", "", spelt[1])
    parts: list[list[str]] = [_WORD.findall(part) for part in text.split(":")]
    if len(parts) > 1 and len(parts[-1]) == 1 and len(parts[-1][0]) == SIZE:
        return parts[-1][0]
    found = [word for part in parts for word in part]
    capitals = [word for word in found if word.isupper() and len(word) == SIZE]
    return (capitals or found or [""])[0]


def read_rows(text: str) -> Letters | None:
    """The grid of a whole answer: its last five lines of five letters (or blanks) each, in the order of their labels where all have one.

    `None` where there are fewer, or where the labels are not those of five rows.
    """
    lines = [match for line in strip_reasoning(text).splitlines()[-_LINES:] if (match := _ROW.fullmatch(inline(line.strip())))][-SIZE:]
    if len(lines) < SIZE:
        return None
    labels = [match[1] for match in lines]
    if all(labels):
        lines.sort(key=lambda match: match[1])
        if len({*labels}) < SIZE:
            return None
    return tuple(letter.upper() for match in lines for letter in re.sub(r"[\s|,]", "", match[2]))


def fill(grid: Letters, place: str, word: str) -> Letters:
    """The grid with `word` in `place`, whatever stood there."""
    new = list(grid)
    for cell, letter in zip(CELLS[place], word, strict=True):
        new[cell] = letter
    return tuple(new)


def letters(thoughts: Iterable[str]) -> Letters:
    """The grid after `thoughts` (`h1. TUNED`, in any case, or a whole grid), later ones on top. What is neither changes nothing."""
    grid = EMPTY
    for thought in thoughts:
        if (rows := read_rows(thought)) is not None:
            grid = rows
            continue
        try:
            grid = fill(grid, *read_entry(thought))
        except Rejected:
            continue
    return grid


def pattern(grid: Letters, place: str) -> str:
    """The letters in a place, `T_N__`."""
    return "".join(grid[cell] for cell in CELLS[place])


def words(grid: Letters) -> dict[str, str]:
    """The pattern of every place."""
    return {place: pattern(grid, place) for place in PLACES}


def show(grid: Letters) -> str:
    """Five lines of five letters."""
    return "\n".join(pattern(grid, place) for place in PLACES[:SIZE])
