"""The process that math-verify runs in. It reads pairs of formulas as JSON lines and says whether they are equal. Started by `pool`.

Nothing in it evaluates text: SymPy's string parsers are taken away before the first formula comes, so that a formula can only go through the
grammar of latex2sympy. Memory, CPU time and files are limited; the parent kills it when it takes too long.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MEMORY = 1 << 30
"""Bytes of address space beyond which the process cannot grow."""


def _limits() -> None:
    try:
        import resource
    except ImportError:  # not a Unix: the parent's clock is the only limit
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _no_text_is_evaluated() -> None:
    """Put a reader of plain numbers in place of SymPy's string parser, wherever it can be reached from: it is asked for digits too."""
    import math_verify.parser
    import sympy
    import sympy.parsing.sympy_parser as strings

    def digits_only(text: str, *_: Any, **__: Any) -> Any:
        if isinstance(text, str) and re.fullmatch(r"[0-9]{1,400}", text):
            return sympy.Integer(int(text))
        if isinstance(text, str) and re.fullmatch(r"[0-9]{0,400}\.[0-9]{0,400}", text) and len(text) > 1:
            return sympy.Float(text)
        raise ValueError("text is not evaluated here")

    def refuse(*_: Any, **__: Any) -> Any:
        raise ValueError("text is not evaluated here")

    strings.parse_expr = digits_only
    strings.eval_expr = strings.stringify_expr = refuse
    math_verify.parser.parse_expr = refuse


def _parsed(text: str, real: bool) -> Any:
    """The formula, by math-verify's LaTeX grammar; `None` where it does not read it to the end."""
    from dataclasses import replace

    from latex2sympy2_extended.latex2sympy2 import ConversionConfig, latex2sympy, normalize_latex
    from math_verify.parser import LatexExtractionConfig
    from sympy import Basic, I

    config = replace(LatexExtractionConfig().normalization_config, units=False, boxed="none")
    naming = ConversionConfig(lowercase_symbols=False)
    try:
        found = latex2sympy(normalize_latex(text, config=config), is_real=real, normalization_config=None, conversion_config=naming)
    except Exception:
        return None
    if not real and isinstance(found, Basic):
        found = found.subs({name: I for name in found.free_symbols if str(name) == "i"})
    return found


def _points(names: Sequence[Any]) -> Iterator[dict[Any, Any]]:
    """A few values for the names: whole and broken ones, of both signs."""
    import sympy

    for turn in range(6 if names else 1):
        sign = -1 if turn in (2, 5) else 1
        below = 13 + turn if turn % 2 else 1
        yield {name: sympy.Rational(sign * (37 + 11 * turn + 7 * place), below) for place, name in enumerate(names)}


def _values(sides: Sequence[Any], point: Mapping[Any, Any]) -> list[Any] | None:
    """The sides at a point, to 40 digits; `None` where one is no finite number."""
    import sympy

    values = [sympy.N(side.subs(point), 40, maxn=200) for side in sides]
    if not all(value.is_number and value.is_finite for value in values):
        return None
    real = [sympy.im(value) == 0 for value in values]
    beyond = any(value < 0 for value in point.values())  # logarithms and roots have several values there
    return values if all(real) or not beyond else None


def _near(one: Any, other: Any, digits: int) -> bool:
    """Equal but for the last digits, by ratio, so that small numbers stay apart."""
    import sympy

    size = max(abs(one), abs(other))
    return bool(size == 0 or abs(one - other) <= size * sympy.Float(10) ** -digits)


def _at_points(one: Any, other: Any, equations: bool = False) -> bool | None:
    """Equal or not at a few points; `None` where they cannot be computed. Equations are equal when their sides differ by one factor."""
    import sympy

    names = sorted(one.free_symbols | other.free_symbols, key=str)
    if one.free_symbols != other.free_symbols and not (one.is_number or other.is_number):
        return False
    digits = 6 if any(side.has(sympy.Float) for side in (one, other)) else 25
    factors = []
    for point in _points(names):
        values = _values((one, other), point)
        if values is None or (equations and values[1] == 0):
            continue
        if not equations and not _near(values[0], values[1], digits):
            return False
        factors.append(values[0] / values[1] if equations else 1)
    if not factors or (equations and len(factors) < 2):
        return None
    return all(factor != 0 and _near(factor, factors[0], digits) for factor in factors)


def _equal(gold: str, pred: str) -> dict[str, Any]:
    from math_verify import verify
    from math_verify.grader import should_treat_as_complex
    from sympy import Basic, Eq
    from sympy.core.relational import Relational

    imaginary = any(should_treat_as_complex(text) or re.search(r"(?<![a-zA-Z\\])i(?![a-zA-Z])", text) for text in (gold, pred))
    one, other = _parsed(gold, not imaginary), _parsed(pred, not imaginary)
    if one is None or other is None:
        return {"equal": False, "unread": "gold" if one is None else "pred"}
    relations = [isinstance(side, Relational) for side in (one, other)]
    if any(relations) and not all(relations):
        return {"equal": False}
    try:
        told = None
        if isinstance(one, Eq) and isinstance(other, Eq):
            told = _at_points(one.lhs - one.rhs, other.lhs - other.rhs, equations=True)
        elif not any(relations) and all(isinstance(side, Basic) and hasattr(side, "is_number") for side in (one, other)):
            told = _at_points(one.doit(), other.doit())
        if told is not None:
            return {"equal": told}
    except (TypeError, ValueError, AttributeError, ArithmeticError, NotImplementedError):
        pass
    return {"equal": bool(verify(one, other, timeout_seconds=None, allow_set_relation_comp=True))}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Answer until the input ends."""
    import logging
    import warnings

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    _no_text_is_evaluated()
    _parsed("x+1", True)
    _limits()
    sys.setrecursionlimit(2_000)
    _say("ready")
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            told: dict[str, Any] = _equal(asked["gold"], asked["pred"])
        except (MemoryError, RecursionError) as error:
            told = {"limit": type(error).__name__}
        except Exception as error:
            told = {"equal": False, "error": type(error).__name__}
        _say(json.dumps(told))


if __name__ == "__main__":
    main()
