"""Which checker and which answer key belong to a task. Reads the keys: the bench only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from branchwise.bench.crosswords import own_solutions, published_solutions
from branchwise.bench.golds import own_golds, published_golds
from branchwise.bench.grade import Key
from branchwise.bench.grading.maths import Formulas, Maths
from branchwise.bench.grading.passages import Grids, Passages
from branchwise.bench.grading.simple import Hands, Numbers, YesNo
from branchwise.bench.grading.verdicts import Checker, Gold
from branchwise.data.sets import DATASETS, data_file
from branchwise.errors import UsageError
from branchwise.model.weights import sha256
from branchwise.tasks.base import Item, Task
from branchwise.tasks.crosswords.grid import show

__all__ = ["GRADED", "JUDGED", "checker_of", "key_of"]

_KINDS = {
    "gsm8k": "number", "gsm_hard": "number", "svamp": "number", "strategyqa": "yes_no", "game24": "hand", "crosswords": "grid", "writing": "passage",
}  # fmt: skip
GRADED = (
    "game24", "crosswords", "gsm8k", "gsm_hard", "svamp", "strategyqa", "math500", "aime24", "amc23", "olympiadbench", "odyssey", "writing",
)  # fmt: skip
"""Tasks whose outputs can be graded; in `writing` a program checks the constraint, and a judge gives the marks."""
JUDGED = ("writing",)
"""Tasks whose quality only a judge can tell."""


def checker_of(task: str, formulas: Formulas) -> Checker:
    """The checker of a task's answers. Raises `UsageError` for a task without one."""
    if task not in GRADED:
        raise UsageError(f"no program can grade answers of task {task}; it grades {', '.join(GRADED)}")
    kinds: dict[str, Checker] = {"number": Numbers(), "yes_no": YesNo(), "hand": Hands(), "grid": Grids(), "passage": Passages()}
    return kinds.get(_KINDS.get(task, ""), Maths(formulas))


def key_of(task: Task, data: Path | None) -> Key:
    """The items and golds of the task's own list, or of a data file or folder. Raises `UsageError`."""
    items = task.items(data)
    if task.name == "game24":
        golds = {item.id: Gold(item.input) for item in items}
        golds |= {item.input: Gold(item.input) for item in items}
        return Key(items, golds, _source(task, data, items, golds), ("gold", "hand", "input", "prompt", "puzzle"))
    if task.name == "writing":
        golds = {item.id: Gold(item.input) for item in items}
        return Key(items, golds, _source(task, data, items, golds), ("gold", "input", "prompt"), inputs=True)
    if task.name == "crosswords":
        solutions = own_solutions() if data is None else published_solutions(data_file(task.name, data))
        golds = {name: Gold(" ".join(show(grid).split("\n"))) for name, grid in solutions.items()}
        return Key(items, golds, _source(task, data, items, golds))
    golds = own_golds(task.name) if data is None else published_golds(task.name, data_file(task.name, data))
    return Key(items, golds, _source(task, data, items, golds))


def _source(task: Task, data: Path | None, items: Sequence[Item], golds: Mapping[str, Gold]) -> str:
    """Where items and golds are from, with the SHA-256 of the file, or of our own items and golds: numbers of different versions of a set
    cannot be compared."""
    if data is None:
        told = [[item.id, item.input] for item in items], [[name, gold.text] for name, gold in golds.items()]
        return f"our own list of {task.name} (SHA-256 {hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]}...)"
    path = data_file(task.name, data)
    try:
        digest = sha256(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    known = DATASETS.get(task.name)
    version = "the registered version" if known is not None and known.sha256 == digest else "not the registered version"
    return f"{path} (SHA-256 {digest[:16]}..., {version})"
