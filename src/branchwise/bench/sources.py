"""Where the items and golds of a run are from, as its manifest says it: a name and a SHA-256. Reads the answer keys, and tells only their digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson

from branchwise.bench.keyring import key_of
from branchwise.data.sets import data_file
from branchwise.model.weights import sha256
from branchwise.tasks import Task

__all__ = ["OWN", "own_digests", "source_of"]

OWN = "our own list of "
"""How the source of a task's own list begins."""


def source_of(task: Task, path: Path | None) -> dict[str, str]:
    """The name and the SHA-256 of the data file (which holds items and golds), or of our own list: its items and its golds."""
    if path is None:
        return {"source": f"{OWN}{task.name}", "sha256": own_digests(task)[0]}
    file = data_file(task.name, path)
    return {"source": file.name, "sha256": sha256(file)}


def own_digests(task: Task) -> tuple[str, str]:
    """The digest of the task's own items and golds, 16 hexadecimal digits; and that of the items alone, as earlier versions kept it."""
    key = key_of(task, None)
    items = [[item.id, item.input] for item in key.items]
    golds = [[item.id, key.golds[item.id].text] for item in key.items if item.id in key.golds]
    return _digest([items, golds]), _digest(items)


def _digest(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value)).hexdigest()[:16]
