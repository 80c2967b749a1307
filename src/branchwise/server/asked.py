"""From a request to the search that it asks for: the model name, and the `branchwise` field. Opens no model.

The field has the names of the flags of `branchwise solve`. Each request is read into a value of its own; nothing of it outlives the request.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import click

from branchwise.budget import Budget
from branchwise.cli.options import run_options
from branchwise.cli.settings import LIMITS, ROLES, SETTINGS, Settings, merge
from branchwise.errors import MethodError, UnknownName, UsageError, nearest
from branchwise.estimate import estimate
from branchwise.method import Method
from branchwise.problem import Problem
from branchwise.server.chat import Chat
from branchwise.server.config import CEILINGS, Config
from branchwise.server.conversation import problem_text
from branchwise.server.faults import Refusal, of_usage
from branchwise.tasks import Task

__all__ = ["OWN", "Asked", "allowed", "model_ids", "read_asked", "read_name"]

OWN = {"progress": True}
"""Fields of `branchwise` that are no flags, with their defaults: `progress` streams what the search does as reasoning."""
_ROLE_SETTINGS = tuple(f"{role}_{what}" for role in ROLES for what in ("temperature", "max_tokens"))
_NAMES = ("task", *SETTINGS, "window", "seed", "temperature", "max_tokens", *_ROLE_SETTINGS, *LIMITS)
_SHARED = ("calls", "tokens", "cost")
"""Limits of a request that its n searches share; seconds and nodes are each search's own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One search of a request, checked before anything is paid."""

    settings: Settings
    task: str
    """The name of its task, also where a file describes it."""
    problem: Problem
    method: Method
    budget: Budget
    upstream: str
    own: bool = False
    """Whether problem and method are other than `settings` makes them, so that the trace cannot be gone on with by them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """All searches of a request (n of them, which differ in their seed), and how to answer."""

    searches: tuple[Asked, ...]
    progress: bool
    chat: Chat


@cache
def allowed() -> Mapping[str, click.Parameter]:
    """The flags that a request may set, by every name that they have."""

    @click.command()
    @run_options
    def flags(**_: Any) -> None:
        """Only its parameters are of use."""

    found: dict[str, click.Parameter] = {}
    for param in flags.params:
        if param.name in _NAMES:
            names = (option.lstrip("-").replace("-", "_") for option in param.opts)
            found.update(dict.fromkeys((str(param.name), *names), param))
    return found


def read_name(model: str, config: Config, upstreams: Mapping[str, Any]) -> tuple[str, str, str]:
    """Task, method and upstream that `[TASK/]METHOD[@UPSTREAM]` names. Raises `Refusal` (404) with the nearest names."""
    rest, at, upstream = model.partition("@")
    task, slash, method = rest.rpartition("/")
    task = task.lower() if slash else config.task
    found = config.tasks.get(task)
    if found is None:
        raise _unknown("task", task, config.tasks)
    if method.lower() not in found.methods:
        raise _no_method(model, found, method)
    if at and upstream not in upstreams:
        raise _unknown("upstream model", upstream, upstreams)
    return task, method.lower(), upstream if at else next(iter(upstreams))


def _no_method(model: str, task: Task, method: str) -> Refusal:
    try:
        task.check_method(method.lower())
    except MethodError as error:
        return Refusal(404, str(error), param="model", code="model_not_found")
    except UnknownName:
        pass
    text = (
        f"no model is called {model[:100]!r}: here the name of a model is that of a search method, for example '{task.name}/{task.default_method}', "
        f"and /v1/models lists them all. Task {task.name} has no method {method[:100]!r}{nearest(method[:100], task.methods)}"
    )
    return Refusal(404, text, param="model", code="model_not_found")


def _unknown(kind: str, name: str, known: Any) -> Refusal:
    return Refusal(404, str(UnknownName(kind, name[:100], tuple(known))), param="model", code="model_not_found")


def model_ids(config: Config, upstreams: Mapping[str, Any]) -> list[tuple[str, Task, str]]:
    """Every name that can be given as a model, with its task and method: those of the default task first."""
    names = [config.task, *(name for name in config.tasks if name != config.task)]
    found = []
    for name in names:
        task = config.tasks[name]
        prefix = "" if name == config.task else f"{name}/"
        methods = [task.default_method, *(method for method in task.methods if method != task.default_method)]
        found += [(f"{prefix}{method}", task, method) for method in methods]
    more = list(upstreams)[1:]
    return found + [(f"{name}@{upstream}", task, method) for upstream in more for name, task, method in found if "/" not in name]


def read_asked(chat: Chat, config: Config, upstreams: Mapping[str, str]) -> Request:
    """What `chat` asks for. `upstreams` are specs by name. Raises `Refusal` for what cannot be done."""
    own = dict(chat.branchwise or {})
    progress = own.pop("progress", OWN["progress"])
    if not isinstance(progress, bool):
        raise _bad("progress", "it must be true or false")
    given = _flags(own)
    task_name, name, upstream = read_name(chat.model, config, upstreams)
    if (named := given.pop("task", None)) is not None:
        task_name, name, upstream = _of_task(str(named), chat.model, config, upstreams)
    task = config.tasks[task_name]
    n = chat.n or 1
    if n > config.choices:
        raise Refusal(400, f"n is {n}; this server gives at most {config.choices} choices", param="n", code="invalid_value")
    flags = {**config.flags, **given, "task": config.files.get(task_name, task_name), "method": name, "model": upstreams[upstream]}
    if chat.temperature is not None:
        flags.setdefault("temperature", chat.temperature)
    if chat.seed is not None:
        flags["seed"] = _same(given, "seed", chat.seed)
    try:
        flags["problem"] = problem_text(chat.messages, task)
        budget = _budget(given, config.budget, n)
        settings, method = _settings(flags, config, chat)
        settings = dataclasses.replace(settings, budget=budget.to_json(), parallel=config.parallel)
        try:
            problem = settings.make_problem()
        except UsageError as error:
            raise of_usage(error, "messages") from None
        estimate(problem, method, budget=budget)  # refuses what could only fail later: a problem that it does not suit, a prompt that is not there
        asked = Asked(settings=settings, task=task.name, problem=problem, method=method, budget=budget, upstream=upstream)
        seeds = range(settings.seed + 1, settings.seed + n)
        searches = (asked, *(dataclasses.replace(asked, settings=dataclasses.replace(settings, seed=seed)) for seed in seeds))
    except UsageError as error:
        raise of_usage(error, "branchwise") from None
    return Request(searches=searches, progress=progress, chat=chat)


def _of_task(task: str, model: str, config: Config, upstreams: Mapping[str, Any]) -> tuple[str, str, str]:
    """The same model name under the task that the field names."""
    if "/" in model.partition("@")[0] and model.partition("/")[0].lower() != task.lower():
        raise _bad("task", f"the model {model!r} names another task")
    return read_name(f"{task.lower()}/{model.rpartition('/')[2] if '/' in model.partition('@')[0] else model}", config, upstreams)


def _settings(flags: dict[str, Any], config: Config, chat: Chat) -> tuple[Settings, Method]:
    """The settings, with the models of other roles and the length of the answer where the method has such calls, and the method."""
    settings = merge(flags)
    method = settings.make_method()
    roles = {role: spec for role, spec in config.role_models.items() if getattr(method, role) is not None}
    sampling = {role: dict(changes) for role, changes in settings.sampling.items()}
    if chat.limit is not None and method.answer is not None and "max_tokens" not in sampling.get("answer", {}):
        usual = getattr(getattr(method.answer, "sampling", None), "max_tokens", chat.limit)
        sampling.setdefault("answer", {})["max_tokens"] = min(chat.limit, usual)
    if not roles and sampling == settings.sampling:
        return settings, method
    settings = dataclasses.replace(settings, models=roles, sampling=sampling)
    return settings, settings.make_method()


def _same(given: Mapping[str, Any], name: str, value: Any) -> Any:
    if given.get(name, value) != value:
        raise _bad(name, f"it differs from the field {name} of the request itself; give one")
    return value


def _flags(own: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the field, each of the type that its flag has."""
    params, found = allowed(), dict[str, Any]()
    for name, value in own.items():
        param = params.get(name)
        if param is None:
            known = (*OWN, *(p for p in params if p in _NAMES))
            hint = nearest(name[:100], known).split("; known:")[0]
            raise _bad(name[:100], f"there is no such setting of a request{hint}", "unknown_parameter")
        if value is None:
            continue
        if str(param.name) in found:
            raise _bad(name, "it is given twice, under two names")
        found[str(param.name)] = _typed(name, value, param)
    return found


def _typed(name: str, value: Any, param: click.Parameter) -> Any:
    kind = param.type
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(kind, click.types.BoolParamType):
        good, wanted = isinstance(value, bool), "true or false"
    elif isinstance(kind, (click.IntRange, click.types.IntParamType)):
        good, wanted = number and isinstance(value, int) and abs(value) < 1 << 63, "a whole number"
    elif isinstance(kind, click.FloatRange):
        good, wanted = number and math.isfinite(value), "a number"
    elif param.name in LIMITS:
        good, wanted = (number and math.isfinite(value)) or value == "none", 'a positive number, or "none"'
    else:
        good, wanted = isinstance(value, str), "a text"
    if not good:
        raise _bad(name, f"it must be {wanted}")
    if value == "ask":
        raise _bad(name, "ask needs a person at the server's terminal")
    try:
        made = kind.convert(str(value) if param.name in LIMITS else value, param, None)
    except click.BadParameter as error:
        raise _bad(name, error.message) from None
    most = CEILINGS.get(str(param.name))
    if most is not None and isinstance(made, (int, float)) and made > most:
        raise _bad(name, f"{made} is above this server's limit of {most}")
    return made


def _budget(given: Mapping[str, Any], ceiling: Budget, n: int) -> Budget:
    """The limits of each of n searches: what the request names, below the server's own."""
    limits: dict[str, Any] = {}
    for flag, limit in LIMITS.items():
        most, own = getattr(ceiling, limit), given.get(flag)
        if most is not None and own is not None and (own == "none" or own > most):
            raise _bad(flag, f"{own} is above this server's limit of {most:g} for one request")
        value = most if own is None else None if own == "none" else own
        if value is not None and limit in _SHARED and n > 1:
            value = value / n if limit == "cost" else value // n
            if not value:
                raise _bad(flag, f"it is too small to be shared by {n} searches")
        limits[limit] = value
    return Budget(**limits)


def _bad(name: str, text: str, code: str = "invalid_value") -> Refusal:
    return Refusal(400, f"branchwise.{name}: {text}", param=f"branchwise.{name}", code=code)
