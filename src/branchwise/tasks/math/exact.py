r"""Exact values of numeric formulas: our own reader for rational arithmetic with fractions, powers and factorials, under size limits.

Never guesses and never evaluates text: what it cannot read to its end is no number. What is too large is refused before it is computed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Exact", "TooLarge", "exact", "guard"]

MAX_CHARS = 1_000
MAX_DIGITS = 400
MAX_DEPTH = 30
MAX_BITS = 20_000
MAX_EXPONENT = 10_000
MAX_FACTORIAL = 500

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?: \d{3})*(?!\d)(?:\.\d+)?|\d*\.\d+)|(?P<command>\\[a-z]+)|(?P<sign>[-+*/^(){}!]))"
)
_POWER = re.compile(r"\^\s*(?:(\{)|(-?\d+)|(\()|(.))")


class TooLarge(Exception):
    """The number would be too large to compute with, or the formula too long or too deep. The message says which."""


class _NotANumber(Exception):
    """This is no numeric formula."""


@dataclass(frozen=True, slots=True)
class Exact:
    """A value; `decimal` says that it was written with a decimal point, so that it may be rounded."""

    value: Fraction
    decimal: bool


def exact(text: str) -> Exact | None:
    r"""The exact value of `text` (cleaned LaTeX); `None` for what is no formula of numbers alone. Raises `TooLarge`."""
    if len(text) > MAX_CHARS:
        raise TooLarge(f"longer than {MAX_CHARS} characters")
    try:
        reader = _Reader(text)
        value = reader.sum()
        return Exact(value, reader.decimal) if reader.at == len(reader.tokens) else None
    except (_NotANumber, ZeroDivisionError):
        return None


def guard(text: str) -> None:
    """Raise `TooLarge` for a formula that no evaluator should get: too long, too deep, huge powers, towers or factorials."""
    if len(text) > MAX_CHARS:
        raise TooLarge(f"longer than {MAX_CHARS} characters")
    if any(len(run) > MAX_DIGITS for run in re.findall(r"\d+", text)):
        raise TooLarge(f"a number of more than {MAX_DIGITS} digits")
    depth = 0
    for sign in text:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(sign, 0)
        if depth > MAX_DEPTH:
            raise TooLarge(f"brackets more than {MAX_DEPTH} deep")
    for found in re.findall(r"(\d+)\s*\}?\)?\s*!", text):
        if len(found) > 6 or int(found) > MAX_FACTORIAL:
            raise TooLarge(f"the factorial of {found[:12]}")
    for match in _POWER.finditer(text):
        _guard_power(text, match)


def _guard_power(text: str, match: re.Match[str]) -> None:
    if match[1] or match[3]:
        inner = _inside(text, match.end())
        if inner.count("^") > 2:
            raise TooLarge("a tower of powers")
        power = exact(inner)
        size = abs(power.value) if power is not None else Fraction(0)
    else:
        size = Fraction(abs(int(match[2]))) if match[2] else Fraction(0)
    if size > MAX_EXPONENT // 5:
        raise TooLarge("a power with a huge exponent")


def _inside(text: str, start: int) -> str:
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return text[start:]


class _Reader:
    """Recursive descent: sum of products of signed factors; a factor is a number, a group or a fraction, with powers and factorials."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.at, self.depth, self.decimal = 0, 0, False
        place, end = 0, len(text.rstrip())
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None:
                raise _NotANumber
            self.tokens.append((str(match.lastgroup), match[0].strip()))
            place = match.end()

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        word = self.peek()
        self.at += 1
        return word

    def sum(self) -> Fraction:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLarge(f"brackets more than {MAX_DEPTH} deep")
        sign = -1 if self.peek() == "-" else 1
        if self.peek() in ("-", "+"):
            self.take()
        total = sign * self.product()
        while self.peek() in ("+", "-"):
            sign = -1 if self.take() == "-" else 1
            total += sign * self.product()
        self.depth -= 1
        return total

    def product(self) -> Fraction:
        value = self.factor()
        while True:
            if self.peek() in ("*", "\\cdot", "\\times"):
                self.take()
                value = self.small(value * self.signed())
            elif self.peek() in ("/", "\\div"):
                self.take()
                value = value / self.signed()
            elif self.peek() == "(":
                value = self.small(value * self.factor())
            else:
                return value

    def signed(self) -> Fraction:
        if self.peek() == "-":
            self.take()
            return -self.factor()
        return self.factor()

    def factor(self) -> Fraction:
        base = self.atom()
        while self.peek() == "!":
            self.take()
            base = self.factorial(base)
        if self.peek() == "^":
            self.take()
            return self.power(base, self.group() if self.peek() == "{" else self.signed())
        return base

    def atom(self) -> Fraction:
        if self.kind() == "number":
            word = self.take().replace(",", "").replace(" ", "")
            if len(word) > MAX_DIGITS:
                raise TooLarge(f"a number of more than {MAX_DIGITS} digits")
            self.decimal |= "." in word
            value = Fraction(word)
            if self.peek() == "\\frac" and "." not in word:
                return value + self.mixed()
            return value
        if self.peek() == "\\frac":
            self.take()
            return self.group() / self.group()
        if self.peek() == "(":
            self.take()
            value = self.sum()
            if self.take() != ")":
                raise _NotANumber
            return value
        if self.peek() == "{":
            return self.group()
        raise _NotANumber

    def mixed(self) -> Fraction:
        """The fraction of a mixed number such as 1 4/5; a product of a number and a formula is not read."""
        self.take()
        above, below = self.group(), self.group()
        if not (0 < above < below and above.denominator == below.denominator == 1):
            raise _NotANumber
        return above / below

    def group(self) -> Fraction:
        if self.take() != "{":
            raise _NotANumber
        value = self.sum()
        if self.take() != "}":
            raise _NotANumber
        return value

    def factorial(self, value: Fraction) -> Fraction:
        if value.denominator != 1 or value < 0:
            raise _NotANumber
        if value > MAX_FACTORIAL:
            raise TooLarge(f"a factorial beyond {MAX_FACTORIAL}!")
        return Fraction(math.factorial(int(value)))

    def power(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator != 1:
            raise _NotANumber
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(exponent) > MAX_EXPONENT or bits * abs(exponent) > MAX_BITS:
            raise TooLarge("a power with a huge exponent")
        return base ** int(exponent)

    def small(self, value: Fraction) -> Fraction:
        if value.numerator.bit_length() > MAX_BITS:
            raise TooLarge("a huge product")
        return value
