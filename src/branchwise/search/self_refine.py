"""MCT Self-Refine: a tree of whole answers, each child a rewrite of its parent. Knows no model.

Zhang et al. 2024 (MCTSr), sections 3.1 to 3.5, with rewards mapped from [-100, 100] to [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from branchwise.errors import UsageError
from branchwise.search.base import Chance, Level
from branchwise.search.self_refine_frontier import SelfRefineFrontier, quality
from branchwise.tree import Tree

__all__ = ["SelfRefineFrontier", "SelfRefineSearch", "quality"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfRefineSearch:
    """A rollout selects an answer, samples its reward again, refines it (critique, then rewrite), rewards the rewrite and backs up
    Q'(a) = ½ (Q(a) + max over children Q'(child)) to every ancestor; UCT(a) = Q'(a) + c·sqrt((ln N(father) + 1) / (N(a) + ε)).

    Candidates are leaves and nodes that are not fully expanded; fully expanded means `child_limit` children, one of which has a higher Q.
    An answer whose grades could not be read has no Q. It takes no part in the Q' above it, and is better than no other; its Q' is the best
    known one of its children. While there is none, UCT takes the Q' of the nearest answer above it that has one for it, 0.5 (a grade of 0)
    where none has, so that it is graded again in its turn; with no Q of its own it is not fully expanded, whatever its children.
    N counts an answer's visits: its birth, and each time it is selected; rollouts in flight count already. Decided here, as the paper
    leaves it open: N(father) of a root is the total of all visits, at least 1; every rewrite that was asked for fills a child slot of its
    father, also while it is in flight, when it is merged with an earlier answer, and when nothing came; a dummy root counts like any other.
    The choice by importance takes time in proportion to the number of answers, the greedy one does not.
    """

    rollouts: int = 8
    """At least 1."""
    roots: int = 2
    """Answers to begin with: 2 for a naive answer and a dummy, 1 for either (the generator's choice)."""
    exploration: float = 0.1
    """c on the [0, 1] scale (20 points of the paper's); at least 0."""
    epsilon: float = 1e-5
    child_limit: int = 2
    """Children of a fully expanded node; at least 1."""
    depth: int = 16
    """The most rewrites of rewrites; an answer at this depth is not refined."""
    patience: int = 4
    """Stop after so many rollouts in a row without a better Q' or with the same answer again; 0: never."""
    choice: Literal["greedy", "importance"] = "greedy"
    """The candidate with the highest UCT, or one drawn in proportion to it."""
    stop_confidence: float | None = None
    """Stop when the best answer's confidence (the model's own, from log-probabilities) reaches this; `None`: never."""

    def __post_init__(self) -> None:
        if (
            min(self.rollouts, self.roots, self.child_limit, self.depth) < 1
            or min(self.exploration, self.patience) < 0
            or self.epsilon <= 0
        ):
            raise UsageError(
                "mctsr needs rollouts, roots, child_limit and depth of at least 1, exploration and patience of at least 0, epsilon > 0"
            )
        if self.choice not in ("greedy", "importance"):
            raise UsageError(f"mctsr chooses 'greedy' or by 'importance', not {self.choice!r}")

    goes_back = True
    mixes_groups = True
    refines = True

    @property
    def window(self) -> int:
        """8 steps in flight, two a rollout."""
        return 8

    @property
    def max_depth(self) -> int:
        """As set."""
        return self.depth

    def start(self, tree: Tree, rng: Chance) -> SelfRefineFrontier:
        """A frontier that begins with the roots."""
        return SelfRefineFrontier(self, tree, rng)

    def plan(self, k: int, worst: bool = False) -> list[Level]:
        """The roots and their rewards; then a reward again, a rewrite (two calls) and its reward a rollout."""
        deepest = min(self.depth, self.rollouts + 1)
        levels = [Level(0, expand=1, k=self.roots), Level(1, judge=self.roots, groups=self.roots)]
        return [*levels, Level(deepest - 1, expand=self.rollouts, k=1), Level(deepest, judge=2 * self.rollouts, groups=2 * self.rollouts)]
