"""Methods by name: each is a few lines that put generator, evaluator, search and pick together. Knows no task.

The baselines are trees of limited depth and breadth (Yao et al. 2023, section 3.1).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from branchwise.errors import UnknownName, UsageError, nearest
from branchwise.method import Method
from branchwise.search.beam import Beam
from branchwise.search.chain import Chain
from branchwise.search.depth_first import DepthFirst
from branchwise.search.pick import deepest, last, majority
from branchwise.thought.propose import Propose
from branchwise.thought.refine import Refine
from branchwise.thought.sample import Sample
from branchwise.thought.value import Value

__all__ = ["METHODS", "Preset", "cot", "cot_sc", "io", "preset", "refine", "tot_bfs", "tot_dfs"]


def io() -> Method:
    """Input to output: one reply, no steps."""
    return Method(name="io", generate=Sample(k=1, prompt="io", whole=True), search=Chain(), pick=last)


def cot() -> Method:
    """One chain of thought (Wei et al. 2022)."""
    return Method(name="cot", generate=Sample(k=1, prompt="cot", whole=True), search=Chain(), pick=last)


def cot_sc(*, k: int = 10) -> Method:
    """Self-consistency: `k` chains of thought, the majority of their normalised answers (Wang et al. 2022)."""
    generate = Sample(k=k, prompt="cot", whole=True)
    return Method(name="cot_sc", generate=generate, search=Beam(breadth=k, depth=1), pick=majority, stop_when_solved=False)


def refine(*, rounds: int = 10) -> Method:
    """An answer, then up to `rounds` rounds of "reflect on your mistakes and improve" (Yao et al. 2023, section 4.1)."""
    return Method(name="refine", generate=Refine(), search=Chain(depth=1 + rounds), pick=last)


def tot_bfs(*, k: int = 8, breadth: int = 5, depth: int = 3, samples: int = 3, prune_below: float = 0.001) -> Method:
    """Tree of Thoughts, breadth first: propose, value each state alone, keep the best (Yao et al. 2023, Algorithm 1)."""
    return Method(
        name="tot_bfs",
        generate=Propose(k=k),
        evaluate=Value(samples=samples),
        search=Beam(breadth=breadth, depth=depth, prune_below=prune_below),
        answer=Sample(k=1, prompt="answer", whole=True),
    )


def tot_dfs(*, k: int = 8, depth: int = 3, samples: int = 3, prune_at: float = 0.001, max_steps: int = 100) -> Method:
    """Tree of Thoughts, depth first: value a child when its turn comes, prune, come back (Yao et al. 2023, Algorithm 2)."""
    return Method(
        name="tot_dfs",
        generate=Propose(k=k),
        evaluate=Value(samples=samples),
        search=DepthFirst(depth=depth, prune_at=prune_at, max_steps=max_steps),
        pick=deepest,
    )


@dataclass(frozen=True, slots=True)
class Preset:
    """A method by name, and its settings: `make` takes those as keywords."""

    make: Callable[..., Method]
    summary: str

    @property
    def settings(self) -> dict[str, Any]:
        """The keywords that `make` takes, with their defaults."""
        return {name: parameter.default for name, parameter in inspect.signature(self.make).parameters.items()}

    def build(self, name: str, settings: Mapping[str, Any]) -> Method:
        """The method with `settings`. Raises `UsageError` for one that it does not have."""
        for key in settings:
            if key not in self.settings:
                raise UsageError(f"method {name} has no setting {key!r}{nearest(key, self.settings) or ': it has none'}")
        return self.make(**settings)


def _summary(make: Callable[..., Method]) -> str:
    return (make.__doc__ or "").strip().splitlines()[0]


METHODS: Mapping[str, Preset] = {make.__name__: Preset(make, _summary(make)) for make in (io, cot, cot_sc, refine, tot_bfs, tot_dfs)}
"""Every preset by its public name."""


def preset(name: str) -> Preset:
    """The preset called `name`, in any case. Raises `UnknownName` with the nearest names."""
    found = METHODS.get(name.lower())
    if found is None:
        raise UnknownName("method", name, METHODS)
    return found
