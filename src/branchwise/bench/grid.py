"""The grid of a bench: its units, and the manifest that says what they were made from. Reads items and golds; calls no model.

A unit is one item with one method, model and seed. Its id is a digest of all that shapes its row, so that a row can never be taken for another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import orjson

from branchwise.bench.grading.verdicts import Gold
from branchwise.bench.marking import Truth, truths_of
from branchwise.bench.overrides import check_overrides, golds_to_json
from branchwise.bench.protocol import Entry
from branchwise.bench.sources import source_of
from branchwise.bench.spec import Spec, entry_json
from branchwise.budget import Budget
from branchwise.data.sets import where_more
from branchwise.errors import UsageError
from branchwise.method import Method, with_sampling
from branchwise.methods import METHODS
from branchwise.search.beam import Beam
from branchwise.tasks import Item, Task, select
from branchwise.tasks import task as find_task
from branchwise.thought.prompts import SYSTEM, generic_names, generic_text

__all__ = ["Grid", "Route", "Unit", "choose", "make_grid"]

_SPAN = re.compile(r"\d*:?\d*")
_GOLDEN = 0.6180339887498949
"""Multiples of it, without their whole parts, fill (0, 1) evenly."""
_SAMPLE = re.compile(r"sample:(\d{1,9})(?::(\d{1,9}))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """Which model makes which calls, by labels: `base` all but those of the roles in `others`."""

    label: str
    base: str
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """One item with one method, model and seed. Holds no gold."""

    id: str
    task: str
    item: Item
    entry: Entry
    route: Route
    seed: int
    place: int
    """Of the item in its list, from 0."""
    budget: Budget
    temperature: float | None = None
    max_tokens: int | None = None
    equal: str = ""
    """What is made equal: tokens, calls or cost; empty where nothing is."""
    amount: float | None = None
    """Of each item, where it was given; `None`: it is taken from the first runs, which nothing limits."""

    @property
    def found_task(self) -> Task:
        """The task. Raises `UnknownName`."""
        return find_task(self.task)

    @property
    def draw(self) -> float:
        """A number in (0, 1) that belongs to the item and the seed; evenly spread over neighbouring items."""
        base = int(digest(["draw", self.task, self.seed]), 16) / 16**16
        return min(0.99, max(0.01, (base + self.place * _GOLDEN) % 1.0))

    @property
    def chains(self) -> int | None:
        """How many whole answers one step of the method samples, where that can be changed (cot_sc, best_of_n); `None` elsewhere."""
        method = self.entry.make(self.found_task)
        one_step = isinstance(method.search, Beam) and method.search.depth == 1
        return method.generate.k if one_step and "k" in METHODS[self.entry.method].settings else None

    def method(self, chains: int | None = None) -> Method:
        """The method with its sampling, and with another number of `chains`. Equal budgets are spent step by step: window 1."""
        entry = self.entry if chains is None else replace(self.entry, settings={**self.entry.settings, "k": chains})
        method = entry.make(self.found_task)
        changes = {name: value for name, value in (("temperature", self.temperature), ("max_tokens", self.max_tokens)) if value is not None}
        if changes:
            parts = {role: with_sampling(getattr(method, role), **changes) for role in ("generate", "evaluate", "answer")}
            method = replace(method, **parts)
        return replace(method, window=1) if self.equal else method


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """Every unit, in the order in which they are run: items outermost, so that an unfinished bench has whole items."""

    spec: Spec
    units: tuple[Unit, ...]
    truths: Mapping[tuple[str, str], Truth]
    """By task and item: what the bench marks with, after a run."""
    data: Mapping[str, Mapping[str, str]]
    prompts: Mapping[str, str]
    """By task, the digest of all wording that its methods can use."""
    overrides: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    """By task and item, the golds that replace those of the data, each with its reason."""

    def manifest(self) -> dict[str, Any]:
        """What `bench.json` says of the grid; versions, commands and the start are the runner's."""
        equal = self.spec.equal
        found: dict[str, Any] = {
            "format": 1, "spec": self.spec.to_json(), "data": {task: dict(one) for task, one in self.data.items()},
            "prompts": dict(self.prompts), "overrides": {task: dict(one) for task, one in self.overrides.items()}, "units": len(self.units),
            "equal": None if equal is None else {"by": equal.by, "amount": equal.amount, "amounts": {}, "tolerance": equal.tolerance},
        }  # fmt: skip
        return found | {"settings_hash": digest([found[key] for key in ("spec", "data", "prompts", "overrides", "equal")])}


def digest(value: Any) -> str:
    """16 hexadecimal digits over a JSON value."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()[:16]


def choose(items: Sequence[Item], wanted: str) -> list[Item]:
    """The items that `wanted` names, in the order of the list: spans (`901:930`), `sample:N` (`sample:N:SEED`), ids, or a list of these.

    What looks like a number is a rank or place; `id:1606` is an id all the same. Raises `UsageError`.
    """
    places = {item.id: place for place, item in enumerate(items)}
    found: dict[int, Item] = {}
    for part in wanted.split(","):
        if match := _SAMPLE.fullmatch(part):
            count, seed = int(match[1]), int(match[2] or 0)
            if not 1 <= count <= len(items):
                raise UsageError(f"items {part}: there are {len(items)}")
            chosen = Random(f"branchwise sample {seed}").sample(list(items), count)
        elif part and _SPAN.fullmatch(part):
            chosen = select(items, part)
        else:
            name = part.removeprefix("id:")
            if name not in places:
                raise UsageError(f"no item with the id {name!r}; items are spans such as 901:930, ids, or sample:30")
            chosen = [items[places[name]]]
        found |= {places[item.id]: item for item in chosen}
    return [found[place] for place in sorted(found)]


def make_grid(spec: Spec, data_of: Callable[[str], Path | None], overrides: Mapping[str, Mapping[str, Gold]] | None = None) -> Grid:
    """The units of `spec`. `data_of` gives the data file or folder of a task; `overrides` are golds by task and id, each with a reason.

    Raises `UsageError` for what cannot work: items, methods, prompts, or a task whose answers no program can check.
    """
    labels = {model.label for model in spec.models}
    units: list[Unit] = []
    truths: dict[tuple[str, str], Truth] = {}
    data: dict[str, dict[str, str]] = {}
    prompts: dict[str, str] = {}
    replaced = overrides or {}
    for part in spec.parts:
        task, path = part.found, data_of(part.task)
        listed = task.items(path)
        places = {item.id: place for place, item in enumerate(listed)}
        try:
            items = choose(listed, part.items)
        except UsageError as error:
            raise UsageError(f"task {part.task}: {error}{where_more(part.task, path)}") from None
        golds = truths_of(task, path, replaced.get(task.name, {}))
        check_overrides(task.name, places, replaced.get(task.name, {}))
        data[task.name], prompts[task.name] = source_of(task, path), _wording(task)
        truths |= {(task.name, item.id): golds(item) for item in items}
        found = [(entry, route) for entry in spec.methods[task.name] for route in _routes(entry, spec, labels)]
        _check(task, items, [entry for entry, _ in found])
        for item in items:
            shape = [truths[task.name, item.id].shape, prompts[task.name]]
            units += [_unit(spec, task, item, places[item.id], shape, entry, route, seed) for seed in spec.seeds for entry, route in found]
    seen: dict[tuple[str, str, str, str, int], Unit] = {}
    for unit in units:
        seen.setdefault((unit.task, unit.item.id, unit.entry.label, unit.route.label, unit.seed), unit)
    if len(seen) < len(units):
        raise UsageError("two units have the same task, item, method, model and seed; give methods and models labels that differ")
    return Grid(spec=spec, units=tuple(units), truths=truths, data=data, prompts=prompts, overrides=golds_to_json(replaced, truths))


def _routes(entry: Entry, spec: Spec, labels: Iterable[str]) -> list[Route]:
    """The models of a method: each of the grid, or those that it names by role."""
    if not entry.models:
        return [Route(label=model.label, base=model.label) for model in spec.models]
    for label in entry.models.values():
        if label not in labels:
            raise UsageError(f"method {entry.label} needs a model called {label!r}: give --models {label}=SPEC")
    base = entry.models.get("generate", spec.models[0].label)
    others = {role: label for role, label in entry.models.items() if role != "generate" and label != base}
    return [Route(label=", ".join([base, *(f"{role}: {label}" for role, label in sorted(others.items()))]), base=base, others=others)]


def _unit(spec: Spec, task: Task, item: Item, place: int, more: Sequence[str], entry: Entry, route: Route, seed: int) -> Unit:
    """One unit; `more` is what shapes its row beside what the others say: what it is marked with, and the wording."""
    equal = None if spec.equal is None else [spec.equal.by, spec.equal.amount]
    names = [model.names for model in spec.models if model.label in (route.base, *route.others.values())]
    shape = [
        task.name, item.id, item.input, *more, entry_json(entry), route.label, seed, spec.budget.to_json(), spec.temperature,
        spec.max_tokens, equal, place, names,
    ]  # fmt: skip
    return Unit(
        id=digest(shape), task=task.name, item=item, entry=entry, route=route, seed=seed, place=place, budget=spec.budget,
        temperature=spec.temperature, max_tokens=spec.max_tokens, equal="" if spec.equal is None else spec.equal.by,
        amount=None if spec.equal is None else spec.equal.amount,
    )  # fmt: skip


def _check(task: Task, items: Sequence[Item], entries: Sequence[Entry]) -> None:
    """Refuse what would fail for every item."""
    for item in items:
        try:
            problem = task.problem(item.input)
        except UsageError:
            continue
        for entry in entries:
            entry.make(task).refuse(problem)
        return


def _wording(task: Task) -> str:
    """The digest of all wording that methods can use on `task`: its own prompts, the generic ones that it does not replace, the system message."""
    generic = {name: generic_text(name) for name in generic_names() if name not in task.prompts}
    return digest({"system": SYSTEM, "generic": generic, "own": dict(task.prompts)})
