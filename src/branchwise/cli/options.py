"""The flags that `solve` and `estimate` share, under their headings. Knows what a flag is called, not what it does."""

from __future__ import annotations

import functools
import math
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from branchwise.cli.page import Joined, Limit, Option, Parallel
from branchwise.cli.settings import SETTINGS
from branchwise.methods import EVALUATORS, METHODS
from branchwise.model.registry import FORMS
from branchwise.search.pick import PICKS
from branchwise.tasks import TASKS

if TYPE_CHECKING:
    from branchwise.model.layers.retrying import RetryPolicy

__all__ = ["budget_options", "methods_by_task_help", "methods_help", "retry_option", "retry_policy", "run_options", "solve_options"]

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(dir_okay=False, path_type=Path)
_PATH = click.Path(path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)

_METHOD_FLAGS: dict[str, tuple[click.ParamType[Any], str]] = {
    "k": (click.IntRange(min=1), "Next thoughts asked for in one step (cot_sc, best_of_n: chains)."),
    "breadth": (click.IntRange(min=1), "States kept on a level (b)."),
    "samples": (click.IntRange(min=1), "Judgements of one state, which are averaged (vote: votes of one comparison)."),
    "depth": (click.IntRange(min=1), "Thoughts on a path at the most (T)."),
    "rounds": (click.IntRange(min=0), "Rounds of refinement after the first answer."),
    "prune_below": (click.FloatRange(0, 1), "A state valued below this is given up, in [0, 1]."),
    "prune_at": (click.FloatRange(0, 1), "A state valued at this or below is given up, in [0, 1]."),
    "max_steps": (click.IntRange(min=1), "States visited at the most."),
    "evaluate": (
        Joined(EVALUATORS),
        f"Who judges a state: {', '.join(sorted(EVALUATORS))}. ask: you, at this terminal; reward: an endpoint; rollout: thoughts sampled to an "
        "end, which the program judges; check+value: the mean of what both know.",
    ),
    "select": (click.Choice(["greedy", "sample"]), "Keep the best of a level, or draw them in proportion to value."),
    "rollouts": (click.IntRange(min=1), "Rounds of select, expand, evaluate, back up."),
    "exploration": (click.FloatRange(min=0), "c: how much little visited states are preferred, on the scale of values in [0, 1]."),
    "backup": (click.Choice(["mean", "max"]), "What a parent takes over from its children."),
    "puct": (click.BOOL, "Weigh exploration by the priors of the thoughts (PUCT)."),
    "cost": (click.Choice(["unit", "log"]), "Cost of a step: 1, or minus the logarithm of its value."),
    "backtrack": (click.BOOL, "Keep a part of the node budget for going back when the confidence ends low."),
    "child_limit": (click.IntRange(min=1), "Rewrites of one answer."),
    "patience": (click.IntRange(min=0), "Rollouts without improvement after which it ends; 0: never."),
    "stop_confidence": (click.FloatRange(0, 1), "End when the model is at least this sure of a rewrite (mean probability of its tokens)."),
    "roots": (click.Choice(["both", "naive", "dummy"]), "Answers to begin from: a naive one, a dummy, or both."),
    "choice": (click.Choice(["greedy", "importance"]), "How the answer to refine is chosen."),
    "generate": (click.Choice(["propose", "sample"]), "Next thoughts listed in one reply, or sampled one by one."),
    "shots": (click.IntRange(min=0), "Examples in the first prompt, where the task has such a wording (0: none)."),
    "pick": (click.Choice(list(PICKS)), "How the node that answers is chosen, in place of the method's own way."),
}
"""Type and help of each setting of a method; one that is missing here is offered as plain text."""
_ALIASES = {"k": ("--branching",)}
"""Other names of the same flag."""


def methods_help() -> str:
    """A line a method, for help."""
    width = max(map(len, METHODS))
    return "\n".join(f"  {name:<{width}}  {found.summary.replace('`', '')}" for name, found in METHODS.items())


def methods_by_task_help() -> str:
    """The methods that each task takes, for help; tasks that take the same stand together."""
    takers: dict[tuple[str, ...], list[str]] = {}
    for name, found in TASKS.items():
        takers.setdefault(tuple(method for method in METHODS if method in found.methods), []).append(name)
    return "\n".join(
        textwrap.fill(", ".join(methods), 96, initial_indent=f"  {', '.join(names)}: ", subsequent_indent="    ", break_on_hyphens=False)
        for methods, names in takers.items()
    )


def _option(heading: str, *names: str, **settings: Any) -> Callable[[F], F]:
    return click.option(*names, cls=Option, heading=heading, **settings)


def _flag(name: str) -> Callable[[F], F]:
    kind, text = _METHOD_FLAGS.get(name, (click.STRING, "A setting of the method."))
    takers: dict[Any, list[str]] = {}
    for method, found in METHODS.items():
        if name in found.settings:
            takers.setdefault(found.settings[name], []).append(method)
    unset = "off" if name == "stop_confidence" else "the task's own"
    defaults = "; ".join(f"{', '.join(methods)}: {_shown(default, unset)}" for default, methods in takers.items())
    words = f"{text}  [default of {defaults}]"
    flag = f"--{name.replace('_', '-')}"
    if kind is click.BOOL:
        return _option("Method", f"{flag}/--no-{flag[2:]}", name, default=None, help=words)
    metavar = None if isinstance(kind, (click.Choice, Joined)) else "N" if isinstance(kind, click.IntRange) else "X"
    names = (flag, *_ALIASES.get(name, ()))
    return _option("Method", *names, name, type=kind, metavar=metavar, help=words)


def _shown(default: object, unset: str) -> str:
    if default is None:
        return unset
    return {True: "yes", False: "no"}.get(default, str(default)) if isinstance(default, bool) else str(default)


def _problem_options() -> list[Callable[[Any], Any]]:
    tasks = ", ".join(f"{task.name} ({task.summary})" for task in TASKS.values())
    return [
        _option("Problem", "--task", metavar="NAME|FILE.yaml",
                help=f"What kind of problem it is: {tasks}; or a file that describes your own.  [default: open]"),
        _option("Problem", "--context", type=_FILE, metavar="FILE", help="Material that the model may read for the problem: text, UTF-8."),
        _option("Problem", "--prompts", type=_FOLDER, metavar="DIR",
                help="Own wording: NAME.txt files in place of the task's prompts of that name."),
        _option("Many problems", "--items", metavar="RANGE",
                help="Inputs of the task, counted from 1, both ends included: 901:910, 7, :5, 20:, or a list 901,905. "
                "With --data, ranks of that list are meant."),
        _option("Many problems", "--data", type=_PATH, metavar="PATH",
                help="The file that --items are taken from, or a folder of public sets.  [default: BRANCHWISE_DATA if it holds the task's set, "
                "else the task's own list]"),
        _option("Many problems", "--input", "input_file", type=_FILE, metavar="FILE",
                help='Own problems, one a line: {"id": "a", "prompt": "4 9 10 13"}.'),
    ]  # fmt: skip


def _method_options() -> list[Callable[[Any], Any]]:
    defaults = "; ".join(f"{task.name}: {task.default_method}" for task in TASKS.values())
    return [
        _option("Method", "--method", metavar="NAME",
                help=f"How to search: {', '.join(METHODS)}; which of them a task takes is at the end of `branchwise solve --help`.  "
                f"[default of {defaults}]"),
        *(_flag(name) for name in SETTINGS),
        _option("Method", "--window", type=click.IntRange(min=1), metavar="N",
                help="Steps in flight at once; shapes the tree of searches that choose by value.  [default: the search's own]"),
        _option("Method", "--seed", type=int, metavar="N",
                help="Seed of every random choice; the same seed and replies give the same tree.  [default: 0]"),
    ]  # fmt: skip


def _model_options() -> list[Callable[[Any], Any]]:
    options = [
        _option("Model", "--model", metavar="SPEC", help=f"{' | '.join(FORMS)}  [default: local]"),
        _option("Model", "--evaluator-model", metavar="SPEC",
                help="Another model that judges, or reward:URL[#NAME] for --evaluate reward.  [default: that of --model]"),
        _option("Model", "--answer-model", metavar="SPEC", help="Another model that writes the answer.  [default: that of --model]"),
        _option("Model", "--key-file", type=_FILE, metavar="FILE",
                help="A file that holds the server's key, readable by you alone.  [default: the variable of that host, such as "
                "OPENAI_API_KEY]"),
        _option("Model", "--cache", type=click.Choice(["off", "read", "on"]), default="off",
                help="Replies of earlier runs: pay again, take what is there, or also keep what is new; see `branchwise cache`.  "
                "[default: off]"),
        _option("Model", "--temperature", type=click.FloatRange(min=0), metavar="X",
                help="Sampling temperature of all roles, at least 0.  [default: 0.7]"),
        _option("Model", "--max-tokens", type=click.IntRange(min=1), metavar="N",
                help="Tokens of one reply at the most, all roles.  [default: 1024; proposals 512, values 256]"),
    ]  # fmt: skip
    for role, what in (("generate", "proposing thoughts"), ("evaluate", "judging them"), ("answer", "writing the final answer")):
        options += [
            _option("Model", f"--{role}-temperature", type=click.FloatRange(min=0), metavar="X", help=f"Temperature of {what}."),
            _option("Model", f"--{role}-max-tokens", type=click.IntRange(min=1), metavar="N", help=f"Tokens of one reply for {what}."),
        ]
    return options


def _budget_options() -> list[Callable[[Any], Any]]:
    none = "A positive number, or none.  [default: none]"
    return [
        _option("Budget", "--max-calls", type=Limit(), metavar="N", help=f"Model calls; a call is one reply sampled. {none}"),
        _option("Budget", "--max-tokens-total", type=Limit(), metavar="N", help=f"Tokens of prompts and replies together. {none}"),
        _option("Budget", "--max-cost", type=Limit(whole=False), metavar="USD",
                help=f"Dollars; refused where the price is unknown. {none}"),
        _option("Budget", "--max-seconds", type=Limit(whole=False), metavar="S", help=f"Seconds. {none}"),
        _option("Budget", "--max-nodes", type=Limit(), metavar="N",
                help="Thoughts in the tree. A positive number, or none.  [default: best_first 15, a_star 60, others none]"),
        _option("Budget", "--parallel", type=Parallel(), metavar="N",
                help="Model calls at once, or none for as many as the search has ready; never changes the tree.  [default: 8]"),
        _option("Budget", "--prices", type=_FILE, metavar="FILE",
                help='Dollars per million tokens, in front of the built-in table: {"models": {"NAME": {"prompt": 1, "completion": 2}}}.'),
    ]  # fmt: skip


def run_options(command: F) -> F:
    """All of them, on a command."""
    return _apply(command, [*_problem_options(), *_method_options(), *_model_options(), *_budget_options()])


def budget_options(command: F) -> F:
    """Those that limit a run."""
    return _apply(command, _budget_options())


def _apply(command: F, options: list[Callable[[Any], Any]]) -> F:
    return functools.reduce(lambda made, option: option(made), reversed(options), command)


def retry_option(command: F) -> F:
    """That of how long a call is tried again."""
    option = _option("Model", "--retry-seconds", type=Limit(whole=False), default=300.0, metavar="S",
                     help="How long one model call is tried again after connection faults and rate limits; a longer wait that the server asks "
                     "for ends it. A positive number, or none.  [default: 300]")  # fmt: skip
    return option(command)


def retry_policy(flags: Mapping[str, Any]) -> RetryPolicy:
    """How a model call is tried again, as --retry-seconds says."""
    from branchwise.model.layers.retrying import RetryPolicy

    most = flags["retry_seconds"]
    return RetryPolicy(deadline=math.inf if most == "none" else most)


def solve_options(command: F) -> F:
    """The flags of `solve` alone."""
    options = [
        retry_option,
        _option("Many problems", "--out", type=_FILE, metavar="FILE", help="Results, one JSON line a problem; gone on with if it exists."),
        _option("Many problems", "--jobs", type=Parallel(), metavar="N",
                help="Problems at once, or none for all of them; they share --parallel.  [default: 1]"),
        _option("Many problems", "--retry-failed", is_flag=True, help="Run the problems again that have failed before."),
        _option("Output", "--trace", metavar="FILE",
                help="A new file for the events of the run, or none.  [default: a file under $BRANCHWISE_HOME/runs]"),
        _option("Output", "--resume", type=_FILE, metavar="TRACE",
                help="Go on with the run of TRACE, paying only for what is missing. Its problem, task, method, model and seed are "
                "read from it; budget, --parallel and --prices may change."),
        _option("Output", "--json", "as_json", is_flag=True,
                help="Print one JSON document in place of the report, also when the run fails."),
        _option("Output", "--quiet", is_flag=True, help="Nothing on standard error but errors."),
    ]  # fmt: skip
    return _apply(command, options)
