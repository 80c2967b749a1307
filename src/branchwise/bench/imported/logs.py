"""Reads the published JSON logs and says what they are: format, task, items. Knows no tree and checks no answer.

The logs are those of the published Tree-of-Thoughts code (github.com/princeton-nlp/tree-of-thought-llm, folder logs). Three formats:

- `beam`: a list of items with `steps` (x, ys, new_ys, values, select_new_ys), `idx` and the final `ys`; Game of 24 and Creative Writing
- `samples`: the same without `steps`: sampled outputs (`ys`) of io or cot, and `infos` or `accs`
- `dfs`: a list of lists of visited states (`actions`, `count`), one list a puzzle; crosswords
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise.errors import UsageError

__all__ = ["FORMATS", "Level", "Log", "LogItem", "Visit", "read_log"]

FORMATS = ("beam", "samples", "dfs")
_STRIDE = 5
"""The published dfs run took every fifth puzzle: 1, 6, ..., 96."""


@dataclass(frozen=True, slots=True)
class Level:
    """One step of a beam: states before it, new states with their values, and those that were selected, in the published order."""

    ys: Sequence[str]
    new_ys: Sequence[str]
    values: Sequence[float]
    selected: Sequence[str]


@dataclass(frozen=True, slots=True)
class Visit:
    """One visited state of a dfs: its thoughts, and how many of its clues were sure, maybe and impossible."""

    actions: Sequence[str]
    sure: int
    maybe: int
    impossible: int


@dataclass(frozen=True, slots=True)
class LogItem:
    """One item. `number` counts from 1 in the published list; `input` is empty where the log does not hold it."""

    number: int
    input: str
    levels: Sequence[Level] = ()
    visits: Sequence[Visit] = ()
    outputs: Sequence[str] = ()
    """Final states or sampled outputs, in the published order."""
    usage: Mapping[str, float] | None = None
    """Tokens and dollars of this item alone; `None` where the log does not say."""


@dataclass(frozen=True, slots=True)
class Log:
    """A whole file."""

    path: Path
    sha256: str
    format: str
    task: str
    """game24, writing or crosswords; empty where the file does not tell."""
    items: Sequence[LogItem]


def read_log(path: Path) -> Log:
    """The log in `path`. Raises `UsageError` that says what was expected and where it is missing."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    try:
        rows: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(rows, list) or not rows:
        raise UsageError(f"{path} is not a published log: it needs a JSON list of items")
    first = rows[0]
    if isinstance(first, list):
        kind, items = "dfs", [_puzzle(row, place, path) for place, row in enumerate(rows)]
    elif isinstance(first, dict) and "ys" in first:
        kind = "beam" if "steps" in first else "samples"
        items = _items(rows, kind, path)
    else:
        raise UsageError(f"{path} is not a published log: its items have idx and ys, with steps or without, or are lists of visits (dfs)")
    numbers = [item.number for item in items]
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"{path}: two items have the same idx")
    return Log(path, hashlib.sha256(data).hexdigest(), kind, _task(kind, items), items)


def _task(kind: str, items: Sequence[LogItem]) -> str:
    if kind == "dfs":
        return "crosswords"
    inputs = [item.input for item in items if item.input]
    if inputs:
        return "game24" if all(re.fullmatch(r"\d+( \d+){3}", text) for text in inputs) else "writing"
    return ""


def _items(rows: Sequence[Any], kind: str, path: Path) -> list[LogItem]:
    found: list[LogItem] = []
    before: Mapping[str, float] = {}
    for place, row in enumerate(rows, 1):
        where = f"{path}, item {place}"
        if not isinstance(row, dict) or not isinstance(row.get("idx"), int) or row["idx"] < 0:
            raise UsageError(f"{where}: needs an idx, counted from 0")
        outputs = _texts(row.get("ys"), f"{where}: ys")
        steps = _list(row.get("steps"), f"{where}: steps") if kind == "beam" else []
        levels = [_level(step, f"{where}, step {n}") for n, step in enumerate(steps)]
        text = steps[0].get("x", "") if levels else ""
        if not isinstance(text, str) or (levels and not text.strip()):
            raise UsageError(f"{where}: step 0 needs the input as x")
        usage, before = _usage(row.get("usage_so_far"), before)
        found.append(LogItem(row["idx"] + 1, text.strip(), levels, (), outputs, usage))
    return found


def _level(step: Any, where: str) -> Level:
    if not isinstance(step, dict):
        raise UsageError(f"{where}: needs ys, new_ys, values and select_new_ys")
    ys, new, chosen = (_texts(step.get(name), f"{where}: {name}") for name in ("ys", "new_ys", "select_new_ys"))
    values = _list(step.get("values"), f"{where}: values")
    if len(values) != len(new) or not all(isinstance(value, (int, float)) for value in values):
        raise UsageError(f"{where}: needs one number in values for each of new_ys ({len(values)} for {len(new)})")
    return Level(ys, new, [float(value) for value in values], chosen)


def _puzzle(row: Any, place: int, path: Path) -> LogItem:
    visits = []
    for number, visit in enumerate(_list(row, f"{path}, puzzle {place + 1}"), 1):
        where = f"{path}, puzzle {place + 1}, visit {number}"
        count = visit.get("count") if isinstance(visit, dict) else None
        if not isinstance(count, dict):
            raise UsageError(f"{where}: needs actions and a count of sure, maybe and impossible")
        actions = _texts(visit.get("actions"), f"{where}: actions")
        if not actions:
            raise UsageError(f"{where}: no actions")
        judged = [count.get(name, 0) for name in ("sure", "maybe", "impossible")]
        if not all(isinstance(n, int) and n >= 0 for n in judged):
            raise UsageError(f"{where}: count needs whole numbers")
        visits.append(Visit(actions, *judged))
    return LogItem(place * _STRIDE + 1, "", (), visits)


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError(f"{where}: needs a list")
    return value


def _texts(value: Any, where: str) -> list[str]:
    found = _list(value, where)
    if not all(isinstance(text, str) for text in found):
        raise UsageError(f"{where}: needs a list of texts")
    return found


def _usage(total: Any, before: Mapping[str, float]) -> tuple[Mapping[str, float] | None, Mapping[str, float]]:
    """An item's own share of the running total, and the total."""
    if not isinstance(total, dict):
        return None, before
    now = {name: float(total.get(name, 0)) for name in ("completion_tokens", "prompt_tokens", "cost")}
    return {name: max(0.0, now[name] - before.get(name, 0.0)) for name in now}, now
