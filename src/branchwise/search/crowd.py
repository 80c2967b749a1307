"""The highest of many Beta draws without making them all. Knows no tree and no search.

Each arm's draw is above a common line with a small probability of its own, independent of the others. So the arms whose draw is above it are
found by skipping: with hazards h = -log(1 - m), an exponential step over their running sums lands on the next arm that proposes a draw
there (`Arm.mass` says what m is). Only where none is above the line are all drawn, on condition that they lie below. The law of the choice
is that of plain draws; the price is a few draws, and the sums of the blocks in which a posterior has changed. That holds while posteriors are wide:
where they are narrow (many values an arm, a large prior) m says too little, and all are drawn more often.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from math import exp, log, log1p

from branchwise.search.arms import Arm, Arms
from branchwise.search.base import Chance

__all__ = ["Crowd"]

_BLOCK = 32
_FEWEST, _MOST = 0.7, 2.0
"""How many draws above the line are expected, times the logarithm of the number of arms: beyond these, the line moves to where it is 1."""
_STEP = 1.2
"""By what the odds of the line move at once."""
_FARTHEST = 1e9
_SURE = -0.01
"""An arm whose log-mass is more than this draws each time, as if by itself."""


class _Block:
    """Some arms in a row. `sums` are the running sums of their hazards; `sure` are the places of those that draw each time."""

    __slots__ = ("arms", "hazards", "sums", "sure")

    def __init__(self) -> None:
        self.arms: list[Arms] = []
        self.hazards: list[float] = []
        self.sums: list[float] = []
        self.sure: list[int] = []

    def measure(self, place: int, line: float, prior: float) -> None:
        """Work out the hazard of one arm; `add_up` is due after it."""
        arms = self.arms[place]
        mass = arms.mass(line, prior)[0] if arms.eligible else None
        sure = mass is not None and mass > _SURE
        if place in self.sure:
            self.sure.remove(place)
        if sure:
            self.sure.append(place)
        self.hazards[place] = 0.0 if mass is None or sure else -log1p(-exp(mass))

    def add_up(self) -> None:
        """Work out the running sums."""
        self.sums = list(accumulate(self.hazards))

    @property
    def expected(self) -> float:
        """The draws above the line that are expected, or somewhat more."""
        return self.sums[-1] + len(self.sure)


class Crowd:
    """The arms of one node's children, in the order of their births."""

    def __init__(self, prior: float) -> None:
        self._prior, self._line = prior, 0.5
        self._blocks: list[_Block] = []
        self._changed: set[int] = set()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, arms: Arms) -> None:
        """One more child."""
        if self._size % _BLOCK == 0:
            self._blocks.append(_Block())
        self._blocks[-1].arms.append(arms)
        self._blocks[-1].hazards.append(0.0)
        arms.join(self._changed, self._size)
        self._size += 1

    def best(self, rng: Chance) -> int:
        """The place of the eligible child with the highest draw. There must be one."""
        self._settle()
        place = self._above(rng)
        return self._below(rng) if place is None else place

    def _settle(self) -> None:
        """Bring the sums up to date, and the line to where a few draws are expected above it."""
        expected, wanted = self._measured(), log(max(2, self._size))
        if _FEWEST * wanted <= expected <= _MOST * wanted:
            return
        raised = expected > wanted
        while (expected > wanted) if raised else (expected < wanted):
            odds = self._line / (1.0 - self._line) * (_STEP if raised else 1.0 / _STEP)
            if not 1.0 / _FARTHEST < odds < _FARTHEST:
                return
            self._line = odds / (1.0 + odds)
            self._changed.update(range(self._size))
            expected = self._measured()

    def _measured(self) -> float:
        """The draws above the line that are expected, once what has changed is looked at."""
        blocks = self._blocks
        for place in sorted(self._changed):
            blocks[place // _BLOCK].measure(place % _BLOCK, self._line, self._prior)
        for number in {place // _BLOCK for place in self._changed}:
            blocks[number].add_up()
        self._changed.clear()
        return sum([block.expected for block in blocks])

    def _above(self, rng: Chance) -> int | None:
        """The place of the highest draw above the line, if there is one."""
        line, prior = self._line, self._prior
        best, top, first = None, line, 0
        step = -log(1.0 - rng.random())
        for block in self._blocks:
            for place in block.sure:
                arms = block.arms[place]
                if arms.eligible and (x := arms.draw(prior, rng)) > top:
                    best, top = first + place, x
            sums, passed = block.sums, 0.0
            while (at := passed + step) < sums[-1]:
                place = bisect_right(sums, at)
                arms = block.arms[place]
                if arms.eligible and (x := arms.proposed(line, arms.mass(line, prior)[1], prior, rng)) > top:
                    best, top = first + place, x
                passed, step = sums[place], -log(1.0 - rng.random())
            step -= sums[-1] - passed
            first += _BLOCK
        return best

    def _below(self, rng: Chance) -> int:
        """The place of the highest draw where all are known to lie below the line."""
        best, top, place = 0, -1.0, -1
        for block in self._blocks:
            for arms in block.arms:
                place += 1
                if arms.eligible and (x := self._drawn_below(arms, top, rng)) > top:
                    best, top = place, x
        return best

    def _drawn_below(self, arm: Arm, top: float, rng: Chance) -> float:
        """A draw on condition that it is not above the line, if it is above `top`; otherwise something that is not."""
        while True:
            x = arm.draw(self._prior, rng) if top <= 0.0 else arm.beyond(top, self._prior, rng)
            if x <= self._line:
                return x
