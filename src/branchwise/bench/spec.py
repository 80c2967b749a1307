"""What a bench is to measure: tasks with their items, methods, models, seeds, budgets. Read from YAML or built from flags; runs nothing.

A file is a published protocol (see `protocol`), or the same with several tasks, models, seeds, a budget and equal costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from branchwise.bench.keyring import GRADED
from branchwise.bench.protocol import Entry, Reference, entry_of, keys, listed, number, reference_of, text_of, whole
from branchwise.bench.protocol import names as protocol_names
from branchwise.budget import Budget
from branchwise.errors import UnknownName, UsageError
from branchwise.model.registry import parse_spec
from branchwise.tasks import TASKS, Task
from branchwise.tasks import task as find_task
from branchwise.tasks.from_file import is_task_file

__all__ = ["BY", "Contestant", "Equal", "Part", "Spec", "check_graded", "entry_json", "load_spec", "method_row", "ready", "spec_of"]

_TOP = (
    "name", "title", "source", "tasks", "task", "data", "items", "methods", "models", "seeds", "budget", "equal", "temperature", "max_tokens",
    "published", "notes", "judge", "pairs",
)  # fmt: skip
_TASK = ("task", "items", "data")
_MODEL = ("label", "model")
_BUDGET = ("calls", "tokens", "cost", "seconds", "nodes")
_EQUAL = ("by", "amount")
BY = ("tokens", "calls", "cost")
"""What can be made equal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A task and the items of it: spans of its list, ids, or `sample:N`."""

    task: str
    items: str
    data: str = ""
    """The public set that the items are from, by its place in a data folder: `game24/24.csv`."""

    @property
    def found(self) -> Task:
        """The task. Raises `UnknownName`."""
        return find_task(self.task)


@dataclass(frozen=True, kw_only=True, slots=True)
class Contestant:
    """A model by its label. `servers` are names as `--model` takes them: several for one model that several servers offer."""

    label: str
    servers: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """What the servers call the model: a folder holds rows of one model by a label, whatever the addresses."""
        found = [parse_spec(server) for server in self.servers]
        return sorted({spec.target if spec.kind in ("http", "openai") else f"{spec.kind}:{spec.target}" for spec in found})


@dataclass(frozen=True, kw_only=True, slots=True)
class Equal:
    """The same budget for each method and item. `amount` is in tokens, calls or dollars; `None`: taken from the first runs."""

    by: str
    amount: float | None = None
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise UnknownName("equal budget", self.by, BY)
        if self.amount is not None and not self.amount > 0:
            raise UsageError(f"an equal budget of {self.amount} {self.by} allows nothing; give a positive number")


@dataclass(frozen=True, kw_only=True, slots=True)
class Spec:
    """A grid before its items are read."""

    parts: tuple[Part, ...]
    methods: Mapping[str, tuple[Entry, ...]]
    """By task."""
    models: tuple[Contestant, ...] = (Contestant(label="local", servers=("local",)),)
    seeds: tuple[int, ...] = (0,)
    budget: Budget = field(default_factory=Budget)
    """Of each run of a unit."""
    equal: Equal | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    name: str = ""
    title: str = ""
    published: tuple[Reference, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As the manifest keeps it. Models by label and without passwords; see `Contestant`."""
        return {
            "name": self.name, "title": self.title, "tasks": [{"task": part.task, "items": part.items} for part in self.parts],
            "methods": {task: [entry_json(entry) for entry in entries] for task, entries in self.methods.items()},
            "models": [model.label for model in self.models],
            "model_names": {model.label: model.names for model in self.models}, "seeds": list(self.seeds), "budget": self.budget.to_json(),
            "temperature": self.temperature, "max_tokens": self.max_tokens,
            "published": [
                {name: getattr(one, name) for name in ("label", "model", "measure", "value", "n", "note")} for one in self.published
            ],
            "notes": list(self.notes),
        }  # fmt: skip


def entry_json(entry: Entry) -> dict[str, Any]:
    """One method, as the manifest keeps it."""
    data: dict[str, Any] = {"label": entry.label, "method": entry.method, "settings": dict(entry.settings), "samples": entry.samples}
    return data | {"models": dict(entry.models), "oracle": list(entry.oracle)}


def ready() -> list[str]:
    """The names of the files that come with the program: our own grids, and the published protocols."""
    folder = resources.files("branchwise.bench") / "specs"
    own = [path.name.removesuffix(".yaml") for path in folder.iterdir() if path.name.endswith(".yaml")]
    return sorted([*own, *protocol_names()])


def check_graded(name: str) -> Task:
    """The task of that name. Raises `UsageError` where no program can check its answers, as those of a task file."""
    task = find_task(name)
    if is_task_file(name) or task.name not in GRADED:
        raise UsageError(f"no program can check answers of task {task.name}, so there is nothing to measure; the bench takes {', '.join(GRADED)}")
    return task


def load_spec(source: str, changes: Mapping[str, Any] | None = None) -> Spec:
    """The grid in a file, or that of a name in `ready`; `changes` replace its keys. Raises `UsageError` that says which key is wrong."""
    if source.endswith((".yaml", ".yml")):
        path = Path(source)
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from error
        where = str(path)
    else:
        if source not in ready():
            if source in TASKS:
                raise UsageError(f"{check_graded(source).name} is a task: give --tasks {source} --methods ... --items ..., or a bench file")
            raise UnknownName("bench file", source, (*ready(), "FILE.yaml"))
        kind = "protocols" if source in protocol_names() else "specs"
        text, where = (resources.files("branchwise.bench") / kind / f"{source}.yaml").read_text("utf-8"), f"bench file {source}"
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{where} is not YAML: {error}") from error
    if isinstance(data, dict) and "prompt" in data and "methods" not in data:
        check_graded(source)
    return spec_of({**keys(data, _TOP, where), **(changes or {})}, where)


def spec_of(top: Mapping[str, Any], where: str) -> Spec:
    """The grid in `top`, whose keys are those of a file; "replaced items" are by task, or "" for all. Raises `UsageError` that says `where`."""
    parts = _parts(top, where)
    rows = listed(top.get("methods"), f"{where}: methods")
    methods = {part.task: _entries(rows, part.found, where) for part in parts}
    models = tuple(_contestant(row, f"{where}: models") for row in listed(top.get("models", ["local"]), f"{where}: models"))
    models = (*models, *_named(methods, {model.label for model in models}))
    _differ([model.label for model in models], f"{where}: two models have the label")
    seeds = tuple(whole(seed, -(1 << 62), f"{where}: seeds") for seed in listed(top.get("seeds", [0]), f"{where}: seeds"))
    _differ(seeds, f"{where}: there twice is the seed")
    if not models or not seeds:
        raise UsageError(f"{where}: needs a model and a seed")
    limits = {
        name: number(value, f"{where}: budget") if name in ("cost", "seconds") else whole(value, 1, f"{where}: budget")
        for name, value in keys(top.get("budget") or {}, _BUDGET, f"{where}: budget").items()
    }
    temperature, longest = top.get("temperature"), top.get("max_tokens")
    return Spec(
        parts=parts, methods=methods, models=models, seeds=seeds, budget=Budget(**limits),  # type: ignore[arg-type]
        equal=_equal(top.get("equal"), f"{where}: equal"),
        temperature=None if temperature is None else number(temperature, f"{where}: temperature"),
        max_tokens=None if longest is None else whole(longest, 1, f"{where}: max_tokens"),
        name=str(top.get("name", "")), title=str(top.get("title", "")),
        published=tuple(reference_of(row, f"{where}: published") for row in listed(top.get("published", []), f"{where}: published")),
        notes=(*(text_of(row, f"{where}: notes") for row in listed(top.get("notes", []), f"{where}: notes")), *_left_out(top)),
    )  # fmt: skip


def _parts(top: Mapping[str, Any], where: str) -> tuple[Part, ...]:
    rows = listed(top["tasks"], f"{where}: tasks") if "tasks" in top else [{name: top[name] for name in _TASK if name in top}]
    over: Mapping[str, str] = top.get("replaced items", {})
    found = []
    for row in rows:
        data = keys({"task": row} if isinstance(row, str) else row, _TASK, f"{where}: tasks")
        task = check_graded(text_of(data.get("task"), f"{where}: task"))
        own = data.get("items", top.get("items", ""))
        if not isinstance(own, str):
            raise UsageError(f"{where}: items need quotation marks, as in items: \"1:30\" (without them YAML reads 1:30 as the number 90)")
        items = over.get(task.name, over.get("", own)).replace(" ", "")
        if not items:
            raise UsageError(f"{where}: needs items for task {task.name}: a span such as 901:930, ids, or sample:30")
        found.append(Part(task=task.name, items=items, data=str(data.get("data", ""))))
    if not found:
        raise UsageError(f"{where}: needs a task")
    _differ([part.task for part in found], f"{where}: there twice is the task")
    return tuple(found)


def _entries(rows: Sequence[Any], task: Task, where: str) -> tuple[Entry, ...]:
    """The methods of one task: a row may name the tasks that it is for. Raises `UsageError` where none is left."""
    found = []
    for number_, row in enumerate(rows, 1):
        data = dict(keys(method_row(row) if isinstance(row, str) else row, (*_ENTRY_KEYS, "tasks"), f"{where}: method {number_}"))
        tasks = [text_of(name, f"{where}: method {number_}: tasks") for name in listed(data.pop("tasks", [task.name]), f"{where}: tasks")]
        if task.name in tasks:
            found.append(entry_of(data, task, f"{where}: method {number_}"))
    if not found:
        raise UsageError(f"{where}: no method for task {task.name}")
    _differ([entry.label for entry in found], f"{where}: two methods have the label")
    return tuple(found)


_ENTRY_KEYS = ("label", "method", "settings", "samples", "shots", "oracle", "models")


def method_row(text: str) -> dict[str, Any]:
    """A method as flags name it: `io`, `tot_bfs?breadth=3&k=5`, `mctsr_4@gsm8k` (for that task only)."""
    base, _, task = text.strip().partition("@")
    name, _, query = base.partition("?")
    settings = {}
    for pair in query.split("&") if query else ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"settings of a method are written as NAME?key=value&key=value, not {text!r}")
        settings[key] = yaml.safe_load(value)
    row: dict[str, Any] = {"label": base, "method": name, "settings": settings}
    return row | ({"tasks": task.split("+")} if task else {})


def _contestant(row: Any, where: str) -> Contestant:
    """A model of a file: `SPEC`, or {label, model}, where the model may be several servers, as a list or with | between them."""
    data = keys({"model": row} if isinstance(row, (str, list)) else row, _MODEL, where)
    model = data.get("model")
    servers = [text_of(one, where) for one in (model if isinstance(model, list) else str(model or "").split("|"))]
    return Contestant(label=text_of(data.get("label", servers[0]), where), servers=tuple(servers))


def _left_out(top: Mapping[str, Any]) -> list[str]:
    """What a published protocol asks for beyond a grid."""
    return ["The judge's marks of this protocol are not part of a bench: see branchwise grade --judge."] if top.get("judge") else []


def _named(methods: Mapping[str, tuple[Entry, ...]], labels: set[str]) -> list[Contestant]:
    """Models that methods name by their full names, such as `openai:NAME`, and not by a label of the grid."""
    found = dict.fromkeys(name for entries in methods.values() for entry in entries for name in entry.models.values() if name not in labels)
    named = []
    for name in found:
        try:
            parse_spec(name)
        except UsageError:
            continue  # a label that stands for no model yet, which the grid tells of
        named.append(Contestant(label=name, servers=(name,)))
    return named


def _equal(value: Any, where: str) -> Equal | None:
    if value is None:
        return None
    data = keys({"by": value} if isinstance(value, str) else value, _EQUAL, where)
    amount = data.get("amount")
    return Equal(by=text_of(data.get("by"), where), amount=None if amount is None else number(amount, where))


def _differ(values: Sequence[Any], what: str) -> None:
    for value in values:
        if values.count(value) > 1:
            raise UsageError(f"{what} {value!r}")

