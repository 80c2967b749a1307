"""Verdicts, golds, and what a checker is. `no_answer`, `wrong`, `invalid_gold` and `failed` are four different things. Knows no task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

__all__ = ["Checker", "Gold", "Graded", "Unknown", "Verdict"]


class Verdict(StrEnum):
    """What is said of one output."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"
    """The output gives no answer that can be read."""
    INVALID_GOLD = "invalid_gold"
    """The answer key cannot be read, so nothing is said; left out of all shares."""
    FAILED = "failed"
    """It could not be graded: a broken line, or an answer beyond the limits of the checker."""


class Unknown(Exception):
    """No verdict, and why: a limit of time or size. The message is what users see."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The answer key of one item."""

    text: str
    listing: bool = False
    """It holds several answers."""
    tolerance: Fraction = Fraction(0)
    """How far off a number may be, where the data set states it."""
    unit: str = ""
    note: str = ""
    """Where it comes from, if not from the field that should hold it."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A verdict on one output, the answer that was read from it, and why."""

    verdict: Verdict
    extracted: str | None = None
    reason: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    """What else was measured, by name, where a verdict is too little: shares in [0, 1]."""


class Checker(Protocol):
    """Compares outputs with an answer key."""

    def invalid(self, gold: Gold) -> str:
        """Why `gold` cannot be read; empty where it can."""
        ...

    def grade(self, output: str, gold: Gold, prompt: str) -> Graded:
        """The verdict on one output; `prompt` is the item's input. Raises `Unknown` at a limit."""
        ...
