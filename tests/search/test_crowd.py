"""A crowd chooses as plain Thompson sampling does: the highest of all draws, without making them all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from branchwise.search.arms import Arms
from branchwise.search.crowd import Crowd

N = 6_000
FILLS: dict[str, Callable[[int, Random], tuple[float, float]]] = {
    "mixed": lambda i, rng: (5 * rng.random(), 5 * rng.random()),
    "one value each": lambda i, rng: (x := rng.random(), 1.0 - x),
    "nothing known": lambda i, rng: (0.0, 0.0),
    "all lost": lambda i, rng: (0.0, rng.randint(1, 30)),
    "all won": lambda i, rng: (rng.randint(1, 30), 0.0),
    "one far ahead": lambda i, rng: (60.0, 2.0) if i == 41 else (1.0, 4.0),
    "two far ahead": lambda i, rng: (900.0, 100.0) if i in (3, 90) else (rng.random(), 2.0),
}


def arms_of(size: int, fill: str) -> list[Arms]:
    rng = Random(size)
    arms = [Arms(True) for _ in range(size)]
    for i, one in enumerate(arms):
        one.add(*FILLS[fill](i, rng))
    return arms


def crowd_of(arms: list[Arms], prior: float) -> Crowd:
    crowd = Crowd(prior)
    for one in arms:
        crowd.append(one)
    return crowd


def plain(arms: list[Arms], prior: float, rng: Random) -> int:
    """The place of the highest of one draw from each arm that can be gone to."""
    draws = [(rng.betavariate(prior + one.won, prior + one.lost), -i) for i, one in enumerate(arms) if one.wide or one.open]
    return -max(draws)[1]


def agree(ours: Counter[int], theirs: Counter[int]) -> None:
    """A chi-square test of two samples at about 0.01 %; places with few draws are taken together."""
    groups: dict[int, list[int]] = {}
    for place in ours.keys() | theirs.keys():
        group = groups.setdefault(place if ours[place] + theirs[place] >= 40 else -1, [0, 0])
        group[0] += ours[place]
        group[1] += theirs[place]
    assert sum(a for a, _ in groups.values()) == sum(b for _, b in groups.values())
    chi = sum((a - b) ** 2 / (a + b) for a, b in groups.values())
    free = max(1, len(groups) - 1)
    assert chi < free * (1 - 2 / (9 * free) + 3.9 * math.sqrt(2 / (9 * free))) ** 3  # Wilson and Hilferty


@pytest.mark.parametrize(("fill", "prior"), [*((fill, 0.5) for fill in FILLS), ("mixed", 0.2), ("mixed", 1.0)])
def test_its_choice_has_the_law_of_plain_draws(fill: str, prior: float) -> None:
    arms, rng = arms_of(100, fill), Random(1)
    crowd = crowd_of(arms, prior)
    agree(Counter(crowd.best(rng) for _ in range(N)), Counter(plain(arms, prior, rng) for _ in range(N)))


def test_it_follows_what_changes() -> None:
    """Rewards, virtual losses, arms that close and open again, new ones: after each change the law is that of plain draws."""
    arms, rng = arms_of(70, "mixed"), Random(2)
    crowd = crowd_of(arms, 0.5)
    for change in range(8):
        crowd.best(rng)
        for one in arms[change::8]:
            one.add(3.0 * rng.random(), 0.2)
        arms[change].wide = False
        arms[change + 8].add(0.0, 2.0)
        arms.append(Arms(True))
        crowd.append(arms[-1])
    for one in arms[:4]:
        one.wide = True
        one.add(0.0, 0.0)
    ours = Counter(crowd.best(rng) for _ in range(N))
    assert not any(ours[place] for place in range(4, 8))
    assert any(ours[place] for place in range(4))
    agree(ours, Counter(plain(arms, 0.5, rng) for _ in range(N)))


def test_an_arm_that_closes_unseen_is_never_chosen() -> None:
    arms, rng = arms_of(80, "one far ahead"), Random(3)
    crowd = crowd_of(arms, 0.5)
    assert sum(crowd.best(rng) == 41 for _ in range(200)) > 100
    arms[41].wide = False
    assert all(crowd.best(rng) != 41 for _ in range(500))
    arms[41].open = 1
    arms[41].add(0.0, 0.0)
    assert 41 in {crowd.best(rng) for _ in range(20)}


def test_the_last_open_arm_is_found() -> None:
    arms, rng = arms_of(200, "mixed"), Random(4)
    crowd = crowd_of(arms, 0.5)
    for place, one in enumerate(arms):
        one.wide = place == 137
    assert [crowd.best(rng) for _ in range(50)] == [137] * 50


class Counting(Random):
    """Counts the numbers drawn."""

    drawn = 0

    def random(self) -> float:
        self.drawn += 1
        return super().random()


@pytest.mark.parametrize("size", [64, 10_000])
def test_a_choice_takes_few_draws_however_many_arms_there_are(size: int) -> None:
    arms, rng = arms_of(size, "one value each"), Counting(5)
    crowd = crowd_of(arms, 0.5)
    crowd.best(rng)
    rng.drawn = 0
    for _ in range(300):
        arms[crowd.best(rng)].add(0.3, 0.7)
    assert rng.drawn / 300 < 120
