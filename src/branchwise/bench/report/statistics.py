"""Intervals and tests of the report. Knows no row and no method: numbers in, numbers out, and the same numbers each time.

The unit of chance is the item: several runs of one item are averaged first, so that they are never taken for independent items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from branchwise.errors import UsageError, install

__all__ = [
    "LEVEL", "Interval", "Paired", "bootstrap", "holm", "interval", "mcnemar", "paired_interval", "paired_test", "pass_at_k", "rounded",
    "sign_flip", "wilson",
]  # fmt: skip

LEVEL = 0.95
"""Of every interval."""
RESAMPLES = 4_000
"""Of a bootstrap, and of a permutation test that cannot be exact."""
_EXACT = 12
"""Non-zero differences up to which a permutation test tries all signs."""
_MANY = 5_000
"""Different values from which on the central limit theorem is as good as resampling, and a thousand times faster."""
_SEED = 20230517


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of a 95 % interval. `kind` says how it was found: wilson, bootstrap, normal or adjusted Wald."""

    low: float
    high: float
    kind: str

    def to_json(self) -> list[float]:
        """Low and high."""
        return [round(self.low, 6), round(self.high, 6)]


@dataclass(frozen=True, slots=True)
class Paired:
    """A paired test: the p-value (two-sided), and its name. `wins`, `losses` and `ties` count items."""

    p: float
    kind: str
    wins: int
    losses: int
    ties: int


@cache
def _numpy() -> ModuleType:
    try:
        import numpy
    except ImportError:
        raise UsageError(f"bench reports need numpy and scipy: {install('bench')}") from None
    return numpy


@cache
def _special() -> ModuleType:
    try:
        from scipy import special
    except ImportError:
        raise UsageError(f"bench reports need numpy and scipy: {install('bench')}") from None
    found: ModuleType = special
    return found


def wilson(successes: float, n: float, level: float = LEVEL) -> Interval:
    """The score interval of a share (Wilson 1927). [0, 1] without observations."""
    if n <= 0:
        return Interval(0.0, 1.0, "wilson")
    z = float(_special().ndtri((1 + level) / 2))
    share, square = successes / n, z * z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    low = 0.0 if successes <= 0 else max(0.0, middle - half)
    return Interval(low, 1.0 if successes >= n else min(1.0, middle + half), "wilson")


def bootstrap(values: Sequence[float], level: float = LEVEL) -> Interval:
    """The percentile interval of the mean, items drawn with replacement (Efron 1979); by the normal law for very many different values.

    Equal values are drawn together, as a multinomial: the same law, and no array of the size of the items a draw.
    """
    np = _numpy()
    data = np.asarray(values, dtype=float)
    if not len(data):
        return Interval(math.nan, math.nan, "bootstrap")
    distinct, counts = np.unique(np.round(data, 12), return_counts=True)
    if len(distinct) > _MANY:
        mean = float(data.mean())
        half = float(_special().ndtri((1 + level) / 2)) * float(data.std(ddof=1)) / math.sqrt(len(data))
        return Interval(mean - half, mean + half, "normal")
    rng = np.random.default_rng(_SEED)
    step = max(1, 2_000_000 // len(distinct))
    parts = [
        rng.multinomial(len(data), counts / len(data), size=min(step, RESAMPLES - done)) @ distinct for done in range(0, RESAMPLES, step)
    ]
    means = np.concatenate(parts) / len(data)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), "bootstrap")


def interval(values: Sequence[float], *, single: bool) -> Interval:
    """The interval of the mean of one value an item. `single`: each is one run's. Wilson for right or wrong, else a bootstrap over items.

    Where all items have the same mean of right or wrong runs, a bootstrap would claim certainty: Wilson, an item counting once.
    """
    if all(value in (0.0, 1.0) for value in values) and (single or len(set(values)) < 2):
        return wilson(sum(values), len(values))
    return bootstrap(values)


def mcnemar(wins: int, losses: int) -> float:
    """The exact two-sided p-value of McNemar's test: right in one only against right in the other only, a fair coin under no difference."""
    n = wins + losses
    if n == 0:
        return 1.0
    return min(1.0, 2.0 * float(_special().bdtr(min(wins, losses), n, 0.5)))


def sign_flip(differences: Sequence[float]) -> float:
    """The two-sided p-value of the paired permutation test of a mean difference: all signs for few differences, else drawn ones."""
    np = _numpy()
    data = np.asarray([value for value in differences if abs(value) > 1e-12], dtype=float)
    if not len(data):
        return 1.0
    seen = abs(float(data.sum())) - 1e-9
    if len(data) <= _EXACT:
        signs = 1 - 2 * ((np.arange(1 << len(data))[:, None] >> np.arange(len(data))) & 1)
        return float(np.mean(np.abs(signs @ data) >= seen))
    sizes, counts = np.unique(np.round(np.abs(data), 12), return_counts=True)
    if len(sizes) > _MANY:
        z = float(data.sum()) / math.sqrt(float((data**2).sum()))
        return float(2 * _special().ndtr(-abs(z)))
    rng = np.random.default_rng(_SEED)
    sums = np.zeros(RESAMPLES)
    for size, count in zip(sizes, counts, strict=True):  # the sum of `count` signs is 2·Binomial(count, ½) - count
        sums += size * (2 * rng.binomial(count, 0.5, RESAMPLES) - count)
    return float((1 + np.sum(np.abs(sums) >= seen)) / (1 + RESAMPLES))


def paired_test(ours: Sequence[float], theirs: Sequence[float]) -> Paired:
    """Scores of the same items in the same order: McNemar's exact test for right or wrong, the permutation test for other scores."""
    pairs = list(zip(ours, theirs, strict=True))
    wins, losses = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    if all(value in (0.0, 1.0) for pair in pairs for value in pair):
        return Paired(mcnemar(wins, losses), "McNemar, exact", wins, losses, len(pairs) - wins - losses)
    return Paired(sign_flip([a - b for a, b in pairs]), "paired permutation", wins, losses, len(pairs) - wins - losses)


def paired_interval(ours: Sequence[float], theirs: Sequence[float], level: float = LEVEL) -> Interval:
    """The interval of the mean difference on the same items: adjusted Wald for right or wrong (Bonett and Price 2012), else a bootstrap.

    The adjustment keeps the interval from claiming certainty where no item differs.
    """
    pairs = list(zip(ours, theirs, strict=True))
    if not pairs or not all(value in (0.0, 1.0) for pair in pairs for value in pair):
        return bootstrap([a - b for a, b in pairs], level)
    n = len(pairs) + 2
    won, lost = (sum(a > b for a, b in pairs) + 1) / n, (sum(a < b for a, b in pairs) + 1) / n
    half = float(_special().ndtri((1 + level) / 2)) * math.sqrt((won + lost - (won - lost) ** 2) / n)
    return Interval(max(-1.0, won - lost - half), min(1.0, won - lost + half), "adjusted Wald")


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for their number (Holm 1979): below α each, the chance of any false find is below α."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted, most = [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        most = max(most, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = most
    return adjusted


def pass_at_k(n: int, right: int, k: int) -> float:
    """The chance that one of `k` samples out of `n`, drawn without replacement, is right (Chen et al. 2021)."""
    if not 0 < k <= n:
        raise ValueError(f"k is {k}, and there are {n} samples")
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def rounded(value: Any) -> Any:
    """Six digits, so that no report shows what the last bit of a float is; `None` for what is no number."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return round(value, 6)
