r"""The mathematical checker: shapes first, exact numbers second, and only then math-verify in its guarded worker. docs/grading.md has the rules.

Never compares a part of a formula that cannot be read: what is left is compared letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol, TypeVar

from branchwise.bench.grading.simple import close
from branchwise.bench.grading.verdicts import Gold, Graded, Unknown, Verdict
from branchwise.tasks.math.exact import TooLarge, exact, guard
from branchwise.tasks.math.latex import LONGEST, clean, compact
from branchwise.tasks.math.reading import final_formula, is_prose
from branchwise.tasks.math.structure import Assign, Leaf, Listing, Matrix, Node, Row, Union, read, show
from branchwise.tasks.math.units import same_unit
from branchwise.thought.parsing import yes_no

__all__ = ["Formulas", "Maths", "equivalent"]

_T = TypeVar("_T")

MAX_ITEMS = 60
_PLACEHOLDER = re.compile(
    r"(?:see|cf\.?|refer)\b.*|(?:figure|diagram|graph|picture|image|proof|n/?a|null|nan|tbd|\?+|-+|todo|omitted)\.?", re.IGNORECASE
)
_WORDS = re.compile(r"[A-Za-z][A-Za-z' -]*")
_NOTHING = re.compile(r"no(?:real)?solutions?|none|\\emptyset|\\varnothing|\\\{\\\}|thereis(?:are)?no(?:real)?solutions?", re.IGNORECASE)
_CHOICE = re.compile(r"\(?([A-J])\)?(?:[.):]?\s.*|[.):])?", re.DOTALL)


class Formulas(Protocol):
    """Compares two formulas of one piece each."""

    def equal(self, gold: str, pred: str) -> bool:
        """Whether they are equal. Raises `Unknown` at a limit."""
        ...


def equivalent(gold: str, pred: str, formulas: Formulas, *, listing: bool = False, tolerance: Fraction = Fraction(0)) -> bool:
    """Whether two answers are the same one. Raises `Unknown` at a limit of size or time."""
    return _Comparing(formulas, tolerance).answers(gold, pred, listing)


class _Comparing:
    def __init__(self, formulas: Formulas, tolerance: Fraction) -> None:
        self.formulas, self.tolerance = formulas, tolerance

    def answers(self, gold: str, pred: str, listing: bool) -> bool:
        """By every way in which the two can be read: `100,200` is a number or two."""
        if len(pred) > LONGEST or len(gold) > LONGEST:
            if "".join(gold.split()) == "".join(pred.split()):
                return True
            raise Unknown(f"unknown (limit): an answer of more than {LONGEST} characters")
        if compact(clean(gold)) == compact(clean(pred)):
            return True
        golds = [read(gold, listing=listing)]
        preds = [read(pred), read(pred, listing=True)] if isinstance(golds[0], Listing) else [read(pred)]
        return any(self.same(golds[0], one) for one in preds)

    def same(self, gold: Node, pred: Node) -> bool:
        """Whether two shapes are the same."""
        if isinstance(gold, Assign) or isinstance(pred, Assign):
            return self.assigned(gold, pred)
        if isinstance(gold, Leaf) and isinstance(pred, Leaf):
            return self.leaves(gold, pred)
        if isinstance(gold, Listing) or isinstance(pred, Listing):
            return self.listed(gold, pred)
        if isinstance(gold, Union) and isinstance(pred, Union):
            return self.any_order(gold.parts, pred.parts)
        if isinstance(gold, Row) and isinstance(pred, Row):
            alike = (gold.left, gold.right) == (pred.left, pred.right) or (len(gold.items) > 2 and len(pred.items) > 2)
            return alike and self.in_order(gold.items, pred.items)
        if isinstance(gold, Matrix) and isinstance(pred, Matrix):
            return len(gold.rows) == len(pred.rows) and all(self.in_order(a, b) for a, b in zip(gold.rows, pred.rows, strict=True))
        if isinstance(gold, Matrix) or isinstance(pred, Matrix):
            matrix, other = (gold, pred) if isinstance(gold, Matrix) else (pred, gold)
            vector = _vector(matrix) if isinstance(matrix, Matrix) else None
            return vector is not None and isinstance(other, Row) and self.in_order(vector, other.items)
        return False

    def assigned(self, gold: Node, pred: Node) -> bool:
        """`x = 5` is 5, but not `y = 5`. An equation that is no assignment may be one put differently: `y - 2x = 3`."""
        if isinstance(gold, Assign) and isinstance(pred, Assign) and gold.name == pred.name:
            return self.same(gold.value, pred.value)
        if "=" in _equation(gold) and "=" in _equation(pred):
            return not (isinstance(gold, Assign) and isinstance(pred, Assign)) and self.leaves(Leaf(_equation(gold)), Leaf(_equation(pred)))
        if isinstance(gold, Assign):
            return self.same(gold.value, pred)
        return isinstance(pred, Assign) and self.same(gold, pred.value)

    def listed(self, gold: Node, pred: Node) -> bool:
        """Several answers in any order; a set in braces is such a list; a bare list may stand for a tuple, in its order."""
        if isinstance(gold, Listing) and isinstance(pred, Listing):
            return self.any_order(gold.items, pred.items) or (
                self.one(gold.items) and self.one(pred.items) and self.same(gold.items[0], pred.items[0])
            )
        items, other = (gold.items, pred) if isinstance(gold, Listing) else (pred.items, gold) if isinstance(pred, Listing) else ((), pred)
        braces = (isinstance(gold, Listing) and gold.braces) or (isinstance(pred, Listing) and pred.braces)
        if isinstance(other, Row):
            bare = not braces and ((other.left == "(" and other.right == ")") or len(other.items) > 2)
            return bare and self.in_order(other.items, items)
        if isinstance(other, Union):
            return self.any_order(other.parts, items)
        if isinstance(gold, Listing):
            return bool(items) and self.one(items) and self.same(items[0], other)
        return bool(items) and all(self.same(other, item) for item in items)

    def one(self, items: Sequence[Node]) -> bool:
        """Whether all of `items` are the same answer, written in several ways."""
        return all(self.same(items[0], item) for item in items[1:])

    def in_order(self, golds: Sequence[Node], preds: Sequence[Node]) -> bool:
        if len(golds) != len(preds) or len(golds) > MAX_ITEMS:
            return False
        return all(self.same(gold, pred) for gold, pred in zip(golds, preds, strict=True))

    def any_order(self, golds: Sequence[Node], preds: Sequence[Node]) -> bool:
        if len(golds) != len(preds) or len(golds) > MAX_ITEMS:
            return False
        left = list(preds)
        for gold in golds:
            place = next((i for i, pred in enumerate(left) if gold == pred), None)
            if place is None:
                place = next((i for i, pred in enumerate(left) if self.same(gold, pred)), None)
            if place is None:
                return False
            del left[place]
        return True

    def leaves(self, gold: Leaf, pred: Leaf) -> bool:
        """One formula or word against another."""
        if gold.unit and pred.unit and not same_unit(gold.unit, pred.unit):
            return False
        if self.pieces(gold, pred):
            return True
        for one, other in ((gold, pred), (pred, gold)):
            if len(one.unit) == 1 and not other.unit and self.pieces(Leaf(f"{one.text}{one.unit}"), other):
                return True
        return False

    def pieces(self, gold: Leaf, pred: Leaf) -> bool:
        one, other = compact(gold.text), compact(pred.text)
        if one == other:
            return True
        if (told := _words(gold.text, pred.text)) is not None:
            return told
        if (told := self.numbers(gold, pred)) is not None:
            return told
        if _BASED.fullmatch(one) or _BASED.fullmatch(other):
            return False
        if _CLOCK.search(one) or _CLOCK.search(other) or _UNREADABLE.search(one) or _UNREADABLE.search(other):
            return False
        for text in (gold.text, pred.text):
            _limited(guard, text)
        return self.formulas.equal(gold.text, pred.text)

    def numbers(self, gold: Leaf, pred: Leaf) -> bool | None:
        """Exact values first; a decimal may be the other one rounded. `None` where one is no number."""
        one, other = _limited(exact, gold.text), _limited(exact, pred.text)
        if one is None or other is None:
            return None
        decimal = one.decimal or other.decimal
        shares = {(one.value, other.value)}
        if gold.percent != pred.percent:
            shares.add((one.value / 100, other.value) if gold.percent else (one.value, other.value / 100))
        return any(a == b or (decimal and close(a, b)) or abs(a - b) <= self.tolerance for a, b in shares)


_CLOCK = re.compile(r"\d:\d")
_BASED = re.compile(r"[0-9A-Fa-f]+_\{?(?:\d+|\\text.*)\}?")
_UNREADABLE = re.compile(r"__|\.[a-zA-Z_]|[\"'`@#;]|\bimport\b|\blambda\b|[^\x00-\x7f]")
"""What no formula holds: left to the comparison letter by letter."""


def _limited(reader: Callable[[str], _T], text: str) -> _T:
    try:
        return reader(text)
    except TooLarge as reason:
        raise Unknown(f"unknown (limit): {reason}") from None


def _equation(node: Node) -> str:
    """An equation as one formula; a formula without `=` for any other shape of one piece, empty for the rest."""
    if isinstance(node, Assign):
        return f"{node.name} = {node.value.text}" if isinstance(node.value, Leaf) else ""
    return node.text if isinstance(node, Leaf) else ""


def _vector(matrix: Matrix) -> tuple[Node, ...] | None:
    """The entries of a matrix of one row or one column."""
    if len(matrix.rows) == 1:
        return matrix.rows[0]
    return tuple(row[0] for row in matrix.rows) if all(len(row) == 1 for row in matrix.rows) else None


def _words(gold: str, pred: str) -> bool | None:
    """Words against words: a choice by its letter, yes and no, names; `None` where the gold is a formula."""
    key, said = (compact(text).strip("().,:; ") for text in (gold, pred))
    plain = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", gold).strip(" .()")
    if re.fullmatch(r"[A-J]", key) and (choice := _CHOICE.fullmatch(re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", pred).strip())):
        return choice[1] == key
    if key.lower() in ("yes", "no", "true", "false"):
        stated = yes_no(re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", pred))
        return stated is not None and stated == (key.lower() in ("yes", "true"))
    if _NOTHING.fullmatch(key) and _NOTHING.fullmatch(said):
        return True
    if "\\text" in gold or (len(key) > 2 and _WORDS.fullmatch(plain) and not re.fullmatch(r"[a-zA-Z]{1,3}", key)):
        bare = compact(re.sub(r"^\s*(?:\\text\s*\{\s*)?(?:an?|the)\s+", "", pred, flags=re.IGNORECASE)).strip("{}().,:; ")
        return key.lower() in (said.lower(), bare.lower())
    return None


class Maths:
    """Formulas against formulas."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas

    def invalid(self, gold: Gold) -> str:
        """A gold is a formula, a word or a name, but no sentence and no placeholder, and its brackets close."""
        text = clean(gold.text)
        if not text:
            return "empty"
        if _PLACEHOLDER.fullmatch(text) or is_prose(re.sub(r"\\text\s*\{[^{}]*\}", "x", text)):
            return "no formula, but words"
        if text.count("{") != text.count("}"):
            return "its braces do not close"
        return ""

    def grade(self, output: str, gold: Gold, prompt: str) -> Graded:
        """By equivalence."""
        said = final_formula(output)
        if said is None:
            return Graded(Verdict.NO_ANSWER, None, "no answer that can be read")
        spelt = said if len(said) > LONGEST else show(read(said))
        right = equivalent(gold.text, said, self.formulas, listing=gold.listing, tolerance=gold.tolerance)
        return Graded(Verdict.CORRECT if right else Verdict.WRONG, spelt)
