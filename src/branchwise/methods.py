"""Methods by name: each is a few lines that put generator, evaluator, search and pick together. Knows no task.

The baselines are trees of limited depth and breadth (Yao et al. 2023, section 3.1).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from branchwise.errors import UnknownName, UsageError, nearest
from branchwise.method import Method
from branchwise.search.adaptive import Adaptive
from branchwise.search.beam import Beam
from branchwise.search.best_first import AStar, BestFirst
from branchwise.search.chain import Chain
from branchwise.search.depth_first import DepthFirst
from branchwise.search.pick import PICKS, best_path, deepest, last, majority
from branchwise.search.self_refine import SelfRefineSearch
from branchwise.search.then_refine import ThenRefine
from branchwise.search.uct import Mcts
from branchwise.thought.ask import Ask
from branchwise.thought.base import Evaluator, Generator
from branchwise.thought.check import Check
from branchwise.thought.clues import Clues
from branchwise.thought.combine import Combine
from branchwise.thought.heuristic import Heuristic
from branchwise.thought.likelihood import Likelihood
from branchwise.thought.propose import Propose
from branchwise.thought.refine import Refine
from branchwise.thought.reward_model import RewardModel
from branchwise.thought.rollout import Rollout
from branchwise.thought.sample import Sample
from branchwise.thought.score import Score
from branchwise.thought.self_refine import SelfRefine
from branchwise.thought.self_reward import SelfReward
from branchwise.thought.staged import Staged
from branchwise.thought.value import Value
from branchwise.thought.vote import Vote

__all__ = ["EVALUATORS", "METHODS", "Preset", "evaluator", "preset"]


def _prompt(name: str, shots: int | None) -> str:
    """The task's own wording, or the one with so many examples: `cot`, `cot_0shot`."""
    return name if shots is None else f"{name}_{shots}shot"


def _next_steps(how: str, k: int, shots: int | None = None) -> Generator:
    """`k` next thoughts, listed in one reply ("propose") or sampled one by one ("sample"). Raises `UnknownName`."""
    if how not in ("propose", "sample"):
        raise UnknownName("generator", how, ("propose", "sample"))
    return Propose(k=k, prompt=_prompt("propose", shots)) if how == "propose" else Sample(k=k, prompt=_prompt("sample", shots))


def io(*, shots: int | None = None) -> Method:
    """Input to output: one reply, no steps."""
    return Method(name="io", generate=Sample(k=1, prompt=_prompt("io", shots), whole=True), search=Chain(), pick=last)


def cot(*, shots: int | None = None) -> Method:
    """One chain of thought (Wei et al. 2022)."""
    return Method(name="cot", generate=Sample(k=1, prompt=_prompt("cot", shots), whole=True), search=Chain(), pick=last)


def cot_sc(*, k: int = 10, shots: int | None = None) -> Method:
    """Self-consistency: `k` chains of thought, the majority of their normalised answers (Wang et al. 2022)."""
    generate = Sample(k=k, prompt=_prompt("cot", shots), whole=True)
    return Method(name="cot_sc", generate=generate, search=Beam(breadth=k, depth=1), pick=majority, stop_when_solved=False)


def refine(*, rounds: int = 10, shots: int | None = None) -> Method:
    """An answer, then up to `rounds` rounds of "reflect on your mistakes and improve" (Yao et al. 2023, section 4.1)."""
    return Method(name="refine", generate=Refine(first=_prompt("io", shots)), search=Chain(depth=1 + rounds), pick=last)


def tot_bfs(
    *, k: int = 8, breadth: int = 5, depth: int = 3, samples: int = 3, prune_below: float = 0.001, select: str = "greedy",
    evaluate: str = "value", generate: str = "propose", shots: int | None = None,
) -> Method:  # fmt: skip
    """Tree of Thoughts, breadth first: next thoughts, their values, keep the best of each level (Yao et al. 2023, Algorithm 1)."""
    return Method(
        name="tot_bfs",
        generate=_next_steps(generate, k, shots),
        evaluate=evaluator(evaluate, samples),
        search=Beam(breadth=breadth, depth=depth, prune_below=prune_below, select=cast(Literal["greedy", "sample"], select)),
        answer=Sample(k=1, prompt="answer", whole=True),
    )


def tot_dfs(
    *, k: int = 8, depth: int = 3, samples: int = 3, prune_at: float = 0.001, max_steps: int = 100, evaluate: str = "value",
    generate: str = "propose",
) -> Method:  # fmt: skip
    """Tree of Thoughts, depth first: value a child when its turn comes, prune, come back (Yao et al. 2023, Algorithm 2)."""
    return Method(
        name="tot_dfs",
        generate=_next_steps(generate, k),
        evaluate=evaluator(evaluate, samples),
        search=DepthFirst(depth=depth, prune_at=prune_at, max_steps=max_steps),
        pick=deepest,
    )


def tot_dfs_no_prune(*, k: int = 8, depth: int = 3, max_steps: int = 100, generate: str = "propose") -> Method:
    """Ablation of tot_dfs: nothing is valued and nothing pruned, so it visits whatever comes first (Yao et al. 2023, section 4.3)."""
    search = DepthFirst(depth=depth, prune_at=-1, max_steps=max_steps)
    return Method(name="tot_dfs_no_prune", generate=_next_steps(generate, k), search=search, pick=deepest)


def tot_dfs_no_backtrack(*, k: int = 8, max_steps: int = 20) -> Method:
    """Ablation of tot_dfs: the surest proposal each time, never back; later ones may change earlier ones (Yao et al. 2023, section 4.3)."""
    return Method(name="tot_dfs_no_backtrack", generate=Propose(k=k, revises=True), search=Chain(depth=max_steps), pick=last)


def best_of_n(*, k: int = 10, samples: int = 1, evaluate: str = "score", shots: int | None = None) -> Method:
    """`k` chains of thought, the one that the evaluator values most."""
    generate = Sample(k=k, prompt=_prompt("cot", shots), whole=True)
    return Method(name="best_of_n", generate=generate, evaluate=evaluator(evaluate, samples), search=Beam(breadth=k, depth=1))


def tot_bfs_refine(*, k: int = 5, breadth: int = 1, depth: int = 2, samples: int = 5, rounds: int = 5, evaluate: str = "vote") -> Method:
    """Tree of Thoughts, breadth first, then up to `rounds` rounds of refinement of its answer (Yao et al. 2023, section 4.2)."""
    return Method(
        name="tot_bfs_refine",
        generate=Staged(open=Sample(k=k), complete=Refine()),
        evaluate=evaluator(evaluate, samples),
        search=ThenRefine(first=Beam(breadth=breadth, depth=depth), rounds=rounds),
        pick=last,
    )


def best_first(
    *, k: int = 3, depth: int = 3, prune_below: float = 0.3, max_nodes: int = 15, backtrack: bool = False, samples: int = 1,
    evaluate: str = "heuristic", generate: str = "propose",
) -> Method:  # fmt: skip
    """Best-first search under a node budget: always the best open thought, pruning below a threshold, going back when asked."""
    return Method(
        name="best_first",
        generate=_next_steps(generate, k),
        evaluate=evaluator(evaluate, samples),
        search=BestFirst(depth=depth, prune_below=prune_below, max_nodes=max_nodes, backtrack=backtrack),
        pick=best_path,
        answer=Sample(k=1, prompt="answer", whole=True),
    )


def a_star(
    *, k: int = 5, depth: int = 3, samples: int = 3, max_nodes: int = 60, cost: str = "unit", prune_below: float = 0.0,
    backtrack: bool = False, evaluate: str = "value", generate: str = "propose",
) -> Method:  # fmt: skip
    """A*: lowest cost so far plus estimated cost to go first, from the values; no optimality is claimed."""
    return Method(
        name="a_star",
        generate=_next_steps(generate, k),
        evaluate=evaluator(evaluate, samples),
        search=AStar(
            depth=depth, prune_below=prune_below, max_nodes=max_nodes, cost_model=cast(Literal["unit", "log"], cost), backtrack=backtrack
        ),
        answer=Sample(k=1, prompt="answer", whole=True),
    )


def mcts(
    *, k: int = 5, depth: int = 3, rollouts: int = 20, exploration: float = 1.0, samples: int = 3, backup: str = "mean",
    puct: bool = False, evaluate: str = "value", generate: str = "propose",
) -> Method:  # fmt: skip
    """Monte-Carlo tree search over thoughts: UCT (or PUCT), values from the evaluator, backed up as mean or maximum."""
    search = Mcts(rollouts=rollouts, exploration=exploration, depth=depth, backup=cast(Literal["mean", "max"], backup), puct=puct)
    return Method(
        name="mcts",
        generate=_next_steps(generate, k),
        evaluate=evaluator(evaluate, samples),
        search=search,
        answer=Sample(k=1, prompt="answer", whole=True),
    )


def adaptive(*, rollouts: int = 20, depth: int = 3, samples: int = 3, evaluate: str = "value") -> Method:
    """Adaptive branching: Thompson sampling decides between a new thought and going deeper (AB-MCTS-A, Inoue et al. 2025)."""
    return Method(
        name="adaptive",
        generate=Sample(k=1),
        evaluate=evaluator(evaluate, samples),
        search=Adaptive(rollouts=rollouts, depth=depth),
        answer=Sample(k=1, prompt="answer", whole=True),
    )


def mctsr(
    *, rollouts: int = 8, exploration: float = 0.1, child_limit: int = 2, patience: int = 4, depth: int = 16, roots: str = "both",
    choice: str = "greedy", samples: int = 1, pick: str = "best_refined", stop_confidence: float | None = None,
) -> Method:  # fmt: skip
    """MCT Self-Refine: a tree of whole answers, each a rewrite of its parent after a critique (Zhang et al. 2024)."""
    search = SelfRefineSearch(
        rollouts=rollouts, exploration=exploration, child_limit=child_limit, patience=patience, depth=depth,
        roots=2 if roots == "both" else 1, choice=cast(Literal["greedy", "importance"], choice), stop_confidence=stop_confidence,
    )  # fmt: skip
    if pick not in ("best_refined", "most_visited", "majority"):
        raise UnknownName("pick of mctsr", pick, ("best_refined", "most_visited", "majority"))
    generate = SelfRefine(roots=cast(Literal["both", "naive", "dummy"], roots), confident=stop_confidence is not None)
    return Method(name="mctsr", generate=generate, evaluate=SelfReward(samples=samples), search=search, pick=PICKS[pick])


def mctsr_4(*, exploration: float = 0.1, roots: str = "both", pick: str = "best_refined") -> Method:
    """MCT Self-Refine with 4 rollouts (19 calls), none of them left out."""
    return replace(mctsr(rollouts=4, exploration=exploration, patience=0, roots=roots, pick=pick), name="mctsr_4")


def mctsr_8(*, exploration: float = 0.1, roots: str = "both", pick: str = "best_refined") -> Method:
    """MCT Self-Refine with 8 rollouts (35 calls), none of them left out."""
    return replace(mctsr(rollouts=8, exploration=exploration, patience=0, roots=roots, pick=pick), name="mctsr_8")


EVALUATORS: Mapping[str, Callable[[int], Evaluator]] = {
    "value": lambda samples: Value(samples=samples),
    "vote": lambda samples: Vote(votes=samples),
    "score": lambda samples: Score(samples=samples),
    "heuristic": lambda samples: Heuristic(),
    "likelihood": lambda samples: Likelihood(),
    "check": lambda samples: Check(),
    "rollout": lambda samples: Rollout(samples=samples),
    "ask": lambda samples: Ask(),
    "reward": lambda samples: RewardModel(),
    "clues": lambda samples: Clues(),
}
"""Evaluators by name, made for a number of samples (votes)."""


def evaluator(name: str, samples: int) -> Evaluator:
    """The evaluator called `name`; of several with `+` between them ("check+value") the mean of what they know.

    Raises `UnknownName`, and `UsageError` for two that cannot stand together.
    """
    names = [part.strip() for part in name.split("+")]
    for part in names:
        if part not in EVALUATORS:
            raise UnknownName("evaluator", part, EVALUATORS)
    if len(set(names)) < len(names):
        raise UsageError(f"--evaluate {name} names an evaluator twice")
    if "reward" in names and set(names) > {"reward"} and set(names) != {"check", "reward"}:
        raise UsageError("a reward endpoint gives values and no text, so that reward goes with check only")
    parts = [EVALUATORS[part](samples) for part in names]
    return parts[0] if len(parts) == 1 else Combine(*parts)


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


_ALL = (
    io, cot, cot_sc, best_of_n, refine, tot_bfs, tot_bfs_refine, tot_dfs, tot_dfs_no_prune, tot_dfs_no_backtrack, best_first, a_star, mcts,
    mctsr, mctsr_4, mctsr_8, adaptive,
)  # fmt: skip

METHODS: Mapping[str, Preset] = {make.__name__: Preset(make, _summary(make)) for make in _ALL}
"""Every preset by its public name."""


def preset(name: str) -> Preset:
    """The preset called `name`, in any case. Raises `UnknownName` with the nearest names."""
    found = METHODS.get(name.lower())
    if found is None:
        raise UnknownName("method", name, METHODS)
    return found
