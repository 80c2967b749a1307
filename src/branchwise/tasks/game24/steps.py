"""Game of 24, one step: reads "a op b = c (left: …)" tolerantly and recomputes it exactly. Knows no model and no way to a solution.

The rule: a step follows from its parent when it takes two numbers that are left there, each at most as often as it is left, and combines
them by one of + - * /. What the model says about the rest is bookkeeping: the result and the numbers left are computed here, so a wrong or
missing "(left: …)" does no harm. A stated result that is really wrong rejects the step; one that is rounded, cut off, or follows from
rounded operands does not, and the state keeps the exact value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from branchwise.problem import Rejected
from branchwise.tasks.game24.exact import MAX_DIGITS, Expression, NotArithmetic, combine, number, plain, show
from branchwise.thought.parsing import unmarked

__all__ = ["Step", "canonical", "left_text", "read_step"]

MAX_LINE = 300

_OPERATORS = "+-*/"
_ARITHMETIC = "+-*/%^!√(). \t0123456789"
_EQUALS = re.compile(r"[=≈≃]")
_LEADS_TO = re.compile(r"(?<=[\d)])\s*(?:→|->|⇒|\b(?:equals|is|gives|makes|approx(?:imately)?)\b\.?)", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?P<sign>-?)\s?(?:(?P<whole>\d+)\s(?=\d+/))?(?P<digits>\d+)(?:/(?P<below>\d+)|\.(?P<decimals>\d*))?(?P<dots>\.\.+|…)?"
)
_REMARKS = re.compile(r"\s*\(\s*[A-Za-z].*|\s*[,;].*", re.DOTALL)
_EXACT = r"-?[0-9]+(?:/[1-9][0-9]*)?"
_CANONICAL = re.compile(rf"(\d+|\({_EXACT}\)) ([-+*/]) (\d+|\({_EXACT}\)) = {_EXACT} \(left: {_EXACT}(?: {_EXACT})*\)")


@dataclass(frozen=True, slots=True)
class Step:
    """One checked step. `left` are the numbers afterwards, ascending; each is an expression over the numbers of the hand."""

    first: Expression
    op: str
    second: Expression
    left: tuple[Expression, ...]

    @property
    def result(self) -> Fraction:
        """The exact value of the operation."""
        return combine(self.op, self.first, self.second).value

    def __str__(self) -> str:
        """The canonical thought: `4 / 3 = 4/3 (left: 4/3 7)`."""
        first, second = (_operand(part.value) for part in (self.first, self.second))
        return f"{first} {self.op} {second} = {show(self.result)} (left: {left_text(self.left)})"


@dataclass(frozen=True, slots=True)
class _Printed:
    """A number as printed: its value and the unit of its last decimal, 0 where it is exact."""

    value: Fraction
    unit: Fraction = Fraction(0)


def left_text(left: Iterable[Expression]) -> str:
    """The numbers left, as prompts and thoughts show them."""
    return " ".join(show(part.value) for part in left)


def canonical(text: str) -> tuple[Fraction, str, Fraction] | None:
    """Operands and operator of a thought in canonical form; `None` for any other text."""
    match = _CANONICAL.fullmatch(text)
    return (Fraction(match[1].strip("()")), match[2], Fraction(match[3].strip("()"))) if match else None


def _operand(value: Fraction) -> str:
    return show(value) if value.denominator == 1 and value >= 0 else f"({show(value)})"


def _printed(match: re.Match[str]) -> _Printed | None:
    """The number of a match of `_NUMBER`; `None` for one that is too long or divides by zero."""
    whole, digits, below, decimals = match["whole"], match["digits"], match["below"], match["decimals"]
    if max(len(part or "") for part in (whole, digits, below, decimals)) > MAX_DIGITS or (below and int(below) == 0):
        return None
    value = Fraction(int(digits), int(below)) + int(whole or 0) if below else Fraction(f"{digits}.{decimals or 0}")
    places = len(decimals) if decimals else 0
    unit = Fraction(1, 10**places) if places or match["dots"] else Fraction(0)
    return _Printed(-value if match["sign"] else value, unit)


def _whole_number(text: str) -> _Printed | None:
    """`text` as one number, in parentheses or not."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    match = _NUMBER.fullmatch(text)
    return _printed(match) if match else None


def _readings(side: str) -> Iterator[tuple[_Printed, str, _Printed]]:
    """All ways to read `side` as one operation on two numbers."""
    side = side.strip()
    if side.startswith("(") and side.endswith(")") and side.count("(") == 1:
        side = side[1:-1]
    for at, sign in enumerate(side):
        if sign in _OPERATORS:
            first, second = _whole_number(side[:at]), _whole_number(side[at + 1 :])
            if first is not None and second is not None:
                yield first, sign, second


def _matches(printed: _Printed, value: Fraction) -> int:
    """2 if the printed number is `value`, 1 if it is `value` rounded or cut off, 0 if it is another."""
    if printed.value == value:
        return 2
    return int(printed.unit > 0 and value.denominator > 1 and abs(printed.value - value) < printed.unit)


def _taken(left: Sequence[Expression], first: _Printed, second: _Printed) -> tuple[int, int] | None:
    """Which two of the numbers left are meant: exact readings before rounded ones."""
    best, found = 0, None
    for i, one in enumerate(left):
        for j, other in enumerate(left):
            a, b = _matches(first, one.value), _matches(second, other.value)
            if i != j and a and b and a + b > best:
                best, found = a + b, (i, j)
    return found


def _follows(claim: _Printed, exact: Fraction, printed: Fraction | None, loose: bool) -> bool:
    """Whether a stated result is the exact one, or rounded from it, or from the operands as printed."""
    unit = max(claim.unit, Fraction(1)) if loose else claim.unit
    return claim.value == exact or any(value is not None and abs(claim.value - value) < unit for value in (exact, printed))


def _refusal(left: Sequence[Expression], readings: Sequence[tuple[_Printed, str, _Printed]]) -> str:
    """Why no reading takes two of the numbers left."""
    first, _, second = readings[0]
    have = [part.value for part in left]
    for printed in (first, second):
        if not any(_matches(printed, value) for value in have):
            return f"{show(printed.value)} is not left (left: {left_text(left)})"
    return f"{show(first.value)} is left only once (left: {left_text(left)})"


def read_step(left: Sequence[Expression], text: str) -> Step:
    """The step in one proposed line, checked against the numbers `left` and recomputed. Raises `Rejected` with the reason."""
    line = text.strip().split("\n", 1)[0]
    if len(line) > MAX_LINE:
        raise Rejected(f"longer than {MAX_LINE} characters")
    line = plain(unmarked(line)).replace("~", "")
    if len(left) < 2:
        raise Rejected(f"only one number is left ({left_text(left)})")
    equals = _EQUALS.search(line) or _LEADS_TO.search(line)
    side = line[: equals.start()] if equals else _REMARKS.sub("", line)
    side = side[len(side.rstrip(_ARITHMETIC)) :]
    readings = list(_readings(side.lstrip("* ")))  # of emphasis: no step begins with a sign of multiplication
    if not readings:
        raise Rejected("not one operation on two numbers" if re.search(r"\d", side) else "not an equation")
    fitting = ((reading, taken) for reading in readings if (taken := _taken(left, reading[0], reading[2])) is not None)
    (first, op, second), (i, j) = next(fitting, (readings[0], (-1, -1)))
    if i < 0:
        raise Rejected(_refusal(left, readings))
    try:
        made = combine(op, left[i], left[j])
    except NotArithmetic as reason:
        raise Rejected(str(reason)) from None
    claim = _NUMBER.match(line[equals.end() :].lstrip(" :(=~≈")) if equals else None
    stated = _printed(claim) if claim else None
    if equals and stated is not None:
        as_printed = None if op == "/" and second.value == 0 else combine(op, number(first.value), number(second.value)).value
        if not _follows(stated, made.value, as_printed, equals[0] in "≈≃"):
            raise Rejected(f"{_operand(left[i].value)} {op} {_operand(left[j].value)} is {show(made.value)}, not {show(stated.value)}")
    rest = [part for index, part in enumerate(left) if index not in (i, j)]
    return Step(left[i], op, left[j], tuple(sorted([*rest, made], key=lambda part: part.value)))
