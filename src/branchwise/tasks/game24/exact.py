"""Game of 24, checked exactly: our own reader for rational arithmetic, and the rule check of an answer. Solves nothing, evals nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from branchwise.thought.parsing import final_answer, inline, strip_reasoning

__all__ = ["TARGET", "Check", "Expression", "NotArithmetic", "Verdict", "arithmetic", "check", "combine", "number", "plain", "show"]

TARGET = 24
MAX_CHARS = 300
"""A longer text is not read as an expression: four numbers never need it."""
MAX_DEPTH = 20
MAX_DIGITS = 12

_CHARACTERS = str.maketrans("０１２３４５６７８９（）＋－＊／＝．[]−–—×✕✖∗⋅·÷∕⁄", "0123456789()+-*/=.()---******///", "$`")
_LATEX = (
    (re.compile(r"\\[dt]?frac\s*\{([^{}]{1,80})\}\s*\{([^{}]{1,80})\}"), r"((\1)/(\2))"),
    (re.compile(r"\\(?:times|cdot|ast)(?![a-z])"), "*"),
    (re.compile(r"\\div(?![a-z])"), "/"),
    (re.compile(r"\\(?:left|right)(?![a-z])|\\[()\[\],;!]"), " "),
    (re.compile(r"(?<=[\d)\s])[xX](?=\s*[\d(])"), "*"),
)
_TOKEN = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]+)?)|([-+*/()]))")
_NONE = re.compile(
    r"\b(?:none|not possible|impossible|no (?:solution|answer|valid|way|combination|expression|such|possible)|can(?:not|'t)|n/a"
    r"|there (?:is|are) no|unsolvable|not solvable|(?:don't|do not) know|unknown)\b",
    re.IGNORECASE,
)
_BARE = re.compile(r"[\d)]\s*[-+*/×÷=!^−(]")
_EQUATION = re.compile(r"(?:[A-Za-z][A-Za-z ,:']*\s)?(?P<body>\(*[0-9][0-9\s+*/().=-]*)(?P<rest>.*)", re.DOTALL)
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 1, "": 3}


class NotArithmetic(Exception):
    """This text is no expression of numbers, + - * / and parentheses. The message is the reason that users see."""


class Verdict(StrEnum):
    """What the rule check says of an answer."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"


@dataclass(frozen=True, slots=True)
class Check:
    """A verdict, why, and the answer in its normal form (`None` where there is none)."""

    verdict: Verdict
    reason: str
    answer: str | None = None


def show(value: Fraction) -> str:
    """`4/3`, `-1`: how a number is written everywhere."""
    return str(value)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression with its exact value. `op` is + - * / or neg, and empty for a number."""

    value: Fraction
    op: str = ""
    parts: tuple[Expression, ...] = ()

    def numbers(self) -> list[Fraction]:
        """The numbers in it, from left to right."""
        return [self.value] if not self.parts else [n for part in self.parts for n in part.numbers()]

    def __str__(self) -> str:
        """With the parentheses that it needs, and no others."""
        if not self.parts:
            return show(self.value) if self.value.denominator == 1 and self.value >= 0 else f"({show(self.value)})"
        if self.op == "neg":
            inner = self.parts[0]
            return f"-{inner}" if not inner.parts else f"-({inner})"
        left, right = self.parts
        mine = _PRECEDENCE[self.op]
        wrap_left = _PRECEDENCE[left.op] < mine
        same = _PRECEDENCE[right.op] == mine and self.op in "-/"
        wrap_right = _PRECEDENCE[right.op] < mine or same or right.op == "neg"
        return f"{f'({left})' if wrap_left else left} {self.op} {f'({right})' if wrap_right else right}"


def number(value: Fraction | int) -> Expression:
    """A number as an expression."""
    return Expression(Fraction(value))


def combine(op: str, left: Expression, right: Expression) -> Expression:
    """`left op right`. Raises `NotArithmetic` for a division by zero."""
    a, b = left.value, right.value
    if op == "/" and b == 0:
        raise NotArithmetic("division by zero")
    value = a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b
    return Expression(value, op, (left, right))


def plain(text: str) -> str:
    """Arithmetic in plain signs: × ÷ − and full-width forms, brackets, and the common LaTeX commands."""
    text = text.translate(_CHARACTERS)
    for pattern, sign in _LATEX:
        text = pattern.sub(sign, text)
    return text


class _Parser:
    """Recursive descent: sum = product (+ product)*; product = factor (* factor)*; factor = -factor | number | (sum)."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise NotArithmetic(f"not an expression: {text[at:].strip()[:20]!r}")
            self.tokens.append(match[1] or match[2])
            at = match.end()
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def sum(self) -> Expression:
        left = self.product()
        while self.peek() in ("+", "-"):
            left = combine(self.take(), left, self.product())
        return left

    def product(self) -> Expression:
        left = self.factor(signed=True)
        while self.peek() in ("*", "/"):
            left = combine(self.take(), left, self.factor(signed=True))
        return left

    def factor(self, signed: bool) -> Expression:
        token = self.take()
        if token == "-" and signed:
            inner = self.factor(signed=False)
            return Expression(-inner.value, "neg", (inner,))
        if token == "(":
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise NotArithmetic("not an expression: nested too deeply")
            inner = self.sum()
            if self.take() != ")":
                raise NotArithmetic("not an expression: a parenthesis is not closed")
            self.depth -= 1
            return inner
        if not token or token in "+-*/)":
            raise NotArithmetic(f"not an expression: {token or 'nothing'} where a number should stand")
        if len(token) > MAX_DIGITS:
            raise NotArithmetic("not an expression: a number is too long")
        return number(Fraction(token))


def arithmetic(text: str) -> Expression:
    """The expression in `text`: whole or decimal numbers, + - * / in their usual and Unicode signs, parentheses, a minus before a number.

    No powers, factorials, functions or numbers side by side. Raises `NotArithmetic` with the reason.
    """
    text = plain(text)
    if len(text) > MAX_CHARS:
        raise NotArithmetic(f"not an expression: longer than {MAX_CHARS} characters")
    parser = _Parser(text)
    expression = parser.sum()
    if parser.peek():
        raise NotArithmetic(f"not an expression: {parser.peek()} where an operator should stand")
    return expression


def _sides(text: str) -> list[Expression]:
    """The sides of an equation; words before it, and remarks behind it, are left out."""
    text = plain(text).strip().rstrip(".,; ")
    if len(text) > MAX_CHARS:
        raise NotArithmetic(f"not an expression: longer than {MAX_CHARS} characters")
    try:
        return [arithmetic(side) for side in text.split("=")]
    except NotArithmetic:
        match = _EQUATION.fullmatch(text)
        if match is None or not re.match(r"[A-Za-z,;:✓✔]|\Z", match["rest"]) or not _BARE.search(match["body"]) or _NONE.search(text):
            raise
        return [arithmetic(side) for side in match["body"].rstrip(" (.=").split("=")]


def _answer_text(text: str) -> str | None:
    """What an answer line says, or the whole text where it is a single equation; `None` where no answer is given."""
    if (marked := final_answer(text)) is not None:
        return marked
    content = strip_reasoning(text)
    if "\n" in content or "left" in content or "\\boxed" in content or not _BARE.search(content) or len(content) > MAX_CHARS:
        return None
    return inline(content)


def _usage(hand: Sequence[int], used: Iterable[Fraction]) -> str:
    """How `used` differs from the hand, in words; empty where every number is used once."""
    have, want = Counter(used), Counter(map(Fraction, hand))
    extra, missing = sorted((have - want).elements()), sorted((want - have).elements())
    said = []
    if extra:
        said.append(f"uses {' '.join(map(show, extra))} {'too often' if set(extra) <= set(want) else 'that the hand does not have'}")
    if missing:
        said.append(f"leaves out {' '.join(map(show, missing))}")
    return ", ".join(said)


def check(hand: Sequence[int], text: str) -> Check:
    """Whether the answer in `text` uses every number of `hand` exactly once and is exactly 24.

    Reads the last answer line (or a text that is one equation). Every side of a written equation must be 24, and one side must be made of
    the hand. "None" and "Not possible" are no answer.
    """
    line = _answer_text(text)
    if line is None:
        return Check(Verdict.NO_ANSWER, "no answer line")
    try:
        sides = _sides(line)
    except NotArithmetic as reason:
        if _NONE.search(line):
            return Check(Verdict.NO_ANSWER, "says that there is none")
        return Check(Verdict.WRONG, str(reason), " ".join(line.split()))
    problems = [_usage(hand, side.numbers()) for side in sides]
    using = problems.index("") if "" in problems else 0
    main = sides[using]
    claim = sides[-1] if len(sides) > 1 and using != len(sides) - 1 else number(main.value)
    answer = f"{main} = {claim}"
    if problems[using]:
        return Check(Verdict.WRONG, problems[using], answer)
    if main.value != TARGET:
        return Check(Verdict.WRONG, f"{main} is {show(main.value)}, not {TARGET}", answer)
    if wrong := [side for side in sides if side.value != TARGET]:
        return Check(Verdict.WRONG, f"the equation is false: {wrong[0]} is not {TARGET}", answer)
    return Check(Verdict.CORRECT, "", answer)
