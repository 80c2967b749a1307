"""Intervals and tests against other programs, against exact sums, and on planted differences."""

from __future__ import annotations

import math
from itertools import product
from random import Random
from statistics import NormalDist

import pytest
from scipy import stats

from branchwise.bench.report.statistics import (
    bootstrap,
    holm,
    interval,
    mcnemar,
    paired_interval,
    paired_test,
    pass_at_k,
    sign_flip,
    wilson,
)  # fmt: skip
from support.binomial import N, coverage, power, within


@pytest.mark.parametrize(("right", "n"), [(0, 1), (0, 50), (1, 50), (25, 50), (49, 50), (50, 50), (620, 1000)])
def test_wilson_is_that_of_scipy(right: int, n: int) -> None:
    theirs = stats.binomtest(right, n).proportion_ci(method="wilson")
    ours = wilson(right, n)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (5, 5), (10, 2), (2, 10), (600, 500)])
def test_mcnemar_is_the_exact_binomial_test(wins: int, losses: int) -> None:
    n = wins + losses
    tail = sum(math.comb(n, i) for i in range(min(wins, losses) + 1)) / 2**n
    assert mcnemar(wins, losses) == pytest.approx(min(1.0, 2 * tail), abs=1e-12)
    if n:
        assert mcnemar(wins, losses) == pytest.approx(stats.binomtest(wins, n).pvalue, abs=1e-12)


def test_the_sign_flip_test_tries_all_signs_of_few_differences() -> None:
    data = [0.5, -0.25, 0.75, 0.0, 0.1, 0.3]
    kept = [value for value in data if value]
    sums = [abs(sum(s * v for s, v in zip(signs, kept, strict=True))) for signs in product((1, -1), repeat=len(kept))]
    assert sign_flip(data) == sum(total >= abs(sum(kept)) - 1e-12 for total in sums) / len(sums)
    assert sign_flip([0.0, 0.0]) == sign_flip([]) == 1.0


def test_the_drawn_sign_flip_test_is_near_that_of_scipy() -> None:
    rng = Random(1)
    data = [rng.choice((-0.5, 0.0, 0.25, 0.5, 1.0)) - 0.1 * rng.random() for _ in range(80)]
    theirs = stats.permutation_test((data,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", n_resamples=20_000, rng=1).pvalue
    assert sign_flip(data) == pytest.approx(theirs, abs=4 * math.sqrt(max(theirs, 0.01) / 4000))
    assert sign_flip(data) == sign_flip(data)


def test_the_bootstrap_is_near_that_of_scipy_and_the_same_each_time() -> None:
    rng = Random(2)
    for values in ([rng.random() for _ in range(60)], [rng.randrange(6) / 5 for _ in range(60)]):
        theirs = stats.bootstrap((values,), lambda x, axis: x.mean(axis=axis), method="percentile", rng=3, n_resamples=20_000).confidence_interval
        ours = bootstrap(values)
        assert ours == bootstrap(values)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_very_many_values_take_the_normal_law() -> None:
    rng = Random(3)
    values = [rng.random() for _ in range(6000)]
    found = bootstrap(values)
    assert found.kind == "normal"
    assert found.high - found.low == pytest.approx(2 * NormalDist().inv_cdf(0.975) * math.sqrt(1 / 12 / 6000), rel=0.05)
    p = sign_flip([value - 0.5 for value in values])
    assert p == pytest.approx(stats.ttest_1samp([value - 0.5 for value in values], 0).pvalue, abs=0.01)


def test_no_interval_claims_certainty_of_right_and_wrong() -> None:
    assert interval([1.0] * 30, single=False) == wilson(30, 30)
    assert interval([0.0] * 30, single=True).high > 0.1
    none = paired_interval([1.0] * 20, [1.0] * 20)
    assert none.low < -0.1 < 0.1 < none.high


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_pass_at_k_is_the_share_of_all_draws() -> None:
    for n, right, k in [(4, 1, 1), (4, 1, 2), (4, 1, 4), (6, 3, 2), (5, 0, 3)]:
        draws = [c for c in product(range(n), repeat=k) if len(set(c)) == k]
        assert pass_at_k(n, right, k) == pytest.approx(sum(min(c) < right for c in draws) / len(draws))
    with pytest.raises(ValueError, match="there are 4 samples"):
        pass_at_k(4, 1, 5)


# Planted differences: three methods, 50 items, 200 seeds. What the rates must be is summed exactly, not guessed.

SEEDS = 200
TRUE = {"plain": 0.40, "same": 0.40, "better": 0.70}


def test_intervals_cover_and_the_test_finds_the_planted_difference_only() -> None:
    covered, found, of_nothing, differences = dict.fromkeys(TRUE, 0), 0, 0, 0
    for seed in range(SEEDS):
        rng = Random(seed)
        scores = {name: [float(rng.random() < p) for _ in range(N)] for name, p in TRUE.items()}
        for name, p in TRUE.items():
            bounds = interval(scores[name], single=True)
            covered[name] += bounds.low <= p <= bounds.high
        found += paired_test(scores["better"], scores["plain"]).p < 0.05
        of_nothing += paired_test(scores["same"], scores["plain"]).p < 0.05
        bounds = paired_interval(scores["better"], scores["plain"])
        differences += bounds.low <= 0.30 <= bounds.high
    for name, p in TRUE.items():
        assert coverage(p) > 0.93
        assert within(covered[name], SEEDS, coverage(p)), (name, covered[name] / SEEDS, coverage(p))
    assert power(0.7, 0.4) > 0.8
    assert within(found, SEEDS, power(0.7, 0.4)), (found / SEEDS, power(0.7, 0.4))
    assert power(0.4, 0.4) <= 0.05
    assert within(of_nothing, SEEDS, power(0.4, 0.4)), (of_nothing / SEEDS, power(0.4, 0.4))
    assert within(differences, SEEDS, 0.95), differences / SEEDS


def test_graded_scores_are_tested_as_well() -> None:
    found = of_nothing = covered = 0
    for seed in range(SEEDS):
        rng = Random(seed)
        plain = [rng.choice((0.0, 0.25, 0.5, 0.75, 1.0)) for _ in range(N)]
        same = [rng.choice((0.0, 0.25, 0.5, 0.75, 1.0)) for _ in range(N)]
        better = [min(1.0, rng.choice((0.0, 0.25, 0.5, 0.75, 1.0)) + 0.25) for _ in range(N)]
        found += paired_test(better, plain).p < 0.05
        of_nothing += paired_test(same, plain).p < 0.05
        bounds = interval(plain, single=True)
        covered += bounds.low <= 0.5 <= bounds.high
    assert within(of_nothing, SEEDS, 0.05)
    assert found > 0.6 * SEEDS
    assert within(covered, SEEDS, 0.94)
