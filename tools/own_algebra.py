"""Algebra problems of our own, with answers computed by code. Used by tools/make_items.py."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb, gcd, isqrt, lcm
from random import Random

Made = tuple[str, str]


def ratio(value: Fraction) -> str:
    """A fraction as LaTeX."""
    sign = "-" if value < 0 else ""
    value = abs(value)
    return f"{sign}{value.numerator}" if value.denominator == 1 else f"{sign}\\frac{{{value.numerator}}}{{{value.denominator}}}"


def surd(square: int) -> str:
    """The square root of a whole number, simplified, as LaTeX."""
    out = max(k for k in range(1, isqrt(square) + 1) if square % (k * k) == 0)
    rest = square // (out * out)
    return str(out) if rest == 1 else f"{'' if out == 1 else out}\\sqrt{{{rest}}}"


def term(value: int, name: str, first: bool = False) -> str:
    """A signed term of a sum."""
    size = "" if abs(value) == 1 and name else str(abs(value))
    sign = ("-" if value < 0 else "") if first else (" - " if value < 0 else " + ")
    return f"{sign}{size}{name}"


def linear(r: Random) -> Made:
    a, c, x, b = r.randint(5, 9), r.randint(2, 4), Fraction(r.randint(-9, 9), r.choice((1, 2, 3))), r.randint(1, 12)
    d = (a - c) * x + b
    return (f"Solve ${a}x + {b} = {c}x {'+' if d >= 0 else '-'} {ratio(abs(d))}$ for $x$.", ratio(x))


def roots(r: Random) -> Made:
    p, q = sorted(r.sample([n for n in range(-9, 10) if n], 2))
    return (f"Find all solutions of $x^2{term(-(p + q), 'x') if p + q else ''}{term(p * q, '')} = 0$.", f"{p}, {q}")


def system(r: Random) -> Made:
    x, y, a, b = r.randint(-6, 6), r.randint(-6, 6), r.randint(2, 5), r.randint(2, 5)
    text = f"The numbers $x$ and $y$ satisfy ${a}x + y = {a * x + y}$ and $x - {b}y = {x - b * y}$. Find the ordered pair $(x, y)$."
    return text, f"({x},{y})"


def series(r: Random) -> Made:
    first, step, n = r.randint(2, 12), r.randint(3, 9), r.randint(10, 30)
    text = f"What is the sum of the first {n} terms of the arithmetic sequence ${first}, {first + step}, {first + 2 * step}, \\ldots$?"
    return text, str(n * first + step * n * (n - 1) // 2)


def powers(r: Random) -> Made:
    base, low, high = r.choice((2, 3, 5)), r.randint(2, 4), r.randint(5, 8)
    text = f"Write $\\frac{{{base}^{{{low}}}}}{{{base}^{{{high}}}}} + \\frac{{1}}{{{base}}}$ as a fraction in lowest terms."
    return text, ratio(Fraction(base**low, base**high) + Fraction(1, base))


def compose(r: Random) -> Made:
    a, b, c = r.randint(2, 5), r.randint(-6, 6), r.randint(2, 4)
    text = f"Let $f(x) = {a}x{term(b, '') if b else ''}$ and $g(x) = x^2 - {c}$. Write $f(g(x))$ as a polynomial in $x$."
    rest = b - a * c
    return text, f"{a}x^2{term(rest, '') if rest else ''}"


def distance(r: Random) -> Made:
    a, b, c, d = r.sample(range(-9, 10), 4)
    text = f"Find the distance between the points $({a}, {b})$ and $({c}, {d})$. Simplify the square root."
    square = (a - c) ** 2 + (b - d) ** 2
    return (text, surd(square)) if "sqrt" in surd(square) and not surd(square).startswith("\\") else distance(r)


def inequality(r: Random) -> Made:
    a, low, width = r.randint(2, 5), r.randint(-8, 3), r.randint(3, 9)
    b = r.randint(1, 9)
    text = f"Find all real $x$ with ${a * low + b} \\le {a}x + {b} < {a * (low + width) + b}$. Write the answer as an interval."
    return text, f"[{low},{low + width})"


def multiply(r: Random) -> Made:
    a, b, c, d = (r.choice([n for n in range(-6, 7) if n]) for _ in range(4))
    real, imaginary = a * c - b * d, a * d + b * c
    text = f"Let $i^2 = -1$. Compute $({a}{term(b, 'i')})({c}{term(d, 'i')})$."
    if not real or not imaginary:
        return multiply(r)
    return text, f"{real}{term(imaginary, 'i')}"


def product(r: Random) -> Made:
    a, b, c, d, x, y = (r.randint(-5, 5) for _ in range(6))
    text = f"Compute $\\begin{{pmatrix}} {a} & {b} \\\\ {c} & {d} \\end{{pmatrix}} \\begin{{pmatrix}} {x} \\\\ {y} \\end{{pmatrix}}$."
    return text, f"\\begin{{pmatrix}} {a * x + b * y} \\\\ {c * x + d * y} \\end{{pmatrix}}"


def remainder(r: Random) -> Made:
    base, power, modulus = r.randint(3, 9), r.randint(20, 60), r.randint(7, 23)
    return f"What is the remainder when ${base}^{{{power}}}$ is divided by {modulus}?", str(pow(base, power, modulus))


def chance(r: Random) -> Made:
    red, blue = r.randint(3, 7), r.randint(3, 7)
    text = (
        f"A bag holds {red} red and {blue} blue balls. Two are drawn without putting any back. What is the probability that both are red?"
    )
    return text, ratio(Fraction(comb(red, 2), comb(red + blue, 2)))


def digits(r: Random) -> Made:
    base, number = r.choice((5, 6, 7, 8)), r.randint(100, 900)
    rest, written = number, ""
    while rest:
        rest, digit = divmod(rest, base)
        written = f"{digit}{written}"
    return f"Write the number {number} (in base ten) in base {base}.", f"{written}_{base}"


def vertex(r: Random) -> Made:
    h, k, a = r.randint(-6, 6), r.randint(-9, 9), r.choice((1, 2, 3))
    b, c = -2 * a * h, a * h * h + k
    text = f"Find the vertex of the parabola $y = {term(a, 'x^2', True)}{term(b, 'x') if b else ''}{term(c, '') if c else ''}$ as an ordered pair."
    return text, f"({h},{k})"


def common(r: Random) -> Made:
    g, a, b = r.randint(4, 12), r.randint(5, 9), r.randint(10, 14)
    m, n = g * a, g * b
    return f"Let $m$ be the greatest common divisor and $n$ the least common multiple of {m} and {n}. Find $n - m$.", str(
        lcm(m, n) - gcd(m, n)
    )


MAKERS: tuple[Callable[[Random], Made], ...] = (
    linear, roots, system, series, powers, compose, distance, inequality, multiply, product, remainder, chance, digits, vertex, common,
)  # fmt: skip


def algebra(r: Random) -> list[Made]:
    """Thirty problems, every template twice."""
    made = [maker(r) for maker in MAKERS for _ in range(2)]
    assert len({text for text, _ in made}) == 30
    return made
