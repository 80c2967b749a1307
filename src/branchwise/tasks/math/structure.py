r"""The shape of a mathematical answer: lists, tuples, intervals, sets, matrices, assignments, and the formulas in them. Evaluates nothing.

An inequality in one name is read as its interval, `\pm` as two answers, `\cup` as a union. What has no shape is a `Leaf`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from branchwise.tasks.math.exact import TooLarge, exact
from branchwise.tasks.math.latex import LONGEST, clean, compact, split_top
from branchwise.tasks.math.units import unit_of
from branchwise.thought.parsing import show_number

__all__ = ["Assign", "Leaf", "Listing", "Matrix", "Node", "Row", "Union", "read", "show"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One formula or word, without its unit. `percent` says that it was given in percent."""

    text: str
    unit: str = ""
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A tuple, a point or an interval: its brackets, and its items in order."""

    left: str
    right: str
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """Several answers, or a set in braces: their order means nothing."""

    items: tuple[Node, ...]
    braces: bool = False


@dataclass(frozen=True, slots=True)
class Union:
    """A union of sets or intervals: their order means nothing."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of entries."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Assign:
    """A name and what it is equal to: `x = 5`, `f(x) = 2x`."""

    name: str
    value: Node


Node = Leaf | Row | Listing | Union | Matrix | Assign

MAX_NESTING = 12
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])")
_COMMA = re.compile(r",|;|\s*\\text\s*\{\s*,?\s*(?:and|or)\s*\}|(?:(?<=[\s,}])|^)(?:and|or)(?=\s)|&(?![a-z])")
_INNER = re.compile(r"[,;]")
_CUP = re.compile(r"\\cup(?![a-z])|∪")
_PM = re.compile(r"\\(?:pm|mp)(?![a-z])")
_RELATION = re.compile(r"\\le(?![a-z])|\\ge(?![a-z])|[<>]")
_EQUALS = re.compile(r"(?<![<>!\\])=")
_IN = re.compile(r"(?:[a-zA-Z]|\\[a-z]+)(?:_\w|_\{\w+\})?\s*\\in(?![a-z])\s*(?=[\\(\[{-])")
_NAME = re.compile(
    r"(?:[A-Za-z]{1,3}|\\(?:alpha|beta|gamma|delta|theta|lambda|mu|phi|omega|sigma|rho|tau|varphi|epsilon|angle|overline\{?)[A-Z ]*\}?"
    r"|[A-Z]{2,4}|\\text\{[A-Za-z ]+\})(?:_\s?\w|_\s?\{[^{}]{1,20}\})?(?:\s?\([a-z](?:,\s?[a-z])*\))?|\\angle [A-Z ]+(?:_\{?\d\}?)?"
)
_BUILDER = re.compile(r"\\\{\s*[a-z]\s*(?:\\mid|\||:)\s*([^|:]+)\\\}")
_MATRIX = re.compile(r"\\begin\{([a-z]*matrix)\}(.*)\\end\{\1\}", re.DOTALL)
_LABEL = re.compile(r"\(?[a-d][.)]\s+(?=[-\d\\(])")
_PAIRS = {"(": ")", "[": "]", "\\{": "\\}"}


def read(text: str, *, listing: bool = False) -> Node:
    """The shape of `text`. `listing` says that it holds several answers, so that `58,500` is not one number."""
    cleaned = clean(text[: LONGEST + 1])
    return _read(cleaned, MAX_NESTING, listing)


def _read(text: str, nesting: int, listing: bool = False) -> Node:
    """Lists first, then what one answer can be; a text that is too long or nested too deeply stays one formula."""
    text = text.strip()
    text = f"\\{text[:-1]}\\}}" if re.fullmatch(r"\{[^{}]*,[^{}]*\}", text) else text
    if nesting == 0 or len(text) > LONGEST or not text:
        return Leaf(text)
    if _THOUSANDS.fullmatch(text.split(" ")[0] or text) and not listing:
        return _leaf(text)
    parts = [_LABEL.sub("", part) for part in split_top(text, _COMMA) if part]
    if len(parts) > 1:
        items: list[Node] = []
        for part in parts:
            found = _read(part, nesting - 1)
            items += found.items if isinstance(found, Listing) and not found.braces else (found,)
        return Listing(tuple(items))
    return _single(text, nesting)


def _single(text: str, nesting: int) -> Node:
    text = _IN.sub("", text, count=1) if _IN.match(text) else text
    if builder := _BUILDER.fullmatch(text):
        return _read(builder[1], nesting - 1)
    if text in ("\\mathbb{R}", "\\mathbb R", "\\R"):
        return Row("(", ")", (Leaf(r"-\infty"), Leaf(r"\infty")))
    if len(parts := split_top(text, _CUP)) > 1 and all(parts):
        return Union(tuple(_read(part, nesting - 1) for part in parts))
    if len(sides := split_top(text, _EQUALS)) > 1 and not _RELATION.search(text):
        return _equation(text, sides, nesting)
    if (interval := _inequality(text, nesting)) is not None:
        return interval
    if (matrix := _MATRIX.fullmatch(text)) is not None:
        rows = [row for row in split_top(matrix[2], re.compile(r"\\\\(?:\[[^\]]*\])?")) if row]
        return Matrix(tuple(tuple(_read(cell, nesting - 1) for cell in split_top(row, re.compile("&"))) for row in rows))
    if (inner := _bracketed(text)) is not None:
        return _row(*inner, text, nesting)
    signs = split_top(text, _PM)
    if len(signs) == 2 and signs[1]:
        return Listing((_leaf(f"{signs[0]}+{signs[1]}".lstrip("+")), _leaf(f"{signs[0]}-{signs[1]}")))
    return _leaf(text)


def _equation(text: str, sides: Sequence[str], nesting: int) -> Node:
    """`x = 5` and `x = 2 + 3 = 5` are assignments; any other equation is one formula."""
    if _NAME.fullmatch(sides[0]) and all(sides):
        return Assign(compact(sides[0]), _read(sides[-1], nesting - 1))
    return Leaf(text)


def _inequality(text: str, nesting: int) -> Node | None:
    r"""The interval of `a < x \le b`, `x > a` or `a > x`; `None` where there is none, or no single name in it."""
    sides = split_top(text, _RELATION)
    signs = _RELATION.findall(text)
    if len(signs) != len(sides) - 1 or not 2 <= len(sides) <= 3 or not all(sides):
        return None
    up = [sign in ("<", "\\le") for sign in signs]
    closed = [sign in ("\\le", "\\ge") for sign in signs]
    if len(sides) == 2:
        if _NAME.fullmatch(sides[1]) and not _NAME.fullmatch(sides[0]):
            sides, up = sides[::-1], [not up[0]]
        if not _NAME.fullmatch(sides[0]):
            return None
        bound, infinite = _read(sides[1], nesting - 1), Leaf(r"\infty")
        if up[0]:
            return Row("(", "]" if closed[0] else ")", (Leaf(r"-\infty"), bound))
        return Row("[" if closed[0] else "(", ")", (bound, infinite))
    if not _NAME.fullmatch(sides[1]) or up[0] != up[1]:
        return None
    ends = [_read(sides[0], nesting - 1), _read(sides[2], nesting - 1)]
    if not up[0]:
        ends, closed = ends[::-1], closed[::-1]
    return Row("[" if closed[0] else "(", "]" if closed[1] else ")", tuple(ends))


def _bracketed(text: str) -> tuple[str, str, str] | None:
    """The brackets around the whole of `text`, and what is in them; an opening one may be closed by another kind (an interval)."""
    left = "\\{" if text.startswith("\\{") else text[0]
    if left not in _PAIRS:
        return None
    right: Literal["\\}"] | str = "\\}" if text.endswith("\\}") else text[-1]
    if right not in _PAIRS.values() or (left == "\\{") != (right == "\\}"):
        return None
    depth = 0
    for match in re.finditer(r"\\[{}]|\\[a-zA-Z]+|[()\[\]{}]", text):
        depth += 1 if match[0] in ("(", "[", "{", "\\{") else -1 if match[0] in (")", "]", "}", "\\}") else 0
        if depth == 0:
            return (left, right, text[len(left) : -len(right)]) if match.end() == len(text) else None
    return None


def _row(left: str, right: str, inner: str, text: str, nesting: int) -> Node:
    if left == "[" and ";" in inner:
        rows = [row for row in split_top(inner, re.compile(";")) if row]
        return Matrix(tuple(tuple(_read(cell, nesting - 1) for cell in split_top(row, re.compile(","))) for row in rows))
    parts = [part for part in split_top(inner, _INNER) if part]
    if left == "\\{":
        items: list[Node] = []
        for part in parts:
            found = _read(part, nesting - 1)
            items += found.items if isinstance(found, Listing) and not found.braces else (found,)
        return Listing(tuple(items), braces=True)
    if len(parts) > 1:
        return Row(left, right, tuple(_read(part, nesting - 1) for part in parts))
    if left == "(" and right == ")":
        return _read(inner, nesting - 1) if re.search(r"\d|\\|^\w$|^\\text", inner) else _leaf(text)
    return _leaf(text)


def _leaf(text: str) -> Leaf:
    """A formula without its unit; a percent sign is remembered."""
    body, unit = unit_of(text)
    return Leaf(body, "" if unit == "%" else unit, unit == "%")


def _number(text: str) -> str:
    try:
        value = exact(text)
    except TooLarge:
        value = None
    return compact(text) if value is None or len(str(value.value)) > 60 else show_number(value.value)


def _named(node: Node) -> str:
    return f"{node.name}={show(node.value)}" if isinstance(node, Assign) else show(node)


def show(node: Node) -> str:
    """One way of writing each answer: what equal answers of one spelling share. Parts without order are sorted."""
    if isinstance(node, Leaf):
        return _number(node.text) + ("%" if node.percent else "")
    if isinstance(node, Row):
        return f"{node.left}{','.join(map(show, node.items))}{node.right}"
    if isinstance(node, Listing):
        names = {item.name for item in node.items if isinstance(item, Assign)}
        inner = ",".join(sorted({_named(item) if len(names) > 1 else show(item) for item in node.items}))
        return f"{{{inner}}}" if node.braces else inner
    if isinstance(node, Union):
        return "∪".join(sorted(map(show, node.parts)))
    if isinstance(node, Matrix):
        return f"[{';'.join(','.join(map(show, row)) for row in node.rows)}]"
    return show(node.value)
