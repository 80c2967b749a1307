"""Checkers for numbers, for yes and no, and for Game of 24. Exact; no model text is evaluated."""

from __future__ import annotations

from fractions import Fraction

from branchwise.bench.grading.verdicts import Gold, Graded, Verdict
from branchwise.errors import UsageError
from branchwise.tasks.game24.exact import check
from branchwise.tasks.game24.task import parse_hand
from branchwise.tasks.numeric.task import number_in
from branchwise.tasks.strategyqa.task import yes_or_no
from branchwise.thought.parsing import final_answer, plain_number

__all__ = ["Hands", "Numbers", "YesNo", "close"]

_RELATIVE = Fraction(1, 10**6)
_ABSOLUTE = Fraction(1, 100)


def close(one: Fraction, other: Fraction) -> bool:
    """Whether two numbers are one, of which either was rounded: equal, or within a millionth of it and within 0.01, if one is not whole."""
    if one == other:
        return True
    if one.denominator == other.denominator == 1:
        return False
    return abs(one - other) <= min(_RELATIVE * max(abs(one), abs(other)) * Fraction(1_000_001, 1_000_000), _ABSOLUTE)


class Numbers:
    """A number against a number: exact, or rounded decimals; a percentage against a share only where the output says percent."""

    def invalid(self, gold: Gold) -> str:
        """A gold is one number, dressed as it may be."""
        return "" if plain_number(gold.text) is not None else "no number"

    def grade(self, output: str, gold: Gold, prompt: str) -> Graded:
        """By value."""
        said = number_in(output)
        if said is None:
            told = final_answer(output)
            return Graded(Verdict.NO_ANSWER, None, "no number") if told is None else Graded(Verdict.WRONG, told[:80], "not a number")
        key = plain_number(gold.text)
        assert key is not None
        value = Fraction(said)
        marked = final_answer(output) or ""
        right = close(value, key) or abs(value - key) <= gold.tolerance or ("%" in marked and close(value / 100, key))
        return Graded(Verdict.CORRECT if right else Verdict.WRONG, said)


class YesNo:
    """Yes or no, by whole words; the final statement counts."""

    def invalid(self, gold: Gold) -> str:
        """A gold is yes, no, true or false."""
        return "" if yes_or_no(gold.text) is not None else "neither yes nor no"

    def grade(self, output: str, gold: Gold, prompt: str) -> Graded:
        """As stated."""
        said = yes_or_no(output)
        if said is None:
            return Graded(Verdict.NO_ANSWER, None, "neither yes nor no, or both")
        return Graded(Verdict.CORRECT if said == yes_or_no(gold.text) else Verdict.WRONG, said)


class Hands:
    """Game of 24: no answer key is needed, only the hand, which is the item's input (or the gold of a line)."""

    def invalid(self, gold: Gold) -> str:
        """A gold, where there is one, is the hand."""
        try:
            parse_hand(gold.text)
        except UsageError as error:
            return str(error)
        return ""

    def grade(self, output: str, gold: Gold, prompt: str) -> Graded:
        """By the exact rule check."""
        found = check(parse_hand(gold.text), output)
        return Graded(Verdict(found.verdict.value), found.answer, found.reason)
