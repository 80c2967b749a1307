"""The posteriors of adaptive branching: Beta distributions of which mostly only the highest draw counts. Knows no tree."""

from __future__ import annotations

from math import exp, lgamma, log

from branchwise.search.base import Chance

__all__ = ["Arm", "Arms"]


class Arm:
    """A Beta posterior: sums of rewards and of losses, and the logarithm of beta·B(alpha, beta), worked out when it is asked for.

    Above `top` the density f(x) = x^(a-1)·(1-x)^(b-1) / B(a, b) lies under g(x) = c·(1-x)^(b-1) / B(a, b) with c = max(1, top^(a-1)),
    whose mass there is m = c·(1-top)^b / (b·B(a, b)). Where m < 1, a draw above `top` can be had so: with probability m propose x from g,
    accept it with f(x)/g(x).
    """

    __slots__ = ("_changed", "_place", "_scale", "lost", "won")

    def __init__(self) -> None:
        self.won = self.lost = 0.0
        self._scale: float | None = None
        self._changed: set[int] | None = None
        self._place = 0

    def join(self, changed: set[int], place: int) -> None:
        """From now on put `place` into `changed` whenever the distribution is another one; it is put there at once."""
        self._changed, self._place = changed, place
        changed.add(place)

    def add(self, won: float, lost: float) -> None:
        """One more reward, or a virtual loss and its return."""
        self.won += won
        self.lost += lost
        self._scale = None
        if self._changed is not None:
            self._changed.add(self._place)

    def draw(self, prior: float, rng: Chance) -> float:
        """A plain draw."""
        return rng.betavariate(prior + self.won, prior + self.lost)

    def mass(self, top: float, prior: float) -> tuple[float, float]:
        """The logarithm of m for a `top` below 1, and the logarithm of c. With 0 or more of the first, `proposed` cannot be used."""
        a, b = prior + self.won, prior + self.lost
        if self._scale is None:
            self._scale = log(b) + lgamma(a) + lgamma(b) - lgamma(a + b)
        if top <= 0.0:
            return 0.0, 0.0
        bend = (a - 1.0) * log(top) if a < 1.0 else 0.0
        return b * log(1.0 - top) + bend - self._scale, bend

    def proposed(self, top: float, bend: float, prior: float, rng: Chance) -> float:
        """What is drawn where x was proposed: x above `top`, or 0 where it is not accepted."""
        x = 1.0 - (1.0 - top) * rng.random() ** (1.0 / (prior + self.lost))
        return x if rng.random() < exp((prior + self.won - 1.0) * log(x) - bend) else 0.0

    def beyond(self, top: float, prior: float, rng: Chance) -> float:
        """A draw, if it is above `top`; otherwise 0, and mostly for the price of one uniform number. The law is that of a plain draw."""
        if top >= 1.0:
            return 0.0
        mass, bend = self.mass(top, prior)
        if mass >= 0.0:
            return self.draw(prior, rng)
        return 0.0 if rng.random() >= exp(mass) else self.proposed(top, bend, prior, rng)


class Arms(Arm):
    """A node as a choice of its parent, with the two choices there: go wider and go deeper. These take no room before something came below."""

    __slots__ = ("_below", "empty", "open", "wide")

    def __init__(self, wide: bool) -> None:
        super().__init__()
        self._below: tuple[Arm, Arm] | None = None
        self.wide = wide
        """Whether new children may come here."""
        self.open = 0
        """Children that can still be gone to."""
        self.empty = 0
        """New children in a row that brought nothing."""

    @property
    def wider(self) -> Arm:
        """That of a new child."""
        return self._two()[0]

    @property
    def deeper(self) -> Arm:
        """That of the children that are there."""
        return self._two()[1]

    def _two(self) -> tuple[Arm, Arm]:
        if self._below is None:
            self._below = Arm(), Arm()
        return self._below

    @property
    def eligible(self) -> bool:
        """Whether it can be gone to."""
        return self.wide or self.open > 0
