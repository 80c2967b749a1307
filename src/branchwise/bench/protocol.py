"""Bench files: which items, methods and samples an experiment takes, as YAML, every key checked. Runs nothing and knows no answer key.

The published protocols (Yao et al. 2023; Zhang et al. 2024) lie in `protocols/`; `load` takes their names or the path of a file of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from branchwise.errors import UnknownName, UsageError, nearest
from branchwise.method import Method
from branchwise.methods import METHODS
from branchwise.tasks import Item, Task, select
from branchwise.tasks import task as find_task

__all__ = [
    "DEFAULT_SHOTS", "Entry", "Protocol", "Reference", "entry_of", "keys", "listed", "load", "names", "number", "reference_of", "text_of",
    "usual_shots", "whole",
]  # fmt: skip

_TOP = ("name", "title", "source", "task", "data", "items", "temperature", "methods", "judge", "pairs", "published", "notes")
_ENTRY = ("label", "method", "settings", "samples", "shots", "oracle", "models")
_REFERENCE = ("label", "model", "measure", "value", "n", "note")
_JUDGE = ("samples",)
_ROLES = ("generate", "evaluate", "answer")
ORACLES = ("best_of_samples", "any_final", "best_state", "any_node")
"""What an entry may also be reported as, chosen with the answer key: always printed as an oracle."""
DEFAULT_SHOTS: Mapping[str, int] = {"io": 5, "cot": 5, "cot_sc": 5, "best_of_n": 5, "refine": 5, "tot_bfs": 1}
"""Examples in a task's usual prompts, where it shows examples at all (all but writing and open)."""
_NO_EXAMPLES = ("writing", "open")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One row of an experiment: a method with its settings, run `samples` times on each item."""

    label: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    samples: int = 1
    """Independent runs of each item; at least 1."""
    shots: int | None = None
    """Examples in the prompt; `None` as the task has them."""
    oracle: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    """Role (generate, evaluate, answer) to another model, as `--model` takes it; empty: one model for all."""

    def make(self, task: Task) -> Method:
        """The method. Raises `UsageError` for what does not suit the task."""
        return task.method(self.method, self.settings)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A published figure, to print beside ours: with its model and number of items, and never subtracted where the items differ."""

    label: str
    model: str
    measure: str
    value: float
    n: int | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """A bench file. `data` names a public set by its place in a data folder; empty for the task's own list."""

    name: str
    title: str
    task: str
    items: str
    """Spans of the list, 1-based and inclusive: `901:1000`, or `1,6,11`."""
    methods: tuple[Entry, ...]
    data: str = ""
    source: str = ""
    temperature: float = 0.7
    judge: int = 0
    """Marks a judge gives each answer; 0: no judge."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Labels whose answers are compared pairwise by a judge."""
    published: tuple[Reference, ...] = ()
    notes: tuple[str, ...] = ()

    def chosen(self, items: Sequence[Item]) -> list[Item]:
        """The part of a list that `items` names, in its order, each once. Raises `UsageError`."""
        return list({item.id: item for span in self.items.split(",") for item in select(items, span)}.values())


def names() -> list[str]:
    """The published protocols by name."""
    folder = resources.files("branchwise.bench") / "protocols"
    return sorted(path.name.removesuffix(".yaml") for path in folder.iterdir() if path.name.endswith(".yaml"))


def load(source: str | Path) -> Protocol:
    """The protocol of that name, or in that file. Raises `UsageError` (`UnknownName`) that says which key is wrong."""
    if isinstance(source, Path) or source.endswith((".yaml", ".yml")):
        path = Path(source)
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from error
        return _protocol(text, str(path))
    if source not in names():
        raise UnknownName("protocol", source, names())
    return _protocol((resources.files("branchwise.bench") / "protocols" / f"{source}.yaml").read_text("utf-8"), f"protocol {source}")


def _protocol(text: str, where: str) -> Protocol:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{where} is not YAML: {error}") from error
    top = keys(data, _TOP, where)
    for name in ("name", "title", "task", "items", "methods"):
        if name not in top:
            raise UsageError(f"{where}: needs {name}")
    task = find_task(text_of(top["task"], f"{where}: task"))
    entries = tuple(entry_of(row, task, f"{where}: method {n}") for n, row in enumerate(listed(top["methods"], f"{where}: methods"), 1))
    labels = [entry.label for entry in entries]
    if len(set(labels)) < len(labels):
        raise UsageError(f"{where}: two methods have the same label")
    judge = keys(top.get("judge", {}), _JUDGE, f"{where}: judge")
    pairs = tuple(_pair(row, labels, f"{where}: pairs") for row in listed(top.get("pairs", []), f"{where}: pairs"))
    found = [reference_of(row, f"{where}: published {n}") for n, row in enumerate(listed(top.get("published", []), f"{where}: published"), 1)]
    return Protocol(
        name=text_of(top["name"], f"{where}: name"), title=text_of(top["title"], f"{where}: title"), task=task.name,
        items=str(top["items"]).replace(" ", ""), methods=entries, data=str(top.get("data", "")), source=str(top.get("source", "")),
        temperature=number(top.get("temperature", 0.7), f"{where}: temperature"), judge=whole(judge.get("samples", 0), 0, f"{where}: judge"),
        pairs=pairs, published=tuple(found), notes=tuple(text_of(row, f"{where}: notes") for row in listed(top.get("notes", []), f"{where}: notes")),
    )  # fmt: skip


def entry_of(row: Any, task: Task, where: str) -> Entry:
    """A method of a bench file, made once to see that it suits `task`. Raises `UsageError` that says `where`."""
    data = keys(row, _ENTRY, where)
    method = task.check_method(text_of(data.get("method"), f"{where}: method"))
    settings = dict(keys(data.get("settings", {}), tuple(METHODS[method].settings), f"{where}, settings"))
    shots = None if data.get("shots") is None else whole(data["shots"], 0, f"{where}: shots")
    if shots is not None:
        settings |= _shots(task, method, shots, where)
    oracle = tuple(text_of(name, f"{where}: oracle") for name in listed(data.get("oracle", []), f"{where}: oracle"))
    for name in oracle:
        if name not in ORACLES:
            raise UnknownName(f"oracle in {where}", name, ORACLES)
    models = {role: text_of(name, f"{where}: models") for role, name in keys(data.get("models", {}), _ROLES, f"{where}: models").items()}
    entry = Entry(
        label=text_of(data.get("label", method), f"{where}: label"), method=method, settings=settings, shots=shots,
        samples=whole(data.get("samples", 1), 1, f"{where}: samples"), oracle=oracle, models=models,
    )  # fmt: skip
    entry.make(task)
    return entry


def _shots(task: Task, method: str, shots: int, where: str) -> dict[str, int]:
    """The setting that gives the prompt so many examples; none where the task's usual prompt has as many."""
    usual = usual_shots(task.name, method)
    if shots == usual:
        return {}
    stem = {"tot_bfs": "propose", "io": "io", "refine": "io"}.get(method, "cot")
    if "shots" not in METHODS[method].settings or f"{stem}_{shots}shot" not in task.prompts:
        raise UsageError(f"{where}: task {task.name} has no prompt with {shots} examples for method {method} (its usual one has {usual})")
    return {"shots": shots}


def usual_shots(task: str, method: str) -> int:
    """How many examples a task's usual prompt for a method shows."""
    return 0 if task in _NO_EXAMPLES else DEFAULT_SHOTS.get(method, 0)


def reference_of(row: Any, where: str) -> Reference:
    """A published figure of a bench file. Raises `UsageError` that says `where`."""
    data = keys(row, _REFERENCE, where)
    texts = {name: text_of(data.get(name), f"{where}: {name}") for name in ("label", "model", "measure")}
    n = None if data.get("n") is None else whole(data["n"], 1, f"{where}: n")
    return Reference(**texts, value=number(data.get("value"), f"{where}: value"), n=n, note=str(data.get("note", "")))


def _pair(row: Any, labels: Sequence[str], where: str) -> tuple[str, str]:
    found = listed(row, where)
    if len(found) != 2:
        raise UsageError(f"{where}: a pair is two labels")
    for label in found:
        if label not in labels:
            raise UnknownName(f"label in {where}", str(label), labels)
    return str(found[0]), str(found[1])


def keys(data: Any, known: Sequence[str], where: str) -> Mapping[str, Any]:
    """`data`, if it is an object without unknown keys. Raises `UsageError`."""
    if not isinstance(data, dict):
        raise UsageError(f"{where}: needs keys and values")
    for key in data:
        if key not in known:
            raise UsageError(f"{where} has no key {key!r}{nearest(str(key), known)}")
    return data


def listed(value: Any, where: str) -> list[Any]:
    """`value`, if it is a list. Raises `UsageError`."""
    if not isinstance(value, list):
        raise UsageError(f"{where}: needs a list")
    return value


def text_of(value: Any, where: str) -> str:
    """`value` without outer blanks, if it is a text with something in it. Raises `UsageError`."""
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{where}: needs a text")
    return value.strip()


def whole(value: Any, least: int, where: str) -> int:
    """`value`, if it is a whole number of at least `least`. Raises `UsageError`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{where}: needs a whole number of at least {least}, not {value!r}")
    return value


def number(value: Any, where: str) -> float:
    """`value`, if it is a number. Raises `UsageError`."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise UsageError(f"{where}: needs a number, not {value!r}")
    return float(value)
