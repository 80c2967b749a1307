"""On random trees, with steps in flight, each search chooses what its pseudocode, worked out anew at every choice, chooses."""

from __future__ import annotations

import math
from bisect import bisect
from random import Random
from typing import Literal

import pytest

from branchwise import Adaptive, AStar, BestFirst, Mcts, SelfRefineSearch
from branchwise.search.arms import Arm
from support.rescans import Ab, Heap, Mctsr, Uct, follow

SEEDS = range(150)
COSTS: tuple[Literal["unit", "log"], ...] = ("unit", "log")
BACKUPS: tuple[Literal["mean", "max"], ...] = ("mean", "max")


@pytest.mark.parametrize("backup", BACKUPS)
@pytest.mark.parametrize("puct", [False, True])
def test_mcts_selects_by_uct_or_puct_from_the_root(backup: Literal["mean", "max"], puct: bool) -> None:
    chosen = 0
    for seed in SEEDS:
        rng = Random(seed)
        c, depth = rng.choice((0.0, 0.5, 1.0, 3.0)), rng.randint(1, 5)
        search = Mcts(rollouts=40, exploration=c, depth=depth, backup=backup, puct=puct)
        log = follow(search, Uct(c, depth, backup, puct), rng, window=rng.choice((1, 2, 8)), k=rng.randint(2, 5), steps=60)
        chosen += len(log.entries)
    assert chosen > 600


@pytest.mark.parametrize("prune_below", [0.0, 0.3])
def test_best_first_expands_the_best_of_all_open_nodes(prune_below: float) -> None:
    chosen = 0
    for seed in SEEDS:
        rng = Random(seed)
        search = BestFirst(depth=rng.randint(1, 5), prune_below=prune_below, max_nodes=None)
        log = follow(search, Heap(search), rng, window=rng.choice((1, 2, 8)), k=rng.randint(2, 5), steps=40)
        chosen += len(log.entries)
    assert chosen > 500


@pytest.mark.parametrize("cost", COSTS)
def test_a_star_expands_the_lowest_f(cost: Literal["unit", "log"]) -> None:
    chosen = 0
    for seed in SEEDS:
        rng = Random(seed)
        search = AStar(depth=rng.randint(1, 5), prune_below=rng.choice((0.0, 0.3)), cost_model=cost)
        log = follow(search, Heap(search), rng, window=rng.choice((1, 2, 8)), k=rng.randint(2, 5), steps=40)
        chosen += len(log.entries)
    assert chosen > 500


@pytest.mark.parametrize("faults", [False, True])
def test_mctsr_refines_the_candidate_with_the_highest_uct(faults: bool) -> None:
    chosen = 0
    for seed in range(120):
        rng = Random(seed)
        c, limit, depth = rng.choice((0.0, 0.1, 0.7, 2.0)), rng.randint(1, 3), rng.choice((2, 3, 16))
        search = SelfRefineSearch(rollouts=25, roots=2, exploration=c, child_limit=limit, depth=depth, patience=0)
        log = follow(search, Mctsr(c, limit, depth), rng, window=rng.choice((1, 2, 4, 8)), k=1, steps=80, roots=2, faults=faults)
        chosen += len(log.entries)
    assert chosen > 1500


@pytest.mark.parametrize("prior", [0.5, 1.0])
def test_adaptive_draws_what_the_pseudocode_draws_in_the_same_order(prior: float) -> None:
    chosen = 0
    for seed in SEEDS:
        rng = Random(seed)
        depth = rng.randint(1, 4)
        search = Adaptive(rollouts=50, depth=depth, prior=prior)
        reference = Ab(Random(seed), depth, prior)
        log = follow(search, reference, rng, window=rng.choice((1, 2, 8)), k=1, steps=60, frontier_rng=Random(seed))
        chosen += len(log.entries)
    assert chosen > 1500


@pytest.mark.parametrize("prior", [0.2, 0.5, 1.0])
def test_a_draw_beyond_the_top_has_the_law_of_a_plain_draw(prior: float) -> None:
    """20,000 draws each way: the share above the top within 4 standard deviations, and what is above it by Kolmogorov and Smirnov at 0.1
    %."""
    for won, lost, top in (
        (3, 1, 0.8),
        (0, 1, 0.6),
        (0.3, 0.7, 0.9),
        (10, 30, 0.3),
        (50, 2, 0.97),
        (0, 0, 0.2),
        (1, 0, 0.99),
        (0.1, 0.9, 0.9),
    ):
        rng, arm, n = Random(7), Arm(), 20_000
        arm.add(won, lost)
        ours = sorted(x for x in (arm.beyond(top, prior, rng) for _ in range(n)) if x > top)
        plain = sorted(x for x in (rng.betavariate(prior + won, prior + lost) for _ in range(n)) if x > top)
        share = (len(ours) + len(plain)) / (2 * n)
        assert abs(len(ours) - len(plain)) / n <= 4 * math.sqrt(2 * share * (1 - share) / n), (won, lost, top)
        distance = max(abs(i / len(ours) - bisect(plain, x) / len(plain)) for i, x in enumerate(ours, 1))
        assert distance < 1.95 * math.sqrt(1 / len(ours) + 1 / len(plain)), (won, lost, top)
