"""What a run was asked to do, as one value: from flags, into the trace, and back from it on resume. Opens no model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from branchwise.budget import Budget, Price
from branchwise.errors import TraceError, UsageError
from branchwise.method import Method, with_sampling
from branchwise.methods import METHODS, preset
from branchwise.model.prices import Prices
from branchwise.model.registry import ModelSpec, parse_spec, price_of
from branchwise.model.secrets import split_userinfo
from branchwise.model.weights import WEIGHTS
from branchwise.problem import Problem
from branchwise.search.pick import PICKS
from branchwise.tasks import TASKS, Task, task
from branchwise.tasks.from_file import is_task_file
from branchwise.tasks.open import OPEN_TASK
from branchwise.thought.ask import asks
from branchwise.thought.prompts import load_folder, prompt_for
from branchwise.thought.reward_model import needs_endpoint
from branchwise.trace import Started, read_trace

__all__ = ["LIMITS", "ROLES", "SETTINGS", "Settings", "merge", "model_name", "settings_of"]

ROLES = ("generate", "evaluate", "answer")
LIMITS = {"max_calls": "calls", "max_tokens_total": "tokens", "max_cost": "cost", "max_seconds": "seconds", "max_nodes": "nodes"}
"""Flag to field of `Budget`."""

SETTINGS = tuple(dict.fromkeys(name for found in METHODS.values() for name in found.settings if name not in LIMITS))
"""Every setting that some method has; a flag of the same name each. `max_nodes` is a limit of the run, which replaces the method's own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """One run, without what may change on resume but `budget` and `parallel`, which are kept as a default for it."""

    task: str
    problem: str = ""
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the method that were given; the others are its defaults."""
    sampling: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`temperature` and `max_tokens` by role; "all" for all roles."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The user's own wording by prompt name."""
    model: str = "local"
    models: Mapping[str, str] = field(default_factory=dict)
    """Other models by role: evaluate, answer."""
    seed: int = 0
    window: int | None = None
    budget: Mapping[str, float] = field(default_factory=dict)
    parallel: int = 8

    @property
    def found_task(self) -> Task:
        """The task. Raises `UnknownName`."""
        return task(self.task)

    @property
    def task_name(self) -> str:
        """What people call the task: the name in its file, where it has one. Raises as `found_task`."""
        return self.found_task.name

    @property
    def named_task(self) -> dict[str, str]:
        """The task in a document: its name, and its file where it has one."""
        return {"task": self.task_name} | ({"task_file": self.task} if is_task_file(self.task) else {})

    def make_problem(self, text: str | None = None) -> Problem:
        """The problem that `text` (default: the run's own) states, its own prompts checked. Raises `UsageError`."""
        problem = self.found_task.problem(self.problem if text is None else text, self.prompts)
        for name in self.prompts:
            prompt_for(problem, name)
        return problem

    def make_method(self) -> Method:
        """The method with its settings, sampling and window. Raises `UsageError` for what does not apply to it."""
        options = dict(self.options)
        pick = options.pop("pick", None) if "pick" not in preset(self.method).settings else None
        method = self.found_task.method(self.method, options)
        if pick is not None:
            method = dataclasses.replace(method, pick=PICKS[pick])
        self._check_models(method)
        for role in ROLES:
            part, own = getattr(method, role), self.sampling.get(role, {})
            if part is None and own:
                flag = f"--{role}-{next(iter(own)).replace('_', '-')}"
                raise UsageError(f"method {self.method} has no model call of role {role!r}, so {flag} would do nothing")
            changes = {**self.sampling.get("all", {}), **own}
            if part is not None and changes:
                method = dataclasses.replace(method, **{role: with_sampling(part, **changes)})
        return method if self.window is None else dataclasses.replace(method, window=self.window)

    def _check_models(self, method: Method) -> None:
        """Refuse a model of a role that has no calls, and a judge and an evaluator that do not fit together."""
        flags = {"evaluate": "--evaluator-model", "answer": "--answer-model"}
        for role in self.models:
            if getattr(method, role) is None:
                raise UsageError(f"method {self.method} has no model call of role {role!r}, so {flags[role]} would do nothing")
        judge = parse_spec(self.models["evaluate"]).kind if "evaluate" in self.models else ""
        if asks(method.evaluate) and judge:
            raise UsageError("--evaluate ask asks you, so --evaluator-model would do nothing")
        if needs_endpoint(method.evaluate) != (judge == "reward") and parse_spec(self.model).kind not in ("tape", "script"):
            raise UsageError("--evaluate reward and --evaluator-model reward:URL go together: the endpoint gives values, and no text")
        if "reward" in (parse_spec(self.model).kind, parse_spec(self.models.get("answer", "local")).kind):
            raise UsageError("reward:URL gives values only: it goes with --evaluator-model, for --evaluate reward")

    def make_budget(self) -> Budget:
        """The limits."""
        return Budget(**self.budget)  # type: ignore[arg-type]

    def price(self, prices: Path | None) -> Price | dict[str, Price | None] | None:
        """The model's price: 0 for what runs here, as recorded for a tape, `None` where it is unknown; by role where models differ."""
        table = Prices.builtin() if prices is None else Prices.load(prices)

        def of(text: str) -> Price | None:
            spec = parse_spec(text)
            return Price(0.0, 0.0, 0.0) if spec.kind == "tape" else price_of(spec, table)

        return {role: of(self.models.get(role, self.model)) for role in ROLES} if self.models else of(self.model)

    def to_json(self) -> dict[str, Any]:
        """As the trace keeps it: no password of an address."""
        data = dataclasses.asdict(self)
        data["model"] = model_name(self.model)
        data |= {"task_name": self.task_name} if is_task_file(self.task) else {}
        data["models"] = {role: model_name(text) for role, text in self.models.items()}
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """The inverse of `to_json`; keys of later versions are left out."""
        names = {f.name for f in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in names})


def model_name(text: str) -> str:
    """The name of a model in full, without a password."""
    spec: ModelSpec = parse_spec(text)
    if spec.kind == "http":
        return f"{split_userinfo(spec.url)[0]}#{spec.target}"
    if spec.kind == "reward":
        return f"reward:{split_userinfo(spec.url)[0]}{'#' + spec.target if spec.target else ''}"
    return f"local:{spec.target}" if spec.kind == "local" and spec.target in WEIGHTS and not spec.options else text.strip()


def settings_of(trace: Path) -> Settings:
    """The settings that the run in `trace` was started with. Raises `TraceError` where it was not started by the command line."""
    started = next((event for event in read_trace(trace) if isinstance(event, Started)), None)
    assert started is not None
    data = started.about.get("settings")
    if not isinstance(data, Mapping) or "task" not in data or "method" not in data:
        raise TraceError(
            f"{trace} was not made by this command line, so it does not say how to go on; resume it from Python, with solve(resume=...)"
        )
    return Settings.from_json({**data, "problem": data.get("problem") or started.about.get("input", "")})


def merge(flags: Mapping[str, Any], base: Settings | None = None) -> Settings:
    """Settings from `flags` (those that were given; `None` is not given) over `base`. Raises `UsageError`."""
    given = {key: value for key, value in flags.items() if value is not None}
    name = given.get("task", base.task if base else OPEN_TASK.name)
    if "task" not in given and base is None and not any(char.isalpha() for char in str(given.get("problem", "words"))):
        tasks = "; ".join(f"{found.name} ({found.summary})" for found in TASKS.values())
        raise UsageError(f"which task? A problem without a word in it is no question: give --task NAME. There are: {tasks}")
    found = task(name)
    method = str(given.get("method", base.method if base else found.default_method)).lower()
    preset(found.check_method(method))
    options = {key: given[key] for key in SETTINGS if key in given}
    if given.get("max_nodes") == "none" and "max_nodes" in preset(method).settings:
        options["max_nodes"] = None
    model = str(given.get("model", base.model if base else "local"))
    parse_spec(model)
    models = dict(base.models) if base else {}
    for role, flag in (("evaluate", "evaluator_model"), ("answer", "answer_model")):
        if flag in given:
            models[role] = str(given[flag])
            parse_spec(models[role])
    prompts = dict(base.prompts) if base else {}
    if "prompts" in given:
        prompts = load_folder(given["prompts"], found.prompts)
    return Settings(
        task=str(Path(name).resolve()) if is_task_file(name) else found.name,
        problem=str(given.get("problem", base.problem if base else "")),
        method=method,
        options={**(base.options if base and base.method == method else {}), **options},
        sampling=_sampling(given, base),
        prompts=prompts,
        model=model,
        models=models,
        seed=given.get("seed", base.seed if base else 0),
        window=given.get("window", base.window if base else None),
        budget=_budget(given, base),
        parallel=given.get("parallel", base.parallel if base else 8),
    )


def _sampling(given: Mapping[str, Any], base: Settings | None) -> dict[str, dict[str, Any]]:
    sampling = {role: dict(changes) for role, changes in base.sampling.items()} if base else {}
    for role in ("all", *ROLES):
        for setting in ("temperature", "max_tokens"):
            key = setting if role == "all" else f"{role}_{setting}"
            if key in given:
                if not math.isfinite(given[key]):
                    raise UsageError(f"--{key.replace('_', '-')} must be a finite number, not {given[key]}")
                sampling.setdefault(role, {})[setting] = given[key]
    return sampling


def _budget(given: Mapping[str, Any], base: Settings | None) -> dict[str, float]:
    budget = dict(base.budget) if base else {}
    for flag, limit in LIMITS.items():
        if given.get(flag) == "none":
            budget.pop(limit, None)
        elif flag in given:
            budget[limit] = given[flag]
    return budget
