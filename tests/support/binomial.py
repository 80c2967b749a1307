"""What the rates of intervals and tests must be on planted differences, summed exactly, for methods that answer independently."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scipy import stats

from branchwise.bench.report.statistics import mcnemar, wilson

N = 50
"""Items."""


def binomial(n: int, p: float) -> Iterator[float]:
    return (math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1))


def within(count: int, n: int, rate: float) -> bool:
    """Whether a count is one that binomial error explains, all but one time in ten thousand."""
    return stats.binom.ppf(5e-5, n, rate) <= count <= stats.binom.ppf(1 - 5e-5, n, rate)


def coverage(p: float) -> float:
    return sum(chance for right, chance in enumerate(binomial(N, p)) if wilson(right, N).low <= p <= wilson(right, N).high)


def power(a: float, b: float, alpha: float = 0.05) -> float:
    """The chance that McNemar's exact test finds independent answers with these rates different."""
    won, lost = a * (1 - b), b * (1 - a)
    total = 0.0
    for differing, chance in enumerate(binomial(N, won + lost)):
        total += chance * sum(c for wins, c in enumerate(binomial(differing, won / (won + lost))) if mcnemar(wins, differing - wins) < alpha)
    return total
