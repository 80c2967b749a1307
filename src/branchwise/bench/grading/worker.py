"""The process that math-verify runs in. It reads pairs of formulas as JSON lines and says whether they are equal. Started by `pool`.

Nothing in it evaluates text: SymPy's string parsers are taken away before the first formula comes, so that a formula can only go through the
grammar of latex2sympy. Memory, CPU time and files are limited; the parent kills it when it takes too long.
"""

from __future__ import annotations

import json
import re
import sys
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


def _parsed(text: str) -> Any:
    """The formula, by math-verify's LaTeX grammar; `None` where it does not read it to the end."""
    from latex2sympy2_extended.latex2sympy2 import latex2sympy, normalize_latex
    from math_verify.grader import should_treat_as_complex
    from math_verify.parser import LatexExtractionConfig

    config = LatexExtractionConfig().normalization_config
    try:
        found = latex2sympy(
            normalize_latex(text, config=config),
            is_real=not should_treat_as_complex(text),
            convert_degrees=False,
            normalization_config=None,
        )
    except Exception:
        return None
    return found


def _at_points(one: Any, other: Any) -> bool | None:
    """Equal or not at a few points, to 40 digits; `None` where they cannot be computed. Small numbers are compared by ratio."""
    import sympy

    names = sorted(one.free_symbols | other.free_symbols, key=str)
    if one.free_symbols != other.free_symbols and not (one.is_number or other.is_number):
        return False
    compared = 0
    for turn in range(4 if names else 1):
        point = {name: sympy.Rational(37 + 11 * turn + 7 * place, 13 + turn if turn % 2 else 1) for place, name in enumerate(names)}
        values = [sympy.N(side.subs(point), 40, maxn=200) for side in (one, other)]
        if not all(value.is_number and value.is_finite for value in values):
            continue
        compared += 1
        size = max(abs(values[0]), abs(values[1]))
        rounded = any(side.has(sympy.Float) for side in (one, other))
        if size != 0 and abs(values[0] - values[1]) > size * sympy.Float(10) ** (-6 if rounded else -25):
            return False
    return True if compared else None


def _equal(gold: str, pred: str) -> dict[str, Any]:
    from math_verify import verify
    from sympy import Basic
    from sympy.core.relational import Relational

    one, other = _parsed(gold), _parsed(pred)
    if one is None or other is None:
        return {"equal": False, "unread": "gold" if one is None else "pred"}
    plain = all(isinstance(side, Basic) and not isinstance(side, Relational) and hasattr(side, "is_number") for side in (one, other))
    if plain:
        try:
            if (told := _at_points(one.doit(), other.doit())) is not None:
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
    _parsed("x+1")
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
