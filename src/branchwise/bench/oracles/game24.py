"""The truth about Game of 24, by exhaustive exact search: what can be reached, how, and how hard it is. Never part of a method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement

__all__ = ["chance", "expressions", "next_states", "reachable", "solvable_hands"]

Left = tuple[Fraction, ...]
TARGET = Fraction(24)


def _left(numbers: Iterable[Fraction | int]) -> Left:
    return tuple(sorted(map(Fraction, numbers)))


def _results(a: Fraction, b: Fraction) -> Iterator[tuple[str, Fraction]]:
    yield f"{a} + {b}", a + b
    yield f"{a} - {b}", a - b
    yield f"{b} - {a}", b - a
    yield f"{a} * {b}", a * b
    if b:
        yield f"{a} / {b}", a / b
    if a:
        yield f"{b} / {a}", b / a


@lru_cache(maxsize=1_000_000)
def _next(left: Left) -> frozenset[Left]:
    found: set[Left] = set()
    for i, j in combinations(range(len(left)), 2):
        rest = [left[k] for k in range(len(left)) if k not in (i, j)]
        found.update(_left([*rest, value]) for _, value in _results(left[i], left[j]))
    return frozenset(found)


def next_states(numbers: Iterable[Fraction | int]) -> frozenset[Left]:
    """The different states that one legal step leads to; the numbers of each ascend."""
    return _next(_left(numbers))


@lru_cache(maxsize=1_000_000)
def _chance(left: Left) -> Fraction:
    if len(left) == 1:
        return Fraction(left[0] == TARGET)
    following = _next(left)
    return sum(map(_chance, following), Fraction(0)) / len(following)


def chance(numbers: Iterable[Fraction | int]) -> Fraction:
    """The probability that random play ends in 24, every different next state being equally likely at each step. 0 means unsolvable."""
    return _chance(_left(numbers))


@lru_cache(maxsize=1_000_000)
def _reachable(left: Left) -> bool:
    return left[0] == TARGET if len(left) == 1 else any(map(_reachable, _next(left)))


def reachable(numbers: Iterable[Fraction | int]) -> bool:
    """Whether 24 can be made from these numbers, each used once."""
    return _reachable(_left(numbers))


def expressions(numbers: Iterable[Fraction | int]) -> set[str]:
    """Fully parenthesised expressions of these numbers that are 24; one for each way to get there, not reduced further."""
    states: set[tuple[tuple[Fraction, str], ...]] = {tuple((Fraction(n), str(n)) for n in numbers)}
    found: set[str] = set()
    while states:
        state = states.pop()
        if len(state) == 1:
            found.update({state[0][1]} if state[0][0] == TARGET else set())
            continue
        for i, j in combinations(range(len(state)), 2):
            (a, x), (b, y) = state[i], state[j]
            rest = [state[k] for k in range(len(state)) if k not in (i, j)]
            made = [(a + b, f"({x}+{y})"), (a * b, f"({x}*{y})"), (a - b, f"({x}-{y})"), (b - a, f"({y}-{x})")]
            made += [(a / b, f"({x}/{y})")] if b else []
            made += [(b / a, f"({y}/{x})")] if a else []
            states.update((*rest, new) for new in made)
    return found


def solvable_hands() -> list[tuple[int, ...]]:
    """All hands of four numbers from 1 to 13 that can make 24, easiest first: by falling `chance`, then by the numbers."""
    hands = [hand for hand in combinations_with_replacement(range(1, 14), 4) if reachable(hand)]
    return sorted(hands, key=lambda hand: (-chance(hand), hand))
