"""Branchwise: deliberate problem solving with language models by tree search, under a hard budget, honestly measured.

    import branchwise as bw
    result = await bw.solve(problem, bw.preset("tot_bfs").make(k=5), model, budget=bw.Budget(calls=200))

Everything public is here, and imported when it is first used; `docs/architecture.md` says where the rest is.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from branchwise.budget import Budget, Price, Usage
    from branchwise.errors import BranchwiseError, MethodError, ModelError, TraceError, UsageError, WeightsError
    from branchwise.estimate import Estimate, estimate
    from branchwise.fork import fork
    from branchwise.method import Method, with_sampling
    from branchwise.methods import METHODS, preset
    from branchwise.model.base import LanguageModel, Message, Outcome, Reply, Request
    from branchwise.model.layers.retrying import RetryPolicy
    from branchwise.model.registry import open_model
    from branchwise.model.routed import Routed
    from branchwise.model.scripted import Scripted
    from branchwise.model.tape import TapeModel
    from branchwise.problem import COMPLETE, OPEN, SOLVED, Kind, Problem, Rejected, State, Status, dead
    from branchwise.rescore import Rescored, rescore
    from branchwise.result import Result
    from branchwise.search.adaptive import Adaptive
    from branchwise.search.beam import Beam
    from branchwise.search.best_first import AStar, BestFirst
    from branchwise.search.chain import Chain
    from branchwise.search.depth_first import DepthFirst
    from branchwise.search.pick import best_path, best_refined, best_value, deepest, last, majority, most_visited
    from branchwise.search.self_refine import SelfRefineSearch
    from branchwise.search.then_refine import ThenRefine
    from branchwise.search.uct import Mcts
    from branchwise.solve import Stop, solve, solve_sync, watch
    from branchwise.steering import Steering
    from branchwise.thought.ask import Ask
    from branchwise.thought.asking import Sampling
    from branchwise.thought.base import Dropped, Evaluation, Proposal, Proposals, Size
    from branchwise.thought.check import Check, check
    from branchwise.thought.combine import Combine
    from branchwise.thought.heuristic import Heuristic
    from branchwise.thought.likelihood import Likelihood
    from branchwise.thought.parsing import Scale
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
    from branchwise.thought.write_up import WriteUp
    from branchwise.trace import read_trace
    from branchwise.tree import Fate, Node, NodeId, Tree

__version__ = "0.1.0"

__all__ = [
    "COMPLETE",
    "METHODS",
    "OPEN",
    "SOLVED",
    "AStar",
    "Adaptive",
    "Ask",
    "Beam",
    "BestFirst",
    "BranchwiseError",
    "Budget",
    "Chain",
    "Check",
    "Combine",
    "DepthFirst",
    "Dropped",
    "Estimate",
    "Evaluation",
    "Fate",
    "Heuristic",
    "Kind",
    "LanguageModel",
    "Likelihood",
    "Mcts",
    "Message",
    "Method",
    "MethodError",
    "ModelError",
    "Node",
    "NodeId",
    "Outcome",
    "Price",
    "Problem",
    "Proposal",
    "Proposals",
    "Propose",
    "Refine",
    "Rejected",
    "Reply",
    "Request",
    "Rescored",
    "Result",
    "RetryPolicy",
    "RewardModel",
    "Rollout",
    "Routed",
    "Sample",
    "Sampling",
    "Scale",
    "Score",
    "Scripted",
    "SelfRefine",
    "SelfRefineSearch",
    "SelfReward",
    "Size",
    "Staged",
    "State",
    "Status",
    "Steering",
    "Stop",
    "TapeModel",
    "ThenRefine",
    "TraceError",
    "Tree",
    "Usage",
    "UsageError",
    "Value",
    "Vote",
    "WeightsError",
    "WriteUp",
    "__version__",
    "best_path",
    "best_refined",
    "best_value",
    "check",
    "dead",
    "deepest",
    "estimate",
    "fork",
    "last",
    "majority",
    "most_visited",
    "open_model",
    "preset",
    "read_trace",
    "rescore",
    "solve",
    "solve_sync",
    "watch",
    "with_sampling",
]

_NAMES = {
    "budget": "Budget Price Usage",
    "errors": "BranchwiseError MethodError ModelError TraceError UsageError WeightsError",
    "estimate": "Estimate estimate",
    "fork": "fork",
    "method": "Method with_sampling",
    "methods": "METHODS preset",
    "model.base": "LanguageModel Message Outcome Reply Request",
    "model.layers.retrying": "RetryPolicy",
    "model.registry": "open_model",
    "model.routed": "Routed",
    "model.scripted": "Scripted",
    "model.tape": "TapeModel",
    "problem": "COMPLETE OPEN SOLVED Kind Problem Rejected State Status dead",
    "rescore": "Rescored rescore",
    "result": "Result",
    "search.adaptive": "Adaptive",
    "search.beam": "Beam",
    "search.best_first": "AStar BestFirst",
    "search.chain": "Chain",
    "search.depth_first": "DepthFirst",
    "search.pick": "best_path best_refined best_value deepest last majority most_visited",
    "search.self_refine": "SelfRefineSearch",
    "search.then_refine": "ThenRefine",
    "search.uct": "Mcts",
    "solve": "Stop solve solve_sync watch",
    "steering": "Steering",
    "thought.ask": "Ask",
    "thought.asking": "Sampling",
    "thought.base": "Dropped Evaluation Proposal Proposals Size",
    "thought.check": "Check check",
    "thought.combine": "Combine",
    "thought.heuristic": "Heuristic",
    "thought.likelihood": "Likelihood",
    "thought.parsing": "Scale",
    "thought.propose": "Propose",
    "thought.refine": "Refine",
    "thought.reward_model": "RewardModel",
    "thought.rollout": "Rollout",
    "thought.sample": "Sample",
    "thought.score": "Score",
    "thought.self_refine": "SelfRefine",
    "thought.self_reward": "SelfReward",
    "thought.staged": "Staged",
    "thought.value": "Value",
    "thought.vote": "Vote",
    "thought.write_up": "WriteUp",
    "trace": "read_trace",
    "tree": "Fate Node NodeId Tree",
}
"""Module to the public names that it defines: what a type checker reads above, for `__getattr__`."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """A public name, at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names, those not used yet too."""
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    def __setattr__(self, name: str, value: object) -> None:
        """`solve` and the like stay the functions when the modules of the same names are imported."""
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
