"""Branchwise: deliberate problem solving with language models by tree search, under a hard budget, honestly measured.

    import branchwise as bw
    result = await bw.solve(problem, bw.preset("tot_bfs").make(k=5), model, budget=bw.Budget(calls=200))

Everything public is here; `docs/architecture.md` says where the rest is.
"""

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
