"""Checkers of crosswords and of creative writing: shares of a grid that are right, and a constraint that a passage keeps. Calls no model."""

from __future__ import annotations

import re
from dataclasses import asdict

from branchwise.bench.crosswords import score
from branchwise.bench.grading.verdicts import Gold, Graded, Verdict
from branchwise.errors import UsageError
from branchwise.tasks.crosswords.grid import EMPTY, SIZE, Letters, letters, read_rows, show
from branchwise.tasks.writing import Writing
from branchwise.tasks.writing.rules import faults, sentences_of
from branchwise.thought.parsing import list_items, strip_reasoning

__all__ = ["Grids", "Passages", "grid_in"]

_FIVE = r"((?:[A-Z_]{5}[\s,;|/]+){4}[A-Z_]{5})\.?"
_LINE = re.compile(f"{_FIVE}|(?i:(?:answer|rows|grid):\\s*{_FIVE})")
"""Five groups of letters in one line, in capitals or behind a label."""


def grid_in(text: str) -> Letters | None:
    """The grid in a reply: its last five rows, five groups of five letters in one line, or words in places (h1. TUNED), later ones on
    top. Letters in capitals, `_` for a blank; `None` where there is no letter."""
    found = read_rows(text)
    if found is None:
        told = [match for line in strip_reasoning(text).splitlines() if (match := _LINE.fullmatch(line.strip())) is not None]
        found = tuple(re.sub(r"[^A-Z_]", "", (told[-1][1] or told[-1][2]).upper())) if told else None
    if found is None:
        found = letters(list_items(strip_reasoning(text)))
    return None if found == EMPTY else found


class Grids:
    """A mini crossword against its solution: correct is a whole game; `scores` are the shares of letters, of words, and the game."""

    def invalid(self, gold: Gold) -> str:
        """A gold is 25 letters, spaced as they may be."""
        return "" if _solution(gold.text) is not None else "a solution has 25 letters"

    def grade(self, output: str, gold: Gold, prompt: str) -> Graded:
        """By letters; a blank is wrong."""
        solution = _solution(gold.text)
        assert solution is not None
        said = grid_in(output)
        scores = asdict(score(said or EMPTY, solution))
        if said is None:
            return Graded(Verdict.NO_ANSWER, None, "no grid and no words in places", scores)
        verdict = Verdict.CORRECT if scores["game"] == 1 else Verdict.WRONG
        return Graded(verdict, " ".join(show(said).split("\n")), "", scores)


def _solution(text: str) -> Letters | None:
    found = re.sub(r"[\s,;|/\"'\[\]]", "", text).upper()
    return tuple(found) if len(found) == SIZE * SIZE and found.isascii() and found.isalpha() else None


class Passages:
    """A passage against the four sentences of its input, which are its gold: correct means that it has four paragraphs and each ends as it
    must. How coherent it is, only a judge can say: see `judging`."""

    def invalid(self, gold: Gold) -> str:
        """A gold is an input: four sentences."""
        try:
            sentences_of(gold.text)
        except UsageError as error:
            return str(error).splitlines()[0]
        return ""

    def grade(self, output: str, gold: Gold, prompt: str) -> Graded:
        """By program; the passage is the extracted answer."""
        ends = sentences_of(gold.text)
        passage = passage_in(output)
        if not passage:
            return Graded(Verdict.NO_ANSWER, None, "no passage", {"constraint": 0.0})
        found = faults(ends, passage)
        verdict = Verdict.WRONG if found else Verdict.CORRECT
        return Graded(verdict, passage, "; ".join(found), {"constraint": float(not found)})


def passage_in(output: str) -> str:
    """The passage in a whole reply, as the task reads it; empty where there is none."""
    content = strip_reasoning(output)
    content = re.sub(r"\A\s*Answer:\s*", "", content)
    return "" if not content.strip() else Writing(()).whole((), content).partition("\n")[2].strip()
